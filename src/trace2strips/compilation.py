"""`compiled`: the one way in which this package compiles a hot loop with Numba.

Imports nothing of this package.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numba

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
        return numba.njit(**options)(inspect.unwrap(function))

    return decorate
