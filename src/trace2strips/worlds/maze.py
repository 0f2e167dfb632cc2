"""Maze: an agent on a grid whose walls differ from problem to problem.

Rooms are every second cell of every second row; a random spanning tree opens the cells between them. `free` is set
by the initial state and never changed, so it belongs to F although no action affects it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from trace2strips.compilation import compiled
from trace2strips.errors import DomainError
from trace2strips.model.lifted import Literal
from trace2strips.worlds.domain import Columns, Family
from trace2strips.worlds.npuzzle import neighbours

GOAL_REACH = 0.8  # a goal is at least this share of the longest walk away; gives plan lengths near the paper's


class Maze(Family):
    name = "maze"
    sizes = {"5x5": (5, 5), "7x7": (7, 7)}
    size_form = "ROWSxCOLUMNS (odd numbers)"
    minimum = (3, 3)
    varying = frozenset({"free"})
    goal_predicates = frozenset({"at"})
    pddl = """
    (define (domain maze)
      (:requirements :strips :typing)
      (:types cell)
      (:predicates (at ?c - cell) (free ?c - cell) (adjacent ?c ?d - cell))
      (:action move
        :parameters (?from ?to - cell)
        :precondition (and (at ?from) (free ?to) (adjacent ?from ?to))
        :effect (and (at ?to) (not (at ?from)))))
    """

    @classmethod
    def parse_size(cls, text: str) -> tuple[int, ...]:
        size = super().parse_size(text)
        if any(n % 2 == 0 for n in size):
            raise DomainError(f"maze:{text} has no rooms at its border", hint="both numbers must be odd")
        return size

    @property
    def cells(self) -> list[str]:
        return [f"c{row + 1}-{col + 1}" for row in range(self.size[0]) for col in range(self.size[1])]

    def problem(self) -> str:
        cells = self.cells
        facts = [f"(adjacent {cells[i]} {cells[j]})" for i, j in neighbours(*self.size)]
        facts += [f"(free {cell})" for cell in cells]
        return f"""(define (problem example) (:domain maze) (:objects {" ".join(cells)} - cell)
                   (:init {" ".join(facts)} (at {cells[0]})) (:goal (and)))"""

    def initial_atom(self, literal: Literal) -> bool:
        """All but the cells at odd row and odd column, which are pillars in every maze."""
        row, col = divmod(self.cells.index(literal.arguments[0]), self.size[1])
        return row % 2 == 0 or col % 2 == 0

    def goal_atom(self, literal: Literal) -> bool:
        return super().goal_atom(literal) and self.initial_atom(literal)

    @property
    def doors(self) -> Int[np.ndarray, "doors 3"]:
        """Each cell between two rooms: (room, room, door), rooms and doors as cell numbers."""
        height, width = self.size
        across = [(r * width + c - 1, r * width + c + 1, r * width + c)
                  for r in range(0, height, 2) for c in range(1, width, 2)]  # fmt: skip
        down = [((r - 1) * width + c, (r + 1) * width + c, r * width + c)
                for r in range(1, height, 2) for c in range(0, width, 2)]  # fmt: skip
        return np.array(across + down, dtype=np.int64)

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        """A random spanning tree over the rooms (Kruskal on random door orders), and the agent at any free cell."""
        height, width = self.size
        doors = self.doors
        order = rng.permuted(np.tile(np.arange(len(doors)), (count, 1)), axis=1)
        free = np.zeros((count, height * width), dtype=bool)
        open_doors(doors, order, free)
        rooms = [r * width + c for r in range(0, height, 2) for c in range(0, width, 2)]
        free[:, rooms] = True
        at = np.argmax(np.where(free, rng.random(free.shape), -1.0), axis=1)
        return self.states(free, at, column)

    def states(
        self, free: Bool[np.ndarray, "count cells"], at: Int[np.ndarray, " count"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        at_columns, free_columns = self.columns(column)
        states = np.zeros((len(free), len(column)), dtype=bool)
        states[:, free_columns] = free
        states[np.arange(len(free)), at_columns[at]] = True
        return states

    def columns(self, column: Columns) -> tuple[Int[np.ndarray, " cells"], Int[np.ndarray, " cells"]]:
        return (np.array([column("at", cell) for cell in self.cells]),
                np.array([column("free", cell) for cell in self.cells]))  # fmt: skip

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """A far free cell: uniformly among those at least GOAL_REACH of the longest walk away."""
        at_columns, free_columns = self.columns(column)
        goals = np.zeros_like(init)
        for i, state in enumerate(init):
            distance = self.distances(state[free_columns], int(np.argmax(state[at_columns])))
            far = np.flatnonzero(distance >= GOAL_REACH * distance.max())
            goals[i, at_columns[rng.choice(far)]] = True
        return goals

    def distances(self, free: Bool[np.ndarray, " cells"], start: int) -> Int[np.ndarray, " cells"]:
        """Steps from `start` to each cell, -1 where none leads there."""
        distance = np.full(len(free), -1)
        distance[start] = 0
        frontier = [start]
        steps: dict[int, list[int]] = {}
        for i, j in neighbours(*self.size):
            if free[j]:
                steps.setdefault(i, []).append(j)
        for cell in frontier:  # grows while it is walked
            for other in steps.get(cell, ()):
                if distance[other] < 0:
                    distance[other] = distance[cell] + 1
                    frontier.append(other)
        return distance

    def count_states(self) -> int:
        """Spanning trees of the grid of rooms (Kirchhoff) times the free cells of each."""
        doors = self.doors
        rooms = sorted({int(room) for room in doors[:, :2].ravel()})
        laplacian = [[0] * len(rooms) for _ in rooms]
        for one, other, _ in doors.tolist():
            i, j = rooms.index(one), rooms.index(other)
            laplacian[i][i] += 1
            laplacian[j][j] += 1
            laplacian[i][j] -= 1
            laplacian[j][i] -= 1
        trees = determinant([row[1:] for row in laplacian[1:]])
        return trees * (2 * len(rooms) - 1)


def determinant(matrix: list[list[int]]) -> int:
    """Exact, by Bareiss's fraction-free elimination; the leading minors of a Laplacian are never zero."""
    rows = [list(row) for row in matrix]
    previous = 1
    for k in range(len(rows) - 1):
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                rows[i][j] = (rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]) // previous
        previous = rows[k][k]
    return rows[-1][-1] if rows else 1


def open_doors_slowly(
    doors: Int[np.ndarray, "doors 3"], order: Int[np.ndarray, "count doors"], free: Bool[np.ndarray, "count cells"]
) -> None:
    """Kruskal, with the parts as sets."""
    for row, sequence in zip(free, order, strict=True):
        part = {room: {room} for room in doors[:, :2].ravel().tolist()}
        for one, other, door in doors[sequence].tolist():
            if part[one] is not part[other]:
                part[one] |= part[other]
                part |= dict.fromkeys(part[other], part[one])
                row[door] = True


@compiled()
def open_doors(doors, order, free):  # type: ignore[no-untyped-def]
    """Kruskal: open a door where it joins two parts that are not joined yet."""
    parent = np.empty(free.shape[1], dtype=np.int64)
    for i in range(order.shape[0]):
        for cell in range(len(parent)):
            parent[cell] = cell
        for k in range(order.shape[1]):
            one, other, door = doors[order[i, k]]
            while parent[one] != one:
                one = parent[one]
            while parent[other] != other:
                other = parent[other]
            if one != other:
                parent[one] = other
                free[i, door] = True
