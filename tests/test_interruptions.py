"""Killed at any moment, and a disk that is full: the same command goes on to the same result, and nothing is half-written."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

import trace2strips as t2s
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
        return ended.code or 0

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
if "torch" in sys.modules:
    assert child("whole", 0) == 0
    seen, names = json.load(open("told.json"))
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)
else:
    watched = "whole"
    assert attempt("whole") == 0
    watched = ""
moments = sorted(random.Random(0).sample(range(1, max(12, seen)), 10))  # early ones first
killed = 0
for at in moments:
    code = child("killed", at)
    killed += code == -signal.SIGKILL
    if code not in (0, -signal.SIGKILL, 2):
        sys.exit(f"exit code {code} at {at}")
    if code != -signal.SIGKILL:  # it was done before that moment came
        break
print(killed, child("killed", 0))
"""
LEARNING = """
import sys
from trace2strips.cli import main

def work(folder):
    sys.argv = ["trace2strips", *words, "--out", folder, "-q"]
    main()

words = sys.argv[1:]
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
    killed, code = map(int, done.stdout.split())
    return killed, code


@pytest.mark.parametrize("learner", learner_names())
def test_learn_killed_at_ten_moments(learner: str, tmp_path: Path) -> None:
    write_traces(t2s.sample("blocksworld:2", t2s.SampleSettings(40, 8, suffix="all")), tmp_path / "x.t2s")
    steps = [] if learner in ("windows", "completion") else ["--steps", "20"]
    first = "import torch\n" if learner in ("sb", "sinusoidal", "rope") else ""
    killed, code = kill(first + LEARNING, "learn", "x.t2s", "--learner", learner, *steps, folder=tmp_path)
    assert killed >= 3  # some come when the run is done: then the next one is told so
    assert code in (0, 2)
    for name in ("model.json", "model.pddl", "domain.pddl"):
        if (tmp_path / "whole" / name).exists():
            assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert (tmp_path / "killed" / "metrics.json").exists()


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
    "learn": ("learn", "x.txt", "--out", "out"),
    "learn --stream": ("learn", "x.txt", "--stream", "--out", "out"),
    "learn --domain": ("learn", "--domain", "blocksworld:2", "--traces", 20, "--out", "out"),
    "learn --update": ("learn", "x.txt", "--update", "run", "--out", "out"),
    "export": ("export", "run", "--format", "json", "--out", "out.json"),
    "brasp": ("brasp", "simple", "--html", "out.html"),
    "report": ("report", "--results", "runs.jsonl", "--out", "out"),
    "demo": ("demo", "--out", "out.pddl"),
}


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_a_full_disk(words: tuple[object, ...], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of ours goes through `files.writing`; here what it writes goes to /dev/full."""
    (tmp_path / "x.txt").write_text("open !open close !close\n!close open\n")
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
