"""`compiled`: the one way in which this package compiles a hot loop with Numba."""

from __future__ import annotations

import atexit
import inspect
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from trace2strips.errors import UserError
from trace2strips.files import private_folder

Function = Callable[..., Any]


def compiled(parallel: bool = False, vector: bool = False) -> Callable[[Function], Function]:
    """Compile with Numba and keep the machine code on disk, so that only the first run ever pays for it.

    There is no fastmath: with it the code that a process compiles and the code that the next one reads from disk round
    differently (a parallel loop is optimised once more on its way to the disk), so a run that was killed in its first
    process would end elsewhere. It costs a fifth of the speed.

    `vector` is for loops that LLVM shall turn into vector code and that threads of ours call: a division is not checked
    for zero (the check is a branch, which vectors cannot take), and the interpreter's lock is released.

    Tests wrap every function of the package to check shapes; Numba needs the bare function, hence the unwrap.
    """

    def decorate(function: Function) -> Function:
        options: dict[str, Any] = {"cache": True, "parallel": parallel}
        if vector:
            options |= {"error_model": "numpy", "nogil": True}
        bare = inspect.unwrap(function)
        try:
            return numba.njit(**options)(bare)
        except RuntimeError:  # neither the package's folder nor the user's can be written
            if numba.config.CACHE_DIR:
                raise
            keep_elsewhere()
            return numba.njit(**options)(bare)

    return decorate


class CompilingWatch(event.Listener):  # type: ignore[misc]  # Numba says nothing of types
    """How long Numba has compiled; what is read from disk costs nothing. On a terminal it says so once: the first run
    of all would seem to hang."""

    def __init__(self, say: bool) -> None:
        self.say, self.seconds = say, 0.0
        self.depth, self.since = 0, 0.0  # a function that is compiled has others compiled that it calls

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.since = time.perf_counter()
        self.depth += 1
        if self.say:
            print("compiling for this machine: the first run alone takes half a minute longer", file=sys.stderr)
            self.say = False

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.since


@contextmanager
def compiling_watched(say: bool = False) -> Iterator[CompilingWatch]:
    watch = CompilingWatch(say)
    with event.install_listener("numba:compile", watch):
        yield watch


def keep_elsewhere() -> None:
    """Keep machine code in a folder that is ours alone: whoever can write there decides what runs here. Processes that
    are started from here do the same."""
    try:
        folder = private_folder() / "numba"
        folder.mkdir(exist_ok=True)
    except (UserError, OSError):
        folder = Path(tempfile.mkdtemp(prefix="trace2strips-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)
    hint = "NUMBA_CACHE_DIR=FOLDER keeps it"
    print(f"trace2strips: {UserError(f'no place for compiled code but {folder}', hint=hint)}", file=sys.stderr)
