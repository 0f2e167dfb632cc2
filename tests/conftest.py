"""What all tests share: signatures are checked, examples are seeded, and the command line is called in one way."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import signatures
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from trace2strips.experiments import Row

# threads that wait for each other sleep: spinning, as OpenMP does by default, takes five times the CPU on a busy machine
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# what a shell or a CI service wants of terminals would change what commands print
for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(name, None)

signatures.check("trace2strips")

# one profile: seeded, so that CI fails on what a developer can repeat; no deadline, since Numba compiles on first use
settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("project")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line in an empty folder, as a user would call it; in this process, since a new one takes long to
    import everything."""
    from trace2strips.cli import main

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = ["trace2strips", *map(str, arguments)]
        with (
            pytest.MonkeyPatch.context() as here,
            redirect_stdout(StringIO()) as out,
            redirect_stderr(StringIO()) as err,
        ):
            here.chdir(tmp_path)
            here.setenv("COLUMNS", "200")
            here.setattr(sys, "argv", words)
            with pytest.raises(SystemExit) as ended:
                main()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(words, ended.value.code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def run_process(tmp_path: Path) -> Run:
    """The same in a process of its own: what is killed, starts without a library, or shall end cleanly."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "trace2strips", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    return call


def unreadable(path: Path) -> Path:
    path.chmod(stat.S_IWUSR)
    return path


def figures(row: "Row") -> dict[str, Any]:
    """The figures of a run that must be the same whenever and however often it is done, and with however many threads."""
    own = ("seconds", "train_seconds", "probing_seconds", "plan_seconds")
    found = row.record()
    kept = {name: value for name, value in found.items() if name not in own}
    return kept | {"machine": {name: value for name, value in found["machine"].items() if name != "threads"}}
