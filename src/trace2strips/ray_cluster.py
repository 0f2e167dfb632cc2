"""A Ray cluster: connecting to it, soon and in one line where that cannot be, and whether all nodes have this code.

Ray is an optional extra and imported only when a cluster is asked for. See docs/cluster.md.
"""

from __future__ import annotations

import hashlib
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import trace2strips
from trace2strips.errors import UserError, shorten

LOCAL = "local"  # a cluster of this machine alone, for as long as it is connected
RETRIES = 5  # of a task whose node or worker was lost
PATIENCE = 60  # seconds that a cluster has to answer; Ray itself waits for minutes
HINT = "start one: ray start --head, and: ray start --address=HOST:6379 on further machines"
PROBE = """
import logging, sys, ray
try:
    ray.init(sys.argv[1], log_to_driver=False, logging_level=logging.CRITICAL)
except ConnectionError:
    sys.exit(1)
except Exception as error:
    sys.exit("PROBE " + " ".join(str(error).split()))
"""


def last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]


@cache
def code_version() -> str:
    """The version and a hash of all code of this package, which must be one and the same everywhere."""
    package = Path(trace2strips.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return f"{trace2strips.__version__} {digest.hexdigest()[:12]}"


@contextmanager
def connected(address: str, may_start: bool = False) -> Iterator[Any]:
    """The module `ray`, connected; what Ray would print belongs to its own log files. `may_start`: the address "local"
    starts a cluster."""
    try:
        import ray
    except ImportError:
        raise UserError("Ray is not installed", hint="pip install 'trace2strips[cluster]'") from None
    if not (may_start and address == LOCAL):
        check_cluster(address)
    ray._private.worker._worker_logs_enabled = False  # else it prints on standard output that a node died, at length
    ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL)
    try:
        yield ray
    finally:
        ray.shutdown()


def check_cluster(address: str) -> None:
    """Refuse soon and in one line. A port where nobody listens is told at once; a process of its own, which can be
    ended, finds out the rest: that it is no Ray, or a Ray of another version.
    """
    missing = UserError(f"no Ray cluster at {shorten(address)}", hint=HINT)
    if address != "auto":
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdecimal():
            raise UserError(f"{shorten(address)!r} is no address", hint="auto, HOST:PORT or ray://HOST:PORT")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
        except (OSError, OverflowError, UnicodeError):
            raise missing from None
    try:
        words = [sys.executable, "-c", PROBE, address]
        found = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise missing from None
    _, _, reason = found.stderr.partition("PROBE ")
    if reason:
        raise UserError(f"the Ray cluster at {shorten(address)} is of no use: {reason.strip()}")
    if found.returncode:
        raise missing
