"""The compiled collection: one pass over the traces keeps the smallest windows of successes and what refusals ask.

The kernel stops when an array is full; the caller makes room and it goes on with the trace it stopped in. Nothing is
counted twice by that: a window or a refusal that is there already changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.encoding import Encoding
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE
from trace2strips.traces import Dataset

EMPTY = np.int64(-1)
NAMED = 16  # from this on the first word of a START's row says a named state, below it how many objects it is about
START_MARK = np.int64(1) << np.int64(39)  # in a key: what deletes is a START
DONE, WINDOWS, KEYS, REFUSALS, REASONS, STARTS = range(6)  # why the kernel came back


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
    """Enter a window of a success unless a smaller one is there; larger ones go. counts: windows, keys."""
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
        else:
            before = at
        at = after
    new = counts[0]
    counts[0] += 1
    for w in range(len(mask)):
        windows[new, w] = mask[w]
    places[new] = place_of
    following[new] = heads[place]
    heads[place] = new


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
def collect(  # type: ignore[no-untyped-def]
    first, last, own, by_objects, tokens, refused, offsets, kinds, trace_number,
    slot_start, slot_query, slot_tuple, slot_frame, slot_bit, schema, frames, query_bits, parts, sizes, told_tuple,
    told_bit, stamp, head, start_stamp, start_of, told_stamp, told, nodes, row, mask,
    keys, heads, windows, following, places, start_rows, start_table,
    refusal_schema, refusal_place, refusal_start, reason_key, reason_window, refusal_table, counts,
):  # fmt: skip
    """counts: windows, keys, refusals, reasons, starts. From `own` on, if not −1, numbers of states are those of traces
    that start in their own way; `by_objects`: told STARTs are told apart by their objects too."""
    orders = np.int64(len(frames))
    words = windows.shape[1]
    for t in range(first, last):
        counts[6] += 1  # a trace that is begun again has a history of its own
        generation = counts[6]
        used = 0
        state = np.int64(-1)
        place_of_trace = trace_number[t] << np.int64(32)
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
                state = own + trace_number[t]
            worked = not refused[i]
            begin, end = slot_start[token], slot_start[token + 1]
            place = place_of_trace | position
            position += 1
            new_reasons = counts[3]
            asked = np.uint64(schema[token])
            for slot in range(begin, end):
                about, frame = slot_tuple[slot], slot_frame[slot]
                query = np.int64(slot_query[slot])
                bits = query_bits[query]
                if counts[0] + bits + 2 > len(windows):
                    counts[5] = WINDOWS
                    return t
                if 2 * (counts[1] + bits + 2) > len(keys):
                    counts[5] = KEYS
                    return t
                if new_reasons + bits + 2 > len(reason_key):
                    counts[5] = REASONS
                    return t
                for w in range(words):
                    mask[w] = 0
                at = head[about] if stamp[about] == generation else -1
                while at >= 0:
                    bit = frames[frame, nodes[at, 0]]
                    key = query << np.int64(40) | np.int64(bit)
                    if worked:
                        keep_smallest(key, mask, place, keys, heads, windows, following, places, counts)
                    elif not is_ruled_out(key, mask, keys, heads, windows, following):
                        reason_key[new_reasons] = key
                        for w in range(words):
                            reason_window[new_reasons, w] = mask[w]
                        new_reasons += 1
                    mask[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
                    at = nodes[at, 1]
                if start_stamp[about] != generation:
                    if 2 * (counts[4] + 2) > len(start_table) or counts[4] + 2 > len(start_rows):
                        counts[5] = STARTS
                        return t
                    fill_start_row(row, state, about, generation, told_stamp, told, parts, sizes, by_objects)
                    start_stamp[about] = generation
                    start_of[about] = find_start(row, start_rows, start_table, counts)
                key = query << np.int64(40) | START_MARK | (np.int64(start_of[about]) * orders + frame)
                if worked:
                    keep_smallest(key, mask, place, keys, heads, windows, following, places, counts)
                elif not is_ruled_out(key, mask, keys, heads, windows, following):
                    reason_key[new_reasons] = key
                    for w in range(words):
                        reason_window[new_reasons, w] = mask[w]
                    new_reasons += 1
            if not worked:
                if 2 * (counts[2] + 2) > len(refusal_table) or counts[2] + 2 > len(refusal_schema):
                    counts[5] = REFUSALS
                    return t
                h = mix(asked)
                for r in range(counts[3], new_reasons):
                    h = mix(h ^ np.uint64(reason_key[r]))
                    for w in range(words):
                        h = mix(h ^ reason_window[r, w])
                spot = h & np.uint64(len(refusal_table) - 1)
                known = False
                while refusal_table[spot] >= 0:
                    other = refusal_table[spot]
                    a, b = refusal_start[other], refusal_start[other + 1]
                    if refusal_schema[other] == schema[token] and b - a == new_reasons - counts[3]:
                        same = True
                        for r in range(b - a):
                            if reason_key[a + r] != reason_key[counts[3] + r]:
                                same = False
                                break
                            for w in range(words):
                                if reason_window[a + r, w] != reason_window[counts[3] + r, w]:
                                    same = False
                        if same:
                            known = True
                            break
                    spot = (spot + np.uint64(1)) & np.uint64(len(refusal_table) - 1)
                if not known:
                    new = counts[2]
                    refusal_table[spot] = new
                    refusal_schema[new], refusal_place[new] = schema[token], place
                    counts[2] += 1
                    counts[3] = new_reasons
                    refusal_start[new + 1] = new_reasons
            elif kind == ACTION:
                used = apply_action(begin, end, slot_tuple, slot_bit, stamp, head, nodes, generation, used)
    counts[5] = DONE
    return last


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
    refusal_table: Int64[np.ndarray, " refusal_table"]
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
            np.empty(4 * size, dtype=np.int64), np.empty((4 * size, words), dtype=np.uint64), np.full(4 * size, EMPTY),
            np.zeros(7, dtype=np.int64),
        )  # fmt: skip

    def make_room(self) -> None:
        """Double what was full. Tables are filled anew, since places in them depend on their size."""
        match int(self.counts[5]):
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
                self.refusal_table = np.full(2 * len(self.refusal_table), EMPTY)
                hash_refusals(
                    self.refusal_schema, self.refusal_start, self.reason_key, self.reason_window, self.refusal_table,
                    self.counts[2],
                )  # fmt: skip
            case 4:  # REASONS
                self.reason_key, self.reason_window = doubled(self.reason_key), doubled(self.reason_window)
            case 5:  # STARTS
                rows, count = self.start_rows, int(self.counts[4])
                self.start_rows, self.start_table = doubled(rows), np.full(2 * len(self.start_table), EMPTY)
                self.counts[4] = 0
                for number in range(count):
                    find_start(rows[number], self.start_rows, self.start_table, self.counts)

    def live(self) -> Bool[np.ndarray, " reasons"]:
        """Which reasons of refusals no success rules out."""
        out = np.empty(int(self.counts[3]), dtype=bool)
        mark_live(self.reason_key, self.reason_window, self.keys, self.heads, self.windows, self.following, out)
        return out

    def is_explainable(self) -> bool:
        """Theorem 1: whether each refusal has a live reason."""
        before = np.append(0, np.cumsum(self.live()))[self.refusal_start[: int(self.counts[2]) + 1]]
        return bool((np.diff(before) > 0).all())

    def successes(self) -> Iterator[tuple[int, UInt64[np.ndarray, " words"], int]]:
        """The smallest windows: key, window, place."""
        for place in np.flatnonzero(self.keys != EMPTY).tolist():
            at = int(self.heads[place])
            while at >= 0:
                yield int(self.keys[place]), self.windows[at], int(self.places[at])
                at = int(self.following[at])


@compiled()
def mark_live(reason_key, reason_window, keys, heads, windows, following, out):  # type: ignore[no-untyped-def]
    for r in range(len(out)):
        out[r] = not is_ruled_out(reason_key[r], reason_window[r], keys, heads, windows, following)


def doubled(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, np.empty_like(array)])


@compiled()
def refill(keys, heads, new_keys, new_heads):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        place = find_key(keys[i], new_keys)
        new_keys[place], new_heads[place] = keys[i], heads[i]


@compiled()
def hash_refusals(schema, start, reason_key, reason_window, table, count):  # type: ignore[no-untyped-def]
    for n in range(count):
        h = mix(np.uint64(schema[n]))
        for r in range(start[n], start[n + 1]):
            h = mix(h ^ np.uint64(reason_key[r]))
            for w in range(reason_window.shape[1]):
                h = mix(h ^ reason_window[r, w])
        spot = h & np.uint64(len(table) - 1)
        while table[spot] >= 0:
            spot = (spot + np.uint64(1)) & np.uint64(len(table) - 1)
        table[spot] = n


def collect_windows(
    dataset: Dataset, encoding: Encoding, start: StartLevel = StartLevel.SAME, first_trace: int = 0
) -> Collected:
    """All traces; `start` says which of them are taken to start alike."""
    found = Collected.empty(encoding)
    e, tuples = encoding, len(encoding.tuples)
    query_bits = np.array([len(e.projection.tokens[len(s)]) for _, s in e.projection.queries], dtype=np.int64)
    slots = np.diff(e.slot_start)[dataset.tokens] if len(dataset.tokens) else np.zeros(0, dtype=np.int64)
    before = np.append(0, np.cumsum(slots))[dataset.offsets]
    scratch = (
        np.zeros(tuples, dtype=np.int64), np.empty(tuples, dtype=np.int32), np.zeros(tuples, dtype=np.int64),
        np.empty(tuples, dtype=np.int64), np.zeros(tuples, dtype=np.int64),
        np.zeros((tuples, e.feature_words), dtype=np.uint64),
        np.empty((int(np.diff(before).max(initial=0)) + 1, 2), dtype=np.int32),
        np.zeros(found.start_rows.shape[1], dtype=np.uint64), np.zeros(e.words, dtype=np.uint64),
    )  # fmt: skip
    numbers = np.arange(first_trace, first_trace + len(dataset), dtype=np.int64)
    at = 0
    while True:
        at = collect(
            at, len(dataset), np.int64(len(dataset.vocabulary) if start == StartLevel.OWN else -1),
            start == StartLevel.OBJECTS, dataset.tokens, dataset.inapplicable, dataset.offsets,
            dataset.vocabulary.kinds, numbers,
            e.slot_start, e.slot_query, e.slot_tuple, e.slot_frame, e.slot_bit, e.schema, e.frames, query_bits, e.parts,
            e.sizes, e.told_tuple, e.told_bit, *scratch,
            found.keys, found.heads, found.windows, found.following, found.places, found.start_rows, found.start_table,
            found.refusal_schema, found.refusal_place, found.refusal_start, found.reason_key, found.reason_window,
            found.refusal_table, found.counts,
        )  # fmt: skip
        if found.counts[5] == DONE:
            return found
        found.make_room()
