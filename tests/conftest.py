"""Shapes in signatures are checked while tests run; outside of tests the annotations cost nothing."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

install_import_hook("trace2strips", "beartype.beartype")

# one profile: seeded, so that CI fails on what a developer can repeat; no deadline, since Numba compiles on first use
settings.register_profile(
    "project", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("project")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line in a process of its own, in an empty folder, as a user would call it."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "trace2strips", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "200"}
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    return call


def unreadable(path: Path) -> Path:
    path.chmod(stat.S_IWUSR)
    return path


def figures(row: dict[str, Any]) -> dict[str, Any]:
    """The figures of a run that must be the same whenever and however often it is done, and with however many threads."""
    own = ("seconds", "train_seconds", "probing_seconds", "plan_seconds")
    kept = {name: value for name, value in row.items() if name not in own}
    return kept | {"machine": {name: value for name, value in row["machine"].items() if name != "threads"}}
