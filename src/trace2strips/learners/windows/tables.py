"""Compiled tables: numbers by their keys, and for each key the smallest of many windows."""

from __future__ import annotations

import numpy as np

from trace2strips.compilation import compiled

EMPTY = np.int64(-1)


@compiled(vector=True)
def mix(x):  # type: ignore[no-untyped-def]
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled(vector=True)
def find_key(key, keys):  # type: ignore[no-untyped-def]
    """Where a key stands in the table, or where it would."""
    last = np.uint64(len(keys) - 1)
    place = mix(key) & last
    while keys[place] != EMPTY and keys[place] != key:
        place = (place + np.uint64(1)) & last
    return place


@compiled(vector=True)
def is_ruled_out(key, mask, keys, heads, windows, following):  # type: ignore[no-untyped-def]
    """Whether some success has a window within this one."""
    place = find_key(key, keys)
    if keys[place] == EMPTY:
        return False
    at = heads[place]
    while at >= 0:
        within = True
        for w in range(len(mask)):
            if windows[at, w] & ~mask[w]:
                within = False
                break
        if within:
            return True
        at = following[at]
    return False


@compiled(vector=True)
def keep_smallest(key, mask, place_of, keys, heads, windows, following, places, counts):  # type: ignore[no-untyped-def]
    """Enter a window of a success unless a smaller one is there; larger ones go, and their rows are used again.
    counts: windows, keys, …, 7: the first free row and 1, 0 if there is none."""
    place = find_key(key, keys)
    if keys[place] == EMPTY:
        keys[place] = key
        heads[place] = -1
        counts[1] += 1
    before, at = np.int64(-1), heads[place]
    while at >= 0:
        smaller, larger = True, True
        for w in range(len(mask)):
            if windows[at, w] & ~mask[w]:
                smaller = False
            if mask[w] & ~windows[at, w]:
                larger = False
        if smaller:
            if larger and place_of < places[at]:
                places[at] = place_of
            return
        after = following[at]
        if larger:
            if before < 0:
                heads[place] = after
            else:
                following[before] = after
            following[at] = counts[7] - 1
            counts[7] = at + 1
        else:
            before = at
        at = after
    new = counts[7] - 1
    if new >= 0:
        counts[7] = following[new] + 1
    else:
        new = counts[0]
        counts[0] += 1
    for w in range(len(mask)):
        windows[new, w] = mask[w]
    places[new] = place_of
    following[new] = heads[place]
    heads[place] = new


@compiled()
def refill(keys, heads, new_keys, new_heads):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        place = find_key(keys[i], new_keys)
        new_keys[place], new_heads[place] = keys[i], heads[i]
