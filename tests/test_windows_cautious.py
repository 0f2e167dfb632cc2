"""The cautious bound: a STRIPS model that accepts what is certain, no more and no less; and plans in it."""

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import windows_theorems
from trace2strips.learners.windows.answers import Answer
from trace2strips.learners.windows.cautious import Cautious, transversals
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.proofs import prove
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import summarise
from trace2strips.traces import Dataset, Trace


def test_transversals_are_the_minimal_sets_that_meet_all_windows() -> None:
    rng = random.Random(0)
    assert transversals([]) == (0,)
    assert transversals([0, 3]) == ()
    for _ in range(300):
        windows = [rng.randrange(1, 64) for _ in range(rng.randrange(5))]
        meeting = [s for s in range(64) if all(s & w for w in windows)]
        expected = {s for s in meeting if not any(t != s and t & ~s == 0 for t in meeting)}
        assert set(transversals(windows)) == expected
        for most in (1, 2, 3):  # more cautious: whatever meets these sets contains a window
            few = transversals(windows, most)
            for seen in range(64):
                if windows and all(seen & s for s in few):
                    assert any(w & ~seen == 0 for w in windows)


def logs_and_histories(world: str, count: int) -> list[tuple[Dataset, Dataset]]:
    brute, rng = windows_theorems.BruteForce(world), random.Random(world)
    found = []
    for _ in range(count):
        log, other = (windows_theorems.as_dataset(brute, windows_theorems.random_log(rng, brute)) for _ in range(2))
        found.append((log, other))
    return found


def untold(dataset: Dataset) -> Dataset:
    """The same with starts that have names, or none."""
    traces = [replace(t, init=None, state=None if i % 2 else f"s{len(t.init or ())}") for i, t in enumerate(dataset)]
    return Dataset.of(traces)


@pytest.mark.parametrize("level", StartLevel)
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("world", windows_theorems.WORLDS)
def test_the_bound_accepts_what_is_certain(world: str, told: bool, level: StartLevel) -> None:
    """After random histories, certain or not, of the log's objects."""
    brute = windows_theorems.BruteForce(world)
    naming = windows_theorems.NAMING
    actions = [
        naming.join((name, *(objects[i] for i in pattern)))
        for name, pattern in brute.projection.schemas
        for objects in windows_theorems.distinct(brute.objects, max(pattern, default=-1) + 1)
    ]
    seen = {True: 0, False: 0}
    for log, other in logs_and_histories(world, 60):
        known, asked = (log, other) if told else (untold(log), untold(other))
        collected = collect_windows(known, encode(known, naming, brute.projection.arity, brute.projection), level)
        summary = replace(summarise(collected, known.vocabulary, level), naming=naming).without_own_starts()
        for trace in asked:
            model, start = Cautious(summary, actions, Trace((), (), trace.init, trace.state)).model()
            worked = [name for name, ok in zip(trace.actions, trace.ok, strict=True) if ok]
            state = start
            for i in range(len(worked) + 1):
                before = Trace(tuple(worked[:i]), (True,) * i, trace.init, trace.state)
                for name in actions:
                    certain = prove(summary, naming, before, name).answer == Answer.WORKS
                    assert model.action(name).applicable(state) == certain
                    assert not (certain and summary.inexplicable)
                    seen[certain] += 1
                if i < len(worked):
                    state = model.action(worked[i]).progress(state)
    assert seen[False] > 100
    assert seen[True] > 50 or level == StartLevel.OWN
