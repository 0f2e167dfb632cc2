"""Killed at any moment, and a disk that is full: the same command goes on to the same result, and nothing is half-written."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from conftest import Run, figures

import trace2strips as t2s
from trace2strips.cli import COMMANDS
from trace2strips.experiments import Run as ExperimentRun
from trace2strips.experiments.performing import read_figures
from trace2strips.learners.registry import learner_names
from trace2strips.traces import write_traces

MOMENTS = 10
# One process starts a child for each try, which so costs the work alone: it has done the whole work itself, or, since
# PyTorch's threads do not live through a fork, has loaded what the child loaded that did it. A child kills itself at its
# n-th file that is opened, renamed or removed: every moment between two of them is the same to the disk.
KILLED = """
import importlib, json, os, random, signal, sys
from contextlib import suppress
import trace2strips.learners.training as training
training.CHECKPOINT_SECONDS = 0
seen, moment, watched = 0, 0, ""

def watch(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.remove", "os.mkdir") and watched and watched in str(arguments[0]):
        seen += 1
        if seen == moment:
            os.kill(os.getpid(), signal.SIGKILL)

def attempt(folder):
    try:
        return work(folder) or 0
    except SystemExit as ended:
        return 1 if isinstance(ended.code, str) else ended.code or 0

def child(folder, at):
    global seen, moment, watched
    pid = os.fork()
    if pid == 0:
        seen, moment, watched = 0, at, folder
        code = attempt(folder)
        if folder == "whole":
            with open("told.json", "w") as file:
                json.dump([seen, [name for name in sys.modules if name.startswith(("trace2strips", "torch", "numpy"))]], file)
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

sys.addaudithook(watch)
if apart:
    assert child("whole", 0) == 0
    seen, names = json.load(open("told.json"))
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)
else:
    watched = "whole"
    assert attempt("whole") == 0
    watched = ""
folder, folders, killed = "killed-0", 1, 0
for at in sorted(random.Random(0).sample(range(1, seen + 1), 10)):
    code = child(folder, at)
    if code in (0, 2):  # the work was done before that moment came, so it comes in a new folder
        folder, folders = f"killed-{folders}", folders + 1
        code = child(folder, at)
    if code != -signal.SIGKILL:
        sys.exit(f"exit code {code} at {at} of {seen} moments")
    killed += 1
print(killed, child(folder, 0))
"""
LEARNING = """
import sys
from trace2strips.cli import main

def work(folder):
    sys.argv = ["trace2strips", *words, "--out", folder, "-q"]
    main()

words = sys.argv[1:]
apart = words[3] in ("sb", "sinusoidal", "rope")
if apart:
    import torch
"""
WORKING = """
import json, os, sys
from pathlib import Path
from trace2strips.experiments import worker

def work(folder):
    os.makedirs(folder, exist_ok=True)
    request = {"run": json.loads(words[0]), "folder": folder, "datasets": f"datasets of {folder}"}
    Path("request").write_text(json.dumps(request))
    for handle, path, flags in ((0, "request", os.O_RDONLY), (2, f"{folder}/output.log", os.O_CREAT | os.O_WRONLY)):
        os.dup2(os.open(path, flags), handle)
    sys.argv = ["worker", str(os.getppid())]
    worker.main()

words = sys.argv[1:]
apart = True  # the worker moves its own standard output
worker.perform(worker.Run(**json.loads(words[0])), Path("loaded"), worker.DatasetCache(Path("datasets of loaded")))
"""


def kill(program: str, *words: object, folder: Path) -> tuple[int, int]:
    """How often the work was killed, and the exit code of the last try, which nobody killed."""
    one = {
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "NUMBA_THREADING_LAYER": "workqueue",
    }  # lives through a fork
    done = subprocess.run([sys.executable, "-c", program + KILLED, *map(str, words)], env={**os.environ, **one},
                          cwd=folder, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    killed, code = map(int, done.stdout.splitlines()[-1].split())
    return killed, code


@pytest.mark.parametrize("learner", learner_names())
def test_learn_killed_at_ten_moments(learner: str, tmp_path: Path) -> None:
    write_traces(t2s.sample("blocksworld:2", t2s.SampleSettings(40, 8, suffix="all")), tmp_path / "x.t2s")
    steps = [] if learner in ("windows", "completion") else ["--steps", "20"]
    killed, code = kill(LEARNING, "learn", "x.t2s", "--learner", learner, *steps, folder=tmp_path)
    assert killed == MOMENTS
    assert code in (0, 2)  # killed as it ended: then it is told that the run is done
    for folder in tmp_path.glob("killed-*"):
        for name in ("model.json", "model.pddl", "domain.pddl"):
            if (tmp_path / "whole" / name).exists():
                assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        assert (folder / "metrics.json").exists()


def test_the_worker_of_reproduce_killed_at_ten_moments(tmp_path: Path) -> None:
    """The command itself is killed in tests/test_reproduce.py."""
    asked = ExperimentRun(
        "blocksworld:3", learner="strips+completion", traces=300, test_traces=100, settings={"steps": 1000}
    )
    killed, code = kill(WORKING, json.dumps(asked.record()), folder=tmp_path)
    assert (killed, code) == (MOMENTS, 0)

    def names(folder: Path) -> set[str]:
        return {path.name for path in folder.rglob("*") if "tfevents" not in path.name}  # its name has the time

    for folder in tmp_path.glob("killed-*"):
        assert figures(read_figures(folder)) == figures(read_figures(tmp_path / "whole"))
        assert names(folder) == names(tmp_path / "whole")


@pytest.mark.slow
def test_learn_on_ray_killed_at_ten_moments(head: tuple[Any, Path], tmp_path: Path, run: Run) -> None:
    cluster, _ = head
    for number in range(4):
        write_traces(t2s.sample("blocksworld:2", t2s.SampleSettings(30, 8, seed=number)), tmp_path / f"x{number}.jsonl")
    files = [f"x{number}.jsonl" for number in range(4)]
    assert run("learn", *files, "--stream", "--out", "whole").returncode == 0
    words = [sys.executable, "-m", "trace2strips", "learn", *files, "--ray", cluster.address, "--out", "killed", "-q"]
    moments = random.Random(0)
    for _ in range(MOMENTS):
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(moments.uniform(0.2, 4))  # the moment is the test
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    last = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert last.returncode == 0 or "holds a finished run already" in last.stderr
    for name in ("model.json", "domain.pddl", "summary.json.gz"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


# --- a disk that is full ---

WRITING = {
    "sample": ("sample", "blocksworld:2", "--traces", 20, "--out", "out.t2s"),
    "sample as text": ("sample", "blocksworld:2", "--traces", 20, "--out", "out.jsonl.gz"),
    "ground": ("ground", "blocksworld:2", "--out", "out.pddl"),
    "ground, the problem": (
        "ground",
        "d.pddl",
        "--problem",
        "p.pddl",
        "--out",
        "out.pddl",
        "--out-problem",
        "out-p.pddl",
    ),
    "learn": ("learn", "x.txt", "--out", "out"),
    "learn, training": ("learn", "x.txt", "--learner", "strips", "--steps", 20, "--out", "out"),
    "learn --stream": ("learn", "x.txt", "--stream", "--out", "out"),
    "learn --domain": ("learn", "--domain", "blocksworld:2", "--traces", 20, "--out", "out"),
    "learn --update": ("learn", "x.txt", "--update", "run", "--out", "out"),
    "learn --update, where it is": ("learn", "x.txt", "--update", "run"),
    **{
        f"export {form}": ("export", "run", "--format", form, "--out", "out")
        for form in ("json", "pddl", "unified-planning", "dot", "svg")
    },
    "plan": ("plan", "run", "--enable", "close", "--out", "out.plan"),
    "judge": ("judge", "run", "x.txt", "--csv", "out.csv"),
    "explore": ("explore", "run", "--no-open"),
    "brasp": ("brasp", "simple", "--html", "out.html"),
    "report": ("report", "--results", "runs.jsonl", "--out", "out"),
    "demo": ("demo", "--out", "out.pddl"),
}


OUTPUTS = {"out", "out_problem", "csv", "html", "results", "runs", "datasets"}  # options that name what is written
READ = {"file", "files", "like", "log", "problem", "run", "test", "trace", "traces", "update"}


def test_every_command_that_writes_meets_a_full_disk() -> None:
    """A new option that names a file has to be put among those that write, or among those that read."""
    writing = set()
    for name in COMMANDS:
        kinds = get_type_hints(getattr(import_module(f"trace2strips.commands.{name}"), name))
        paths = {option for option, kind in kinds.items() if "Path" in str(kind)}
        assert paths <= OUTPUTS | READ, f"{name}: {paths - OUTPUTS - READ}"
        writing |= {name} if paths & OUTPUTS else set()
    covered = {str(words[0]) for words in WRITING.values()}
    assert writing - {"reproduce"} == covered - {"explore"}  # the worker and the results of reproduce are below
    assert "reproduce" in writing


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_a_full_disk(words: tuple[object, ...], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of ours goes through `files.writing`; here what it writes goes to /dev/full."""
    (tmp_path / "x.txt").write_text("open !open close !close\n!close open\n")
    (tmp_path / "d.pddl").write_text("(define (domain d) (:predicates (p)) (:action a :parameters () :effect (p)))")
    (tmp_path / "p.pddl").write_text("(define (problem q) (:domain d) (:init) (:goal (p)))")
    assert run("learn", "x.txt", "--out", "run").returncode == 0
    results = Path(__file__).parent.parent / "results"
    (tmp_path / "runs.jsonl").write_text((results / "runs.jsonl").read_text().splitlines()[0] + "\n")
    (tmp_path / "paper.json").write_bytes((results / "paper.json").read_bytes())
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def full(handle: int, mode: str) -> Any:
        os.close(handle)
        return open("/dev/full", mode)  # noqa: PTH123

    monkeypatch.setattr("trace2strips.files.os.fdopen", full)
    said = run(*words)
    assert said.returncode == 2
    assert os.strerror(errno.ENOSPC) in said.stderr.splitlines()[-1]
    assert "Traceback" not in said.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("learner", ["windows", "strips"])
def test_a_disk_that_fills_while_learning(
    learner: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the n-th file on there is no room; when there is again, the same command gives the same."""
    monkeypatch.setattr("trace2strips.learners.training.CHECKPOINT_SECONDS", 0)
    (tmp_path / "x.txt").write_text("open !open close !close\n!close open\n")
    words = ("learn", "x.txt", "--learner", learner, *(("--steps", 20) if learner == "strips" else ()), "-q", "--out")
    written = []

    def note(handle: int, mode: str, fills: int | None = None) -> Any:
        written.append(handle)
        if fills is None or len(written) < fills:
            return open(handle, mode)
        os.close(handle)
        return open("/dev/full", mode)  # noqa: PTH123

    monkeypatch.setattr("trace2strips.files.os.fdopen", note)
    assert run(*words, "whole").returncode == 0
    files = len(written)
    assert files >= 5
    for fills in range(2, files + 1):
        written.clear()
        with monkeypatch.context() as patch:
            patch.setattr("trace2strips.files.os.fdopen", partial(note, fills=fills))
            said = run(*words, f"full-{fills}")
        assert said.returncode == 2
        assert os.strerror(errno.ENOSPC) in said.stderr.splitlines()[-1]
        assert run(*words, f"full-{fills}").returncode == 0
        for name in ("model.json", "model.pddl", "settings.json"):
            assert (tmp_path / f"full-{fills}" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        assert not list((tmp_path / f"full-{fills}").glob(".*.part"))


# of the worker, which has a process of its own: loaded before all else, it fills the disk for files that are written beside
FULL = """
import os
fdopen = os.fdopen

def full(handle, mode="r", *more):
    if mode != "wb":
        return fdopen(handle, mode, *more)
    os.close(handle)
    return open("/dev/full", mode)

os.fdopen = full
"""


def test_a_full_disk_for_the_worker_of_reproduce(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "reproduce",
        "untrained",
        "--domain",
        "blocksworld:3",
        "--encoding",
        "atoms",
        "--traces",
        50,
        "--test-traces",
        10,
    )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "sitecustomize.py").write_text(FULL)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path / "full")
        said = run(*words)
    assert said.returncode == 1
    assert os.strerror(errno.ENOSPC) in said.stdout
    assert "Traceback" not in said.stdout + said.stderr
    assert not list(tmp_path.rglob(".*.part"))
    assert run(*words).returncode == 0  # there is room again
    assert len((tmp_path / "results" / "runs.jsonl").read_text().splitlines()) == 1


def test_a_full_disk_for_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that could not be written whole goes when the next one comes."""
    from trace2strips.errors import FileError
    from trace2strips.experiments import results
    from trace2strips.experiments.rows import read_row

    lines = (Path(__file__).parent.parent / "results" / "runs.jsonl").read_text().splitlines()
    rows = [read_row(line, tmp_path, 1) for line in lines[:2]]
    results.put_result(tmp_path / "runs.jsonl", rows[0])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("trace2strips.experiments.results.os.fsync", full)
        with pytest.raises(FileError, match="No space left on device"):
            results.put_result(tmp_path / "runs.jsonl", rows[1])
    results.put_result(tmp_path / "runs.jsonl", rows[1])
    assert list(results.read_results(tmp_path / "runs.jsonl").values()) == rows
