"""How long runs will take and how much disk they need, from the runs that were measured already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean

from trace2strips.experiments.datasets import samples
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


@dataclass(frozen=True)
class Cost:
    """Seconds of learning, and of all the rest: sampling, testing, planning, comparing."""

    learning: float
    rest: float

    @property
    def seconds(self) -> float:
        return self.learning + self.rest


# where no run of the kind was measured: blocksworld-8b, preset fast, two cores; the decoders' is a guess
STRIPS = Cost(20.0, 20.0)
DECODER = Cost(900.0, 300.0)
RUN_BYTES = 600_000  # of a run's folder
SAMPLED = 256  # traces from which the size of a dataset is told


def estimate(run: Run, rows: Mapping[Run, Row]) -> Cost:
    """Of the run that was measured and is most alike (mean over those that are equally alike), scaled by steps and
    traces. Only a decoder is like a decoder."""
    known = [other for other in rows if other.is_decoder == run.is_decoder]
    if not known:
        default = Run("blocksworld-8b", learner=run.learner)
        return scaled(DECODER if run.is_decoder else STRIPS, default, run)
    nearest = max(likeness(run, other) for other in known)
    costs = [
        scaled(cost(rows[other]), other, run, rows[other].steps if other.is_decoder else None)
        for other in known
        if likeness(run, other) == nearest
    ]
    return Cost(mean(c.learning for c in costs), mean(c.rest for c in costs))


def likeness(a: Run, b: Run) -> tuple[bool, ...]:
    """What matters most comes first."""
    names = ("domain", "traces", "encoding", "suffix", "settings", "test_traces")
    preset = a.settings.get("preset") == b.settings.get("preset")
    return (preset, a.learner == b.learner, *(getattr(a, name) == getattr(b, name) for name in names))


def cost(row: Row) -> Cost:
    """What a run took of a whole machine: one that was given half of the cores left the others to another run. One that
    was cut off and went on has measured the learning of its last session only, but knows how long it trained in all."""
    laps = row.seconds
    if laps is None:  # measured before all parts were timed
        return Cost(row.train_seconds, STRIPS.rest)
    learning = max(laps.get("learning", 0.0), row.train_seconds + (row.probing_seconds or 0.0))
    rest = sum(laps.values()) - laps.get("learning", 0.0)
    machine = row.machine
    share = min(1.0, machine.threads / machine.cores) if machine and machine.threads else 1.0
    return Cost(share * learning, share * rest)


def scaled(known: Cost, measured: Run, run: Run, taken: int | None = None) -> Cost:
    """Learning takes as long as there are steps or, in completion, traces; the rest goes with the test traces.

    A decoder has `taken` exactly the steps that its preset wanted at that time, which may want others by now, but for
    `sb`, which may have stopped early, and others like it will; how many traces they are drawn from matters little.
    """
    known_steps = taken or wanted_steps(measured)
    if taken and measured.learner == "sb":
        known_steps = max(taken, wanted_steps(measured))
    longer = wanted_steps(run) / known_steps if known_steps else 1.0
    if not run.is_decoder:
        longer = max(longer, run.traces / measured.traces)
    return Cost(known.learning * longer, known.rest * run.test_traces / measured.test_traces)


def wanted_steps(run: Run) -> int:
    return run.make_learner().steps_for(len(get_domain(run.domain).reachable_actions))


def dataset_bytes(runs: Sequence[Run]) -> int:
    """The most that is on disk at a time when datasets are removed as soon as no run needs them any more."""
    last: dict[tuple[str, SampleSettings], int] = {}
    for number, run in enumerate(runs):
        last |= {(run.domain, settings): number for settings in samples(run)}
    here: dict[tuple[str, SampleSettings], int] = {}
    most = 0
    for number, run in enumerate(runs):
        here |= {(run.domain, settings): size_of(run.domain, settings) for settings in samples(run)}
        most = max(most, sum(here.values()))
        here = {name: size for name, size in here.items() if last[name] > number}
    return most


@cache
def size_of(domain: str, settings: SampleSettings) -> int:
    few = sample(get_domain(domain), replace(settings, traces=min(SAMPLED, settings.traces)))
    position = few.tokens.itemsize + few.inapplicable.itemsize
    return round((len(few.tokens) * position / len(few) + few.offsets.itemsize) * settings.traces)
