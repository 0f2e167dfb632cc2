"""What compiling costs is told apart from the work, and said once where somebody waits for it."""

import time

import numba
import pytest

from trace2strips.compilation import compiling_watched


def test_compiling_is_told_apart_and_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    @numba.njit
    def inner(x: int) -> int:
        return x + 1

    @numba.njit
    def outer(x: int) -> int:
        return inner(x) * 2

    begin = time.perf_counter()
    with compiling_watched(say=True) as first:
        assert outer(1) == 4
    whole = time.perf_counter() - begin
    assert 0.5 * whole < first.seconds <= whole  # what is compiled for another function is not counted twice
    assert capsys.readouterr().err.count("compiling for this machine") == 1
    with compiling_watched(say=True) as second:
        assert outer(2) == 6
    assert second.seconds == 0
    assert capsys.readouterr().err == ""
    with compiling_watched() as third:
        assert outer(1.5) == 5.0
    assert third.seconds > 0
    assert capsys.readouterr().err == ""
