"""Ferry: c cars, p ports, a ferry that carries one car."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from trace2strips.model.lifted import Literal
from trace2strips.worlds.domain import Columns, Family


class Ferry(Family):
    name = "ferry"
    sizes = {"5c": (5, 5), "8c": (8, 7)}
    size_form = "CARSxPORTS"
    minimum = (1, 2)
    goal_predicates = frozenset({"at"})
    pddl = """
    (define (domain ferry)
      (:requirements :strips :typing :equality :negative-preconditions)
      (:types car port)
      (:predicates (at-ferry ?p - port) (at ?c - car ?p - port) (empty-ferry) (on ?c - car))
      (:action sail
        :parameters (?from ?to - port)
        :precondition (and (at-ferry ?from) (not (= ?from ?to)))
        :effect (and (at-ferry ?to) (not (at-ferry ?from))))
      (:action board
        :parameters (?c - car ?p - port)
        :precondition (and (at ?c ?p) (at-ferry ?p) (empty-ferry))
        :effect (and (on ?c) (not (at ?c ?p)) (not (empty-ferry))))
      (:action debark
        :parameters (?c - car ?p - port)
        :precondition (and (on ?c) (at-ferry ?p))
        :effect (and (at ?c ?p) (empty-ferry) (not (on ?c)))))
    """

    @property
    def cars(self) -> list[str]:
        return [f"c{i + 1}" for i in range(self.size[0])]

    @property
    def ports(self) -> list[str]:
        return [f"p{i + 1}" for i in range(self.size[1])]

    def problem(self) -> str:
        init = " ".join(f"(at {c} p1)" for c in self.cars)
        return f"""(define (problem example) (:domain ferry)
                   (:objects {" ".join(self.cars)} - car {" ".join(self.ports)} - port)
                   (:init (at-ferry p1) (empty-ferry) {init}) (:goal (and)))"""

    def initial_atom(self, literal: Literal) -> bool:
        return literal.predicate != "on"

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        """Every car and the ferry at a random port."""
        ports = len(self.ports)
        states = np.zeros((count, len(column)), dtype=bool)
        rows = np.arange(count)
        for car in self.cars:
            at = np.array([column("at", car, port) for port in self.ports])
            states[rows, at[rng.integers(ports, size=count)]] = True
        at_ferry = np.array([column("at-ferry", port) for port in self.ports])
        states[rows, at_ferry[rng.integers(ports, size=count)]] = True
        states[:, column("empty-ferry")] = True
        return states

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """Every car at a random port."""
        goals = self.draw(rng, len(init), column)
        goals[:, [column("at-ferry", port) for port in self.ports] + [column("empty-ferry")]] = False
        return goals

    def count_states(self) -> int:
        cars, ports = self.size
        return ports * (ports**cars + cars * ports ** (cars - 1))
