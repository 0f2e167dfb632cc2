"""pyperplan: the textbook in Python; slower than the others, and readable throughout.

It has no limits of its own. Each state it generates is given to the heuristic, so the heuristic counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from pyperplan.heuristics.lm_cut import LmCutHeuristic
from pyperplan.heuristics.relaxation import hFFHeuristic
from pyperplan.search.a_star import astar_search, greedy_best_first_search
from pyperplan.task import Operator, Task

from trace2strips.planning.planners import Action, Answer, Atoms, Status


class LimitReached(Exception):  # noqa: N818 (not an error)
    def __init__(self, status: Status) -> None:
        super().__init__(status.value)
        self.status = status


class Counted:
    """A heuristic that remembers each state's value, counts what is asked and stops the search at a limit."""

    def __init__(self, heuristic: Any, states: int | None, seconds: float | None) -> None:
        self.heuristic = heuristic
        self.states = float("inf") if states is None else states
        self.deadline = float("inf") if seconds is None else time.monotonic() + seconds
        self.known: dict[Any, float] = {}
        self.generated = -1  # the initial state is given, not generated

    def __call__(self, node: Any) -> float:
        self.generated += 1
        if time.monotonic() > self.deadline:
            raise LimitReached(Status.OUT_OF_TIME)
        if node.state not in self.known:
            if len(self.known) >= self.states:
                raise LimitReached(Status.OUT_OF_STATES)
            self.known[node.state] = self.heuristic(node)
        return self.known[node.state]


class Search:
    def __init__(self, atoms: int, actions: Sequence[Action], optimal: bool) -> None:
        self.atoms = frozenset(map(str, range(atoms)))
        self.operators = [
            Operator(str(number), map(str, pre), map(str, add), map(str, delete))
            for number, (pre, add, delete) in enumerate(actions)
        ]
        self.optimal = optimal

    def solve(self, init: Atoms, goal: Atoms, states: int | None, seconds: float | None) -> Answer:
        task = Task("", self.atoms, frozenset(map(str, init)), frozenset(map(str, goal)), self.operators)
        heuristic = Counted(LmCutHeuristic(task) if self.optimal else hFFHeuristic(task), states, seconds)
        try:
            found = (astar_search if self.optimal else greedy_best_first_search)(task, heuristic)
        except LimitReached as limit:
            return Answer(limit.status, None, heuristic.generated)
        if found is None:
            return Answer(Status.UNSOLVABLE, None, heuristic.generated)
        return Answer(Status.SOLVED, tuple(int(operator.name) for operator in found), heuristic.generated)
