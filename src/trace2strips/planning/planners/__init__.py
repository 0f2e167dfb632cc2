"""The planners as they run in a process of their own, and the registry of them.

A planner sees numbers only: an action is three lists of atoms' numbers, a plan is a list of actions' numbers. So no
name has to be encoded for a planner's syntax. One file per planner, each with a class `Search`. They import
nothing heavy, so that a worker process starts without Numba; `planning.plans` is what others use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from typing import Protocol

Atoms = Sequence[int]
Action = tuple[Atoms, Atoms, Atoms]  # precondition, add and delete list


class Status(Enum):
    """How a search ended. Only `SOLVED` comes with a plan; `UNSOLVABLE` is proven."""

    SOLVED = "solved"
    UNSOLVABLE = "unsolvable"
    OUT_OF_STATES = "out of states"
    OUT_OF_TIME = "out of time"
    OUT_OF_MEMORY = "out of memory"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Answer:
    """What a search found; `states` is the number of generated states as the planner counts them."""

    status: Status
    plan: tuple[int, ...] | None = None
    states: int | None = None
    message: str = ""


class Search(Protocol):
    """What each planner's file defines: made once per model, asked once per problem."""

    def __init__(self, atoms: int, actions: Sequence[Action], optimal: bool) -> None: ...

    def solve(self, init: Atoms, goal: Atoms, states: int | None, seconds: float | None) -> Answer:
        """At most so many different states and seconds. The seconds are also enforced from outside."""
        ...


@dataclass(frozen=True)
class Planner:
    """A planner by name: the module with its `Search`, the package it needs, and what it searches with."""

    name: str
    module: str
    package: str  # as it is imported; '': it is part of this one
    install: str  # what a user has to type
    search: str
    optimal_search: str

    @property
    def installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


PLANNERS: dict[str, Planner] = {
    planner.name: planner
    for planner in (
        Planner(
            "mimir",
            "trace2strips.planning.planners.mimir",
            "pymimir",
            "pip install 'pymimir>=0.13.60,<0.14'",
            "eager greedy best-first search with FF",
            "A* with hmax",
        ),
        Planner(
            "fast-downward",
            "trace2strips.planning.planners.fast_downward",
            "up_fast_downward",
            "pip install 'trace2strips[planners]'",
            "eager greedy best-first search with FF",
            "A* with LM-cut",
        ),
        Planner(
            "pyperplan",
            "trace2strips.planning.planners.pyperplan",
            "pyperplan",
            "pip install 'trace2strips[planners]'",
            "greedy best-first search with FF",
            "A* with LM-cut",
        ),
        Planner(
            "plain",
            "trace2strips.planning.planners.plain",
            "",
            "it is part of trace2strips",
            "greedy best-first search with FF",
            "A* with hmax",
        ),
    )
}
DEFAULT_PLANNER = "mimir" if PLANNERS["mimir"].installed else "plain"  # Mimir is under the GPL: some leave it out
