"""A process that ends with the one that started it, also when that one is killed in the middle of a search."""

from __future__ import annotations

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Linux only, where "parent" means the thread that started the process. Elsewhere a worker notices between two
    searches that nobody writes to it any more.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
