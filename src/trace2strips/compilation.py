"""`compiled`: the one way in which this package compiles a hot loop with Numba."""

from __future__ import annotations

import atexit
import inspect
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

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
