"""Which refusals are needless since an earlier one of the same action implies them: whatever explains that one explains
them. `summary.implies` is the definition; here it is compiled, for many.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.tables import EMPTY, find_key


@compiled(vector=True)
def implies(one, other, start, reason_key, reason_window):  # type: ignore[no-untyped-def]
    """Each reason of the one is a reason of the other, with a window there that lies within."""
    if start[one + 1] - start[one] > start[other + 1] - start[other]:
        return False
    for i in range(start[one], start[one + 1]):
        there = False
        for j in range(start[other], start[other + 1]):
            if reason_key[i] == reason_key[j]:
                there = True
                for w in range(reason_window.shape[1]):
                    if reason_window[j, w] & ~reason_window[i, w]:
                        there = False
                        break
                break
        if not there:
            return False
    return True


@compiled(vector=True)
def mark_implied(start, reason_key, reason_window, keys, heads, sizes, following, implied):  # type: ignore[no-untyped-def]
    """Refusals in the order of their places. Those that are kept stand in a list of one of their reasons, the one with
    the shortest list: whoever is implied by them has that reason too."""
    for n in range(len(implied)):
        implied[n] = False
        shortest = np.int64(-1)
        for r in range(start[n], start[n + 1]):
            place = np.int64(find_key(reason_key[r], keys))
            if keys[place] == EMPTY:
                keys[place], heads[place], sizes[place] = reason_key[r], -1, 0
            at = heads[place]
            while at >= 0:
                if implies(at, n, start, reason_key, reason_window):
                    implied[n] = True
                    break
                at = following[at]
            if implied[n]:
                break
            if shortest < 0 or sizes[place] < sizes[shortest]:
                shortest = place
        if not implied[n] and shortest >= 0:
            following[n] = heads[shortest]
            heads[shortest] = n
            sizes[shortest] += 1


def find_implied(
    start: Int64[np.ndarray, " refusals_and_one"],
    reason_key: Int64[np.ndarray, " reasons"],
    reason_window: UInt64[np.ndarray, "reasons words"],
) -> Bool[np.ndarray, " refusals"]:
    """The needless ones among refusals that stand in the order of their places. What has no live reason stays."""
    count = len(start) - 1
    size = 16
    while size < 2 * (len(np.unique(reason_key)) + 1):
        size *= 2
    implied = np.empty(count, dtype=bool)
    mark_implied(
        start, reason_key, reason_window, np.full(size, EMPTY), np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64), np.empty(count, dtype=np.int64), implied,
    )  # fmt: skip
    return implied
