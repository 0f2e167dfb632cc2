"""The compiled collection: a first pass over the traces keeps the smallest windows of successes, a second one what each
refusal has for live reasons.

The kernel stops when an array is full; the caller makes room and it goes on with the trace it stopped in. Nothing is
counted twice by that: a window or a refusal that is there already changes nothing.

Threads take a part of the traces each, with arrays of their own, which are put together after each pass. What comes out
does not depend on their number: a smallest window has the place of its first success, a refusal that of its first
attempt, and which of them stay depends on the set of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numba
import numpy as np
from jaxtyping import Int64, UInt64

from trace2strips.compilation import compiled
from trace2strips.errors import TraceError
from trace2strips.learners.windows.encoding import Encoding
from trace2strips.learners.windows.implied import find_implied
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.tables import EMPTY, is_ruled_out, keep_smallest, mix, refill
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE
from trace2strips.traces import Dataset

NAMED = 16  # from this on the first word of a START's row says a named state, below it how many objects it is about
START_MARK = np.int64(1) << np.int64(39)  # in a key: what deletes is a START
DONE, WINDOWS, KEYS, REFUSALS, REASONS, STARTS = range(6)  # why the kernel came back
MOST_BYTES = 1 << 28  # of an array that is to be doubled: then all of them stay below 2 GB
MEMORY = 1 << 18  # what one thread remembers of queries and refusals: 12 MB
SMALL = 20_000  # positions: below this a second thread is not worth its start


@compiled(vector=True)
def find_start(row, start_rows, start_table, counts):  # type: ignore[no-untyped-def]
    """The number of a START by its key, new ones included. counts[4]: how many there are."""
    h = np.uint64(0)
    for w in range(len(row)):
        h = mix(h ^ (row[w] + np.uint64(0x9E3779B97F4A7C15)))
    last = np.uint64(len(start_table) - 1)
    place = h & last
    while start_table[place] >= 0:
        number = start_table[place]
        same = True
        for w in range(len(row)):
            if start_rows[number, w] != row[w]:
                same = False
                break
        if same:
            return number
        place = (place + np.uint64(1)) & last
    number = counts[4]
    counts[4] += 1
    for w in range(len(row)):
        start_rows[number, w] = row[w]
    start_table[place] = number
    return number


@compiled(vector=True)
def fill_start_row(row, state, about, generation, told_stamp, told, parts, sizes, by_objects=False):  # type: ignore[no-untyped-def]
    """What a START is told apart by: the named state and the tuple, or the atoms told of the tuple and of its parts;
    with `by_objects` the tuple comes last, one more than its number."""
    words = told.shape[1]
    for w in range(len(row)):
        row[w] = 0
    if state >= 0:
        row[0] = np.uint64(state + NAMED)
        row[1] = np.uint64(about)
        return
    row[0] = np.uint64(sizes[about])
    if by_objects:
        row[len(row) - 1] = np.uint64(about + 1)
    if told_stamp[about] == generation:
        for w in range(words):
            row[1 + w] = told[about, w]
    for j in range(parts.shape[1]):
        part = parts[about, j]
        if part >= 0 and told_stamp[part] == generation:
            for w in range(words):
                row[1 + (1 + j) * words + w] = told[part, w]


@compiled(vector=True)
def apply_action(begin, end, slot_tuple, slot_bit, stamp, head, nodes, generation, used):  # type: ignore[no-untyped-def]
    """The tokens that an action leaves come first in the histories of its tuples. A history is a list of nodes, a token
    and the next node each, the latest token first. Returns how many nodes are used."""
    for slot in range(begin, end):
        about, bit = slot_tuple[slot], slot_bit[slot]
        if stamp[about] != generation:
            stamp[about] = generation
            head[about] = -1
        before, at = -1, head[about]
        while at >= 0 and nodes[at, 0] != bit:
            before, at = at, nodes[at, 1]
        if at < 0:
            at = used
            used += 1
            nodes[at, 0] = bit
            nodes[at, 1] = head[about]
            head[about] = at
        elif before >= 0:
            nodes[before, 1] = nodes[at, 1]
            nodes[at, 1] = head[about]
            head[about] = at
    return used


@compiled(vector=True)
def hear_of(token, generation, told_tuple, told_bit, told_stamp, told):  # type: ignore[no-untyped-def]
    """Note an initial atom of the trace."""
    about, bit = told_tuple[token], told_bit[token]
    if about >= 0:
        if told_stamp[about] != generation:
            told_stamp[about] = generation
            told[about] = 0
        told[about, bit // 64] |= np.uint64(1) << np.uint64(bit % 64)


@compiled(vector=True)
def hash_history(about, stamp, head, start_of, nodes, generation, hashes):  # type: ignore[no-untyped-def]
    """What a tuple has seen, in order, and its START."""
    one, two = mix(np.uint64(start_of[about])), mix(~np.uint64(start_of[about]))
    at = head[about] if stamp[about] == generation else -1
    while at >= 0:
        one = mix(one ^ np.uint64(nodes[at, 0] + 1))
        two = mix(two + np.uint64(nodes[at, 0] + 1))
        at = nodes[at, 1]
    hashes[about, 0], hashes[about, 1] = one | np.uint64(1), two  # 0 means: to be made


@compiled(vector=True)
def is_known(one, two, table):  # type: ignore[no-untyped-def]
    one |= np.uint64(1)
    last = np.uint64(len(table) - 1)
    place = two & last
    while table[place, 0]:
        if table[place, 0] == one and table[place, 1] == two:
            return True
        place = (place + np.uint64(1)) & last
    return False


@compiled(vector=True)
def remember(one, two, table, counts, which):  # type: ignore[no-untyped-def]
    """Where two hashes stand in a table, and whether they are new there. A table that is full forgets."""
    if 2 * (counts[which] + 1) > len(table):
        table[:] = 0
        counts[which] = 0
    one |= np.uint64(1)
    last = np.uint64(len(table) - 1)
    place = two & last
    while table[place, 0]:
        if table[place, 0] == one and table[place, 1] == two:
            return place, False
        place = (place + np.uint64(1)) & last
    table[place, 0], table[place, 1] = one, two
    counts[which] += 1
    return place, True


@compiled(vector=True)
def collect(  # type: ignore[no-untyped-def]
    first, last, own, by_objects, second, tokens, refused, offsets, kinds, first_trace,
    slot_start, slot_query, slot_tuple, slot_frame, slot_bit, schema, frames, parts, sizes, told_tuple,
    told_bit, start_name, stamp, head, start_stamp, start_of, hashes, told_stamp, told, nodes, row, mask, memory, known,
    keys, heads, windows, following, places, start_rows, start_table,
    refusal_schema, refusal_place, refusal_start, reason_key, reason_window, counts,
):  # fmt: skip
    """counts: windows, keys, refusals, reasons, starts. From `own` on, if not −1, numbers of states are those of traces
    that start in their own way; `by_objects`: told STARTs are told apart by their objects too.

    The first pass enters the windows of successes and numbers all STARTs; the `second` one notes the reasons of
    refusals that no success rules out. `start_name`: the number of what a START means in a frame.

    Most of what happens has happened before. `memory` knows what a query has met already (the START and the history of
    its tuple), with a hash of the live reasons that this gave; `known` are refusals. Hashes have 128 bits: no chance
    collisions."""
    for t in range(first, last):
        counts[6] += 1  # a trace that is begun again has a history of its own
        generation = counts[6]
        used = 0
        state = np.int64(-1)
        place_of_trace = np.int64(first_trace + t) << np.int64(32)
        position = np.int64(0)
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
            if own >= 0:
                state = own + np.int64(first_trace + t)
            worked = not refused[i]
            begin, end = slot_start[token], slot_start[token + 1]
            place = place_of_trace | position
            position += 1
            one, two = mix(np.uint64(schema[token])), mix(~np.uint64(schema[token]))
            live = False
            for slot in range(begin, begin if second and worked else end):
                about, frame = slot_tuple[slot], slot_frame[slot]
                if start_stamp[about] != generation:
                    if 2 * (counts[4] + 2) > len(start_table) or counts[4] + 2 > len(start_rows):
                        counts[5] = STARTS
                        return t
                    fill_start_row(row, state, about, generation, told_stamp, told, parts, sizes, by_objects)
                    start_stamp[about] = generation
                    start_of[about] = find_start(row, start_rows, start_table, counts)
                    hashes[about, 0] = 0
                if not worked and not second:
                    continue
                if not hashes[about, 0]:
                    hash_history(about, stamp, head, start_of, nodes, generation, hashes)
                salt = mix(np.uint64(slot_query[slot]) << np.uint64(8) | np.uint64(frame))
                where, new = remember(mix(hashes[about, 0] ^ salt), mix(hashes[about, 1] + salt), memory, counts, 8)
                if new:
                    full = meet(
                        slot, place, worked, slot_query, slot_tuple, slot_frame, frames, start_name, stamp, head,
                        start_of, nodes, generation, mask, keys, heads, windows, following, places, counts,
                        memory[where],
                    )  # fmt: skip
                    if full != DONE:
                        memory[where, 1] = ~memory[where, 1]  # half done: to be met again
                        counts[5] = full
                        return t
                one, two = mix(one ^ memory[where, 2]), mix(two + memory[where, 3])
                live = live or memory[where, 2] != 0
            if worked:
                if kind == ACTION:
                    used = apply_action(begin, end, slot_tuple, slot_bit, stamp, head, nodes, generation, used)
                    for slot in range(begin, end):
                        hashes[slot_tuple[slot], 0] = 0
            elif second:
                if not live:  # what nothing explains is known by its place: each of them counts
                    one, two = mix(np.uint64(place)), mix(~np.uint64(place))
                if is_known(one, two, known):
                    continue
                if counts[2] + 2 > len(refusal_schema):
                    counts[5] = REFUSALS
                    return t
                new_reasons = counts[3]
                for slot in range(begin, end if live else begin):
                    new_reasons = write_reasons(
                        slot, slot_query, slot_tuple, slot_frame, frames, start_name, stamp, head, start_of, nodes,
                        generation, mask, keys, heads, windows, following, reason_key, reason_window, new_reasons,
                    )  # fmt: skip
                    if new_reasons < 0:
                        counts[5] = REASONS
                        return t
                remember(one, two, known, counts, 9)
                refusal_schema[counts[2]], refusal_place[counts[2]] = schema[token], place
                counts[2] += 1
                counts[3] = new_reasons
                refusal_start[counts[2]] = new_reasons
    counts[5] = DONE
    return last


@compiled(vector=True)
def meet(  # type: ignore[no-untyped-def]
    slot, place, worked, slot_query, slot_tuple, slot_frame, frames, start_name, stamp, head, start_of, nodes,
    generation, mask, keys, heads, windows, following, places, counts, out,
):  # fmt: skip
    """What a query meets for the first time. Its windows are entered if the action worked; else those that no success
    rules out are hashed into `out[2:]`, zeros if there are none. Returns what is full."""
    about, frame = slot_tuple[slot], slot_frame[slot]
    query = np.int64(slot_query[slot]) << np.int64(40)
    one, two = np.uint64(0), np.uint64(0)
    mask[:] = 0
    at = head[about] if stamp[about] == generation else -1
    while True:
        bit = frames[frame, nodes[at, 0]] if at >= 0 else -1
        if at >= 0:
            key = query | np.int64(bit)
        elif worked:
            key = query | START_MARK | (np.int64(start_of[about]) * np.int64(len(frames)) + frame)
        else:
            key = query | START_MARK | start_name[start_of[about], frame]
        if worked:
            if counts[0] >= len(windows):
                return WINDOWS
            if 2 * (counts[1] + 1) > len(keys):
                return KEYS
            keep_smallest(key, mask, place, keys, heads, windows, following, places, counts)
        elif not is_ruled_out(key, mask, keys, heads, windows, following):
            one, two = mix(one ^ np.uint64(key)), mix(two + np.uint64(key))
            for w in range(len(mask)):
                one, two = mix(one ^ mask[w]), mix(two + mask[w])
            one |= np.uint64(1)
        if at < 0:
            break
        mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        at = nodes[at, 1]
    out[2], out[3] = one, two
    return DONE


@compiled(vector=True)
def write_reasons(  # type: ignore[no-untyped-def]
    slot, slot_query, slot_tuple, slot_frame, frames, start_name, stamp, head, start_of, nodes, generation, mask,
    keys, heads, windows, following, reason_key, reason_window, new_reasons,
):  # fmt: skip
    """Add the reasons that no success rules out, as `meet` goes through them. Returns how many there are
    then, −1 if there is no room."""
    about, frame = slot_tuple[slot], slot_frame[slot]
    query = np.int64(slot_query[slot]) << np.int64(40)
    mask[:] = 0
    at = head[about] if stamp[about] == generation else -1
    while True:
        bit = frames[frame, nodes[at, 0]] if at >= 0 else -1
        key = query | (np.int64(bit) if at >= 0 else START_MARK | start_name[start_of[about], frame])
        if not is_ruled_out(key, mask, keys, heads, windows, following):
            if new_reasons >= len(reason_key):
                return -1
            reason_key[new_reasons] = key
            for w in range(len(mask)):
                reason_window[new_reasons, w] = mask[w]
            new_reasons += 1
        if at < 0:
            return new_reasons
        mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        at = nodes[at, 1]


@dataclass
class Collected:
    """What the kernel keeps, in arrays that grow when it says so."""

    encoding: Encoding
    keys: Int64[np.ndarray, " table"]
    heads: Int64[np.ndarray, " table"]
    windows: UInt64[np.ndarray, "windows words"]
    following: Int64[np.ndarray, " windows"]
    places: Int64[np.ndarray, " windows"]
    start_rows: UInt64[np.ndarray, "starts row"]
    start_table: Int64[np.ndarray, " start_table"]
    refusal_schema: Int64[np.ndarray, " refusals"]
    refusal_place: Int64[np.ndarray, " refusals"]
    refusal_start: Int64[np.ndarray, " refusals_and_one"]
    reason_key: Int64[np.ndarray, " reasons"]
    reason_window: UInt64[np.ndarray, "reasons words"]
    counts: Int64[np.ndarray, " counts"]

    @staticmethod
    def empty(encoding: Encoding, size: int = 1024) -> Collected:
        words = encoding.words
        row = 2 + (1 + encoding.parts.shape[1]) * encoding.feature_words
        return Collected(
            encoding,
            np.full(4 * size, EMPTY), np.empty(4 * size, dtype=np.int64),
            np.empty((size, words), dtype=np.uint64), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64),
            np.empty((size, row), dtype=np.uint64), np.full(4 * size, EMPTY),
            np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64), np.zeros(size + 1, dtype=np.int64),
            np.empty(4 * size, dtype=np.int64), np.empty((4 * size, words), dtype=np.uint64),
            np.zeros(10, dtype=np.int64),
        )  # fmt: skip

    def make_room(self) -> None:
        """Double what was full, if nothing needless can go."""
        full = int(self.counts[5])
        if full in (REFUSALS, REASONS):
            before = int(self.counts[2])
            self.drop_implied()
            if 2 * int(self.counts[2]) < before:
                return
        self.double(full)

    def double(self, what: int) -> None:
        """Tables are filled anew, since places in them depend on their size."""
        self.check_size(what)
        match what:
            case 1:  # WINDOWS
                self.windows, self.following, self.places = map(doubled, (self.windows, self.following, self.places))
            case 2:  # KEYS
                kept = self.keys != EMPTY
                keys, heads = self.keys[kept], self.heads[kept]
                self.keys, self.heads = np.full(2 * len(self.keys), EMPTY), np.empty(2 * len(self.keys), dtype=np.int64)
                refill(keys, heads, self.keys, self.heads)
            case 3:  # REFUSALS
                names = ("refusal_schema", "refusal_place", "refusal_start")
                self.refusal_schema, self.refusal_place, self.refusal_start = (doubled(getattr(self, n)) for n in names)
            case 4:  # REASONS
                self.reason_key, self.reason_window = doubled(self.reason_key), doubled(self.reason_window)
            case 5:  # STARTS
                rows, count = self.start_rows, int(self.counts[4])
                self.start_rows, self.start_table = doubled(rows), np.full(2 * len(self.start_table), EMPTY)
                self.counts[4] = 0
                number_starts(rows[:count], self.start_rows, self.start_table, self.counts, np.empty(count, np.int64))

    def check_size(self, what: int) -> None:
        """Refuse to double what would fill the memory."""
        grows = {WINDOWS: self.windows, KEYS: self.keys, REFUSALS: self.refusal_place, REASONS: self.reason_window}
        if grows.get(what, self.start_rows).nbytes > MOST_BYTES:
            count = len(self.encoding.projection.asked)
            raise TraceError(
                f"what {count:,} kinds of actions leave after each other takes too much memory",
                hint="do names hold arguments? --separator says what stands before them; or learn from fewer traces",
            )

    def absorb(self, other: Collected) -> None:
        """Enter the windows of another part of the traces."""
        starts = int(other.counts[4])
        while 2 * (int(self.counts[4]) + starts + 2) > min(len(self.start_table), 2 * len(self.start_rows)):
            self.double(STARTS)
        numbers = np.empty(starts, dtype=np.int64)
        number_starts(other.start_rows[:starts], self.start_rows, self.start_table, self.counts, numbers)
        orders = len(self.encoding.orders)
        self.enter(other, (numbers[:, None] * orders + np.arange(orders)).ravel())

    def enter(self, other: Collected, names: Int64[np.ndarray, " starts_and_orders"]) -> None:
        """Enter windows; `names` says what the STARTs of the others are called here."""
        while int(self.counts[0] + other.counts[0]) >= len(self.windows):
            self.double(WINDOWS)
        while 2 * int(self.counts[1] + other.counts[1] + 1) > len(self.keys):
            self.double(KEYS)
        enter_windows(
            other.keys, other.heads, other.windows, other.following, other.places, names, self.keys, self.heads,
            self.windows, self.following, self.places, self.counts,
        )  # fmt: skip

    def with_named_starts(self) -> tuple[Collected, Int64[np.ndarray, "starts orders"]]:
        """The same with keys that say what a START means: tuples of two numbers may be told the same atoms in two
        orders. Also the number of each meaning: the first START and frame that have it."""
        starts, orders = int(self.counts[4]), self.encoding.orders
        names = np.arange(starts * len(orders)).reshape(starts, len(orders))
        known: dict[tuple[Any, ...], int] = {}
        for number in np.flatnonzero(self.start_rows[:starts, 0] < NAMED).tolist():
            row = self.start_rows[number]
            for frame, order in enumerate(orders):
                if len(order) == int(row[0]):
                    about = self.encoding.tuples[int(row[-1]) - 1] if row[-1] else ()
                    objects = tuple(about[i] for i in order) if about else ()
                    meaning = (len(order), objects, *told_of(self.encoding, row, order))
                    names[number, frame] = known.setdefault(meaning, int(names[number, frame]))
        if len(known) == 0:
            return self, names
        named = replace(Collected.empty(self.encoding), start_rows=self.start_rows, start_table=self.start_table)
        named.counts[4] = starts
        named.enter(self, names.ravel())
        return named, names

    def without_refusals(self) -> Collected:
        """The same windows, and arrays of its own for refusals."""
        fresh = Collected.empty(self.encoding)
        shared = ("keys", "heads", "windows", "following", "places", "start_rows", "start_table")
        part = replace(fresh, **{name: getattr(self, name) for name in shared})
        part.counts[[0, 1, 4, 7]] = self.counts[[0, 1, 4, 7]]
        return part

    def with_refusals(self, parts: list[Collected]) -> Collected:
        """The same windows with the refusals of all parts."""
        refusals = [int(part.counts[2]) for part in parts]
        reasons = [int(part.counts[3]) for part in parts]
        before = np.append(0, np.cumsum(reasons))

        def joined(name: str, counts: list[int]) -> np.ndarray:
            return np.concatenate([getattr(part, name)[:n] for part, n in zip(parts, counts, strict=True)])

        found = replace(
            self,
            refusal_schema=joined("refusal_schema", refusals),
            refusal_place=joined("refusal_place", refusals),
            refusal_start=np.concatenate(
                [
                    [0],
                    *(
                        part.refusal_start[1 : n + 1] + before[i]
                        for i, (part, n) in enumerate(zip(parts, refusals, strict=True))
                    ),
                ]
            ),
            reason_key=joined("reason_key", reasons),
            reason_window=joined("reason_window", reasons),
            counts=self.counts.copy(),
        )
        found.counts[2:4] = sum(refusals), sum(reasons)
        found.drop_implied()
        return found

    def drop_implied(self) -> None:
        """Leave out the refusals that earlier ones imply."""
        count, reasons = int(self.counts[2]), int(self.counts[3])
        if not count:
            return
        kept = ~find_implied(self.refusal_start[: count + 1], self.reason_key[:reasons], self.reason_window[:reasons])
        sizes = np.diff(self.refusal_start[: count + 1])
        stays = np.repeat(kept, sizes)
        left, left_reasons = int(kept.sum()), int(stays.sum())
        self.refusal_schema[:left] = self.refusal_schema[:count][kept]
        self.refusal_place[:left] = self.refusal_place[:count][kept]
        self.refusal_start[1 : left + 1] = np.cumsum(sizes[kept])
        self.reason_key[:left_reasons] = self.reason_key[:reasons][stays]
        self.reason_window[:left_reasons] = self.reason_window[:reasons][stays]
        self.counts[2:4] = left, left_reasons

    def is_explainable(self) -> bool:
        """Theorem 1: whether each refusal has a live reason."""
        return self.inexplicable == 0

    @property
    def inexplicable(self) -> int:
        """How many refusals have no live reason."""
        return len(self.inexplicable_places())

    def inexplicable_places(self) -> Int64[np.ndarray, " refusals"]:
        count = int(self.counts[2])
        return self.refusal_place[:count][np.diff(self.refusal_start[: count + 1]) == 0]

    def successes(self) -> Iterator[tuple[int, UInt64[np.ndarray, " words"], int]]:
        """The smallest windows: key, window, place."""
        for place in np.flatnonzero(self.keys != EMPTY).tolist():
            at = int(self.heads[place])
            while at >= 0:
                yield int(self.keys[place]), self.windows[at], int(self.places[at])
                at = int(self.following[at])


def doubled(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.empty_like(array)])


@compiled()
def enter_windows(  # type: ignore[no-untyped-def]
    from_keys, from_heads, from_windows, from_following, from_places, names,
    keys, heads, windows, following, places, counts,
):  # fmt: skip
    """Enter windows of others under the names that their STARTs have here."""
    rest = START_MARK - np.int64(1)
    for n in range(len(from_keys)):
        key = from_keys[n]
        if key == EMPTY:
            continue
        if key & START_MARK:
            key = (key & ~rest) | names[key & rest]
        at = from_heads[n]
        while at >= 0:
            keep_smallest(key, from_windows[at], from_places[at], keys, heads, windows, following, places, counts)
            at = from_following[at]


@compiled()
def number_starts(rows, start_rows, start_table, counts, numbers):  # type: ignore[no-untyped-def]
    """The numbers of STARTs that may be new."""
    for n in range(len(rows)):
        numbers[n] = find_start(rows[n], start_rows, start_table, counts)


def collect_windows(
    dataset: Dataset,
    encoding: Encoding,
    start: StartLevel = StartLevel.SAME,
    first_trace: int = 0,
    threads: int | None = None,
) -> Collected:
    """All traces; `start` says which of them are taken to start alike."""
    threads = threads or (numba.config.NUMBA_NUM_THREADS if len(dataset.tokens) >= SMALL else 1)
    middle = np.searchsorted(dataset.offsets, np.linspace(0, len(dataset.tokens), threads + 1)[1:-1])
    bounds = [0, *middle.tolist(), len(dataset)]
    passing = Passing(dataset, encoding, start, first_trace)
    with ThreadPoolExecutor(threads) as pool:
        found, *others = pool.map(passing.first, bounds[:-1], bounds[1:])
        for other in others:
            found.absorb(other)
        found, names = found.with_named_starts()
        parts = [found.without_refusals() for _ in bounds[1:]]
        list(pool.map(passing.second, bounds[:-1], bounds[1:], parts, [names] * threads))
    return found.with_refusals(parts)


@dataclass(frozen=True)
class Passing:
    """What both passes read."""

    dataset: Dataset
    encoding: Encoding
    start: StartLevel
    first_trace: int

    def first(self, begin: int, end: int) -> Collected:
        found = Collected.empty(self.encoding)
        self.run(begin, end, found, None)
        return found

    def second(self, begin: int, end: int, found: Collected, names: Int64[np.ndarray, "starts orders"]) -> None:
        self.run(begin, end, found, names)

    def run(self, begin: int, end: int, found: Collected, names: Int64[np.ndarray, "starts orders"] | None) -> None:
        e, d, tuples = self.encoding, self.dataset, len(self.encoding.tuples)
        own = np.int64(len(d.vocabulary) if self.start == StartLevel.OWN else -1)
        scratch = (
            np.zeros(tuples, dtype=np.int64), np.empty(tuples, dtype=np.int32), np.zeros(tuples, dtype=np.int64),
            np.empty(tuples, dtype=np.int64), np.zeros((tuples, 2), dtype=np.uint64), np.zeros(tuples, dtype=np.int64),
            np.zeros((tuples, e.feature_words), dtype=np.uint64),
            np.empty((int(most_slots(d.tokens, d.offsets[begin : end + 1], e.slot_start)) + 1, 2), dtype=np.int32),
            np.zeros(found.start_rows.shape[1], dtype=np.uint64), np.zeros(e.words, dtype=np.uint64),
            np.zeros((MEMORY, 4), dtype=np.uint64), np.zeros((MEMORY, 2), dtype=np.uint64),
        )  # fmt: skip
        start_name = np.zeros((0, 0), dtype=np.int64) if names is None else names
        while begin < end:
            begin = collect(
                begin, end, own, self.start == StartLevel.OBJECTS, names is not None, d.tokens, d.inapplicable,
                d.offsets, d.vocabulary.kinds, np.int64(self.first_trace),
                e.slot_start, e.slot_query, e.slot_tuple, e.slot_frame, e.slot_bit, e.schema, e.frames, e.parts,
                e.sizes, e.told_tuple, e.told_bit, start_name, *scratch,
                found.keys, found.heads, found.windows, found.following, found.places, found.start_rows,
                found.start_table, found.refusal_schema, found.refusal_place, found.refusal_start, found.reason_key,
                found.reason_window, found.counts,
            )  # fmt: skip
            if begin < end:
                found.make_room()
        found.drop_implied()


@compiled(vector=True)
def most_slots(tokens, offsets, slot_start):  # type: ignore[no-untyped-def]
    """Of one trace: as many nodes may its histories need."""
    most = 0
    for t in range(len(offsets) - 1):
        count = 0
        for i in range(offsets[t], offsets[t + 1]):
            count += slot_start[tokens[i] + 1] - slot_start[tokens[i]]
        most = max(most, count)
    return most


def told_of(encoding: Encoding, row: UInt64[np.ndarray, " row"], order: tuple[int, ...]) -> tuple[tuple[Any, ...], ...]:
    """The atoms that a START's row tells, over the objects of the query: `order[j]` says which object of the sorted
    tuple is the j-th there."""
    where = {place: j for j, place in enumerate(order)}
    r, words = len(order), encoding.feature_words
    subsets = [tuple(range(r)), *(choice for size in range(r) for choice in combinations(range(r), size))]
    told: list[tuple[Any, ...]] = []
    for j, subset in enumerate(subsets):
        mask = row[1 + j * words : 1 + (j + 1) * words]
        for w in np.flatnonzero(mask).tolist():
            bits = int(mask[w])
            for i in range(64 * w, min(64 * w + 64, len(encoding.features))):
                if bits >> (i % 64) & 1:
                    predicate, places = encoding.features[i]
                    told.append((predicate, *(where[subset[place]] for place in places)))
    return tuple(sorted(told, key=repr))
