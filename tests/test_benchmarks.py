"""What the benchmarks share: a result file holds all that is needed to measure again, and is never half-written."""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import attacks
import measuring
import migrate_rows
import open_form
import paper_form
import traces_needed

from trace2strips.experiments import Run
from trace2strips.experiments.provenance import commit
from trace2strips.experiments.rows import RUN_FIELDS, format_row, read_row
from trace2strips.learners.registry import make_learner
from trace2strips.learners.transformer.learner import Strips
from trace2strips.learners.transformer.network import StripsNetwork
from trace2strips.model.vocabulary import Kind


def test_result_files_hold_their_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "x.json"
    for figure in (1, 2):
        measuring.write_results(out, "python benchmarks/x.py", {"seed": 7, "threads": 2}, [{"figure": figure}])
        record = json.loads(out.read_text())
        assert record["settings"] == {"seed": 7, "threads": 2}
        assert record["rows"] == [{"figure": figure}]
        assert record.keys() >= {"command", "commit", "date", "machine"}
    assert [path.name for path in out.parent.iterdir()] == ["x.json"]
    assert capsys.readouterr().out == f"wrote {out}\n" * 2


def test_nothing_is_left_of_a_failed_write(tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    out.write_text("old")
    with pytest.raises(TypeError):
        measuring.write_results(out, "x", {}, [{"figure": object()}])
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.json", "old")]


def test_a_growing_file_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    out = tmp_path / "x.json"

    def start(**settings: int) -> measuring.Growing:
        return measuring.Growing(out, "python benchmarks/x.py", settings, ("learner", "seed"))

    first, other = start(tests=5), start(tests=5)
    first.add({"learner": "windows", "seed": 0, "errors": 3})
    other.add({"learner": "windows", "seed": 1, "errors": 0})  # another process: nothing of either is lost
    again = start(tests=5)
    found = [again.find(learner="windows", seed=seed) for seed in range(3)]
    assert [row and row["errors"] for row in found] == [3, 0, None]
    assert [row and row["commit"] for row in found[:2]] == [commit()] * 2  # None where there is no checkout
    with pytest.raises(KeyError, match="learner, seed"):
        again.find(learner="windows")
    with pytest.raises(SystemExit, match="rows of other settings"):
        start(tests=6)


def test_rows_of_several_commits_are_all_named(tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    for name in ("bbb", "aaa"):
        file = measuring.Growing(out, "x", {}, ("seed",))
        file.commit = name
        file.add({"seed": len(file.rows)})
    record = json.loads(out.read_text())
    assert record["commit"] == "aaa, bbb"
    assert [row["commit"] for row in record["rows"]] == ["bbb", "aaa"]


class Scripted:
    """Instead of learning: so many wrong test traces with so many training traces."""

    def __init__(self, errors: dict[int, int]) -> None:
        self.errors, self.asked = errors, list[tuple[int, int]]()

    def __call__(self, run: Run) -> dict[str, Any]:
        self.asked.append((run.traces, run.seed))
        return {"test_errors": self.errors.get(run.traces, 0), "seconds": 0.0}


@pytest.mark.parametrize(
    ("learner", "domain", "errors", "asked"),
    [
        ("windows", "ferry-8c", {5: 9, 10: 1}, [(5, 0), (5, 1), (10, 0), (10, 1), (20, 0), (20, 1), (50, 0), (50, 1),
                                                (100, 0), (100, 1)]),
        ("completion", "ferry-8c", {5: 9, 10: 1, 50: 1}, [(5, 0), (10, 0), (20, 0), (20, 1), (50, 0), (100, 0), (100, 1)]),
        ("strips", "ferry-5c", {50: 1, 20: 1}, [(100, 0), (100, 1), (50, 0), (50, 1)]),
        ("strips", "ferry-8c", {100: 1}, [(100, 0)]),
    ],
)  # fmt: skip
def test_traces_are_tried_until_it_is_decided(
    learner: str,
    domain: str,
    errors: dict[int, int],
    asked: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripted = Scripted(errors)
    monkeypatch.setattr(traces_needed, "measure", scripted)
    file = measuring.Growing(None, "x", {}, ("learner", "domain", "traces", "seed"))
    for _ in range(2):  # the second time everything is there
        traces_needed.search(file, learner, domain, (5, 10, 20, 50, 100), (0, 1), 100, {})
    assert scripted.asked == asked


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "any_log",
        "attention",
        "completion",
        "decoder_trials",
        "foreign",
        "lifted_strips",
        "listing_c",
        "one_state",
        "other_learners",
        "paper_form",
        "scale",
        "traces_needed",
        "windows",
        "windows_equivalence",
        "windows_everyday",
        "windows_untold",
        "windows_not_strips",
        "windows_speed",
        "windows_theorems",
        "world_metrics",
    ],
)
def test_benchmarks_run(name: str, tmp_path: Path) -> None:
    """They call what may change: they have to keep up with it."""
    script = Path(measuring.__file__).parent / f"{name}.py"
    subprocess.run([sys.executable, script, "--quick", "--out", tmp_path / "x.json"], check=True, capture_output=True)
    assert json.loads((tmp_path / "x.json").read_text())["rows"]


@pytest.mark.slow
def test_the_open_form_with_our_choices_is_the_form_of_the_package() -> None:
    dataset, _ = paper_form.traces("blocksworld:3", "goal", False, 100)
    layout = paper_form.lay_out(dataset, 50)
    learner = make_learner("strips", {"preset": "paper", "form": "attention"})
    assert isinstance(learner, Strips)
    ours = StripsNetwork(layout, dataset, learner.network_settings(dataset), seed=3)
    opened = open_form.OpenNetwork(layout, dataset, open_form.Choices(), seed=3)
    for start in range(0, 64, 16):
        chosen = np.arange(start, start + 16)
        assert opened.step(chosen) == pytest.approx(ours.step(chosen), rel=1e-4)
        for part, name in enumerate(open_form.PARTS):
            slope = getattr(ours.gradient, name).sum(axis=0) / len(chosen)
            np.testing.assert_allclose(opened.gradient[part][layout.row >= 0], slope, rtol=1e-3, atol=1e-7)
            theta = getattr(ours.theta, name)
            np.testing.assert_allclose(opened.theta[part][layout.row >= 0], theta, atol=1e-3)


@pytest.mark.parametrize("how", ["traces", "scored", "kinds", "positions"])
def test_weights_of_positions_by_their_rule(how: str) -> None:
    dataset, _ = paper_form.traces("blocksworld:3", "goal", False, 100)
    kinds = dataset.vocabulary.kinds[dataset.tokens]
    weights = open_form.weights_of(dataset, how)
    assert not weights[kinds < Kind.ACTION].any()
    for start, end in itertools.pairwise(dataset.offsets):
        here, actions, tests = weights[start:end], kinds[start:end] == Kind.ACTION, kinds[start:end] == Kind.TEST_ATOM
        n, n_actions, n_tests = end - start, int(actions.sum()), int(tests.sum())
        each = {
            "traces": (1 / n, 1 / n),
            "scored": (1 / (n_actions + n_tests),) * 2,
            "kinds": (0.5 / max(1, n_actions), 0.5 / n_tests),
            "positions": (len(dataset) / len(dataset.tokens),) * 2,
        }[how]
        np.testing.assert_allclose(here[actions], each[0], rtol=1e-5)
        np.testing.assert_allclose(here[tests], each[1], rtol=1e-5)


def test_what_is_measured_of_the_paper_form() -> None:
    """By default few settings for many steps; of one domain, variant or seed only what is asked for."""
    every = (tuple(paper_form.STEPS), paper_form.DOMAINS, tuple(paper_form.VARIANTS), (0, 1, 2))
    rows = list(paper_form.plan(*every, quick=False))
    whole = [row for row in rows if row["stage"] == "whole"]
    assert {row["domain"] for row in rows if row["stage"] == "screened"} == {"ferry-5c"}
    assert len(rows) - len(whole) == 2 * len(paper_form.VARIANTS)
    assert len(whole) == 3 * len(paper_form.DOMAINS) * len(paper_form.WHOLE)
    only = list(paper_form.plan(("whole",), ("maze-5x5",), ("no L1",), (1,), quick=False))
    assert only == [{"stage": "whole", "domain": "maze-5x5", "variant": "no L1", "seed": 1}]


def test_attacks_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal in one line is no failure; CPU time, sleep and memory have limits, whatever else the machine does."""
    target = attacks.Target(attacks.HERE, tmp_path)
    row = attacks.tally(list(attacks.repeated(target)))
    assert (row["inputs"], row["refused"], row["failed"]) == (2, 2, 0)
    programs = {
        "SECONDS": "while True: pass",
        "ASLEEP": "import time; time.sleep(99)",
        "MEMORY": "x = 'x' * 2**28\nwhile True: pass",
    }
    started = [subprocess.Popen([sys.executable, "-c", program]) for program in programs.values()]
    for (limit, program), process in zip(programs.items(), started, strict=True):
        with monkeypatch.context() as patch:
            patch.setattr(attacks, limit, 2**27 if limit == "MEMORY" else 0.5)
            watch, why = attacks.Watch(process.pid), ""
            while not why:
                why = watch.look()
                time.sleep(0.05)
        assert why.startswith(
            {"SECONDS": "more than 0.5 seconds", "ASLEEP": "asleep", "MEMORY": "more than 0 GiB"}[limit]
        ), program
        process.kill()
        process.wait()


def test_the_table_of_attacks_is_whole() -> None:
    """Every attack was measured, before and after; nothing fails after. Attacks that are added are measured alone."""
    results = attacks.HERE / "results" / "attacks.json"
    assert (attacks.HERE / "docs" / "security-tests.md").read_text() == attacks.page(results)
    columns = json.loads(results.read_text())["code"]
    for column in columns.values():
        assert column.keys() == {f"{group}: {what}" for group, what in attacks.ATTACKS}
    assert len({row["commit"] for row in columns["before"].values()}) == 1
    assert not any("dirty" in row["commit"] for row in columns["after"].values())
    assert sum(row["failed"] for row in columns["after"].values()) == 0


def test_every_benchmark_is_made() -> None:
    """`make bench` runs all of them; `scale` takes hours and says how in docs/scale.md, others are parts."""
    (line,) = [
        line for line in (attacks.HERE / "Makefile").read_text().splitlines() if line.startswith("BENCHMARKS :=")
    ]
    found = {path.stem for path in (attacks.HERE / "benchmarks").glob("*.py")}
    assert found - set(line.split()) == {"measuring", "migrate_rows", "not_strips", "open_form", "scale"}


OLD_ROW = {"domain": "ferry-8c", "encoding": "atoms", "suffix": "goal", "network": "strips", "form": "factored",
           "preset": "fast", "traces": 100, "seed": 1, "heads": None, "noise": 0.0, "max_steps": None, "test_traces": 50,
           "train_accuracy": 0.75, "train_errors": 25, "test_accuracy": 0.5, "test_errors": 25, "train_seconds": 7.63,
           "steps": 2000, "atoms": 36, "counterexample": None, "warnings": [], "commit": "a23eae15653c"}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "learner", "settings"),
    [
        ({}, "strips+completion", {}),
        ({"heads": 400}, "strips+completion", {"heads": 400}),
        ({"form": "attention", "max_steps": 7}, "strips+completion", {"form": "attention", "steps": 7}),
        ({"max_steps": 0}, "completion", {}),
        ({"preset": "paper", "form": "attention"}, "strips", {"preset": "paper", "form": "attention", "rate": 0.005}),
        ({"preset": "paper", "domain": "ferry-5c"}, "strips", {"preset": "paper"}),
        ({"network": "sb", "suffix": "all"}, "sb", {}),
        ({"network": "sb", "suffix": "none"}, "sb", {"network_only": True}),
        ({"network": "rope", "preset": "paper", "suffix": "all"}, "rope", {"preset": "paper"}),
    ],
)
def test_rows_of_before_keep_their_figures(old: dict[str, object], learner: str, settings: dict[str, object]) -> None:
    new = migrate_rows.migrated(OLD_ROW | old)
    assert (new["learner"], new["settings"]) == (learner, settings)
    row = read_row(json.dumps(new), Path("x"))
    assert json.loads(format_row(row)) == new
    assert list(new)[:9] == list(RUN_FIELDS)
    gone = {"network", "form", "preset", "heads", "max_steps", "counterexample"}
    assert {name: value for name, value in (OLD_ROW | old).items() if name not in gone} == {
        name: value for name, value in new.items() if name not in ("learner", "settings")
    }
    assert migrate_rows.migrated(new) == new
