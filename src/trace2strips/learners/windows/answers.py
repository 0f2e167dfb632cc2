"""Answers with certainty: each attempt of a dataset works, is refused, or is open in the models that fit the log.

Theorem 2 on whole datasets, compiled; `learners.windows.reference` has it by definition.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from jaxtyping import UInt8

from trace2strips.compilation import compiled
from trace2strips.learners.windows.collection import (
    NAMED,
    START_MARK,
    Collected,
    apply_action,
    fill_start_row,
    find_start,
    hear_of,
)
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import StartNames, Summary, as_words
from trace2strips.learners.windows.tables import EMPTY, find_key
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming


class Answer(IntEnum):
    OPEN = 0
    WORKS = 1
    REFUSED = 2
    NOT_ASKED = 3  # a position of the setup prefix


@compiled(vector=True)
def answer_traces(  # type: ignore[no-untyped-def]
    first, last, discover, by_objects, tokens, refused, offsets, kinds,
    slot_start, slot_query, slot_tuple, slot_frame, slot_bit, schema, frames, parts, sizes, told_tuple, told_bit,
    stamp, head, start_stamp, start_of, told_stamp, told, nodes, row, mask, seen_key, seen_mask,
    start_rows, start_table, start_map, counts,
    keys, bounds, windows, refusal_bounds, reason_bounds, reason_key, reasons, out,
):  # fmt: skip
    """With `discover` only the STARTs are numbered: what they mean is for the caller to say in `start_map`."""
    words = len(mask)
    for t in range(first, last):
        counts[6] += 1
        generation = counts[6]
        used = 0
        state = np.int64(-1)
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            kind = kinds[token]
            if kind == INIT_FALSE:
                continue
            if kind == INIT_ATOM:
                hear_of(token, generation, told_tuple, told_bit, told_stamp, told)
                continue
            if kind == INIT_STATE:
                state = np.int64(token)
                continue
            begin, end = slot_start[token], slot_start[token + 1]
            if begin == end:  # a schema that nothing is known of
                continue
            seen = 0
            works = True
            for slot in range(begin, end):
                about = slot_tuple[slot]
                if start_stamp[about] != generation:
                    if 2 * (counts[4] + 2) > len(start_table) or counts[4] + 2 > len(start_rows):
                        return t
                    fill_start_row(row, state, about, generation, told_stamp, told, parts, sizes, by_objects)
                    start_stamp[about] = generation
                    start_of[about] = find_start(row, start_rows, start_table, counts)
                if discover:
                    continue
                frame, query = slot_frame[slot], np.int64(slot_query[slot])
                for w in range(words):
                    mask[w] = 0
                at = head[about] if stamp[about] == generation else -1
                while True:
                    if at >= 0:
                        bit = frames[frame, nodes[at, 0]]
                        key = query << np.int64(40) | np.int64(bit)
                    else:
                        number = start_map[start_of[about], frame]
                        key = query << np.int64(40) | START_MARK | number if number >= 0 else np.int64(-2)
                    live = True
                    if key >= 0:
                        place = find_key(key, keys)
                        if keys[place] != EMPTY:
                            for n in range(bounds[place, 0], bounds[place, 1]):
                                within = True
                                for w in range(words):
                                    if windows[n, w] & ~mask[w]:
                                        within = False
                                        break
                                if within:
                                    live = False
                                    break
                    if live:
                        works = False
                    seen_key[seen] = key
                    for w in range(words):
                        seen_mask[seen, w] = mask[w]
                    seen += 1
                    if at < 0:
                        break
                    mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
                    at = nodes[at, 1]
            if not discover:
                found = 1 if works else 0
                if not works:
                    b = schema[token]
                    for n in range(refusal_bounds[b], refusal_bounds[b + 1]):
                        holds = True
                        for r in range(reason_bounds[n], reason_bounds[n + 1]):
                            there = False
                            for j in range(seen):
                                if seen_key[j] == reason_key[r]:
                                    there = True
                                    for w in range(words):
                                        if seen_mask[j, w] & ~reasons[r, w]:
                                            there = False
                                            break
                                    break
                            if not there:
                                holds = False
                                break
                        if holds:
                            found = 2
                            break
                out[i] = found
            if kind == ACTION and not refused[i] and not discover:
                used = apply_action(begin, end, slot_tuple, slot_bit, stamp, head, nodes, generation, used)
    return last


def answer_all(summary: Summary, dataset: Dataset, naming: Naming) -> UInt8[np.ndarray, " positions"]:
    """An `Answer` for each position. The history of an attempt is what worked before it, by the labels. Where no model
    explains the log nothing is certain: all is open."""
    summary = summary.with_schemas(naming.schema(name)[0] for name in dataset.vocabulary.actions)
    e = encode(dataset, naming, summary.projection.arity, summary.projection)
    words = max(1, e.words)
    starts: dict[object, int] = {}
    groups: dict[int, list[int]] = {}

    def number(reason: tuple[int, object]) -> int:
        query, by = reason
        if isinstance(by, int):
            return query << 40 | by
        return query << 40 | int(START_MARK) | starts.setdefault(by, len(starts))

    for reason, kept in summary.smallest.items():
        groups[number(reason)] = list(kept)
    size = 16
    while size < 2 * len(groups) + 2:
        size *= 2
    keys, bounds = np.full(size, EMPTY), np.zeros((size, 2), dtype=np.int64)
    flat: list[int] = []
    for key, found in groups.items():
        place = int(find_key(np.int64(key), keys))
        keys[place] = key
        bounds[place] = len(flat), len(flat) + len(found)
        flat += found
    refusals = sorted(summary.refusals, key=lambda r: (r.schema, len(r.reasons)))
    schemas = len(summary.projection.asked)
    refusal_bounds = np.searchsorted([r.schema for r in refusals], np.arange(schemas + 1)).astype(np.int64)
    reason_bounds = np.append(0, np.cumsum([len(r.reasons) for r in refusals])).astype(np.int64)
    reason_key = np.array([number(reason) for r in refusals for reason in r.reasons], dtype=np.int64)
    reasons = as_words([window for r in refusals for window in r.reasons.values()], words)
    scratch = Collected.empty(e)
    tuples = len(e.tuples)
    slots = np.diff(e.slot_start)[dataset.tokens] if len(dataset.tokens) else np.zeros(0, dtype=np.int64)
    before = np.append(0, np.cumsum(slots))[dataset.offsets]
    bits = e.frames.shape[1]
    out = np.full(len(dataset.tokens), Answer.NOT_ASKED, dtype=np.uint8)
    out[dataset.vocabulary.kinds[dataset.tokens] >= ACTION] = Answer.OPEN
    start_map = np.full((1, len(e.orders)), -1, dtype=np.int64)
    arrays = (
        np.zeros(tuples, dtype=np.int64), np.empty(tuples, dtype=np.int32), np.zeros(tuples, dtype=np.int64),
        np.empty(tuples, dtype=np.int64), np.zeros(tuples, dtype=np.int64),
        np.zeros((tuples, e.feature_words), dtype=np.uint64),
        np.empty((int(np.diff(before).max(initial=0)) + 1, 2), dtype=np.int32),
        np.zeros(scratch.start_rows.shape[1], dtype=np.uint64), np.zeros(words, dtype=np.uint64),
        np.empty(int(np.diff(e.slot_start).max(initial=0)) * (bits + 1) + 1, dtype=np.int64),
        np.empty((int(np.diff(e.slot_start).max(initial=0)) * (bits + 1) + 1, words), dtype=np.uint64),
    )  # fmt: skip
    for discover in () if summary.nothing_certain else (True, False):
        at = 0
        while at < len(dataset):
            at = answer_traces(
                at, len(dataset), discover, summary.start == StartLevel.OBJECTS, dataset.tokens, dataset.inapplicable,
                dataset.offsets, dataset.vocabulary.kinds, e.slot_start, e.slot_query, e.slot_tuple, e.slot_frame,
                e.slot_bit, e.schema, e.frames, e.parts, e.sizes, e.told_tuple, e.told_bit, *arrays,
                scratch.start_rows, scratch.start_table, start_map, scratch.counts, keys, bounds,
                as_words(flat, words), refusal_bounds, reason_bounds, reason_key, reasons, out,
            )  # fmt: skip
            if at < len(dataset):
                scratch.counts[5] = 5  # STARTS
                scratch.make_room()
        if discover:
            names = StartNames(scratch, dataset.vocabulary)
            count = int(scratch.counts[4])
            start_map = np.full((max(1, count), len(e.orders)), -1, dtype=np.int64)
            for n in range(count):
                for frame, order in enumerate(e.orders):
                    if len(order) == arity_of_start(scratch, n):
                        start_map[n, frame] = starts.get(names.name(n, order), -1)
    return out


def arity_of_start(found: Collected, number: int) -> int:
    """How many objects a START is about."""
    row = found.start_rows[number]
    return len(found.encoding.tuples[int(row[1])]) if int(row[0]) >= NAMED else int(row[0])
