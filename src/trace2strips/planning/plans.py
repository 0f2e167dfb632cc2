"""Planners behind one interface: problems in, plans or the reason for having none out.

    with Planning("mimir") as planning:
        results = planning.solve_all(problems)

Whether a plan is right is for `StripsProblem.solved_by` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trace2strips.errors import PlannerError, suggest
from trace2strips.model.strips import StripsProblem
from trace2strips.planning.planners import DEFAULT_PLANNER, PLANNERS, Planner, Status
from trace2strips.planning.workers import Limits, PlanResult, Worker, wait_for

__all__ = ["PLANNERS", "Limits", "PlanResult", "Planning", "Status", "get_planner", "solve"]

DEFAULT_LIMITS = Limits()


class Planning:
    """A planner with its worker processes. Use it as a context manager: leaving it ends the workers. For one thread."""

    def __init__(
        self, planner: str = DEFAULT_PLANNER, optimal: bool = False, limits: Limits = DEFAULT_LIMITS, workers: int = 1
    ) -> None:
        self.planner = get_planner(planner)
        self.optimal = optimal
        self.limits = limits
        if workers < 1:
            raise PlannerError(f"{workers} workers", hint="one or more")
        self.wanted = workers
        self.workers: list[Worker] = []

    def __enter__(self) -> Planning:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for worker in self.workers:
            worker.end()
        self.workers.clear()

    @property
    def processes(self) -> tuple[int, ...]:
        """The process ids of the workers that are alive."""
        return tuple(worker.process.pid for worker in self.workers)

    def solve(self, problem: StripsProblem) -> PlanResult:
        return self.solve_all([problem])[0]

    def solve_all(
        self, problems: Iterable[StripsProblem], progress: Callable[[int], None] | None = None
    ) -> list[PlanResult]:
        """One result per problem, in order; a search that dies costs its own problem only.
        `progress` is told how many problems are newly done.
        """
        tasks = list(problems)
        results: list[PlanResult | None] = [None] * len(tasks)
        waiting = list(reversed(range(len(tasks))))
        try:
            busy: dict[Worker, int] = {}
            while waiting or busy:
                for worker in self.idle_workers(busy, len(waiting)):
                    busy[worker] = waiting.pop()
                    worker.ask(tasks[busy[worker]], self.limits)
                wait_for(list(busy))
                for worker in list(busy):
                    result = worker.result()
                    if result is not None:
                        results[busy.pop(worker)] = result
                        if progress:
                            progress(1)
        except BaseException:  # also ctrl-C: a worker in the middle of a search is of no further use
            self.close()
            raise
        return [result for result in results if result is not None]

    def idle_workers(self, busy: dict[Worker, int], count: int) -> list[Worker]:
        """At most `count` workers that wait for a problem; dead ones are replaced."""
        for worker in [w for w in self.workers if w not in busy and w.is_dead()]:
            worker.end()
            self.workers.remove(worker)
        while len(self.workers) < min(self.wanted, len(busy) + count):
            self.workers.append(Worker(self.planner, self.optimal))
        return [worker for worker in self.workers if worker not in busy][:count]


def solve(
    problem: StripsProblem, planner: str = DEFAULT_PLANNER, optimal: bool = False, limits: Limits = DEFAULT_LIMITS
) -> PlanResult:
    """One problem, one worker. For more than one, `Planning` keeps the worker."""
    with Planning(planner, optimal, limits) as planning:
        return planning.solve(problem)


def get_planner(name: str) -> Planner:
    """A planner by name; one that cannot be used is the user's error."""
    if name not in PLANNERS:
        raise PlannerError(f"unknown planner {name!r}", hint=suggest(name, PLANNERS, "planners"))
    planner = PLANNERS[name]
    if not planner.installed:
        raise PlannerError(f"planner {name!r} is not installed", hint=planner.install)
    return planner
