"""Work in threads of ours, a part of the traces each. PyTorch uses one thread in each of them: its own threads wait for
each other after every small operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba
import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """work(item) for each, in order of the items."""

    def run(item: Item) -> Result:
        torch.set_num_threads(1)  # a setting of each thread, which other libraries change as well
        return work(item)

    return threads().map(run, items)
