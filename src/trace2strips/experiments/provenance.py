"""On which machine and at which commit something is measured."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import numba

from trace2strips.experiments.rows import Machine


def machine() -> Machine:
    threads = numba.config.NUMBA_NUM_THREADS
    return Machine(os.cpu_count() or 1, platform.python_version(), platform.machine(), threads)


def commit() -> str | None:
    """The commit that was measured, '-dirty' where the package differs from it (results may: runs are added to them);
    None outside a repository, or where git is not installed."""
    if shutil.which("git") is None:
        return None

    def git(*words: str) -> str:
        package = Path(__file__).parent.parent
        found = subprocess.run(["git", "-C", package, *words], capture_output=True, text=True, check=False)
        return found.stdout.strip()

    name = git("rev-parse", "--short=12", "HEAD")
    return name + ("-dirty" if git("status", "--porcelain", "--", ".") else "") or None
