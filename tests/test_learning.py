"""Traces in, world model out: exactness, run folders, resume, and data that cannot be learned from."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from safetensors.numpy import load_file
from tensorboardX.proto.event_pb2 import Event

from test_cli import refused
from trace2strips.errors import FileError, TraceError, UserError
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn, load
from trace2strips.learners.registry import make_learner
from trace2strips.learners.transformer.learner import Strips, StripsCompletion, owners
from trace2strips.model.world import count_parts, world_from_json, world_to_json
from trace2strips.pddl import read_model
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def data(name: str, traces: int = 4000, init: str = "atoms", length: int = 25) -> tuple[Dataset, Dataset]:
    domain = get_domain(name)
    train = sample(domain, SampleSettings(traces, length, init=init))
    return train, sample(domain, SampleSettings(4000, 80, "test", init), like=train)


@pytest.fixture(scope="module")
def blocks() -> tuple[Dataset, Dataset, Learned]:
    train, test = data("blocksworld-5b", 10_000)
    return train, test, learn(train, "strips+completion", test=test)


def test_blocksworld_is_learned_exactly(blocks: tuple[Dataset, Dataset, Learned]) -> None:
    train, test, learned = blocks
    assert learned.figures.train_errors == learned.errors(train) == 0
    assert learned.figures.test_accuracy == learned.accuracy(test) == 1.0
    hidden = get_domain("blocksworld-5b").model
    true = count_parts(hidden)
    assert {part: getattr(learned.figures, part) for part in true} == true
    assert learned.figures.invented_atoms == 5  # holding
    stack = learned.model.action("stack_b1_b2")
    names = {name for name in stack.add | stack.delete | stack.pre if name in hidden.atoms}
    assert names == {"clear_b1", "clear_b2", "handempty", "on_b1_b2"}  # aligned atoms keep their names


def test_the_default_learner_finds_a_model_as_small_as_the_hidden_one() -> None:
    """`stack` once took the block below out of the hand too, where it never is."""
    train, _ = data("blocksworld-5b", 10_000)
    learned, hidden = learn(train), count_parts(get_domain("blocksworld-5b").model)
    assert learned.learner.name == "windows"
    assert {part: getattr(learned.figures, part) for part in hidden} == hidden


@pytest.mark.parametrize("learner", ["windows", "strips+completion"])
@pytest.mark.parametrize("init", ["atoms", "states:30"])
@pytest.mark.parametrize("name", ["ferry:3x3", "npuzzle-5t", "maze:5x5", "logistics-3c"])
def test_other_families(name: str, init: str, learner: str) -> None:
    train, test = data(name, 8000, init)
    learned = learn(train, learner, seed=1)
    assert learned.errors(train) == 0
    assert learned.accuracy(test) >= 0.995


def test_same_seed_same_model(blocks: tuple[Dataset, Dataset, Learned]) -> None:
    train, _, learned = blocks
    again = learn(train, "strips+completion")
    assert again.world == learned.world


def test_the_number_of_heads_does_not_matter() -> None:
    train, test = data("blocksworld:4", 6000)
    sizes = []
    for heads in (26, 40, 80):
        learned = learn(train, StripsCompletion(heads=heads))
        assert learned.accuracy(test) == 1.0
        sizes.append(learned.world.counts())
    assert sizes[0] == sizes[1] == sizes[2]


def test_the_papers_form_and_preset_run() -> None:
    train, _ = data("blocksworld:2", 500)
    learned = learn(train, Strips(form="attention", preset="paper", steps=4000))
    assert learned.figures.heads == 50
    untrained = learn(train, Strips(form="attention", preset="paper", steps=0))
    assert learned.figures.train_accuracy > untrained.figures.train_accuracy


def test_noisy_labels() -> None:
    """One label in a hundred is wrong, and still the clean test traces are nearly all explained."""
    train, test = data("blocksworld:4", 10_000)
    rng = np.random.default_rng(0)
    flipped = train.inapplicable ^ (
        (rng.random(len(train.tokens)) < 0.01) & (train.vocabulary.kinds[train.tokens] >= 3)
    )
    learned = learn(Dataset(train.vocabulary, train.tokens, flipped, train.offsets), "strips+completion")
    assert learned.accuracy(test) > 0.95
    assert any("noisy" in warning for warning in learned.figures.warnings)


def test_contradictions_are_counted_and_named() -> None:
    traces = [Trace(("a", "b"), (True, False)), Trace(("a", "b"), (True, True)), Trace(("b",), (True,))]
    learned = learn(traces)
    assert learned.figures.contradictions == 1
    assert learned.figures.first_contradiction.action == "b"


def test_one_sided_and_tiny_data() -> None:
    never_refused = learn([Trace(("a", "b"), (True, True))])
    assert "nothing can be said of preconditions" in never_refused.figures.warnings[0]
    assert never_refused.figures.train_errors == 0
    assert never_refused.model.action("a").pre == frozenset()
    never_worked = learn([Trace(("a", "b"), (False, False))])
    assert "nothing can be said of effects" in never_worked.figures.warnings[0]
    single = learn([Trace(("a", "a", "b", "a"), (True, False, True, True))])
    assert single.figures.train_errors == 0
    with pytest.raises(TraceError, match="no action in the traces"):
        learn([Trace((), ())])
    with pytest.raises(TraceError, match="no trace to test on"):
        single.accuracy(Dataset.of([]))
    with pytest.raises(TraceError, match="unknown atom 'typo'"):
        single.accuracy(Dataset.of([Trace(("a",), (True,), final={"typo": True})]))


def test_too_few_heads() -> None:
    train, _ = data("blocksworld:3", 2000)
    with pytest.raises(UserError, match="5 heads are too few: the traces name 13 atoms already"):
        learn(train, StripsCompletion(heads=5))
    learned = learn(train, StripsCompletion(heads=14))  # one spare head, three blocks to hold
    assert "heads are too few: at least" in learned.figures.warnings[0]
    assert learned.figures.train_accuracy < 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "lstm"}, "unknown learner 'lstm'"),
        ({"form": "loose"}, "unknown form 'loose'"),
        ({"preset": "slow"}, "unknown preset 'slow'"),
        ({"heads": 0}, "0 heads are too few"),
        ({"steps": -1}, "-1 steps"),
        ({"rate": float("nan")}, "the rate nan"),
        ({"rate": -1.0}, "the rate -1.0"),
        ({"name": "completion", "form": "factored"}, "learner 'completion' has no setting 'form'"),
    ],
)
def test_impossible_settings(settings: dict[str, object], message: str) -> None:
    name = str(settings.pop("name", "strips"))
    with pytest.raises(UserError, match=message):
        make_learner(name, settings)


def test_impossible_seed() -> None:
    with pytest.raises(UserError, match="seed -1 is out of range"):
        learn([Trace(("a",), (True,))], seed=-1)


def test_private_heads_go_to_the_most_refused_actions() -> None:
    dataset = Dataset.of([Trace(("a", "b", "b", "c"), (True, False, False, False))])
    assert owners(dataset, 2).tolist() == [1, 2]
    assert owners(dataset, 5).tolist() == [1, 2, 0, 1, 2]


def test_the_world_as_json_and_back(blocks: tuple[Dataset, Dataset, Learned]) -> None:
    world = blocks[2].world
    assert world_from_json(json.loads(json.dumps(world_to_json(world)))) == world


def test_states_of_init_state_models_are_kept() -> None:
    train, test = data("blocksworld:3", 3000, "states:5")
    learned = learn(train, "strips+completion")
    again = world_from_json(world_to_json(learned.world))
    assert set(again.states) == {f"s{i}" for i in range(5)}
    hidden = train.states["s0"]
    aligned = set(learned.model.atoms) & set(train.vocabulary.test_atoms)
    assert learned.world.states["s0"] & aligned == hidden & aligned
    assert learned.accuracy(test) == 1.0


# --- the command line ------------------------------------------------------------------------------------------------


def write_sets(folder: Path, name: str = "blocksworld:3", traces: int = 2000) -> None:
    train, test = data(name, traces)
    write_traces(train, folder / "train.t2s")
    write_traces(test.first(500), folder / "test.jsonl")


def test_learn_and_evaluate(run: Run, tmp_path: Path) -> None:
    write_sets(tmp_path)
    result = run(
        "learn", "train.t2s", "--learner", "strips+completion", "--out", "r", "--test", "test.jsonl", "--seed", 1
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("train accuracy 1.00000 (0 of 2,000 wrong)\ntest accuracy 1.00000 (0 of 500 wrong)")
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    for name in ("train_accuracy", "test_accuracy", "train_seconds", "atoms", "preconditions", "effects"):
        assert name in metrics
    model = read_model(tmp_path / "r" / "model.pddl")
    assert model == load(tmp_path / "r").model
    assert set(load_file(tmp_path / "r" / "weights.safetensors")) == {"query", "key", "value"}
    told = json.loads(run("evaluate", "r", "--test", "test.jsonl", "--json").stdout)
    assert told["test_accuracy"] == 1.0
    assert run("evaluate", "r", "--problems", 0).stdout == result.stdout
    refused(run, tmp_path, "learn", "train.t2s", "--out", "r", message="r: holds a finished run already (hint: --force")
    assert run("learn", "train.t2s", "--out", "r", "--force", "-q").returncode == 0


def test_the_log_is_read_by_tensorboard_and_plain_tools(run: Run, tmp_path: Path) -> None:
    write_sets(tmp_path, traces=300)
    assert run("learn", "train.t2s", "--learner", "strips+completion", "--out", "r", "-q").returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "r" / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if row["stage"] == "training"] == list(range(500, rows[-1]["step"] + 1, 500))
    (events,) = (tmp_path / "r").glob("events.out.tfevents.*")
    assert {"loss", "accuracy"} <= {value.tag for event in read_events(events) for value in event.summary.value}


def read_events(path: Path) -> list[Event]:
    """TFRecord by hand: length, its checksum, data, its checksum."""
    raw, at, events = path.read_bytes(), 0, []
    while at < len(raw):
        length = int.from_bytes(raw[at : at + 8], "little")
        events.append(Event.FromString(raw[at + 12 : at + 12 + length]))
        at += 16 + length
    return events


EAGER = "import trace2strips.learners.training as t, trace2strips.cli as c; t.CHECKPOINT_SECONDS = 0; c.main()"


def test_a_killed_command_goes_on_to_the_same_result(
    run: Run, run_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that is killed compiles the kernels, the one that goes on reads them from disk."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    write_sets(tmp_path, traces=1000)
    words = ("learn", "train.t2s", "--steps", 3_000, "--learner", "strips", "--form", "attention", "--preset", "paper")
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, *map(str, words), "--out", "killed"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    log = tmp_path / "killed" / "log.jsonl"
    while process.poll() is None and not (log.exists() and '"step": 1000' in log.read_text()):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed" / "metrics.json").exists()
    assert "not finished" in run("evaluate", "killed").stderr
    refused(run, tmp_path, *words, "--out", "killed", "--seed", 5, message="another unfinished run")
    logged = log.read_text()
    assert run_process(*words, "--out", "killed").returncode == 0
    assert log.read_text().startswith(logged[: logged.index('"step": 1000')])
    assert run_process(*words, "--out", "whole").returncode == 0
    for name in ("weights.safetensors", "model.json", "model.pddl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_mistakes_with_runs(run: Run, tmp_path: Path) -> None:
    write_sets(tmp_path, traces=200)
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("")
    for words, message in (
        (("learn", "none.t2s", "--out", "r"), "none.t2s: no such file"),
        (("learn", "train.t2s", "--out", "file"), "file: is a file, not a folder"),
        (("learn", "train.t2s", "--out", "full"), "full: is not empty and no run"),
        (("learn", "train.t2s", "--learner", "completion", "--out", "r", "--heads", 3), "3 heads are too few"),
        (("learn", "train.t2s", "--out", "r", "--learner", "strips", "--preset", "quick"), "unknown preset 'quick'"),
        (("evaluate", "none"), "none: no run of trace2strips"),
    ):
        refused(run, tmp_path, *words, message=message)
    other = sample(get_domain("ferry:2x2"), SampleSettings(20, 5))
    write_traces(other, tmp_path / "other.jsonl")
    assert run("learn", "train.t2s", "--learner", "strips+completion", "--out", "r", "-q").returncode == 0
    refused(
        run, tmp_path, "evaluate", "r", "--test", "other.jsonl", message="other.jsonl: unknown action 'board_c1_p1'"
    )


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """A file size limit stands in for a full disk: one clear line, and what was there stays."""
    write_sets(tmp_path, traces=300)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); sys.argv[0] = 'trace2strips';"
        "from trace2strips.cli import main; main()"
    )
    words = [sys.executable, "-c", code, "learn", "train.t2s", "--learner", "strips+completion", "--out", "r", "-q"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 2, result.stderr
    assert "is the disk full?" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list((tmp_path / "r").glob("*.part"))


def test_traces_of_models_that_are_no_blocksworld() -> None:
    """An engineer's log: no atom is named, nothing is said of the start; some atoms are true there, some are not."""
    rng = np.random.default_rng(0)
    traces = []
    for _ in range(3000):
        is_open, locked = False, False  # known to nobody
        actions, ok = [], []
        for name in rng.choice(["open", "close", "lock", "unlock"], size=8):
            works = {"open": not is_open and not locked, "close": is_open, "lock": not is_open and not locked,
                     "unlock": locked}[name]  # fmt: skip
            if works:
                is_open = {"open": True, "close": False}.get(name, is_open)
                locked = {"lock": True, "unlock": False}.get(name, locked)
            actions.append(str(name))
            ok.append(bool(works))
        traces.append(Trace(tuple(actions), tuple(ok)))
    learned = learn(traces[:2000])
    assert learned.figures.train_errors == 0
    held_out = Dataset.of(traces[2000:])
    assert learned.accuracy(held_out) == 1.0
    assert len(learned.model.atoms) <= 4
    assert set(learned.world.states) == {"start"}
    start = learned.world.states["start"]
    works = {name for name in ("open", "close", "lock", "unlock") if learned.model.action(name).applicable(start)}
    assert works == {"open", "lock"}


def test_steps_by_network_and_size() -> None:
    def steps(name: str, actions: int, **settings: object) -> int:
        return make_learner(name, settings).steps_for(actions)

    assert [steps(name, 50) for name in ("completion", "strips+completion", "sb", "rope")] == [0, 2_000, 3_000, 2_500]
    assert steps("sb", 128, preset="paper") == steps("strips", 50, preset="paper") == 500_000
    assert steps("sb", 50, steps=7) == steps("strips", 128, steps=7) == 7


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", "[]"),
        ("metrics.json", '{"traces": 1, "train_accuracy": "a", "train_errors": 0, "train_seconds": 1}'),
        ("model.json", '{"vocabulary": null}'),
        ("settings.json", '{"trace2strips": "run", "learner": "windows", "settings": {}, "seed": 0, "data": ""}'),
    ],
)
def test_a_damaged_run_is_told(name: str, content: str, tmp_path: Path) -> None:
    learn([Trace(("a", "a"), (True, False))], "completion").save(tmp_path / "run")
    (tmp_path / "run" / name).write_text(content)
    with pytest.raises(FileError, match="a file of the run is broken"):
        load(tmp_path / "run")
