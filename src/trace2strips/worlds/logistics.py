"""Logistics: c cities, each with an airport, a location and a truck that stays in it; one plane; k packages."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from trace2strips.model.lifted import Literal
from trace2strips.worlds.domain import Columns, Family


class Logistics(Family):
    name = "logistics"
    sizes = {"3c": (3, 2), "5c": (5, 4)}
    size_form = "CITIESxPACKAGES"
    minimum = (2, 1)
    goal_predicates = frozenset({"at"})
    pddl = """
    (define (domain logistics)
      (:requirements :strips :typing :equality :negative-preconditions)
      (:types truck plane - vehicle airport - place package city)
      (:predicates (at ?p - package ?l - place) (in ?p - package ?v - vehicle)
                   (truck-at ?t - truck ?l - place) (plane-at ?v - plane ?l - airport) (in-city ?l - place ?c - city))
      (:action load-truck
        :parameters (?p - package ?t - truck ?l - place)
        :precondition (and (at ?p ?l) (truck-at ?t ?l))
        :effect (and (in ?p ?t) (not (at ?p ?l))))
      (:action unload-truck
        :parameters (?p - package ?t - truck ?l - place)
        :precondition (and (in ?p ?t) (truck-at ?t ?l))
        :effect (and (at ?p ?l) (not (in ?p ?t))))
      (:action load-plane
        :parameters (?p - package ?v - plane ?l - airport)
        :precondition (and (at ?p ?l) (plane-at ?v ?l))
        :effect (and (in ?p ?v) (not (at ?p ?l))))
      (:action unload-plane
        :parameters (?p - package ?v - plane ?l - airport)
        :precondition (and (in ?p ?v) (plane-at ?v ?l))
        :effect (and (at ?p ?l) (not (in ?p ?v))))
      (:action drive
        :parameters (?t - truck ?from ?to - place ?c - city)
        :precondition (and (truck-at ?t ?from) (in-city ?from ?c) (in-city ?to ?c) (not (= ?from ?to)))
        :effect (and (truck-at ?t ?to) (not (truck-at ?t ?from))))
      (:action fly
        :parameters (?v - plane ?from ?to - airport)
        :precondition (and (plane-at ?v ?from) (not (= ?from ?to)))
        :effect (and (plane-at ?v ?to) (not (plane-at ?v ?from)))))
    """

    def __init__(self, *size: int) -> None:
        super().__init__(*size)
        cities, packages = size
        self.airports = [f"a{i + 1}" for i in range(cities)]
        self.locations = [f"l{i + 1}" for i in range(cities)]
        self.trucks = [f"t{i + 1}" for i in range(cities)]
        self.cities = [f"city{i + 1}" for i in range(cities)]
        self.packages = [f"k{i + 1}" for i in range(packages)]
        self.places = self.airports + self.locations

    def problem(self) -> str:
        facts = ["(plane-at plane a1)"]
        for city, airport, location, truck in zip(self.cities, self.airports, self.locations, self.trucks, strict=True):
            facts += [f"(in-city {airport} {city})", f"(in-city {location} {city})", f"(truck-at {truck} {airport})"]
        facts += [f"(at {package} a1)" for package in self.packages]
        return f"""(define (problem example) (:domain logistics)
                   (:objects {" ".join(self.packages)} - package {" ".join(self.trucks)} - truck plane - plane
                             {" ".join(self.airports)} - airport {" ".join(self.locations)} - place
                             {" ".join(self.cities)} - city)
                   (:init {" ".join(facts)}) (:goal (and)))"""

    def initial_atom(self, literal: Literal) -> bool:
        return literal.predicate != "in"

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        """Packages anywhere, trucks anywhere in their city, the plane at any airport."""
        states = np.zeros((count, len(column)), dtype=bool)

        def place(columns: list[int]) -> None:
            states[np.arange(count), np.array(columns)[rng.integers(len(columns), size=count)]] = True

        for package in self.packages:
            place([column("at", package, where) for where in self.places])
        for truck, airport, location in zip(self.trucks, self.airports, self.locations, strict=True):
            place([column("truck-at", truck, airport), column("truck-at", truck, location)])
        place([column("plane-at", "plane", airport) for airport in self.airports])
        return states

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """Every package at a random place."""
        goals = np.zeros_like(init)
        for package in self.packages:
            columns = np.array([column("at", package, where) for where in self.places])
            goals[np.arange(len(init)), columns[rng.integers(len(columns), size=len(init))]] = True
        return goals

    def count_states(self) -> int:
        cities, packages = self.size
        return int((3 * cities + 1) ** packages * 2**cities * cities)
