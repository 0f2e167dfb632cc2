"""Runs on a Ray cluster: each is a task that declares what it needs; its folder comes back as if it were done here.

A task does a run as `local` does, in a process of its own with as many threads as CPUs were declared, in a scratch
folder of its node. Ray starts a task again whose node or worker is lost; on the same node it goes on where it was. Ray
is an optional extra and imported only when a cluster is asked for. See docs/cluster.md.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from trace2strips.errors import UserError
from trace2strips.experiments.execution import Failure, Tell
from trace2strips.experiments.local import LOG, LocalExecutor
from trace2strips.experiments.performing import read_figures
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run
from trace2strips.files import private_folder
from trace2strips.learners.training import Report
from trace2strips.ray_cluster import RETRIES, code_version, connected, last_line

CPUS = 2
MEMORY = 4 * 2**30  # bytes; the longest traces (maze-7x7) took the STRIPS Transformer 1.6 GiB
AHEAD = 2  # tasks beyond what the cluster can hold: a node that becomes free has work, a node that joins too
POLL = 0.5  # seconds between two looks at what the tasks tell
ANSWER = 0.5  # seconds to wait for what they told


@dataclass(frozen=True)
class RayExecutor:
    """`address` as for `ray.init`: auto, HOST:PORT or ray://HOST:PORT; `runs` has a folder for each run."""

    address: str
    runs: Path
    cpus: int = CPUS

    def __call__(self, runs: Iterable[Run], tell: Tell) -> Iterator[tuple[Run, Row | Failure]]:
        """Leaving it, also by ctrl-C, ends the connection, and with it Ray ends the tasks."""
        with connected(self.address) as ray:
            yield from self.spread(ray, runs, tell)

    def spread(self, ray: Any, runs: Iterable[Run], tell: Tell) -> Iterator[tuple[Run, Row | Failure]]:
        if not self.places(ray):
            need = f"{self.cpus} CPUs and {MEMORY / 2**30:.3g} GiB of memory"
            raise UserError(f"no node of the cluster has {need}", hint="--ray-cpus 1, or add a node")
        task = ray.remote(work).options(num_cpus=self.cpus, memory=MEMORY, max_retries=RETRIES)
        board = ray.remote(Board).options(num_cpus=0, max_restarts=-1).remote()
        waiting = iter(runs)
        busy: dict[Any, Run] = {}
        while True:
            for run in islice(waiting, max(0, self.places(ray) + AHEAD - len(busy))):
                busy[task.remote(run, code_version(), self.cpus, board)] = run
            if not busy:
                return
            finished, _ = ray.wait(list(busy), timeout=POLL)
            for run, stage, report in news(ray, board):
                if run in busy.values():  # the last word of a run may come after its end
                    tell(run, stage, report)
            for reference in finished:
                run = busy.pop(reference)
                yield run, self.collect(ray, run, reference)

    def places(self, ray: Any) -> int:
        """How many runs the nodes that are alive now can hold."""
        found = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return sum(int(min(node.get("CPU", 0) / self.cpus, node.get("memory", 0) / MEMORY)) for node in found)

    def collect(self, ray: Any, run: Run, reference: Any) -> Row | Failure:
        """Raises where a node cannot do any run: it would take one after the other."""
        try:
            result: Result = ray.get(reference)
        except ray.exceptions.RayTaskError as error:  # what a run itself gets wrong is in the result
            raise UserError(
                f"node {error.ip} cannot do runs: {last_line(error)}", hint="is the same version installed there?"
            ) from None
        except ray.exceptions.RayError as error:  # lost too often
            return Failure(last_line(error))
        if result.other_version:
            versions = f"{result.other_version}, here is {code_version()}"
            raise UserError(f"node {result.node} has another trace2strips: {versions}", hint="install this one there")
        folder = self.runs / run.name
        if not result.archive:
            return Failure(f"{result.failure} (on node {result.node})")
        unpack(result.archive, folder)
        if result.failure:
            return Failure(f"{result.failure} (on node {result.node})", folder / LOG)
        return read_figures(folder)


@dataclass(frozen=True)
class Result:
    """What a task gives back: a run's folder, and the reason if there are no figures in it."""

    node: str
    archive: bytes = b""
    failure: str | None = None
    other_version: str | None = None


class Board:
    """An actor to which tasks pin where they stand. It may be lost: then the news are, and nothing else."""

    def __init__(self) -> None:
        self.latest: dict[Run, tuple[str, Report]] = {}

    def pin(self, run: Run, stage: str, report: Report) -> None:
        self.latest[run] = stage, report

    def take(self) -> list[tuple[Run, str, Report]]:
        latest, self.latest = self.latest, {}
        return [(run, stage, report) for run, (stage, report) in latest.items()]


def news(ray: Any, board: Any) -> list[tuple[Run, str, Report]]:
    try:
        found: list[tuple[Run, str, Report]] = ray.get(board.take.remote(), timeout=ANSWER)
    except ray.exceptions.RayError:
        return []
    return found


def work(run: Run, version: str, cpus: int, board: Any) -> Result:
    """On a node: do the run in a scratch folder and pack it."""
    import ray

    node = ray.util.get_node_ip_address()
    if code_version() != version:
        return Result(node, other_version=code_version())
    os.environ |= {"OMP_NUM_THREADS": f"{cpus}", "NUMBA_NUM_THREADS": f"{cpus}"}

    def pin(run: Run, stage: str, report: Report) -> None:
        with suppress(ray.exceptions.RayError):
            board.pin.remote(run, stage, report)

    try:
        scratch = private_folder() / version.replace(" ", "-") / run.name
    except UserError as error:
        return Result(node, failure=str(error))
    outcome = LocalExecutor(scratch, scratch / "datasets").execute(run, pin)
    if isinstance(outcome, Failure) and outcome.killed:
        os.kill(os.getpid(), signal.SIGKILL)  # so that Ray counts this worker as lost and tries again
    archive = pack(scratch / run.name)
    shutil.rmtree(scratch)
    return Result(node, archive, outcome.message if isinstance(outcome, Failure) else None)


def pack(folder: Path) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return stream.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Beside, then renamed: the folder is never half there. What an interrupted run left in its place is removed."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(part)  # nothing comes to lie outside of it
    if folder.exists():
        shutil.rmtree(folder)
    part.rename(folder)
