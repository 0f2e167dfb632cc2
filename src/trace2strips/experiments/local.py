"""Runs on this machine, one after the other, each in a process of its own.

A process for each run gives all memory back, cannot change the figures of the next one, and can die (or be killed for
its memory) alone. It ends with the process that started it, also when that one is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trace2strips.errors import FileError
from trace2strips.experiments.execution import Failure, Tell
from trace2strips.experiments.performing import read_figures
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run
from trace2strips.learners.training import Report

LOG = "output.log"  # what the process of a run printed: warnings, and why it failed


@dataclass(frozen=True)
class LocalExecutor:
    """`runs` has a folder for each run, `datasets` what they are learned from."""

    runs: Path
    datasets: Path

    def __call__(self, runs: Iterable[Run], tell: Tell) -> Iterator[tuple[Run, Row | Failure]]:
        for run in runs:
            yield run, self.execute(run, tell)

    def execute(self, run: Run, tell: Tell) -> Row | Failure:
        folder = self.runs / run.name
        with self.start(folder) as process:
            try:
                self.follow(process, run, folder, tell)
            except BaseException:  # also ctrl-C: what it has done so far is in its folder
                process.kill()
                raise
        return read_figures(folder) if process.returncode == 0 else failure(process.returncode, folder / LOG)

    def follow(self, process: subprocess.Popen[str], run: Run, folder: Path, tell: Tell) -> None:
        """Say what to do and pass on what it tells, until it ends."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # it has died already: its exit code says so
            request = {"run": run.record(), "folder": str(folder), "datasets": str(self.datasets)}
            process.stdin.write(json.dumps(request))
            process.stdin.close()
        for line in process.stdout:
            message = json.loads(line)
            tell(run, message["stage"], Report(**message["report"]))

    def start(self, folder: Path) -> subprocess.Popen[str]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / LOG).open("w") as log:
                return subprocess.Popen(
                    [sys.executable, "-P", "-m", "trace2strips.experiments.worker", str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    start_new_session=True,  # ctrl-C is for us to handle
                )
        except OSError as error:
            raise FileError(error.strerror or str(error), file=folder) from None


def failure(code: int, log: Path) -> Failure:
    """The last words of a process, or the signal it died of."""
    if code < 0:
        name = signal.Signals(-code).name
        guess = ", out of memory?" if name == "SIGKILL" else ""
        return Failure(f"its process died of {name}{guess}", log, killed=True)
    words = log.read_text(errors="replace").strip().splitlines()
    return Failure(words[-1].removeprefix("trace2strips: ") if words else f"exit code {code}", log)
