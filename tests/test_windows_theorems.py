"""The two theorems by brute force: all atoms over tiny worlds against windows, by definition and compiled, on random
logs. `benchmarks/windows_theorems.py` does the same on more of them.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import windows_theorems


@pytest.mark.parametrize("world", windows_theorems.WORLDS)
def test_windows_agree_with_all_models(world: str) -> None:
    seen = windows_theorems.compare(world, 300)
    assert seen.pop("differ") == 0
    assert len(seen) == 5
    assert min(seen.values()) > 20, seen
