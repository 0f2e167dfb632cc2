"""What domains from outside showed to be wrong in learner `windows` (docs/outside.md)."""

from __future__ import annotations

import numpy as np
import pytest

import trace2strips as t2s
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.simulation import simulate
from trace2strips.pddl import parse_domain
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming
from trace2strips.traces.trace import Trace


def walk(rng: np.random.Generator, cars: int, steps: int) -> Trace:
    """park(x, y) puts a free car behind a car, also behind itself; leave(x, y) takes it away from there."""
    names = [f"c{i}" for i in range(cars)]
    behind = {x: names[rng.integers(cars)] for x in names if rng.random() < 0.5}
    init = frozenset(f"behind({x}, {y})" for x, y in behind.items()) | {f"free({x})" for x in names if x not in behind}
    actions, ok = [], []
    for _ in range(steps):
        x, y = (names[i] for i in rng.integers(cars, size=2))
        if behind and rng.random() < 0.4:
            x, y = list(behind.items())[rng.integers(len(behind))]
        parks = rng.random() < 0.5
        works = x not in behind if parks else behind.get(x) == y
        if works and parks:
            behind[x] = y
        elif works:
            del behind[x]
        actions.append(f"{'park' if parks else 'leave'}({x}, {y})")
        ok.append(works)
    return Trace(tuple(actions), tuple(ok), init)


def test_an_atom_is_told_that_has_one_object_twice() -> None:
    rng = np.random.default_rng(1)
    learned = t2s.learn(Dataset.of([walk(rng, 3, 30) for _ in range(100)]), "windows")
    assert learned.figures.train_accuracy == 1
    larger = Dataset.of([walk(rng, 6, 60) for _ in range(200)])
    lifted = learned.lifted
    assert isinstance(lifted, LiftedWorld)
    assert (simulate(lifted, larger)[1] == larger.inapplicable).all()
    same = next(p for p in lifted.predicates if p.name == "behind-same")
    assert same.tells == ("behind", (0, 0))
    assert same.told_of(["c1"]) == ("behind", "c1", "c1")
    assert LiftedWorld.from_json(lifted.to_json()) == lifted
    reply = {str(r).split(":")[0]: str(r) for r in learned.next(Trace((), (), frozenset({"behind(c1, c1)"})))}
    assert "works" in reply["leave(c1, c1)"]


def test_a_place_of_an_action_has_one_type_whether_or_not_objects_are_the_same() -> None:
    """Levels of fuel: `drive(t, l2, l1, l3)` and `drive(t, l1, l1, l2)` say that all are of one kind."""
    log = [
        [("drive(t, l2, l1, l3)", True), ("drive(t, l1, l1, l2)", True), ("drive(t, l1, l1, l2)", False)],
        [("drive(t, l1, l1, l2)", False), ("drive(t, l2, l1, l3)", True), ("load(p, t)", True)],
    ]
    domain = t2s.learn(log, "windows").lifted.domain()
    names = [name for name, _ in domain.types]
    assert len(names) == len(set(names)) == 3
    drive = next(schema for schema in domain.schemas if schema.name == "drive")
    assert len({kind for _, kind in drive.parameters[1:]}) == 1
    parse_domain(t2s.learn(log, "windows").lifted.pddl())


def kitchen(rng: np.random.Generator, places: int, plates: int, steps: int) -> Trace:
    """fill(plate, cook) works where the trolley of that plate is in the kitchen, which it does not name."""
    rooms = ["kitchen", *(f"table{i}" for i in range(places))]
    at = {f"p{i}": rooms[rng.integers(len(rooms))] for i in range(plates)}
    init = frozenset(f"at({x}, {y})" for x, y in at.items())
    actions, ok = [], []
    for _ in range(steps):
        plate = f"p{rng.integers(plates)}"
        one, other = (rooms[i] for i in rng.integers(len(rooms), size=2))
        if rng.random() < 0.5:
            one = at[plate]
        if rng.random() < 0.3:
            actions.append(f"fill({plate}, cook{rng.integers(9)})")
            ok.append(at[plate] == "kitchen")
        elif one != other:
            actions.append(f"move({plate}, {one}, {other})")
            ok.append(at[plate] == one)
            at[plate] = other if ok[-1] else at[plate]
    return Trace(tuple(actions), tuple(ok), init)


def test_a_constant_that_explains_all_is_found_without_looking_for_models(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> Naming:
        raise AssertionError("models are looked for")

    monkeypatch.setattr("trace2strips.learners.windows.reading.find_constants", slow)
    rng = np.random.default_rng(1)
    learned = t2s.learn(Dataset.of([kitchen(rng, 4, 3, 40) for _ in range(60)]), "windows")
    assert learned.lifted.naming.constants == (("fill", "kitchen"),)
    assert not learned.figures.wrong_labels
    larger = Dataset.of([kitchen(rng, 7, 5, 60) for _ in range(100)])
    assert (simulate(learned.lifted, larger)[1] == larger.inapplicable).all()
