"""One search in a process of its own: what it may use, how it ended, and the process as its parent sees it.

The other end is `planners.worker`. A process, because a search must be stoppable and may crash; it is kept for the next
problem, and knows the model of the last one already.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from trace2strips.errors import PlannerError, printable
from trace2strips.model.strips import StripsModel, StripsProblem
from trace2strips.planning.planners import Planner, Status

GRACE = 2.0  # seconds that a planner has to notice the time limit itself, which spares a new worker
LONGEST = 10**6  # seconds: the system calls that wait take no number without end
START_SECONDS = 120  # importing a planner takes a tenth of a second; on a machine that swaps, longer


@dataclass(frozen=True)
class Limits:
    """What one search may use; None is no limit.

    10^6 states is the paper's limit and the one that should end a search: Mimir makes them in about a minute and in
    a quarter of a gigabyte, so time and memory are wide around that and catch what goes wrong.
    """

    states: int | None = 10**6  # different states
    seconds: int | float | None = 300
    memory_mb: int | None = 4096

    def __post_init__(self) -> None:
        for name, value in (("states", self.states), ("seconds", self.seconds), ("memory_mb", self.memory_mb)):
            if value is not None and not 0 < value < math.inf:
                raise PlannerError(f"limit {name} is {value}", hint="give a number above 0, or none for no limit")


@dataclass(frozen=True)
class PlanResult:
    """How a search ended; it prints itself. `plan` holds the model's own action names; `states` counts generated states
    as the planner does; `seconds` is the search with its preparation, without the start of a worker. `steps` are
    given by learner `windows`, an `Explanation` for each action; `certain_only`: no other steps were looked for.
    """

    status: Status
    plan: tuple[str, ...] | None
    states: int | None
    seconds: float
    message: str = ""
    steps: tuple[Any, ...] = ()
    certain_only: bool = False

    @property
    def certain(self) -> tuple[bool, ...]:
        """Which steps work in every model that fits the log, once those before them did."""
        return tuple(step.reply.answer == "works" for step in self.steps)

    @property
    def will_do(self) -> bool:
        """Whether there is a plan, with certain steps alone if no others are wanted."""
        return self.plan is not None and (not self.certain_only or all(self.certain))

    def lines(self) -> list[str]:
        """An action a line; behind those that are not certain stands what is known of them."""
        marks = [{"works": "", "open": "  ; open"}.get(s.reply.answer, "  ; refused for certain") for s in self.steps]
        plan = self.plan or ()
        return [f"{printable(name)}{mark}" for name, mark in zip(plan, marks or [""] * len(plan), strict=True)]

    def __str__(self) -> str:
        """The plan, or why there is none."""
        if self.plan is None:
            why = f" ({self.message})" if self.status is Status.CRASHED else ""
            which = " whose steps are all certain" if self.certain_only else ""
            return f"no plan{which}: {self.status.value}{printable(why)}"
        return "\n".join(self.lines()) or "nothing to do: the goal holds already"


class Worker:
    """A worker process as its parent sees it: idle, or busy with one problem until a deadline."""

    def __init__(self, planner: Planner, optimal: bool) -> None:
        self.planner = planner
        self.ready = False  # it has told that its planner is there
        self.dead = False  # it has closed its end, or was ended here
        self.received = b""
        self.model: StripsModel | None = None  # the one that it has parsed
        self.asked = 0.0
        self.deadline = math.inf
        self.last_words = ""
        self.errors = tempfile.TemporaryFile("a+b")  # noqa: SIM115 (a file, as a pipe can fill up and stop it)
        words = [sys.executable, "-P", "-m", "trace2strips.planning.planners.worker"]
        self.process = subprocess.Popen(
            [*words, planner.module, "optimal" if optimal else "fast", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # ctrl-C is for us to handle, and one signal reaches all that the worker starts
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout.fileno()

    def ask(self, problem: StripsProblem, limits: Limits) -> None:
        assert self.process.stdin is not None
        if not self.ready:
            self.wait_until_ready()
        model = problem.model
        seconds = None if limits.seconds is None else min(limits.seconds, LONGEST)
        request = {
            "model": None if model is self.model else numbered(model),
            "init": numbers(model, problem.init),
            "goal": numbers(model, problem.goal),
            "states": limits.states,
            "seconds": seconds,
            "memory_mb": limits.memory_mb,
        }
        self.model = model
        self.asked = time.monotonic()
        self.deadline = math.inf if seconds is None else self.asked + seconds + GRACE
        with suppress(BrokenPipeError, ValueError):  # it has died, or was ended: `result` will say so
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()

    def wait_until_ready(self) -> None:
        """The start does not count as search. A planner that cannot be imported says so now."""
        deadline = time.monotonic() + START_SECONDS
        while not self.dead and time.monotonic() < deadline:
            wait([self.output], deadline - time.monotonic())
            reply = self.reply()
            if reply is not None and "unavailable" in reply:
                raise PlannerError(
                    f"planner {self.planner.name!r} cannot be loaded: {reply['unavailable']}", hint=self.planner.install
                )
            if reply is not None:
                self.ready = True
                return
        self.end()

    def result(self) -> PlanResult | None:
        """What came of the problem it was asked; None while it searches."""
        reply = self.reply()
        if reply is not None:
            return self.read_result(reply)
        seconds = time.monotonic() - self.asked
        if self.dead:
            status, message = self.cause_of_death()
            return PlanResult(status, None, None, seconds, message)
        if time.monotonic() > self.deadline:
            self.end()
            return PlanResult(Status.OUT_OF_TIME, None, None, seconds, "stopped from outside")
        return None

    def read_result(self, reply: dict[str, Any]) -> PlanResult:
        assert self.model is not None
        status = Status(reply["status"])
        plan = None
        if reply["plan"] is not None:
            plan = tuple(self.model.actions[number].name for number in reply["plan"])
        self.errors.truncate(0)
        if status in (Status.CRASHED, Status.OUT_OF_MEMORY):
            self.end()  # who knows what state it is in
        return PlanResult(status, plan, reply["states"], reply["seconds"], reply["message"])

    def reply(self) -> dict[str, Any] | None:
        """The next line, if all of it is there."""
        while not self.dead and b"\n" not in self.received and wait([self.output], 0):
            new = os.read(self.output, 2**16)
            self.received += new
            self.dead = not new
        line, end, rest = self.received.partition(b"\n")
        if not end:
            return None
        self.received = rest
        return dict(json.loads(line))

    def cause_of_death(self) -> tuple[Status, str]:
        """What the planner's last words and the process's exit code tell."""
        self.end()
        code = self.process.returncode
        how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        no_memory = any(sign in self.last_words for sign in ("bad_alloc", "MemoryError", "Cannot allocate memory"))
        message = ": ".join([f"{self.planner.name} {how}", *self.last_words.splitlines()[-1:]])
        return Status.OUT_OF_MEMORY if no_memory else Status.CRASHED, message

    def is_dead(self) -> bool:
        """Asked while it is idle: there is nothing to read but the end."""
        return self.dead or (self.ready and bool(wait([self.output], 0)))

    def end(self) -> None:
        """Kill it with all that it has started, and leave no zombie. Nothing happens the second time."""
        self.dead = True
        if self.process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.wait()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.seek(0)
        self.last_words = self.errors.read().decode(errors="replace").strip()
        self.errors.close()


def wait_for(workers: list[Worker]) -> None:
    """Until one of them has something to say, or its time is over."""
    deadline = min(worker.deadline for worker in workers)
    outputs = [worker.output for worker in workers if not worker.dead]
    if len(outputs) < len(workers):
        return  # one did not even start
    wait(outputs, None if deadline == math.inf else max(0.0, deadline - time.monotonic()))


def numbered(model: StripsModel) -> dict[str, Any]:
    """The model as a planner sees it."""
    return {
        "atoms": len(model.atoms),
        "actions": [[numbers(model, part) for part in (a.pre, a.add, a.delete)] for a in model.actions],
    }


def numbers(model: StripsModel, atoms: Iterable[str]) -> list[int]:
    return sorted(model.atom_index[atom] for atom in atoms)
