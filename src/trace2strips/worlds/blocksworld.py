"""Blocksworld: n blocks, one gripper, four action schemas; (n + 1)² atoms, 2n² actions."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
from jaxtyping import Bool

from trace2strips.model.lifted import Literal
from trace2strips.worlds.domain import Columns, Family

NEW_TOWER = 0.25  # chance that a block starts a tower of its own; gives plan lengths near the paper's


class Blocksworld(Family):
    name = "blocksworld"
    sizes = {"5b": (5,), "8b": (8,)}
    size_form = "BLOCKS"
    minimum = (2,)
    goal_predicates = frozenset({"on", "ontable", "clear"})
    pddl = """
    (define (domain blocksworld)
      (:requirements :strips :typing :equality :negative-preconditions)
      (:types block)
      (:predicates (on ?x ?y - block) (ontable ?x - block) (clear ?x - block) (handempty) (holding ?x - block))
      (:action pick-up
        :parameters (?x - block)
        :precondition (and (clear ?x) (ontable ?x) (handempty))
        :effect (and (holding ?x) (not (ontable ?x)) (not (clear ?x)) (not (handempty))))
      (:action put-down
        :parameters (?x - block)
        :precondition (and (holding ?x))
        :effect (and (clear ?x) (ontable ?x) (handempty) (not (holding ?x))))
      (:action stack
        :parameters (?x ?y - block)
        :precondition (and (holding ?x) (clear ?y) (not (= ?x ?y)))
        :effect (and (clear ?x) (on ?x ?y) (handempty) (not (holding ?x)) (not (clear ?y))))
      (:action unstack
        :parameters (?x ?y - block)
        :precondition (and (on ?x ?y) (clear ?x) (handempty) (not (= ?x ?y)))
        :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (handempty)))))
    """

    @property
    def blocks(self) -> list[str]:
        return [f"b{i + 1}" for i in range(self.size[0])]

    def problem(self) -> str:
        init = " ".join(f"(ontable {b}) (clear {b})" for b in self.blocks)
        return f"""(define (problem example) (:domain blocksworld) (:objects {" ".join(self.blocks)} - block)
                   (:init (handempty) {init}) (:goal (and)))"""

    def initial_atom(self, literal: Literal) -> bool:
        return literal.predicate != "holding"

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        """Blocks in random order; each goes on the block before it or starts a new tower."""
        blocks = self.blocks
        n = len(blocks)
        on = np.array([[column("on", x, y) if x != y else -1 for y in blocks] for x in blocks])
        table = np.array([column("ontable", x) for x in blocks])
        clear = np.array([column("clear", x) for x in blocks])
        states = np.zeros((count, len(column)), dtype=bool)
        order = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
        new = rng.random((count, n)) < NEW_TOWER
        new[:, 0] = True
        rows = np.arange(count)
        for k in range(n):
            block = order[:, k]
            starts = new[:, k]
            states[rows[starts], table[block[starts]]] = True
            if k:
                below = order[~starts, k - 1]
                states[rows[~starts], on[block[~starts], below]] = True
                states[rows[starts], clear[order[starts, k - 1]]] = True
        states[rows, clear[order[:, -1]]] = True
        states[:, column("handempty")] = True
        return states

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """A whole arrangement: every one is reachable from every other."""
        goals = self.draw(rng, len(init), column)
        goals[:, column("handempty")] = False
        return goals

    def count_states(self) -> int:
        """Sets of towers with an empty hand, or one block held and the rest in towers."""

        def arrangements(n: int) -> int:  # sets of non-empty lists: Σ_k C(n−1, k−1)·n!/k!
            return sum(comb(n - 1, k - 1) * factorial(n) // factorial(k) for k in range(1, n + 1)) if n else 1

        n = self.size[0]
        return arrangements(n) + n * arrangements(n - 1)
