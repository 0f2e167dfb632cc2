"""All attempts of a log as rows that can be counted, for learning where labels may be wrong.

A *history* is what a query sees of a tuple of objects: the tokens that happened to it, the latest first, and its START.
A *row* is what an attempt sees: one history for each query of its schema. Equal rows are one row with two counts: how
often the attempt worked there and how often it was refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.collection import (
    Collected,
    apply_action,
    fill_start_row,
    find_start,
    hear_of,
)
from trace2strips.learners.windows.encoding import Encoding
from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.starts import Start, StartLevel
from trace2strips.learners.windows.summary import StartNames
from trace2strips.learners.windows.tables import mix
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE
from trace2strips.traces import Dataset

DONE, STARTS, HISTORIES, TOKENS = range(4)  # why the kernel came back


@compiled(vector=True)
def list_histories(  # type: ignore[no-untyped-def]
    first, last, own, by_objects, tokens, refused, offsets, kinds, slot_start, slot_query, slot_tuple, slot_frame,
    slot_bit, frames, parts, sizes, told_tuple, told_bit, stamp, head, start_stamp, start_of, told_stamp, told, nodes,
    row, start_rows, start_table, counts, table, hashes, query_of, begin_of, start_of_history, frame_of, listed,
    out, state,
):  # fmt: skip
    """out[i, k]: the history that the k-th query of the attempt at position i sees. state: histories, tokens, why."""
    for t in range(first, last):
        counts[6] += 1
        generation = counts[6]
        used = 0
        named = np.int64(-1)
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            kind = kinds[token]
            if kind == INIT_FALSE:
                continue
            if kind == INIT_ATOM:
                hear_of(token, generation, told_tuple, told_bit, told_stamp, told)
                continue
            if kind == INIT_STATE:
                named = np.int64(token)
                continue
            if own >= 0:
                named = own + np.int64(t)
            begin, end = slot_start[token], slot_start[token + 1]
            for slot in range(begin, end):
                about, frame = slot_tuple[slot], slot_frame[slot]
                if start_stamp[about] != generation:
                    if 2 * (counts[4] + 2) > len(start_table) or counts[4] + 2 > len(start_rows):
                        state[2] = STARTS
                        return t
                    fill_start_row(row, named, about, generation, told_stamp, told, parts, sizes, by_objects)
                    start_stamp[about] = generation
                    start_of[about] = find_start(row, start_rows, start_table, counts)
                if 2 * (state[0] + 2) > len(table) or state[0] + 2 > len(hashes):
                    state[2] = HISTORIES
                    return t
                h = np.uint64(0x9E3779B97F4A7C15)
                for part in (np.int64(slot_query[slot]), np.int64(start_of[about]), np.int64(frame)):
                    h = mix(h + np.uint64(part)) + np.uint64(0x9E3779B97F4A7C15)
                length = 0
                at = head[about] if stamp[about] == generation else -1
                while at >= 0:
                    h = mix(h + np.uint64(frames[frame, nodes[at, 0]])) + np.uint64(0x9E3779B97F4A7C15)
                    length += 1
                    at = nodes[at, 1]
                if state[1] + length > len(listed):
                    state[2] = TOKENS
                    return t
                spot = h & np.uint64(len(table) - 1)
                while table[spot] >= 0 and hashes[table[spot]] != h:
                    spot = (spot + np.uint64(1)) & np.uint64(len(table) - 1)
                if table[spot] < 0:
                    new = state[0]
                    table[spot] = new
                    hashes[new], query_of[new], start_of_history[new] = h, slot_query[slot], start_of[about]
                    frame_of[new] = frame
                    state[0] += 1
                    at = head[about] if stamp[about] == generation else -1
                    while at >= 0:
                        listed[state[1]] = frames[frame, nodes[at, 0]]
                        state[1] += 1
                        at = nodes[at, 1]
                    begin_of[new + 1] = state[1]
                out[i, slot - begin] = table[spot]
            if kind == ACTION and not refused[i]:
                used = apply_action(begin, end, slot_tuple, slot_bit, stamp, head, nodes, generation, used)
    state[2] = DONE
    return last


@dataclass(frozen=True)
class Rows:
    projection: Projection
    types: tuple[tuple[int, ...], ...]
    query_of: Int32[np.ndarray, " histories"]
    begin_of: Int64[np.ndarray, " histories_and_one"]
    listed: Int32[np.ndarray, " tokens"]  # the tokens of all histories, in the frames of their queries
    start_of: Int32[np.ndarray, " histories"]  # numbers of `starts`
    starts: tuple[Start, ...]
    schema_of: Int32[np.ndarray, " rows"]
    histories: Int32[np.ndarray, "rows queries"]  # −1 where a schema has fewer queries
    worked: Float64[np.ndarray, " rows"]
    refused: Float64[np.ndarray, " rows"]
    row_of: Int64[np.ndarray, " positions"]  # −1 where nothing is attempted

    @staticmethod
    def of(
        dataset: Dataset,
        encoding: Encoding,
        refused: Bool[np.ndarray, " positions"] | None = None,
        start: StartLevel = StartLevel.SAME,
    ) -> Rows:
        """`refused`: other labels than those of the log, where some of them were repaired."""
        labels = dataset.inapplicable if refused is None else refused
        e, tuples = encoding, len(encoding.tuples)
        scratch = Collected.empty(e)
        slots = np.diff(e.slot_start)[dataset.tokens] if len(dataset.tokens) else np.zeros(0, dtype=np.int64)
        before = np.append(0, np.cumsum(slots))[dataset.offsets]
        widest = int(np.diff(e.slot_start).max(initial=0))
        size, room = 1024, 8192
        table, hashes = np.full(4 * size, -1), np.empty(size, dtype=np.uint64)
        query_of, start_of, frame_of = (np.empty(size, dtype=np.int32) for _ in range(3))
        begin_of, listed = np.zeros(size + 1, dtype=np.int64), np.empty(room, dtype=np.int32)
        out = np.full((len(dataset.tokens), max(1, widest)), -1, dtype=np.int32)
        arrays = (
            np.zeros(tuples, dtype=np.int64), np.empty(tuples, dtype=np.int32), np.zeros(tuples, dtype=np.int64),
            np.empty(tuples, dtype=np.int64), np.zeros(tuples, dtype=np.int64),
            np.zeros((tuples, e.feature_words), dtype=np.uint64),
            np.empty((int(np.diff(before).max(initial=0)) + 1, 2), dtype=np.int32),
            np.zeros(scratch.start_rows.shape[1], dtype=np.uint64),
        )  # fmt: skip
        state = np.zeros(3, dtype=np.int64)
        at = 0
        while at < len(dataset):
            at = list_histories(
                at, len(dataset), np.int64(len(dataset.vocabulary) if start == StartLevel.OWN else -1),
                start == StartLevel.OBJECTS, dataset.tokens, labels, dataset.offsets, dataset.vocabulary.kinds,
                e.slot_start, e.slot_query, e.slot_tuple, e.slot_frame, e.slot_bit, e.frames, e.parts, e.sizes,
                e.told_tuple, e.told_bit, *arrays, scratch.start_rows, scratch.start_table, scratch.counts,
                table, hashes, query_of, begin_of, start_of, frame_of, listed, out, state,
            )  # fmt: skip
            match int(state[2]):
                case 1:  # STARTS
                    scratch.counts[5] = 5
                    scratch.make_room()
                case 2:  # HISTORIES
                    grow = len(hashes)
                    hashes, query_of, start_of, frame_of = (
                        np.concatenate([x, np.empty(grow, dtype=x.dtype)])
                        for x in (hashes, query_of, start_of, frame_of)
                    )
                    begin_of = np.concatenate([begin_of, np.zeros(grow, dtype=np.int64)])
                    table = np.full(2 * len(table), -1)
                    fill_table(table, hashes, state[0])
                case 3:  # TOKENS
                    listed = np.concatenate([listed, np.empty_like(listed)])
        count = int(state[0])
        names = StartNames(scratch, dataset.vocabulary)
        starts: dict[Start, int] = {}
        keys = start_of[:count].astype(np.int64) * len(e.orders) + frame_of[:count]
        known, inverse = np.unique(keys, return_inverse=True)
        numbers = [
            starts.setdefault(names.name(key // len(e.orders), e.orders[key % len(e.orders)]), len(starts))
            for key in known.tolist()
        ]
        attempted = dataset.vocabulary.kinds[dataset.tokens] >= ACTION
        where = np.flatnonzero(attempted & (e.schema[dataset.tokens] >= 0))
        columns = np.concatenate([e.schema[dataset.tokens[where]][:, None], out[where]], axis=1)
        packed = np.ascontiguousarray(columns).view(np.dtype((np.void, columns.dtype.itemsize * columns.shape[1])))
        _, representative, inverse_rows = np.unique(packed.ravel(), return_index=True, return_inverse=True)
        rows = columns[representative]
        row_of = np.full(len(dataset.tokens), -1, dtype=np.int64)
        row_of[where] = inverse_rows
        label = labels[where]
        return Rows(
            e.projection, e.types, query_of[:count], begin_of[: count + 1], listed[: int(state[1])],
            np.array(numbers, dtype=np.int32)[inverse] if count else np.zeros(0, dtype=np.int32), tuple(starts),
            rows[:, 0].copy(), rows[:, 1:].copy(),
            np.bincount(inverse_rows, weights=~label, minlength=len(rows)),
            np.bincount(inverse_rows, weights=label, minlength=len(rows)), row_of,
        )  # fmt: skip


@compiled()
def fill_table(table, hashes, count):  # type: ignore[no-untyped-def]
    for n in range(count):
        spot = hashes[n] & np.uint64(len(table) - 1)
        while table[spot] >= 0:
            spot = (spot + np.uint64(1)) & np.uint64(len(table) - 1)
        table[spot] = n
