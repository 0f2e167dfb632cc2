"""One contract for all learners of the registry, on a door whose names are hard: spaces, quotes, signs, Greek.

A decoder is trained for two steps only: what it predicts is nonsense, and the same nonsense wherever the contract asks.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from trace2strips.errors import TraceError, UserError
from trace2strips.learners.learner import Learned, Learner
from trace2strips.learners.learning import learn, load
from trace2strips.learners.registry import LEARNERS, make_learner, settings_of
from trace2strips.pddl import parse_model
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.traces.reading import as_dataset

OPEN, SHUT, KNOCK = "open (the) door", 'shut "it"; now', "κνοκ/50%!"
CLOSED, AJAR = "is-closed? yes", "ajar.1"
IN, OUT = frozenset({CLOSED}), frozenset({AJAR})


def trace(start: frozenset[str], *steps: tuple[str, bool], ends: frozenset[str]) -> Trace:
    actions, ok = zip(*steps, strict=True)
    return Trace(actions, ok, start, final={atom: atom in ends for atom in (CLOSED, AJAR)})


DOOR = [  # only a closed door can be opened or knocked at, only one ajar can be shut
    trace(IN, (OPEN, True), (OPEN, False), (SHUT, True), (KNOCK, True), ends=IN),
    trace(IN, (SHUT, False), (KNOCK, True), (OPEN, True), (KNOCK, False), ends=OUT),
    trace(OUT, (OPEN, False), (SHUT, True), (SHUT, False), (OPEN, True), ends=OUT),
    trace(OUT, (KNOCK, False), (SHUT, True), ends=IN),
    trace(IN, (KNOCK, True), (KNOCK, True), ends=IN),
    trace(IN, (OPEN, True), (SHUT, True), (OPEN, True), ends=OUT),
    trace(OUT, (SHUT, True), (SHUT, False), (KNOCK, True), (OPEN, True), ends=OUT),
]
EXACT = ("completion", "strips+completion")  # find the door whatever the training
every_learner = pytest.mark.parametrize("name", LEARNERS)


def make(name: str) -> Learner:
    return make_learner(name, {"steps": 2} if "steps" in settings_of(name) else {})


@cache
def learned(name: str) -> Learned:
    return learn(DOOR, make(name), seed=3)


def wrong(found: Learned, traces: list[Trace]) -> np.ndarray:
    return found.predictor.wrong_traces(as_dataset(traces))


@every_learner
def test_a_name_is_that_of_its_class(name: str) -> None:
    assert (make(name).name, learned(name).learner) == (name, make(name))
    with pytest.raises(UserError, match=r"has no setting 'nerve' \(hint: it has "):
        make_learner(name, {"nerve": 1})


@pytest.mark.parametrize("name", EXACT)
def test_the_door_is_found(name: str) -> None:
    assert learned(name).accuracy(DOOR) == 1.0
    assert learned(name).model.action(OPEN).pre == IN


@every_learner
def test_same_seed_same_bytes(name: str, tmp_path: Path) -> None:
    learned(name).save(tmp_path / "first")
    learn(DOOR, make(name), seed=3).save(tmp_path / "second")
    files = {path.name for path in (tmp_path / "first").iterdir()} - {"metrics.json"}  # which holds seconds
    assert {"model.json", "model.pddl", "settings.json"} <= files
    for file in files:
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes(), file
    other = learn(DOOR, make(name), seed=4)
    if other.weights is not None:
        assert any((array != (learned(name).weights or {})[key]).any() for key, array in other.weights.items())


@every_learner
def test_what_is_saved_is_what_is_loaded(name: str, tmp_path: Path) -> None:
    found = learned(name)
    found.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.world == found.world
    assert (again.learner, again.seed, again.figures) == (found.learner, found.seed, found.figures)
    assert (wrong(again, DOOR) == wrong(found, DOOR)).all()
    assert again.settings == found.settings
    again.save(tmp_path / "again")
    for file in ("model.json", "metrics.json", "model.pddl"):
        assert (tmp_path / "run" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


@every_learner
def test_names_survive(name: str, tmp_path: Path) -> None:
    found = learned(name)
    found.save(tmp_path / "run")
    for model in (
        load(tmp_path / "run").model,
        parse_model(found.pddl()),
        parse_model((tmp_path / "run" / "model.pddl").read_text()),
    ):
        assert model == found.model
        assert {action.name for action in model.actions} == {OPEN, SHUT, KNOCK}


@every_learner
def test_unknown_names_are_told_before_the_work(name: str) -> None:
    stages: list[str] = []
    for unknown, message in (
        (Trace(("fly",), (True,), IN), "unknown action 'fly'"),
        (Trace((OPEN,), (True,), state="nowhere"), "unknown initial state 'nowhere'"),
        (Trace((OPEN,), (True,)), "a trace does not tell its initial state"),
        (Trace((OPEN,), (True,), IN, final={"blue": True}), "unknown atom 'blue'"),
    ):
        with pytest.raises(TraceError, match=message):
            learned(name).accuracy([*DOOR, unknown])
        with pytest.raises(TraceError, match=message):
            learned(name).tested_on([unknown])
        with pytest.raises(TraceError, match=message):
            learn(DOOR, make(name), test=[unknown], watch=lambda stage, _: stages.append(stage))
    assert stages == []
    told_more = [replace(one, init=(one.init or frozenset()) | {"it rains"}) for one in DOOR]
    assert (wrong(learned(name), told_more) == wrong(learned(name), DOOR)).all()  # an initial atom more changes nothing


TINY = {
    "one action": [trace(IN, (OPEN, True), ends=OUT)],
    "one trace": [trace(OUT, (OPEN, False), (SHUT, True), ends=IN)],
    "only refusals": [trace(OUT, (OPEN, False), (OPEN, False), (KNOCK, False), ends=OUT)],
    "only successes": [trace(IN, (OPEN, True), (SHUT, True), ends=IN)],
    "a trace without an action": [Trace((), (), IN, final={CLOSED: True}), trace(IN, (OPEN, True), ends=OUT)],
}


@every_learner
@pytest.mark.parametrize("log", TINY)
def test_tiny_logs(name: str, log: str, tmp_path: Path) -> None:
    found = learn(TINY[log], make(name))
    assert found.figures.traces == len(TINY[log])
    found.save(tmp_path / "run")
    assert load(tmp_path / "run").errors(TINY[log]) == found.errors(TINY[log])
    if name in EXACT:
        assert found.accuracy(TINY[log]) == 1.0
        said = " ".join(found.figures.warnings)
        assert ("no action ever worked" in said) == (log == "only refusals")
        assert ("no action was ever refused" in said) == (log not in ("only refusals", "one trace"))


@every_learner
def test_traces_without_any_action_are_refused(name: str) -> None:
    for traces in ([Trace((), (), IN, final={CLOSED: True})], []):
        with pytest.raises(TraceError, match="there is no action in the traces"):
            make(name).check(as_dataset(traces))
        with pytest.raises(TraceError, match="there is no action in the traces"):
            learn(traces, make(name))


@every_learner
@pytest.mark.parametrize("place", [0, 1, -1])
def test_one_flipped_label_does_no_harm(name: str, place: int) -> None:
    ok = list(DOOR[0].ok)
    ok[place] = not ok[place]
    log = [replace(DOOR[0], ok=tuple(ok)), *DOOR * 3]
    found = learn(log, make(name))
    assert found.figures.contradictions > 0
    assert found.figures.first_contradiction is not None
    assert found.figures.first_contradiction.action == DOOR[0].actions[place]
    assert 0 <= found.accuracy(DOOR) <= 1
    if name in EXACT and place == -1:  # a wrong refusal costs its own trace; a wrong success may cost a precondition
        assert wrong(found, log).tolist() == [True, *[False] * (len(log) - 1)]


BAD_SETTING = {
    name: (("door.jsonl", "--arity", 9), "atoms about 9 objects") for name in LEARNERS if "arity" in settings_of(name)
}


@every_learner
def test_check_refuses_before_anything_is_written(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" | | lit\n")
    write_traces(Dataset.of(DOOR), tmp_path / "door.jsonl")
    for words, message in (
        (("empty.txt",), "empty.txt: there is no action in the traces"),
        (
            ("door.jsonl", "--test", "empty.txt"),
            "empty.txt: a trace does not tell its initial state, as all do that were",
        ),
        (("door.jsonl", "--seed", -1), "the seed -1 is out of range"),
        BAD_SETTING.get(name, (("door.jsonl", "--heads", 0), "0 heads")),
    ):
        result = run("learn", *words, "--out", "run", "--learner", name)
        assert (result.returncode, result.stdout) == (2, ""), result
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"empty.txt", "door.jsonl"}


# --- a decoder's network alone ----------------------------------------------------------------------------------------

DECODERS = [name for name in LEARNERS if "network_only" in settings_of(name)]
TOLD_NOTHING = [replace(one, final={}) for one in DOOR]


@pytest.mark.parametrize("name", DECODERS)
def test_without_final_values_there_is_a_network_alone(name: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"from which {name} learns what the atoms are .hint: --network-only"):
        make(name).check(as_dataset(TOLD_NOTHING))
    found = learn(TOLD_NOTHING, make_learner(name, {"steps": 2, "network_only": True}))
    assert (found.world, found.figures.atoms) == (None, None)
    found.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert (wrong(again, TOLD_NOTHING) == wrong(found, TOLD_NOTHING)).all()
    assert str(again).splitlines()[1:] == ["a network alone, no model"]
    asked: list[Callable[[], object]] = [again.pddl, again.start, lambda: again.model, lambda: again.plan(CLOSED)]
    for ask in asked:
        with pytest.raises(UserError, match="no model was learned, only a network"):
            ask()


def test_commands_on_a_network_alone(run: Run, tmp_path: Path) -> None:
    """`evaluate` tells its accuracy; what needs a model says in one line that there is none."""
    write_traces(Dataset.of(TOLD_NOTHING), tmp_path / "door.jsonl")
    words = ("learn", "door.jsonl", "--out", "run", "--learner", "sinusoidal", "--steps", 2)
    refused = run(*words)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "door.jsonl: the traces tell no final values" in refused.stderr
    assert "--network-only learns the network" in refused.stderr
    assert not (tmp_path / "run").exists()
    made = run(*words, "--network-only")
    assert made.returncode == 0, made.stderr
    assert "a network alone, no model" in made.stdout
    assert not (tmp_path / "run" / "model.pddl").exists()
    shown = run("evaluate", "run", "--test", "door.jsonl")
    assert (shown.returncode, shown.stderr) == (0, "no planning: a network alone is no model to plan with\n")
    assert "test accuracy 0." in shown.stdout
    assert run("evaluate", "run", "--test", "door.jsonl", "--domain", "ferry-5c", "--json").returncode == 0
    for command in (
        ("plan", "run", "--goal", "x"),
        ("compare", "run", "ferry-5c"),
        ("brasp", "run"),
        ("evaluate", "run", "--world", "--domain", "ferry-5c"),
    ):
        result = run(*command)
        assert (result.returncode, result.stdout) == (2, ""), command
        assert result.stderr.startswith("trace2strips: run: no model was learned, only a network (hint: ")
        assert result.stderr.count("\n") == 1
    grounded = run("ground", "run")
    assert (grounded.returncode, grounded.stderr.count("\n")) == (2, 1)
    assert "run: is a folder, not a domain" in grounded.stderr


# --- settings as options ----------------------------------------------------------------------------------------------


@every_learner
def test_every_setting_is_an_option(name: str, run: Run) -> None:
    shown = run("learn", "--help").stdout
    for setting in settings_of(name):
        assert f"--{setting.replace('_', '-')} " in shown


def test_settings_of_another_learner_are_refused_with_what_there_is(run: Run, tmp_path: Path) -> None:
    write_traces(Dataset.of(DOOR), tmp_path / "door.jsonl")
    for words, message in (
        (("completion", "--steps", 5), "learner 'completion' has no setting 'steps' (hint: it has heads)"),
        (("completion", "--network-only"), "learner 'completion' has no setting 'network_only' (hint: it has heads)"),
        (("strips+completion", "--preset", "fast"), "has no setting 'preset' (hint: it has form, heads, steps)"),
        (("sb", "--form", "factored"), "has no setting 'form' (hint: it has preset, heads, steps, network_only)"),
        (("rope", "--rate", 0.1), "learner 'rope' has no setting 'rate'"),
        (("sbb",), "unknown learner 'sbb' (hint: did you mean 'sb'?)"),
    ):
        result = run("learn", "door.jsonl", "--out", "run", "--learner", *words)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1)
        assert message in result.stderr
    assert not (tmp_path / "run").exists()
