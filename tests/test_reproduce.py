"""`trace2strips reproduce` as a user calls it: what is missing is run; whatever stops it, the figures are the same."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run as Command
from conftest import figures

from trace2strips.commands.reproduce import change
from trace2strips.experiments import Run, read_results
from trace2strips.experiments.execution import Failure
from trace2strips.experiments.local import LocalExecutor
from trace2strips.experiments.rows import format_row

TINY = ("main", "--domain", "blocksworld:3", "--learner", "strips+completion", "--encoding", "atoms",
        "--traces", 300, "--test-traces", 100, "--steps", 1000)  # fmt: skip
ENDLESS = (*TINY[:-1], 10**8, "--seeds", 0, "--preset", "paper")
RESULTS = Path("results") / "runs.jsonl"


def rows_in(folder: Path) -> dict[int, dict[str, object]]:
    return {run.seed: figures(row) for run, row in read_results(folder / RESULTS).items()}


@contextmanager
def started(folder: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    folder.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "trace2strips", "reproduce", *map(str, arguments)]
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may have switched it off
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def run_folder(folder: Path) -> Path:
    (found,) = (folder / "build" / "runs").iterdir()
    return found


def wait_for_training(folder: Path) -> None:
    while not list(folder.glob("build/runs/*/log.jsonl")):
        time.sleep(0.05)


def is_at_work(folder: Path) -> bool:
    """Does a process hold the lock of a run's folder?"""
    with (run_folder(folder) / "output.log").open("rb") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_what_is_missing_is_run_and_what_is_there_is_not(run: Command, tmp_path: Path) -> None:
    first = run("reproduce", *TINY, "--seeds", "0,1")
    assert first.returncode == 0, first.stderr
    *lines, last = first.stdout.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        f"blocksworld3-atoms-goal-strips+completion-300-s{seed}-steps1000-test_traces100" for seed in (0, 1)
    ]
    assert [line.split(",")[0] for line in lines] == ["1 done", "2 done"]
    assert last == "2 of 2 runs are done"
    for row in rows_in(tmp_path).values():
        assert (row["train_accuracy"], row["test_accuracy"], row["plan_accuracy"]) == (1.0, 1.0, 1.0)
    names = {path.name for path in (tmp_path / "build" / "runs" / lines[0].split(": ")[1]).iterdir()}
    assert names >= {"settings.json", "metrics.json", "model.pddl", "log.jsonl", "figures.json", "output.log"}
    assert not list((tmp_path / "build" / "datasets").glob("*.t2s*"))

    before = (tmp_path / RESULTS).read_bytes()
    again = run("reproduce", *TINY, "--seeds", "0,1", "--quiet")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (tmp_path / RESULTS).read_bytes() == before

    more = run("reproduce", *TINY, "--seeds", "1,2", "--keep-datasets")
    assert more.stdout.splitlines()[0].startswith("2 done, 0 left")
    assert sorted(rows_in(tmp_path)) == [0, 1, 2]
    assert len(list((tmp_path / "build" / "datasets").glob("*.t2s"))) == 2


def test_killed_at_random_moments(tmp_path: Path) -> None:
    seeds = ("--seeds", "0,1", "--quiet")
    with started(tmp_path / "whole", *TINY, *seeds) as process:
        assert process.wait() == 0, process.communicate()
    expected = rows_in(tmp_path / "whole")
    assert sorted(expected) == [0, 1]

    moments = random.Random(0)
    for _ in range(10):
        with started(tmp_path / "killed", *TINY, *seeds) as process:
            time.sleep(moments.uniform(0.5, 3))
            process.send_signal(signal.SIGKILL)
    with started(tmp_path / "killed", *TINY, *seeds) as process:
        assert process.wait() == 0, process.communicate()
    assert rows_in(tmp_path / "killed") == expected
    left = [path for path in (tmp_path / "killed").rglob("*") if path.suffix in (".part", ".t2s")]
    assert left == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker ends when it next tells where it stands")
def test_nothing_goes_on_when_the_command_is_killed(tmp_path: Path) -> None:
    with started(tmp_path, *ENDLESS) as process:
        wait_for_training(tmp_path)
        assert is_at_work(tmp_path)
        process.kill()
    while is_at_work(tmp_path):  # it dies at once, but not in no time
        time.sleep(0.05)
    assert read_results(tmp_path / RESULTS) == {}


def test_two_commands_do_not_work_in_one_folder(tmp_path: Path, run: Command) -> None:
    with started(tmp_path, *ENDLESS):
        wait_for_training(tmp_path)
        second = run("reproduce", *ENDLESS, "--quiet")
    assert second.returncode == 1
    assert "another process is at work on this run" in second.stdout


def test_control_c_leaves_all_for_the_same_command(tmp_path: Path) -> None:
    with started(tmp_path, *ENDLESS) as process:
        wait_for_training(tmp_path)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (130, "0 of 1 runs are done; the same command goes on\n", "")
    assert not is_at_work(tmp_path)
    names = {path.name for path in run_folder(tmp_path).iterdir()}
    assert "settings.json" in names
    assert "metrics.json" not in names


def test_a_failing_run_does_not_stop_the_others(run: Command, tmp_path: Path) -> None:
    """The world of three blocks has only 13 states."""
    words = ("untrained", "--domain", "blocksworld:3", "--traces", 300, "--test-traces", 100)
    result = run("reproduce", *words, "--encoding", "states:50", "--encoding", "atoms")
    assert result.returncode == 1
    assert list(rows_in(tmp_path)) == [0]
    (failed,) = (line for line in result.stdout.splitlines() if line.startswith("failed: "))
    name = "blocksworld3-states50-goal-completion-300-s0-test_traces100"
    log = Path("build") / "runs" / name / "output.log"
    assert (
        failed
        == f"failed: {name}: blocksworld:3 has only 13 initial states, not 50 (hint: ask for fewer states) ({log})"
    )
    assert "13 initial states" in (tmp_path / log).read_text()
    assert result.stdout.splitlines()[-1] == "1 of 2 runs are done"


def test_what_older_code_made_is_done_again(run: Command, tmp_path: Path) -> None:
    words = (
        "reproduce",
        "untrained",
        "--domain",
        "blocksworld:3",
        "--encoding",
        "atoms",
        "--traces",
        300,
        "--test-traces",
        100,
    )
    assert run(*words).returncode == 0
    path = tmp_path / RESULTS
    ((fresh, row),) = read_results(path).items()
    nothing = run(*words, "--stale")
    assert (nothing.returncode, nothing.stdout) == (0, "no row is older than the code\n")
    path.write_text(f"{format_row(replace(row, code=None, train_accuracy=0.5))}\n")
    older = path.read_bytes()
    listed = run(*words, "--stale", "--dry-run").stdout.splitlines()
    assert listed[1].split()[:4] == ["blocksworld:3", "atoms", "goal", "completion"]
    assert [line.split(":")[0] for line in listed[2:]] == ["0 done in about 0 s", "1 left", "disk"]
    assert run(*words).stdout == "1 of 1 runs are done\n"
    assert path.read_bytes() == older
    again = run(*words, "--stale")
    assert again.stdout.splitlines()[-1] == "1 of 1 runs are done"
    assert figures(read_results(path)[fresh]) == figures(row)


def test_a_dry_run_does_nothing(run: Command, tmp_path: Path) -> None:
    result = run("reproduce", "main", "baselines", "--domain", "blocksworld-8b", "--seeds", 0, "--dry-run")
    assert result.returncode == 0, result.stderr
    *rows, done, left, disk = result.stdout.splitlines()
    assert len(rows) == 1 + 11
    assert done.startswith("0 done in about 0 s")
    assert left.startswith("11 left: about ")
    assert disk.startswith("disk: about ")
    assert list(tmp_path.iterdir()) == []


def test_no_run_begins_after_the_limit(run: Command) -> None:
    result = run("reproduce", *TINY, "--seeds", 0, "--limit-minutes", 0)
    assert (result.returncode, result.stdout) == (0, "0 of 1 runs are done; the same command goes on\n")


def test_the_paper_preset_is_that_of_the_network_alone_in_the_form_of_the_paper() -> None:
    paper = {"preset": "paper", "form": "attention"}
    listed = Run("ferry-5c")
    assert change(listed, "paper", None, None, None) == Run("ferry-5c", learner="strips", settings=paper)
    assert change(listed, None, None, None, None) == listed
    assert change(listed, "fast", 5, 10, 20) == Run("ferry-5c", settings={"steps": 5}, traces=10, test_traces=20)
    fast = change(Run("ferry-8c", learner="strips"), "paper", None, None, None)
    assert fast.settings == paper | {"rate": 0.005}
    decoder = Run("ferry-5c", learner="sb", suffix="all")
    assert change(decoder, "paper", None, None, None) == replace(decoder, settings={"preset": "paper"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["man"], "unknown experiment 'man' (hint: did you mean 'main'?)"),
        (["main", "--learner", "sbb"], "unknown learner 'sbb' (hint: did you mean 'sb'?)"),
        (["untrained", "--steps", "5"], "learner 'completion' has no setting 'steps' (hint: it has heads)"),
        (["main", "--encoding", "state:50"], "unknown encoding 'state:50' (hint: did you mean 'states:50'?)"),
        (["main", "--seeds", "0;1"], "--seeds '0;1' (hint: numbers with commas between: 0,1,2)"),
        (["main", "--preset", "quick"], "unknown preset 'quick' (hint: fast or paper)"),
        (["main", "--traces", "0"], "cannot sample 0 traces (hint: at least 1)"),
        (["main", "--steps", "-1"], "-1 steps (hint: 0 or more)"),
        (["baselines", "--learner", "strips"],
         "baselines has no such run (hint: trace2strips reproduce baselines --dry-run)"),
        (["heads", "--runs", "file"], "file: File exists (hint: name another folder)"),
        (["heads", "--results", "."], ".: is a directory, not a file (hint: name a file in it)"),
        (["heads", "--results", "file"], "file:1: no 'domain' (hint: a row has domain, encoding, suffix, learner, settings, traces, seed, "
         "noise, test_traces, train_accuracy, train_errors, train_seconds, test_accuracy, test_errors)"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(run: Command, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "file").write_text("{}\n")
    result = run("reproduce", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"trace2strips: {message}\n"


def test_unknown_domains_are_told(run: Command) -> None:
    result = run("reproduce", "main", "--domain", "blocksworld-5c")
    assert result.returncode == 2
    assert "unknown domain 'blocksworld-5c' (hint: did you mean 'blocksworld-5b'?" in result.stderr


def test_a_live_table_on_a_terminal(tmp_path: Path) -> None:
    terminal, other_end = os.openpty()
    words = [sys.executable, "-m", "trace2strips", "reproduce", *map(str, TINY), "--seeds", "0"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "150", "LINES": "50"}
    with subprocess.Popen(words, cwd=tmp_path, stdout=other_end, env=environment) as process:
        os.close(other_end)
        shown = b""
        while True:
            try:
                shown += os.read(terminal, 2**16)
            except OSError:  # the other end is closed
                break
    os.close(terminal)
    assert process.returncode == 0
    for word in ("1 left", "1 running", "learning", "1 of 1 runs are done"):
        assert word in shown.decode()


def test_a_process_that_dies_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []
    start = LocalExecutor.start

    def noted(executor: LocalExecutor, folder: Path) -> subprocess.Popen[str]:
        started.append(start(executor, folder))
        return started[-1]

    monkeypatch.setattr(LocalExecutor, "start", noted)
    run = Run("blocksworld:3", learner="strips", traces=300, settings={"preset": "paper", "steps": 10**8})
    ((given, outcome),) = LocalExecutor(tmp_path, tmp_path / "datasets")([run], lambda *_: started[0].kill())
    assert given == run
    log = tmp_path / run.name / "output.log"
    assert outcome == Failure("its process died of SIGKILL, out of memory?", log, killed=True)
