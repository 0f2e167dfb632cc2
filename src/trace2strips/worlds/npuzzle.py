"""N-puzzle on a grid of h rows and w columns: h·w − 1 tiles slide into the empty cell."""

from __future__ import annotations

from math import factorial

import numpy as np
from jaxtyping import Bool, Int

from trace2strips.worlds.domain import Columns, Family


class Npuzzle(Family):
    name = "npuzzle"
    sizes = {"5t": (2, 3), "8t": (3, 3)}
    size_form = "ROWSxCOLUMNS"
    minimum = (2, 2)
    goal_predicates = frozenset({"at"})
    pddl = """
    (define (domain npuzzle)
      (:requirements :strips :typing)
      (:types tile cell)
      (:predicates (at ?t - tile ?c - cell) (empty ?c - cell) (adjacent ?c ?d - cell))
      (:action move
        :parameters (?t - tile ?from ?to - cell)
        :precondition (and (at ?t ?from) (empty ?to) (adjacent ?from ?to))
        :effect (and (at ?t ?to) (empty ?from) (not (at ?t ?from)) (not (empty ?to)))))
    """

    @property
    def cells(self) -> list[str]:
        return [f"c{row + 1}-{col + 1}" for row in range(self.size[0]) for col in range(self.size[1])]

    @property
    def tiles(self) -> list[str]:
        return [f"t{i + 1}" for i in range(self.size[0] * self.size[1] - 1)]

    def problem(self) -> str:
        cells = self.cells
        facts = [f"(adjacent {cells[i]} {cells[j]})" for i, j in neighbours(*self.size)]
        facts += [f"(at {tile} {cell})" for tile, cell in zip(self.tiles, cells, strict=False)]
        return f"""(define (problem example) (:domain npuzzle)
                   (:objects {" ".join(self.tiles)} - tile {" ".join(cells)} - cell)
                   (:init {" ".join(facts)} (empty {cells[-1]})) (:goal (and)))"""

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        """Random arrangements that sliding can reach from the sorted one: half of all."""
        height, width = self.size
        cells = height * width
        # arrangement[s, c] = the tile at cell c, the last "tile" being the empty cell
        arrangement = rng.permuted(np.tile(np.arange(cells), (count, 1)), axis=1)
        blank = np.argmax(arrangement == cells - 1, axis=1)
        moves = (height - 1 - blank // width) + (width - 1 - blank % width)
        wrong = (parity(arrangement) + moves) % 2 == 1
        # exchanging any two tiles changes the parity and leaves the empty cell where it is
        first, second = np.argmax(arrangement == 0, axis=1), np.argmax(arrangement == 1, axis=1)
        arrangement[wrong, first[wrong]] = 1
        arrangement[wrong, second[wrong]] = 0
        at = np.array([[column("at", tile, cell) for cell in self.cells] for tile in self.tiles]
                      + [[column("empty", cell) for cell in self.cells]])  # fmt: skip
        states = np.zeros((count, len(column)), dtype=bool)
        for cell in range(cells):
            states[np.arange(count), at[arrangement[:, cell], cell]] = True
        return states

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """Every tile at its place in another arrangement."""
        goals = self.draw(rng, len(init), column)
        goals[:, [column("empty", cell) for cell in self.cells]] = False
        return goals

    def count_states(self) -> int:
        return factorial(self.size[0] * self.size[1]) // 2


def neighbours(height: int, width: int) -> list[tuple[int, int]]:
    """Ordered pairs of cells that share a side, cells numbered row by row."""
    return [
        (row * width + col, (row + dr) * width + col + dc)
        for row in range(height)
        for col in range(width)
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))
        if 0 <= row + dr < height and 0 <= col + dc < width
    ]


def parity(permutations: Int[np.ndarray, "count items"]) -> Int[np.ndarray, " count"]:
    """The number of inversions modulo 2."""
    items = permutations.shape[1]
    total = np.zeros(len(permutations), dtype=np.int64)
    for i in range(items):
        total += (permutations[:, i : i + 1] > permutations[:, i + 1 :]).sum(axis=1)
    return total % 2
