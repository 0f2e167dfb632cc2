"""What all tests share: signatures are checked, examples are seeded, and the command line is called in one way."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import signatures
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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
RAY_NODE = {"num_cpus": 1, "memory": 4 * 2**30, "object_store_memory": 100 * 2**20, "include_dashboard": False}


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


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """A node of a Ray cluster, and what it takes for /tmp."""
    import ray
    from ray.cluster_utils import Cluster

    folder = tmp_path_factory.mktemp("first")
    short = Path(tempfile.mkdtemp(prefix="t2s-", dir="/tmp"))  # the path of a socket has at most 107 bytes
    # `add_node` notes the address in Ray's default folder whatever `temp_dir` says, and does not make that folder:
    # here it is one of our own, where no other cluster and no other user's files are
    (short / "ray").mkdir()
    started = Cluster()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", str(short))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        try:
            started.add_node(**RAY_NODE, env_vars={"TMPDIR": str(folder)})
            yield started, folder
        finally:
            ray.shutdown()
            started.shutdown()
            shutil.rmtree(short, ignore_errors=True)


@pytest.fixture(scope="module")
def add_second(head: tuple[Any, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Any, Path]]:
    """The second node and what it takes for /tmp: the same for all tests, until one kills it."""
    cluster, _ = head
    added: list[tuple[Any, Path]] = []

    def add() -> tuple[Any, Path]:
        if not added or added[-1][0] not in cluster.worker_nodes:
            folder = tmp_path_factory.mktemp("second")
            added.append((cluster.add_node(**RAY_NODE, env_vars={"TMPDIR": str(folder)}), folder))
        return added[-1]

    return add


# ---- in a browser

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """The browser that is on this machine; CI must have one."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        message = f"no browser: none of {', '.join(names)} is on the PATH"
        if os.environ.get("TRACE2STRIPS_NEED_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()
