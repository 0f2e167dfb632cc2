"""`trace2strips learn --domain`: sample a world of the user's own, learn it, and judge what was learned."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trace2strips.commands.learning_run import finish, run_learner
from trace2strips.commands.sources import find_world, tell_remarks
from trace2strips.errors import printable
from trace2strips.judging.own_world import (
    TEST_LENGTH,
    TRAIN_LENGTH,
    TRIES,
    WALK,
    WorldReport,
    enough_traces,
    judge_world,
    test_traces,
    training_traces,
)
from trace2strips.learners.learner import Job
from trace2strips.learners.runs import write_json
from trace2strips.model.vocabulary import Kind

if TYPE_CHECKING:
    from trace2strips.learners.learner import Learned, Learner
    from trace2strips.traces import Dataset
    from trace2strips.worlds import World

FILE = "own-world.json"


def learn_own_world(
    domain: str | None, problems: list[Path] | None, count: int | None, learner: Learner, out: Path, seed: int,
    force: bool, quiet: bool,
) -> Learned:  # fmt: skip
    """One summary, printed and in the run folder."""
    clock = time.perf_counter()
    Job(seed)  # a seed out of range is refused before anything is written
    world = find_world(domain, problems, WALK)
    tell_remarks(world, quiet)
    traces = enough_traces(world) if count is None else count
    train = training_traces(world, traces, seed, learner.any_objects)
    chosen = learner.told_by(train)
    chosen.check(train)
    test = test_traces(world, train, chosen, seed, "goal")
    if not quiet:
        for line in about(world, train, test, count is None):
            print(line)
    file = Path(world.name)
    with run_learner(chosen, train, test, file, out, seed, force, quiet) as learned:
        finish(learned, train, file, out, quiet)
    report = judge_world(learned, world, seed=seed, train=train)
    seconds = time.perf_counter() - clock
    write_json(out / FILE, record(world, learned, report, train, test, seconds))
    if not quiet:
        for line in report.lines():
            print(line)
        plans = sum(plan.right for plan in report.plans)
        print(
            f"{world.name}: {report.summary}; test accuracy {learned.figures.test_accuracy:.5f}; "
            f"plans {plans} of {len(report.plans)}; {seconds:.1f} s: {out / FILE}"
        )
    return learned


def about(world: World, train: Dataset, test: Dataset, by_size: bool) -> list[str]:
    """What is learned from, and why that much."""
    schemas = len(world.instances[0].lifted.schemas)
    sizes = ", ".join(f"{one.name} {len(one.model.actions):,}" for one in world.instances)
    why = f", so that each of {schemas} action schemas is tried about {TRIES:,} times" if by_size else ""
    fresh, starts = held_back(train, test)
    return [
        printable(f"ground actions: {sizes}"),
        f"{len(train):,} traces of up to {TRAIN_LENGTH} attempts{why}",
        f"test: {len(test):,} traces of up to {TEST_LENGTH} attempts; {fresh:,} of {starts:,} starts are new",
    ]


def held_back(train: Dataset, test: Dataset) -> tuple[int, int]:
    """How many different starts the test traces have that no training trace has, and how many in all."""
    known, asked = ({starts_of(some) for some in set_of} for set_of in (train, test))
    return len(asked - known), len(asked)


def starts_of(trace: Any) -> frozenset[str]:
    return frozenset(trace.init or ())


def record(
    world: World, learned: Learned, report: WorldReport, train: Dataset, test: Dataset, seconds: float
) -> dict[str, Any]:
    fresh, starts = held_back(train, test)
    attempts = int((train.vocabulary.kinds[train.tokens] == Kind.ACTION).sum())
    refused = int(np.count_nonzero(train.inapplicable & (train.vocabulary.kinds[train.tokens] == Kind.ACTION)))
    return {
        "domain": world.name,
        "files": list(world.files),
        "remarks": list(world.remarks),
        "learner": learned.learner.name,
        "seed": learned.seed,
        "traces": len(train),
        "attempts": attempts,
        "refused": refused,
        "test_traces": len(test),
        "test_starts": starts,
        "test_starts_new": fresh,
        "test_accuracy": learned.figures.test_accuracy,
        "certain_share": learned.figures.certain_share,
        "learning_seconds": learned.figures.train_seconds,
        "seconds": seconds,
        **report.record(),
    }
