"""Runs, their datasets, their results: nothing is done twice, nothing is half there, and the figures are the same."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import figures

from trace2strips.errors import FileError
from trace2strips.experiments import EXPERIMENTS, Row, Run, perform, planned, read_results
from trace2strips.experiments.catalogue import arranged, paper_settings
from trace2strips.experiments.code import run_code
from trace2strips.experiments.datasets import CHECKSUM, DatasetCache, samples
from trace2strips.experiments.estimates import Cost, cost, dataset_bytes, estimate, size_of, wanted_steps
from trace2strips.experiments.execution import Failure, Tell, execute, left_to_do
from trace2strips.experiments.performing import NOT_IN_ROWS, against_length, differences
from trace2strips.experiments.provenance import commit
from trace2strips.experiments.results import put_result
from trace2strips.experiments.rows import KINDS, Machine, format_row, read_row
from trace2strips.learners.learner import Figures, Learned
from trace2strips.learners.registry import make_learner
from trace2strips.learners.runs import content_hash, open_run
from trace2strips.learners.training import Report
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

TINY = Run("blocksworld:3", traces=300, test_traces=100, settings={"steps": 500})
DECODER = replace(TINY, learner="sb", suffix="all", settings={"steps": 20})
UNTOLD = replace(DECODER, suffix="none", settings={"steps": 20, "network_only": True})


def measured(run: Run, **more: Any) -> Row:
    figures = {"train_accuracy": 1.0, "train_errors": 0, "test_accuracy": 1.0, "test_errors": 0, "train_seconds": 10.0}
    return Row(run=run, **{**figures, "seconds": {"learning": 12.0, "testing": 3.0}, **more})


# --- lists of runs ---------------------------------------------------------------------------------------------------


def test_experiments_list_each_run_once() -> None:
    for runs in EXPERIMENTS.values():
        assert len(set(runs)) == len(runs)
        assert len({run.name for run in runs}) == len(runs)


def test_runs_asked_for() -> None:
    few = planned("main", ["ferry-5c"], ["strips+completion"], ["atoms"], [0, 7])
    assert few == [Run("ferry-5c"), Run("ferry-5c", seed=7)]
    assert planned("main", ["blocksworld:3"], ["strips+completion"], ["atoms"], [0]) == [Run("blocksworld:3")]
    assert planned("baselines", ["ferry-5c"]) == []


def test_one_run_has_one_key() -> None:
    """Settings that are the learner's defaults are not said, in whatever order and type they come."""
    plain = Run("ferry-5c", learner="strips")
    assert Run("ferry-5c", learner="strips", settings={"preset": "fast", "heads": None}) == plain
    one = Run("ferry-5c", learner="strips", settings={"rate": 1, "preset": "paper"})
    assert one == Run("ferry-5c", learner="strips", settings={"preset": "paper", "rate": 1.0})
    assert hash(one) == hash(Run(**one.record()))
    assert one.name == "ferry-5c-atoms-goal-strips-100000-s0-presetpaper-rate1.0"
    assert one.record()["settings"] == {"preset": "paper", "rate": 1.0}
    assert one != plain
    assert Run("ferry-5c", learner="sb", settings={"network_only": True}).name.endswith("-s0-network_only")


def test_the_paper_has_a_rate_of_its_own_for_ferry() -> None:
    assert paper_settings("ferry-8c", "atoms") == {"preset": "paper", "form": "attention", "rate": 0.005}
    for other in (("ferry-8c", "states:50"), ("ferry-5c", "atoms")):
        assert "rate" not in paper_settings(*other)


def test_runs_on_the_same_traces_follow_each_other() -> None:
    a, b = Run("ferry-5c"), Run("ferry-8c")
    later = replace(a, seed=1)
    wide = replace(a, settings={"heads": 40})
    assert arranged([later, a, b, wide, a]) == [a, wide, b, later]


# --- datasets --------------------------------------------------------------------------------------------------------


def test_a_dataset_is_sampled_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache, domain = DatasetCache(tmp_path / "new"), get_domain("blocksworld:3")
    first = cache(domain, TINY.training_set)
    (path,) = cache.folder.glob("*.t2s")
    assert path.name.startswith("blocksworld3-atoms-goal-train-300x50-s0-")
    assert Path(f"{path}{CHECKSUM}").read_text() == f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
    written = path.stat().st_mtime_ns
    again = cache(domain, TINY.training_set)
    assert path.stat().st_mtime_ns == written
    fresh = sample(domain, TINY.training_set)
    for dataset in (first, again):
        assert dataset.tokens.tolist() == fresh.tokens.tolist()
        assert dataset.inapplicable.tolist() == fresh.inapplicable.tolist()
        assert dataset.vocabulary == fresh.vocabulary
    assert capsys.readouterr().err == ""


def test_other_settings_are_another_dataset(tmp_path: Path) -> None:
    cache, domain = DatasetCache(tmp_path), get_domain("blocksworld:3")
    settings = SampleSettings(50, 10)
    train = cache(domain, settings)
    few = cache(domain, SampleSettings(1, 1))  # whose vocabulary has fewer actions
    test = replace(settings, split="test")
    for number, (changed, like) in enumerate(
        [(replace(settings, seed=1), None), (replace(settings, suffix="all"), None), (test, train), (test, few)], 3
    ):
        cache(domain, changed, like)
        assert len(list(tmp_path.glob("*.t2s"))) == number
    cache(get_domain("blocksworld:2"), settings)
    assert len(list(tmp_path.glob("*.t2s"))) == 7


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "unchecked", "wrong checksum"])
def test_a_broken_dataset_is_made_anew(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    cache, domain = DatasetCache(tmp_path), get_domain("blocksworld:3")
    cache(domain, TINY.training_set)
    (path,) = tmp_path.glob("*.t2s")
    whole, check = path.read_bytes(), Path(f"{path}{CHECKSUM}")
    if damage == "unchecked":
        check.unlink()
    elif damage == "wrong checksum":
        check.write_bytes(b"\xff\x00")
    else:
        path.write_bytes({"flipped": whole[:-1] + bytes([whole[-1] ^ 1]), "cut": whole[:-9], "empty": b""}[damage])
    (tmp_path / f".{path.name[:40]}.x.part").write_bytes(b"killed while writing")
    (tmp_path / ".half.part").write_bytes(b"of another program")
    assert cache(domain, TINY.training_set).tokens.tolist() == sample(domain, TINY.training_set).tokens.tolist()
    assert path.read_bytes() == whole
    assert "broken dataset, sampled anew" in capsys.readouterr().err
    assert [part.name for part in tmp_path.glob(".*.part")] == [".half.part"]
    cache(domain, TINY.training_set)
    assert capsys.readouterr().err == ""


def test_datasets_go_when_no_run_needs_them(tmp_path: Path) -> None:
    cache, domain = DatasetCache(tmp_path), get_domain("blocksworld:3")
    runs = [TINY, replace(TINY, traces=200), replace(TINY, seed=10)]
    for run in runs:
        train = cache(domain, run.training_set)
        cache(domain, run.test_set, train)
    cache.discard(runs[0], runs[1:])
    kept = sorted(path.name.rsplit("-", 1)[0] for path in tmp_path.glob("*.t2s"))
    assert kept == [f"blocksworld3-atoms-goal-{rest}" for rest in
                    ("test-100x200-s0", "test-100x200-s10", "train-200x50-s0", "train-300x50-s10")]  # fmt: skip
    cache.discard(runs[1], [])
    cache.discard(runs[2], [])
    assert not list(tmp_path.glob("*.t2s*"))


# --- one run ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [TINY, DECODER, UNTOLD, replace(TINY, noise=0.05), replace(TINY, learner="completion", settings={})],
                         ids=["strips+completion", "sb", "network only", "noise", "completion"])  # fmt: skip
def test_same_run_same_figures(tmp_path: Path, run: Run) -> None:
    first, second = (perform(run, tmp_path / name, DatasetCache(tmp_path / name / "..")) for name in ("a", "b"))
    assert figures(first) == figures(second)
    assert first.run == run
    assert perform(run, tmp_path / "a") == first  # from the folder


@pytest.mark.parametrize("run", [TINY, DECODER], ids=["strips+completion", "sb"])
def test_a_run_cut_off_at_any_stage_goes_on(tmp_path: Path, run: Run) -> None:
    told: list[str] = []
    undisturbed = perform(run, tmp_path / "whole", watch=lambda stage, _: told.append(stage))
    assert {"sampling", "learning", "training", "testing", "planning", "comparing"} <= set(told)
    for stage in dict.fromkeys(told):

        def cut(now: str, _: Report, stage: str = stage) -> None:
            if now == stage:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            perform(run, tmp_path / "cut", watch=cut)
    assert figures(perform(run, tmp_path / "cut")) == figures(undisturbed)


def test_what_older_code_left_in_the_folder_is_done_anew(tmp_path: Path) -> None:
    other = sample(get_domain("blocksworld:3"), SampleSettings(20, 5))
    with open_run(tmp_path / "run", TINY.make_learner().run_settings(0, content_hash(other))):
        pass
    assert figures(perform(TINY, tmp_path / "run")) == figures(perform(TINY, tmp_path / "new"))


def test_what_other_code_left_in_the_folder_is_done_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row is not taken, and if the learner is another one its model is not either."""
    run, told = replace(TINY, learner="completion", settings={}), list[str]()
    row = perform(run, tmp_path)
    monkeypatch.setattr("trace2strips.experiments.performing.run_code", lambda _: "changed")
    again = perform(run, tmp_path, watch=lambda stage, _: told.append(stage))
    assert (again.code, "completion" in told) == ("changed", False)  # the model was there
    monkeypatch.setattr("trace2strips.experiments.performing.run_code", lambda _: "changed again")
    monkeypatch.setattr("trace2strips.experiments.performing.learner_code", lambda _: "changed too")
    last = perform(run, tmp_path, watch=lambda stage, _: told.append(stage))
    assert (last.code, "completion" in told) == ("changed again", True)
    assert figures(row) | {"code": ""} == figures(last) | {"code": ""}


def test_a_run_killed_before_its_first_file_starts(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".settings.json.abc.part").write_text("{")
    (folder / "output.log").write_text("")
    assert perform(TINY, folder).run == TINY


def test_without_git_the_commit_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit() is None


# --- results ---------------------------------------------------------------------------------------------------------


def test_a_run_is_never_twice_in_the_results(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.jsonl"
    assert read_results(path) == {}
    assert put_result(path, measured(TINY))
    assert put_result(path, measured(DECODER))
    assert not put_result(path, measured(TINY, train_seconds=1.0))
    assert read_results(path) == {TINY: measured(TINY), DECODER: measured(DECODER)}
    assert path.read_text() == "".join(format_row(measured(run)) + "\n" for run in (TINY, DECODER))


def test_a_row_cut_off_anywhere_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    put_result(path, measured(TINY))
    line = path.read_bytes()
    put_result(path, measured(DECODER))
    both = path.read_bytes()
    shorter = min(len(line), len(both) - len(line))
    for end in (*range(40), *range(40, shorter - 1, 50), shorter - 2):
        path.write_bytes(both[: len(line) + end])
        assert read_results(path) == {TINY: measured(TINY)}
        assert put_result(path, measured(DECODER))
        assert path.read_bytes() == both
        if end > 11:  # a row alone: enough of it to know it
            path.write_bytes(line[:end])
            assert read_results(path) == {}
            assert put_result(path, measured(TINY))
            assert path.read_bytes() == line
    path.write_bytes(line.rstrip())  # whole, but for its end
    put_result(path, measured(DECODER))
    assert path.read_bytes() == both


THEIRS = {
    "text": ("Dear diary,\ntoday I wrote a file.", 1),
    "one line of text": ("Do not touch", 1),
    "a table": ("domain,encoding\nferry,atoms", 1),
    "other rows": ('{"name": "a"}\n{"name": "b"}', 1),
    "other rows, cut off": ('{"name": "a"}\n{"name": "b', 1),
    "one other row, cut off": ('{"name": "b', 1),
    "our first key in other rows": ('{"domain": "example.org", "port": 80, "na', 1),
    "a word": ("x", 1),
    "a brace": ("{", 1),
    "text after a row of ours": (f"{format_row(measured(TINY))}\nand a remark", 2),
    "an object after a row of ours": (f'{format_row(measured(TINY))}\n{{"name": "b', 2),
    "nothing but a number": ("7", 1),
}


@pytest.mark.parametrize("name", THEIRS)
def test_what_is_not_ours_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    text, line = THEIRS[name]
    path = tmp_path / "theirs"
    path.write_text(text)
    for work in (lambda: read_results(path), lambda: put_result(path, measured(DECODER))):
        with pytest.raises(FileError) as caught:
            work()
        assert (caught.value.file, caught.value.line) == (str(path), line)
    assert path.read_text() == text


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.touch()
    assert read_results(path) == {}
    put_result(path, measured(TINY))
    assert list(read_results(path)) == [TINY]


WHOLE = measured(TINY).record()
BROKEN = {
    "{": "not JSON: ",
    "[]": "not a JSON object",
    "7": "not a JSON object",
    '{"domain": "ferry-5c"}': "no 'encoding'",
    json.dumps(WHOLE | {"colour": "red"}): "a row has no field 'colour'",
    json.dumps(WHOLE | {"test_acuracy": 1}): "a row has no field 'test_acuracy' (hint: did you mean 'test_accuracy'?)",
    json.dumps(WHOLE | {"network": "strips"}): "a row has no field 'network' (hint: a row of an older version: ",
    json.dumps({k: v for k, v in WHOLE.items() if k != "test_errors"}): "no 'test_errors'",
    json.dumps(WHOLE | {"seed": "0"}): "seed is '0' (hint: it should be a whole number)",
    json.dumps(WHOLE | {"seed": True}): "seed is True",
    json.dumps(WHOLE | {"seed": 0.5}): "seed is 0.5",
    json.dumps(WHOLE | {"train_accuracy": None}): "train_accuracy is None (hint: it should be a number)",
    json.dumps(WHOLE | {"train_accuracy": "high"}): "train_accuracy is 'high'",
    json.dumps(WHOLE).replace("10.0", "NaN"): "train_seconds is nan (hint: it should be a number)",
    json.dumps(WHOLE | {"accuracy_by_length": [[10, 1.0]]}): "accuracy_by_length is [[10, 1.0]]",
    json.dumps(WHOLE | {"seconds": [1]}): "seconds is [1] (hint: it should be an object, each value a number or null)",
    json.dumps(WHOLE | {"machine": {"cores": 2}}): "machine is {'cores': 2} (hint: it should be an object with cores, ",
    json.dumps(WHOLE | {"warnings": "none"}): "warnings is 'none' (hint: it should be a list, each item text)",
    json.dumps(WHOLE | {"learner": "lstm"}): "unknown learner 'lstm'",
    json.dumps(WHOLE | {"settings": {"form": "round"}}): "unknown form 'round'",
    json.dumps(WHOLE | {"settings": {"preset": "paper"}}): "learner 'strips+completion' has no setting 'preset'",
    json.dumps(
        WHOLE | {"settings": {"heads": "many"}}
    ): "setting 'heads' is 'many' (hint: it should be a whole number or null)",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "runs.jsonl"
    before = f"{format_row(measured(TINY))}\n{line}\n{format_row(measured(DECODER))}\n"
    path.write_text(before)
    for work in (lambda: read_results(path), lambda: put_result(path, measured(replace(TINY, seed=1)))):
        with pytest.raises(FileError) as caught:
            work()
        assert str(caught.value).startswith(f"{path}:2: {BROKEN[line]}")
    assert path.read_text() == before


def test_a_row_is_read_as_it_was_written() -> None:
    """Every field once: whole numbers, text, lists, bins, objects; what is None is not written."""
    values = {
        float | None: 0.25,
        int | None: 3,
        str | None: "x",
        tuple[str, ...] | None: ("a", "b"),
        float: 1.0,
        int: 7,
    }
    values |= {Mapping[str, int] | None: {"unsolvable": 2}, Mapping[str, float] | None: {"learning": 1.5}}
    values |= {Machine | None: Machine(2, "3.11", "x86_64"), tuple[tuple[int, float, int], ...] | None: ((10, 0.5, 4),)}
    values |= {tuple[str, ...]: ("be careful",)}
    fields = {name: values[KINDS[name]] for name in Row.__dataclass_fields__ if name != "run"}
    for row in (Row(run=TINY, **fields), measured(UNTOLD)):
        text = format_row(row)
        assert read_row(text, Path("x")) == row
        assert "null" not in text
    assert json.loads(text)["settings"] == {"network_only": True, "steps": 20}


def test_a_row_has_a_place_for_every_figure_of_a_learner() -> None:
    assert Figures.__dataclass_fields__.keys() - set(NOT_IN_ROWS) <= Row.__dataclass_fields__.keys()


def test_two_rows_of_one_run_are_told(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{format_row(measured(TINY))}\n" * 2)
    with pytest.raises(FileError, match=r"runs\.jsonl:2: the run of line 1 again"):
        read_results(path)


PUTTING = """
import sys
from pathlib import Path
from trace2strips.experiments.results import put_result
from trace2strips.experiments.rows import read_row
rows = [read_row(line, Path("asked"), 1) for line in sys.stdin]
for row in rows:
    put_result(Path(sys.argv[1]), row)
"""


def put_at_once(path: Path, *works: list[Row]) -> None:
    """Each by a process of its own."""
    words = [sys.executable, "-c", PUTTING, path]
    started = [subprocess.Popen(words, stdin=subprocess.PIPE, text=True) for _ in works]
    for process, rows in zip(started, works, strict=True):
        assert process.stdin is not None
        process.stdin.write("".join(format_row(row) + "\n" for row in rows))
        process.stdin.close()
    assert [process.wait() for process in started] == [0] * len(works)


def rows_of(seeds: range, **more: Any) -> list[Row]:
    return [measured(replace(TINY, seed=seed), **more) for seed in seeds]


def test_two_processes_may_append(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    put_at_once(path, *(rows_of(seeds, warnings=("x" * 5_000,)) for seeds in (range(40), range(20, 60))))
    assert sorted(run.seed for run in read_results(path)) == list(range(60))


def test_rows_may_be_replaced_while_others_are_added(tmp_path: Path) -> None:
    """A new file takes the place of the old one, and nobody writes into the one that is gone."""
    path = tmp_path / "runs.jsonl"
    works = [rows_of(range(30), code=code) for code in ("one", "two")]
    put_at_once(path, *works, rows_of(range(30, 60), warnings=("x" * 5_000,)))
    assert sorted(run.seed for run in read_results(path)) == list(range(60))


# --- the loop --------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_done(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    wanted = [replace(TINY, seed=seed) for seed in range(4)]
    put_result(path, measured(wanted[1]))
    noted: list[int] = []
    told: list[int] = []

    def tell(run: Run, _stage: str, _report: Report) -> None:
        told.append(run.seed)

    def executor(runs: Iterable[Run], tell: Tell) -> Iterator[tuple[Run, Row | Failure]]:
        for run in runs:
            tell(run, "learning", Report())
            noted.append(len(read_results(path)))
            yield run, Failure("too bad") if run.seed == 2 else measured(run)

    outcomes = list(execute(left_to_do(wanted, read_results(path)), path, executor, tell))
    assert [(run.seed, isinstance(outcome, Failure)) for run, outcome in outcomes] == [
        (0, False),
        (2, True),
        (3, False),
    ]
    assert noted == [1, 2, 2]  # a row is in the file before the next run begins
    left = left_to_do(wanted, read_results(path))
    assert list(execute(left, path, executor, tell, seconds=0.0)) == []
    assert [run.seed for run, _ in execute(left, path, executor, tell)] == [2]
    assert told == [0, 2, 3, 2]


def test_what_older_code_made_is_done_again_and_kept_until_then(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    now = run_code("strips+completion")
    rows = [measured(replace(TINY, seed=seed), code=code) for seed, code in enumerate((now, "older", None))]
    for row in rows:
        put_result(path, row)
    wanted = [*(row.run for row in rows), replace(TINY, seed=3)]
    left = left_to_do(wanted, read_results(path), stale=True)
    assert [run.seed for run in left] == [1, 2]

    def executor(runs: Iterable[Run], _tell: Tell) -> Iterator[tuple[Run, Row | Failure]]:
        for run in runs:
            assert list(read_results(path)) == [row.run for row in rows]
            yield run, Failure("too bad") if run.seed == 2 else measured(run, code=now, train_seconds=1.0)

    list(execute(left, path, executor, lambda *_: None))
    found = list(read_results(path).values())
    assert [row.code for row in found] == [now, now, None]  # where it failed the old row stays
    assert [row.train_seconds for row in found] == [10.0, 1.0, 10.0]


# --- estimates -------------------------------------------------------------------------------------------------------


def test_time_is_taken_from_the_run_most_alike() -> None:
    large, small = Run("ferry-8c"), Run("ferry-5c")
    rows = {large: measured(large), small: measured(small, seconds={"learning": 100.0, "testing": 1.0})}
    assert cost(rows[large]) == Cost(12.0, 3.0)
    assert cost(measured(large, train_seconds=500.0)) == Cost(500.0, 3.0)  # cut off and resumed
    half = Machine(2, "3.11", "x86_64", threads=1)
    assert cost(measured(large, machine=half)) == Cost(6.0, 1.5)  # half of the machine
    assert estimate(replace(small, seed=2), rows) == Cost(100.0, 1.0)
    assert estimate(replace(large, test_traces=100_000), rows) == Cost(12.0, 1.5)
    assert estimate(replace(large, traces=200_000), rows) == Cost(24.0, 3.0)
    assert estimate(replace(large, settings={"steps": 1_000}, traces=50_000), rows) == Cost(6.0, 3.0)
    assert estimate(Run("maze-5x5"), rows) == Cost(56.0, 2.0)
    assert estimate(Run("maze-5x5", learner="sb", suffix="all"), rows).seconds > 100  # no decoder was measured
    decoder = Run("ferry-8c", learner="rope", suffix="all")
    older = {decoder: measured(decoder, steps=wanted_steps(decoder) // 2)}  # of a preset with fewer steps
    assert estimate(replace(decoder, seed=2), older) == Cost(24.0, 3.0)
    assert estimate(replace(decoder, traces=10 * decoder.traces), older) == Cost(24.0, 3.0)  # steps count, not traces
    stopped = replace(decoder, learner="sb")
    early = {stopped: measured(stopped, steps=wanted_steps(stopped) // 2)}  # others will stop early too
    assert estimate(replace(stopped, seed=2), early) == Cost(12.0, 3.0)


def test_disk_is_that_of_datasets_needed_at_a_time(tmp_path: Path) -> None:
    cache = DatasetCache(tmp_path)
    train = cache(get_domain("blocksworld:3"), replace(TINY.training_set, traces=20_000))
    (path,) = tmp_path.glob("*.t2s")
    assert size_of("blocksworld:3", replace(TINY.training_set, traces=20_000)) == pytest.approx(
        path.stat().st_size, rel=0.1
    )
    assert len(train) == 20_000
    one = sum(size_of(TINY.domain, settings) for settings in samples(TINY))
    assert dataset_bytes([TINY]) == dataset_bytes([TINY, replace(TINY, settings={"heads": 20})]) == one
    assert dataset_bytes([TINY, replace(TINY, seed=1)]) == pytest.approx(one, rel=0.2)
    assert dataset_bytes([]) == 0


# --- figures of decoders ---------------------------------------------------------------------------------------------


def test_differences_are_counted_bit_by_bit() -> None:
    domain = get_domain("blocksworld:3")
    assert set(differences(domain, WorldModel(domain.model, Vocabulary(()))).values()) == {0}
    first, *others = domain.model.actions
    gone, new = min(first.pre), min(set(domain.model.atoms) - first.pre - first.delete)
    changed = replace(first, pre=(first.pre - {gone}) | {new}, add=frozenset(), delete=first.delete | {new})
    found = differences(domain, WorldModel(StripsModel(domain.model.atoms, (changed, *others)), Vocabulary(())))
    expected = {"missing_preconditions": 1, "extra_preconditions": 1, "missing_effects": len(first.add)}
    assert found == {**expected, "extra_effects": 1}


def test_accuracy_is_told_by_the_number_of_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused actions count as actions too."""
    lengths = (0, 1, 10, 11, 20, 21)
    traces = Dataset.of([Trace(("a",) * n, tuple(i % 2 == 0 for i in range(n))) for n in lengths])
    right = np.array([True, True, False, True, False, False])
    monkeypatch.setattr("trace2strips.learners.decoder.learner.DecoderPredictor.wrong_traces", lambda *_: ~right)
    learned = Learned(make_learner("sb"), 0, "", traces.vocabulary, None, Figures(6, 1.0, 0, 0.0))
    assert against_length(learned, traces) == ((10, 2 / 3, 3), (20, 0.5, 2), (30, 0.0, 1))
