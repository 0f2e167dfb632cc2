"""Runs on Ray: two real nodes on this machine, each with a temporary folder of its own."""

import fcntl
import io
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Run as Command
from conftest import figures

from trace2strips import ray_cluster
from trace2strips.errors import UserError
from trace2strips.experiments import Run, cluster, perform, read_results
from trace2strips.experiments.cluster import RayExecutor, pack, unpack
from trace2strips.experiments.execution import Failure

ray = pytest.importorskip("ray")

pytestmark = [
    pytest.mark.slow,
    # Ray leaves the pipes of its processes to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RUNS = [Run("blocksworld:3", learner="completion", traces=300, seed=seed, test_traces=100) for seed in range(2)]
# with wrong labels training goes on to its last step
LONG = [replace(run, learner="strips+completion", settings={"steps": 5_000}, noise=0.02) for run in RUNS]
STAGES = {"sampling", "learning", "training", "completion", "testing", "planning", "comparing"}


@dataclass(frozen=True)
class Nodes:
    """`first` is the driver's node, `second` one that can be killed; each path is what the node takes for /tmp."""

    cluster: Any
    second_node: Any
    first: Path
    second: Path
    runs: Path

    @property
    def executor(self) -> RayExecutor:
        return RayExecutor(self.cluster.address, self.runs, cpus=1)


@pytest.fixture
def nodes(
    head: tuple[Any, Path],
    add_second: Callable[[], tuple[Any, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Nodes]:
    monkeypatch.setattr(cluster, "POLL", 0.05)  # however quick a machine is, a training is heard of before it is over
    (ray_nodes, first), (node, second) = head, add_second()
    yield Nodes(ray_nodes, node, first, second, tmp_path / "runs")
    ray.shutdown()


def silent(*_: object) -> None:
    pass


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("here")


def agree(found: dict[Run, Any], here: Path) -> bool:
    """Are the rows those of the same runs on this machine?"""
    return all(figures(row) == figures(perform(run, here / run.name)) for run, row in found.items())


def at_work(temporary: Path) -> list[Path]:
    """The folders of runs on a node that are not finished."""
    return [path.parent for path in temporary.glob("trace2strips-*/*/*/*/settings.json")]


def test_same_rows_as_on_one_machine(nodes: Nodes, here: Path) -> None:
    told = []
    found = dict(nodes.executor(RUNS, lambda run, stage, _: told.append((run, stage))))
    assert set(found) == set(RUNS)
    assert agree(found, here)
    for run in RUNS:
        for name in ("settings.json", "model.pddl", "model.json"):
            assert (nodes.runs / run.name / name).read_bytes() == (here / run.name / name).read_bytes()
    assert told
    assert {run for run, _ in told} <= set(RUNS)
    assert {stage for _, stage in told} <= STAGES
    for folder in (nodes.first, nodes.second):  # both had work, and have kept nothing of it
        (used,) = folder.glob("trace2strips-*/*")
        assert not list(used.iterdir())


def test_a_node_is_killed_in_the_middle(nodes: Nodes, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lost: list[Path] = []

    def kill(*_: object) -> None:
        if not lost and at_work(nodes.second):
            lost.extend(at_work(nodes.second))
            nodes.cluster.remove_node(nodes.second_node, allow_graceful=False)

    found = dict(nodes.executor(LONG, kill))
    assert set(found) == set(LONG)
    assert agree(found, here)
    assert lost
    assert at_work(nodes.second) == lost  # it was not finished there
    assert capfd.readouterr() == ("", "")


def test_stopping_ends_the_runs_and_they_go_on(nodes: Nodes, here: Path) -> None:
    def stop(_: Run, stage: str, __: object) -> None:
        if stage == "training":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(nodes.executor(LONG[:1], stop))
    assert not ray.is_initialized()
    (folder,) = at_work(nodes.first) + at_work(nodes.second)
    with (folder / "output.log").open() as log:  # its process holds the lock
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(BlockingIOError):
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.1)
        else:
            pytest.fail("the run goes on without its driver")
    found = dict(nodes.executor(LONG[:1], silent))
    assert set(found) == {LONG[0]}
    assert agree(found, here)


def test_an_error_of_a_run_is_its_own(nodes: Nodes) -> None:
    wrong = Run("nowhere", traces=300)
    found = dict(nodes.executor([wrong, RUNS[0]], silent))
    failure = found[wrong]
    assert isinstance(failure, Failure)
    assert failure.message.startswith("unknown domain 'nowhere'")
    assert failure.log is not None
    assert "unknown domain" in failure.log.read_text()
    assert found[RUNS[0]].run.test_traces == 100


def test_reproduce_on_a_cluster(nodes: Nodes, here: Path, run_process: Command, tmp_path: Path) -> None:
    words = ("untrained", "--domain", "blocksworld:3", "--encoding", "atoms", "--traces", 300, "--test-traces", 100,
             "--ray", nodes.cluster.address, "--ray-cpus", 1)  # fmt: skip
    result = run_process("reproduce", *words)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1:] == ["1 of 1 runs are done"]
    found = read_results(tmp_path / "results" / "runs.jsonl")
    assert set(found) == {RUNS[0]}
    assert agree(found, here)
    assert {path.name for path in (tmp_path / "build" / "runs").iterdir()} == {RUNS[0].name}


def test_reproduce_without_a_cluster(run: Command) -> None:
    result = run("reproduce", "untrained", "--domain", "blocksworld:3", "--ray", "127.0.0.1:1")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("trace2strips: no Ray cluster at 127.0.0.1:1 (hint: ")
    assert result.stderr.count("\n") == 1


def test_another_version_on_a_node(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "code_version", lambda: "9.9.9 abcdef")
    with pytest.raises(
        UserError, match=r"has another trace2strips: .*, here is 9\.9\.9 abcdef \(hint: install this one there\)"
    ):
        list(nodes.executor(RUNS, silent))
    assert not nodes.runs.exists()


def test_no_node_is_large_enough(head: tuple[Any, Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no node of the cluster has 64 CPUs and 4 GiB of memory"):
        list(RayExecutor(head[0].address, tmp_path, cpus=64)(RUNS, silent))


def test_the_nodes_need_nothing_that_an_earlier_run_left(tmp_path: Path) -> None:
    """In a new account on a new machine the cluster of these tests starts, and leaves nothing behind."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    ours = {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "XDG_"))} | ours
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'pytest'}"]
    test = f"{__file__}::{test_no_node_is_large_enough.__name__}"
    result = subprocess.run([*words, test], cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert [*home.rglob("*"), *temporary.rglob("*")] == []


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:123456", "no..host:6379"])
def test_nobody_listens(address: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no Ray cluster at .*hint: start one"):
        list(RayExecutor(address, tmp_path)(RUNS, silent))


@pytest.mark.parametrize("address", ["", "local", "host", "host:", ":6379", "ray://host"])
def test_no_address(address: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no address \(hint: auto, HOST:PORT or ray://HOST:PORT\)"):
        list(RayExecutor(address, tmp_path)(RUNS, silent))


def test_someone_else_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "PATIENCE", 3)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(UserError, match="no Ray cluster at"):
        list(RayExecutor(f"127.0.0.1:{server.getsockname()[1]}", tmp_path)(RUNS, silent))


def test_ray_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"Ray is not installed \(hint: pip install 'trace2strips\[cluster\]'\)"):
        list(RayExecutor("auto", tmp_path)(RUNS, silent))


def test_a_folder_comes_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "there" / "deep").mkdir(parents=True)
    (tmp_path / "there" / "deep" / "file").write_bytes(b"text")
    packed = pack(tmp_path / "there")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "before").touch()
    with pytest.raises(zipfile.BadZipFile):
        unpack(packed[:-10], tmp_path / "run")
    assert (tmp_path / "run" / "before").exists()
    unpack(packed, tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["deep"]
    assert (tmp_path / "run" / "deep" / "file").read_bytes() == b"text"

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("../outside", b"")
    unpack(stream.getvalue(), tmp_path / "run")
    assert not (tmp_path / "outside").exists()
