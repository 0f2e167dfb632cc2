"""The checks of signatures that all other tests run with are there, and find what is wrong."""

import importlib
from pathlib import Path
from types import ModuleType

import jaxtyping
import numpy as np
import pytest
import signatures
from beartype.roar import BeartypeCallHintParamViolation, BeartypeCallHintReturnViolation

from trace2strips.model.strips import StripsAction

CODE = """
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
from jaxtyping import Float

@dataclass(frozen=True)
class Pair:
    name: str
    left: Float[np.ndarray, "rows columns"]
    right: Float[np.ndarray, "rows columns"]

@dataclass(frozen=True)
class Word:
    text: str
    def twice(self) -> Word:
        return Word(self.text * 2)

def row_sums(matrix: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows"]:
    return matrix.sum(axis=0)

def halve(number: int) -> int:
    return number // 2 if number % 2 == 0 else number / 2

def halve_inside(number: int) -> float:
    def halve(other: int) -> int:
        return other / 2
    def first(row: Float[np.ndarray, "columns"]) -> float:
        return float(row[0])
    return halve(number) + first(np.zeros((1, 1)) if number > 2 else np.zeros(1))
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder: Path = tmp_path_factory.mktemp("package")
    (folder / "checked_in_test.py").write_text(CODE)
    signatures.check("checked_in_test")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        return importlib.import_module("checked_in_test")


def test_shapes(checked: ModuleType) -> None:
    square, wide = np.ones((2, 2)), np.ones((2, 3))
    assert checked.row_sums(square).tolist() == [2, 2]
    for wrong in (np.ones(2), np.ones((2, 2), dtype=int), wide):  # of `wide` the result has three rows
        with pytest.raises(jaxtyping.TypeCheckError):
            checked.row_sums(wrong)
    assert checked.Pair("x", wide, wide).name == "x"
    with pytest.raises(jaxtyping.TypeCheckError):
        checked.Pair("x", square, wide)


def test_types(checked: ModuleType) -> None:
    assert checked.halve(4) == 2
    with pytest.raises(BeartypeCallHintParamViolation):
        checked.halve("4")
    with pytest.raises(BeartypeCallHintReturnViolation):
        checked.halve(3)
    assert checked.Word("ab").twice().text == "abab"
    with pytest.raises(BeartypeCallHintParamViolation):
        checked.Word(b"ab")


def test_inside_of_functions_only_shapes(checked: ModuleType) -> None:
    assert checked.halve_inside(1) == 0.5
    with pytest.raises(jaxtyping.TypeCheckError):
        checked.halve_inside(3)


def test_this_package_is_checked() -> None:
    with pytest.raises(BeartypeCallHintParamViolation):
        StripsAction("a", pre=["p"])  # type: ignore[arg-type]
