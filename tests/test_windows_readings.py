"""Logs that say too little, without a wrong label: constants of any type, maps that nobody told; and logs with both
labels wrong and atoms told, which neither excuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import trace2strips as t2s
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.constants import explaining_constants
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.start_groups import Homes, group_starts
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset
from trace2strips.traces.names import understand
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

Facts = set[tuple[str, ...]]
Attempt = Callable[[Facts, np.random.Generator], tuple[tuple[str, ...], Facts, Facts, Facts]]


def played(attempt: Attempt, start: Facts, traces: int, untold: str = "", steps: int = 30) -> Dataset:
    """Attempts at random: an action with what it needs, adds and deletes. A trace begins after steps that nobody saw,
    and tells what holds then, but for the facts `untold`."""
    rng = np.random.default_rng(0)

    def trace() -> Trace:
        facts = set(start)
        for _ in range(int(rng.integers(steps))):
            step(facts)
        init = frozenset(call(fact) for fact in facts if fact[0] != untold)
        attempts = [step(facts) for _ in range(steps)]
        return Trace(tuple(name for name, _ in attempts), tuple(ok for _, ok in attempts), init)

    def step(facts: Facts) -> tuple[str, bool]:
        action, needs, adds, deletes = attempt(facts, rng)
        works = needs <= facts
        if works:
            facts -= deletes
            facts |= adds
        return call(action), works

    return Dataset.of([trace() for _ in range(traces)])


def call(words: tuple[str, ...]) -> str:
    return f"{words[0]}({', '.join(words[1:])})" if len(words) > 1 else words[0]


def gate(_: Facts, rng: np.random.Generator) -> tuple[tuple[str, ...], Facts, Facts, Facts]:
    """Lamps are lit and put out one by one; a door opens while the red one is lit, and slamming it puts that out. All
    lamps are arguments of other actions, and no action on a door names one."""
    lamp = ("red", "green", "blue")[rng.integers(3)]
    door = f"d{rng.integers(3)}"
    match rng.integers(5):
        case 0:
            return ("light", lamp), {("dark", lamp)}, {("lit", lamp)}, {("dark", lamp)}
        case 1:
            return ("quench", lamp), {("lit", lamp)}, {("dark", lamp)}, {("lit", lamp)}
        case 2:
            return ("open", door), {("closed", door), ("lit", "red")}, {("wide", door)}, {("closed", door)}
        case 3:
            return ("close", door), {("wide", door)}, {("closed", door)}, {("wide", door)}
    needs = {("wide", door), ("lit", "red")}
    return ("slam", door), needs, {("closed", door), ("dark", "red")}, {("wide", door), ("lit", "red")}


GATE: Facts = {("dark", lamp) for lamp in ("red", "green", "blue")} | {("closed", f"d{i}") for i in range(3)}


def desk(_: Facts, rng: np.random.Generator) -> tuple[tuple[str, ...], Facts, Facts, Facts]:
    """Folders are taken out and put back; filing one needs `master`, which is a folder itself, and puts that back."""
    folder = ("master", "mine", "yours")[rng.integers(3)]
    match rng.integers(3):
        case 0:
            return ("take", folder), {("in", folder)}, {("out", folder)}, {("in", folder)}
        case 1:
            return ("put", folder), {("out", folder)}, {("in", folder)}, {("out", folder)}
    return ("file", folder), {("out", folder), ("out", "master")}, {("in", "master")}, {("out", "master")}


DESK: Facts = {("in", folder) for folder in ("master", "mine", "yours")}


def stairs(facts: Facts, rng: np.random.Generator) -> tuple[tuple[str, ...], Facts, Facts, Facts]:
    """Cats go from step to step, and nobody tells which step is above which; forbidden ways are tried."""
    cat = f"cat{rng.integers(2)}"
    here = next(where for name, *found in facts if name == "at" and found[0] == cat for where in found[1:])
    there = f"s{rng.integers(4)}"
    if rng.random() < 0.3:
        here = f"s{rng.integers(4)}"
    needs: Facts = {("at", cat, here), ("above", there, here)}
    return (
        ("climb" if rng.random() < 0.5 else "leap", cat, here, there),
        needs,
        {("at", cat, there)},
        {("at", cat, here)},
    )


STAIRS: Facts = {("above", f"s{(i + 1) % 4}", f"s{i}") for i in range(4)} | {("at", "cat0", "s0"), ("at", "cat1", "s2")}


def flipped(dataset: Dataset, count: int) -> Dataset:
    labels = dataset.inapplicable.copy()
    attempts = np.flatnonzero(dataset.vocabulary.kinds[dataset.tokens] >= ACTION)
    labels[np.random.default_rng(1).choice(attempts, count, replace=False)] ^= True
    return replace(dataset, inapplicable=labels)


@pytest.mark.parametrize(
    ("attempt", "start", "constants"),
    [(gate, GATE, (("open", "red"), ("slam", "red"))), (desk, DESK, (("file", "master"),))],
)
def test_constants_that_are_arguments_elsewhere_are_no_wrong_labels(
    attempt: Attempt, start: Facts, constants: tuple[tuple[str, ...], ...]
) -> None:
    """`slam` changes what other actions are refused for; `master` is an argument of `file` itself at times."""
    learned = t2s.learn(played(attempt, start, 60), "windows")
    assert learned.lifted.naming.constants == constants
    assert not learned.figures.wrong_labels
    assert learned.figures.train_accuracy == 1
    assert learned.figures.certain_share == 0  # they are a guess


def test_a_map_that_nobody_told_is_no_wrong_label() -> None:
    learned = t2s.learn(played(stairs, STAIRS, 60, untold="above"), "windows")
    assert learned.figures.start == StartLevel.OBJECTS
    assert not learned.figures.wrong_labels
    assert learned.figures.train_accuracy == 1
    assert learned.figures.certain_share > 0


@pytest.mark.parametrize(("name", "wrong"), [("ferry:3x3", 1), ("ferry:3x3", 20), ("blocksworld:4", 1)])
def test_neither_constants_nor_maps_excuse_wrong_labels(name: str, wrong: int) -> None:
    dataset = flipped(sample(get_domain(name), SampleSettings(60, 40, suffix="none")), wrong)
    learned = t2s.learn(dataset, "windows")
    assert learned.figures.start == StartLevel.SAME
    assert not learned.lifted.naming.constants
    assert wrong <= learned.figures.wrong_labels <= wrong + 1


def test_a_constant_makes_nothing_inexplicable() -> None:
    """So only what nothing explains is looked at again."""
    dataset = flipped(played(desk, DESK, 15), 5)
    naming = understand(dataset.vocabulary.actions)

    def left(*pairs: tuple[str, str]) -> set[int]:
        encoding = encode(dataset, naming.with_constants(pairs), 2)
        return set(collect_windows(dataset, encoding).inexplicable_places().tolist())

    before = left()
    assert len(before) > 5
    for schema in ("take", "put", "file"):
        for folder in ("master", "mine", "yours"):
            assert left((schema, folder)) <= before


def test_constants_must_cost_less_than_wrong_labels() -> None:
    dataset = played(gate, GATE, 60)
    naming = understand(dataset.vocabulary.actions)
    found = explaining_constants(dataset, naming, 2, StartLevel.SAME, 100.0)
    assert found is not None
    assert explaining_constants(dataset, naming, 2, StartLevel.SAME, found.nats - 1) is None


@pytest.mark.parametrize("domain", ["blocksworld:3", "ferry:2x2"])
def test_traces_that_start_alike_are_found_without_asking_all_of_them_again(
    domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same groups as when every trace is asked of every group each time."""
    sampled = sample(get_domain(domain), SampleSettings(120, 30, init="states:3", suffix="none", seed=5))
    untold = Dataset.of([Trace(trace.actions, trace.ok) for trace in sampled])
    encoding = encode(untold, understand(untold.vocabulary.actions), 2)
    found = collect_windows(untold, encoding, StartLevel.OWN)
    quick = group_starts(found, untold)
    monkeypatch.setattr(Homes, "fits", lambda self, trace, number: self.groups[number].fits(self.singles[trace]))
    assert group_starts(found, untold) == quick
    assert quick is not None
    assert 1 < len(quick) < 10
