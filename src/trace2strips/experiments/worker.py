"""The process of one run: {"run", "folder", "datasets"} comes in as JSON, where it stands goes out, a JSON line each.

    python -m trace2strips.experiments.worker PARENT

It holds the lock of the run's log while it works, so no second process works in the same folder. The figures are in
the folder when it ends with exit code 0; else the log says why.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO

from trace2strips.errors import FileError, UserError
from trace2strips.experiments.datasets import DatasetCache
from trace2strips.experiments.performing import perform
from trace2strips.experiments.runs import Run
from trace2strips.learners.training import Report
from trace2strips.processes import die_with_parent

PATIENCE = 3  # seconds: the process before may have been killed just now


def main() -> None:
    die_with_parent()
    if os.getppid() != int(sys.argv[1]):  # it ended before we asked to be told
        return
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints belongs to the log

    def watch(stage: str, report: Report) -> None:
        replies.write(json.dumps({"stage": stage, "report": asdict(report)}) + "\n")
        replies.flush()

    request = json.loads(sys.stdin.read())
    folder = Path(request["folder"])
    try:
        take_lock(sys.stderr.buffer, folder)
        perform(Run(**request["run"]), folder, DatasetCache(Path(request["datasets"])), watch)
    except UserError as error:
        sys.exit(f"trace2strips: {error}")
    for pattern in ("checkpoint-*.safetensors", ".*.part"):  # what kills have left behind
        for path in folder.glob(pattern):
            path.unlink()


def take_lock(log: IO[bytes], folder: Path) -> None:
    """The system lets go of it when this process ends, however it ends."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise FileError("another process is at work on this run", file=folder, hint="wait for it") from None
            time.sleep(0.1)
        else:
            return


if __name__ == "__main__":
    main()
