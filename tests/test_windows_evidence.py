"""How sure each precondition and effect is: what is called certain against all models, by enumeration."""

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from conftest import Run

import trace2strips as t2s
import windows_theorems
from trace2strips.learners.learner import Learned
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.evidence import Bit, certain_bits
from trace2strips.learners.windows.lifted import LiftedWorld, lift
from trace2strips.learners.windows.lifted_learner import lifted_of
from trace2strips.learners.windows.predicates import Search
from trace2strips.learners.windows.simulation import simulate
from trace2strips.learners.windows.summary import summarise
from trace2strips.traces import Dataset
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample
from windows_theorems import NAMING, Attempted, BruteForce


def has_every_model(brute: BruteForce, log: list[Attempted], lifted: LiftedWorld, bit: Bit) -> bool:
    """Whether for some action that asks the predicate no model explains the log unless it asks an atom over the same
    objects of which the bit is true."""
    part, number, k = bit
    action = lifted.actions[number]
    predicate, places = getattr(action, part)[k]
    schemas = brute.projection.schemas
    for asking in lifted.actions if part != "pre" else (action,):
        schema = schemas.index(asking.schema)
        for other, asked in asking.pre:
            if other != predicate or (part == "pre" and asked != places):
                continue
            positions = tuple(sorted(asked))
            possible, width = 0, 0
            for query in brute.projection.queries:
                if query[0] != schema:
                    continue
                atoms = brute.atoms[len(query[1])]
                for i, (signs, _) in enumerate(atoms):
                    there = query[1] == positions
                    if there and part != "pre":
                        token = tuple(places[asked.index(p)] for p in positions)
                        sign = signs[brute.projection.bit[len(positions)][schemas.index(action.schema), token]]
                        there = sign == (1 if part == "add" else -1)
                    possible |= (not there) << (width + i)
                width += len(atoms)
            masks = [(brute.false_atoms(*x.action, x.steps, x.told), x.worked) for x in log if x.action[0] == schema]
            for mask, worked in masks:
                possible &= ~mask if worked else -1
            if not all(mask & possible for mask, worked in masks if not worked):
                return True
    return False


@pytest.mark.parametrize("world", windows_theorems.WORLDS)
def test_what_is_certain_is_in_every_model(world: str) -> None:
    brute, rng = BruteForce(world), random.Random(f"{world} 2")
    seen = dict.fromkeys(("pre", "add", "delete"), 0)
    for _ in range(150):
        log = windows_theorems.random_log(rng, brute)
        dataset = windows_theorems.as_dataset(brute, log)
        found = collect_windows(dataset, encode(dataset, NAMING, brute.projection.arity, brute.projection))
        summary = replace(summarise(found, dataset.vocabulary), naming=NAMING)
        lifted = lift(Search(summary).run(), summary.projection, summary.types, NAMING)
        bits = certain_bits(lifted, summary)
        for bit in bits:
            assert has_every_model(brute, log, lifted, bit), (bit, log)
            seen[bit[0]] += 1
        assert not (summary.inexplicable and bits)
        assert not certain_bits(lifted, replace(summary, wrong_labels=1))
    assert all(seen.values()), seen


@pytest.fixture(scope="module")
def blocks() -> Learned:
    return t2s.learn(sample(get_domain("blocksworld-5b"), SampleSettings(20, 50, suffix="none")), "windows")


def test_labels_are_those_that_the_model_without_it_gets_wrong(blocks: Learned) -> None:
    """By taking each bit away from the model itself."""
    lifted = lifted_of(blocks)
    dataset = Dataset.of([sampled.trace for sampled in blocks.summary.sample])
    right = simulate(lifted, dataset)[1] == dataset.inapplicable
    expected = []
    for n, action in enumerate(lifted.actions):
        for part in ("pre", "add", "delete"):
            for k in range(len(getattr(action, part))):
                less = replace(action, **{part: tuple(p for i, p in enumerate(getattr(action, part)) if i != k)})
                world = replace(lifted, actions=(*lifted.actions[:n], less, *lifted.actions[n + 1 :]))
                expected.append(int((right & (simulate(world, dataset)[1] != dataset.inapplicable)).sum()))
    assert [one.labels for one in blocks.support] == expected
    levels = {one.level for one in blocks.support}
    assert levels == {"certain", "likely", "free"}
    assert all((one.level == "free") <= (one.labels == 0) for one in blocks.support)
    assert all(one.places for one in blocks.support if one.level != "free")


def test_more_traces_keep_what_is_certain() -> None:
    """By the names of told atoms, which both models have; and the textbook's hand is certain."""
    log = sample(get_domain("blocksworld-5b"), SampleSettings(300, 50, suffix="none"))
    few, many = (
        {(x.action, x.part, x.atom): x.level for x in t2s.learn(part, "windows").support}
        for part in (Dataset.of([log[i] for i in range(60)]), log)
    )
    certain = {bit for bit, level in few.items() if level == "certain"}
    assert len(certain) > 10
    assert all(many[bit] == "certain" for bit in certain & many.keys())
    for action in ("pick-up ?x", "unstack ?x ?y"):
        assert many[action, "needs", "(handempty)"] == "certain"
    assert many["stack ?x ?y", "adds", "(handempty)"] == "certain"


def test_run_folders_tell_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "door.txt").write_text("open !open close !close open\n!close open close\n")
    made = run("learn", "door.txt", "--out", "run", "--learner", "windows")
    line = next(line for line in made.stdout.splitlines() if line.startswith("preconditions and effects"))
    rows = json.loads((tmp_path / "run" / "model.json").read_text())["support"]
    counts = [sum(row["level"] == level for row in rows) for level in ("certain", "likely", "free")]
    assert sum(counts) == len(rows) > 0
    assert f"{counts[0]} certain, {counts[1]} likely, {counts[2]} free" in line
    text = (tmp_path / "run" / "support.txt").read_text().splitlines()
    told = [row for row in text if row and not row.startswith("#")]
    assert len(told) == len(rows)
    assert any(
        row.split()[:2] == ["open", "needs"] and "certain" in row and "door.txt:1, attempt 2" in row for row in told
    )
    loaded = t2s.load(tmp_path / "run")
    assert [one.level for one in loaded.support] == [row["level"] for row in rows]
    assert t2s.learn([[("a", True), ("a", False)]], "completion").support == ()


def test_what_is_assumed_of_actions_with_more_objects_is_said() -> None:
    """Conditions about two objects are an assumption where an action has three; where it has two they are none."""
    for objects, said in (("a, b", False), ("a, b, c", True)):
        log = [[(f"use({objects})", True), (f"use({objects})", False)]]
        sentence = t2s.learn(log, "windows").figures.assumptions[1]
        assert sentence.startswith("a condition is about at most 2 objects")
        assert ("(use has 3: a larger --arity assumes less)" in sentence) == said
