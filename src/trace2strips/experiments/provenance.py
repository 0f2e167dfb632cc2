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
    """The commit that was measured, '-dirty' where the package differs from it (results may: runs are added to them).
    None where git is not installed or does not keep this file: an installed package knows no commit, whatever
    repository is around the environment that it is installed in."""
    if shutil.which("git") is None:
        return None
    here = Path(__file__)

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", here.parent.parent, *words], capture_output=True, text=True, check=False)

    if git("ls-files", "--error-unmatch", "--", str(here)).returncode:
        return None
    name = git("rev-parse", "--short=12", "HEAD").stdout.strip()
    return name + ("-dirty" if git("status", "--porcelain", "--", ".").stdout.strip() else "") or None
