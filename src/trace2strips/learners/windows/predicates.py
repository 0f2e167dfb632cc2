"""One small model in the version space: few predicates that explain every refusal and forbid no success.

A predicate over r objects is a sign for each token (adds, deletes, or nothing) and how it starts. An *asking* is an
action with the places of its arguments, in order, that a predicate is asked of. A predicate is *admissible* for an
asking if it was true at all successes; only then may it be a precondition. All of this is decided on the summary:
with deleters D and adders A it is false exactly where some d of D happened and nothing of A ∪ D∖{d} since, so an
asking is admissible iff each of its smallest windows of d meets A ∪ D∖{d}, and a refusal is explained iff it has a live
reason d whose window does not. START is a deleter of all tuples that it leaves false.

The search is greedy and deterministic. It begins with the refusals that have fewest live reasons: there a predicate
must be that is deleted by one of them. `Search.build` adds the signs that its successes force, then those that explain
more refusals; the predicate that explains most for its size is taken, until all refusals are explained; then what is
needless goes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.learners.windows.starts import Start
from trace2strips.learners.windows.summary import Summary, as_words

Asking = tuple[int, tuple[int, ...]]  # a schema's number, and the arguments in the predicate's order
SEEDS = 12  # open refusals from which predicates are built in one round
FALSE, TRUE = "false", "true"  # how a predicate may start besides as a told atom
Literal = tuple[Any, ...]  # a told atom over the predicate's own objects: (name, positions…)


@dataclass(frozen=True)
class Predicate:
    """Signs are sets of bits over the tokens of `arity` objects. `start` is FALSE, TRUE or a told atom; `true_at` are
    named starts at which it is true although it starts false."""

    types: tuple[int, ...]  # of its objects
    adds: int
    deletes: int
    start: str | Literal
    true_at: frozenset[Start] = frozenset()
    asked: tuple[Asking, ...] = ()

    @property
    def arity(self) -> int:
        return len(self.types)

    @property
    def signs(self) -> int:
        return (self.adds | self.deletes).bit_count()

    def starts_false(self, key: Start) -> bool:
        if key in self.true_at or self.start == TRUE:
            return False
        return self.start == FALSE or self.start not in key[1:] or key[0] != "told"


Judged = tuple[Predicate, Bool[np.ndarray, " refusals"]]  # with the refusals that it explains


@compiled(vector=True)
def is_false(adds, deletes, false_start, bits, by, window):  # type: ignore[no-untyped-def]
    """Whether a predicate is false where `by` happened, a bit or `bits` and more for a START, and then these."""
    if by < bits:
        if not deletes[by // 64] >> np.uint64(by % 64) & np.uint64(1):
            return False
    elif not false_start[by - bits]:
        return False
    for w in range(len(window)):
        signed = adds[w] | deletes[w]
        if by < bits and by // 64 == w:
            signed &= ~(np.uint64(1) << np.uint64(by % 64))
        if window[w] & signed:
            return False
    return True


@compiled(vector=True)
def judge(  # type: ignore[no-untyped-def]
    adds, deletes, false_start, bits, window_asking, window_by, windows, reason_asking, reason_refusal, reason_by,
    reasons, admissible, explained,
):  # fmt: skip
    """Which askings are admissible, and which refusals are explained by those that are."""
    admissible[:] = True
    for i in range(len(window_by)):
        if admissible[window_asking[i]] and is_false(adds, deletes, false_start, bits, window_by[i], windows[i]):
            admissible[window_asking[i]] = False
    explained[:] = False
    for i in range(len(reason_by)):
        if not explained[reason_refusal[i]] and admissible[reason_asking[i]]:
            explained[reason_refusal[i]] = is_false(adds, deletes, false_start, bits, reason_by[i], reasons[i])


@compiled(vector=True)
def weigh_signs(  # type: ignore[no-untyped-def]
    adds, deletes, false_start, bits, window_asking, window_by, windows, reason_asking, reason_refusal, reason_by,
    reasons, open_refusals, must, all_meet, taken, gain,
):  # fmt: skip
    """gain[bit, 0 or 1]: how many open refusals are explained if the bit came to add or delete; −1 where it has a sign
    already or the asking `must` would no longer be admissible. What `judge` would say of each, for all bits at once: a
    bit makes an asking admissible if it is in all windows that are false now, and does not itself leave one false.

    all_meet[asking]: the bits in all of its windows that are false now. taken[asking]: the bits that have a window in
    which nothing has a sign: false, were they deleters."""
    words = len(adds)
    all_meet[:] = ~np.uint64(0)
    taken[:] = 0
    gain[:] = 0
    for i in range(len(window_by)):
        by, asking = window_by[i], window_asking[i]
        if is_false(adds, deletes, false_start, bits, by, windows[i]):
            for w in range(words):
                all_meet[asking, w] &= windows[i, w]
        elif may_delete(adds, deletes, bits, by, windows[i]):
            taken[asking, by // 64] |= np.uint64(1) << np.uint64(by % 64)
    explained = np.zeros((2, words), dtype=np.uint64)  # the bits that explain one refusal
    for i in range(len(reason_by)):
        by, asking = reason_by[i], reason_asking[i]
        if open_refusals[reason_refusal[i]]:
            if is_false(adds, deletes, false_start, bits, by, reasons[i]):
                for w in range(words):
                    fits = all_meet[asking, w] & ~reasons[i, w]
                    explained[0, w] |= fits
                    explained[1, w] |= fits & ~taken[asking, w]
            elif may_delete(adds, deletes, bits, by, reasons[i]):
                one = np.uint64(1) << np.uint64(by % 64)
                explained[1, by // 64] |= one & all_meet[asking, by // 64] & ~taken[asking, by // 64]
        if i + 1 == len(reason_by) or reason_refusal[i + 1] != reason_refusal[i]:
            for sign in range(2):
                for bit in range(bits):
                    if explained[sign, bit // 64] >> np.uint64(bit % 64) & np.uint64(1):
                        gain[bit, sign] += 1
            explained[:] = 0
    for bit in range(bits):
        word, one = bit // 64, np.uint64(1) << np.uint64(bit % 64)
        signed = (adds[word] | deletes[word]) & one
        if signed or not all_meet[must, word] & one:
            gain[bit] = -1
        elif taken[must, word] & one:
            gain[bit, 1] = -1


@compiled(vector=True)
def may_delete(adds, deletes, bits, by, window):  # type: ignore[no-untyped-def]
    """Whether a predicate were false here if `by`, which has no sign, came to delete."""
    if by >= bits or (adds[by // 64] | deletes[by // 64]) >> np.uint64(by % 64) & np.uint64(1):
        return False
    signed = np.uint64(0)
    for w in range(len(window)):
        signed |= window[w] & (adds[w] | deletes[w])
    return signed == 0


@dataclass
class Frame:
    """The summary for predicates over r objects: all askings, their smallest windows, and the reasons of refusals."""

    arity: int
    types: tuple[int, ...]  # of the objects
    bits: int
    words: int
    askings: list[Asking]
    starts: list[Start]
    window_asking: Int64[np.ndarray, " windows"]
    window_by: Int64[np.ndarray, " windows"]
    windows: UInt64[np.ndarray, "windows words"]
    reason_asking: Int64[np.ndarray, " reasons"]
    reason_refusal: Int64[np.ndarray, " reasons"]
    reason_by: Int64[np.ndarray, " reasons"]
    reasons: UInt64[np.ndarray, "reasons words"]
    literals: list[Literal] = field(default_factory=list)

    @staticmethod
    def of(summary: Summary, types: tuple[int, ...]) -> Frame:
        projection, r = summary.projection, len(types)
        bits = len(projection.tokens[r])
        words = max(1, -(-bits // 64))
        askings = [
            (number, places)
            for number, schema in enumerate(projection.asked)
            for places in permutations(range(arity_of(schema)), r)
            if tuple(summary.types[number][i] for i in places) == types
        ]
        number_of = {asking: i for i, asking in enumerate(askings)}
        starts: dict[Start, int] = {}
        tables = {order: projection.reframe(r, order) for order in permutations(range(r))}

        def each(query: int, by: int | Start, window: int) -> Iterator[tuple[int, int, int]]:
            """A window as each order of the query's places sees it."""
            schema, positions = projection.queries[query]
            for order, table in tables.items():
                asking = number_of.get((schema, tuple(positions[i] for i in order)))
                if asking is None:  # objects of other types
                    continue
                seen = by if r < 2 else reframed(by, table, order)
                number = seen if isinstance(seen, int) else bits + starts.setdefault(seen, len(starts))
                yield asking, number, window if r < 2 else moved(window, table)

        found = [
            row
            for (query, by), kept in summary.smallest.items()
            if len(projection.queries[query][1]) == r
            for window in kept
            for row in each(query, by, window)
        ]
        reasons = [
            (*row, n)
            for n, refusal in enumerate(summary.refusals)
            for (query, by), window in refusal.reasons.items()
            if len(projection.queries[query][1]) == r
            for row in each(query, by, window)
        ]
        literals = {
            literal
            for start in starts
            if start[0] == "told"
            for literal in start[1:]
            if set(literal[1:]) == set(range(r))
        }
        return Frame(
            r, types, bits, words, askings, list(starts),
            np.array([row[0] for row in found], dtype=np.int64), np.array([row[1] for row in found], dtype=np.int64),
            as_words([row[2] for row in found], words),
            np.array([row[0] for row in reasons], dtype=np.int64),
            np.array([row[3] for row in reasons], dtype=np.int64),
            np.array([row[1] for row in reasons], dtype=np.int64), as_words([row[2] for row in reasons], words),
            sorted(literals, key=repr),
        )  # fmt: skip

    def judge(self, predicate: Predicate, refusals: int) -> tuple[Bool[np.ndarray, " a"], Bool[np.ndarray, " r"]]:
        admissible, explained = np.empty(len(self.askings), dtype=bool), np.empty(refusals, dtype=bool)
        false_start = self.false_starts(predicate)
        adds, deletes = (as_words([part], self.words)[0] for part in (predicate.adds, predicate.deletes))
        judge(adds, deletes, false_start, self.bits, *self.arrays, admissible, explained)
        return admissible, explained

    @cached_property
    def named(self) -> frozenset[Start]:
        return frozenset(key for key in self.starts if key[0] == "start")

    def false_starts(self, predicate: Predicate) -> Bool[np.ndarray, " starts"]:
        return np.array([predicate.starts_false(key) for key in self.starts], dtype=bool)

    def says(self, start: str | Literal) -> int:
        """How much of starts a predicate says that begins so: 0 if it is invented, 1 if it is told; 2 if it is told
        of some objects and not of others, as what is told of all may be about anything."""
        if isinstance(start, str):
            return 0
        return 1 + len({start in key[1:] for key in self.starts if key[0] == "told"}) // 2

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return (self.window_asking, self.window_by, self.windows, self.reason_asking, self.reason_refusal,
                self.reason_by, self.reasons)  # fmt: skip


def reframed(by: int | Start, table: list[int], order: tuple[int, ...]) -> int | Start:
    if isinstance(by, int):
        return table[by]
    if by[0] in ("told", "told-of"):
        where = {place: j for j, place in enumerate(order)}
        known = 1 if by[0] == "told" else 2
        literals = sorted(((name, *(where[i] for i in rest)) for name, *rest in by[known:]), key=repr)
        return ("told", *literals) if known == 1 else ("told-of", tuple(by[1][i] for i in order), *literals)
    return (*by[:2], *(by[2 + i] for i in order))


def moved(window: int, table: list[int]) -> int:
    found = 0
    for bit in bits_of(window):
        found |= 1 << table[bit]
    return found


def bits_of(window: int) -> Iterator[int]:
    while window:
        low = window & -window
        yield low.bit_length() - 1
        window ^= low


class Search:
    """The greedy choice of predicates for one summary."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        kinds = {
            tuple(sorted(summary.types[schema][i] for i in positions))
            for schema, positions in summary.projection.queries
        }
        self.frames = {types: Frame.of(summary, types) for types in sorted(kinds, key=lambda t: (len(t), t))}
        self.refusals = len(summary.refusals)

    @cached_property
    def found(self) -> list[Predicate]:
        return self.run()

    def run(self, begun: Iterable[Predicate] = ()) -> list[Predicate]:
        """Predicates that explain every refusal that can be explained, none of them needless. `begun`: those to begin
        with."""
        left = np.array([bool(refusal.reasons) for refusal in self.summary.refusals], dtype=bool)
        chosen: list[Judged] = []
        for predicate in begun:
            _, explained = self.frames[predicate.types].judge(predicate, self.refusals)
            chosen.append((predicate, explained))
            left &= ~explained
        while left.any():
            best: tuple[float, Judged] | None = None
            taken = {(predicate.types, predicate.start) for predicate, _ in chosen}
            for predicate, explained in self.candidates(left):
                told = self.frames[predicate.types].says(predicate.start)
                if told and (predicate.types, predicate.start) in taken:
                    told = -1  # one atom is one predicate
                # among equals few signs and values at named starts, then a told name, then more objects: stricter
                score = int((explained & left).sum()) - 0.2 * predicate.signs + 0.09 * told + 0.05 * predicate.arity
                score -= 0.01 * len(self.frames[predicate.types].named)
                if best is None or score > best[0]:
                    best = score, (predicate, explained)
            if best is None:  # a start that is no told atom: no predicate says it yet (docs/windows.md)
                left[self.fewest_reasons(left)] = False
                continue
            chosen.append(best[1])
            left &= ~best[1][1]
        return self.finish(chosen)

    def candidates(
        self, left: Bool[np.ndarray, " refusals"]
    ) -> Iterator[tuple[Predicate, Bool[np.ndarray, " refusals"]]]:
        """From the refusals with fewest reasons: a predicate that each of these reasons may be of."""
        tried: set[tuple[tuple[int, ...], int, int, int]] = set()
        for number in self.fewest_reasons(left):
            for frame in self.frames.values():
                mine = np.flatnonzero(frame.reason_refusal == number)
                for i in mine.tolist():
                    places = frame.askings[frame.reason_asking[i]][1]
                    if list(places) != sorted(
                        places, key=dict(zip(places, zip(frame.types, places, strict=True), strict=True)).__getitem__
                    ):
                        continue  # the same predicate with its objects in another order
                    seed = (frame.types, int(frame.reason_asking[i]), int(frame.reason_by[i]), int(frame.reasons[i, 0]))
                    if seed in tried:
                        continue
                    tried.add(seed)
                    yield from self.build(frame, i, left)

    def fewest_reasons(self, left: Bool[np.ndarray, " refusals"]) -> list[int]:
        """The open refusals that say most: at most so many, those with fewest live reasons."""
        refusals = self.summary.refusals
        return sorted(np.flatnonzero(left).tolist(), key=lambda n: (len(refusals[n].reasons), n))[:SEEDS]

    def build(self, frame: Frame, reason: int, left: Bool[np.ndarray, " refusals"]) -> Iterator[Judged]:
        """Predicates for one reason: deleted by it, nothing in its window adds, true at every success."""
        asking, by = int(frame.reason_asking[reason]), int(frame.reason_by[reason])
        window = int.from_bytes(frame.reasons[reason].tobytes(), "little")
        mine = frame.window_asking == asking
        named = frame.named
        mine_alone = frame.starts[by - frame.bits] if by >= frame.bits else None
        options: list[str | Literal] = [FALSE, TRUE, *frame.literals]
        for start in options:
            if named and start == TRUE:
                continue  # a named start says for each tuple what holds
            first = Predicate(frame.types, 0, 1 << by if by < frame.bits else 0, start, named - {mine_alone})
            false_start = frame.false_starts(first)
            if by >= frame.bits and not false_start[by - frame.bits]:
                continue
            predicate = self.force(frame, first, mine, window, false_start)
            if predicate is None:
                continue
            for _ in range(2):  # what starts false may let more refusals be explained, and more signs
                predicate = self.settle_starts(frame, predicate, mine, named)
                predicate = self.grow(frame, predicate, asking, frame.false_starts(predicate), left)
                if not named:
                    break
            admissible, explained = frame.judge(predicate, self.refusals)
            assert admissible[asking]
            yield predicate, explained

    def settle_starts(
        self, frame: Frame, predicate: Predicate, mine: Bool[np.ndarray, " windows"], named: frozenset[Start]
    ) -> Predicate:
        """At a named start the predicate is false wherever no success of the asking says otherwise."""
        if not named:
            return predicate
        signed = predicate.adds | predicate.deletes
        true = {
            frame.starts[int(frame.window_by[i]) - frame.bits]
            for i in np.flatnonzero(mine & (frame.window_by >= frame.bits)).tolist()
            if not int.from_bytes(frame.windows[i].tobytes(), "little") & signed
        }
        return replace(predicate, true_at=frozenset(true & named))

    def force(
        self, frame: Frame, predicate: Predicate, mine: Bool[np.ndarray, " windows"], window: int,
        false_start: Bool[np.ndarray, " starts"],
    ) -> Predicate | None:  # fmt: skip
        """Add adders until the predicate is true at all successes of the asking; forced ones first."""
        adds, deletes = predicate.adds, predicate.deletes
        relevant = [
            (int(frame.window_by[i]), int.from_bytes(frame.windows[i].tobytes(), "little"))
            for i in np.flatnonzero(mine).tolist()
        ]
        relevant = [
            (by, w) for by, w in relevant if (deletes >> by & 1 if by < frame.bits else false_start[by - frame.bits])
        ]
        while True:
            missed = [w & ~window & ~deletes for by, w in relevant if not w & (adds | deletes & ~(1 << by))]
            if not missed:
                return Predicate(predicate.types, adds, deletes, predicate.start, predicate.true_at)
            if not all(missed):
                return None
            counts: dict[int, int] = defaultdict(int)
            for w in missed:
                for bit in bits_of(w):
                    counts[bit] += 1
            forced = [w for w in missed if w.bit_count() == 1]
            adds |= forced[0] if forced else 1 << max(counts, key=lambda bit: (counts[bit], -bit))

    def grow(
        self, frame: Frame, predicate: Predicate, asking: int, false_start: Bool[np.ndarray, " starts"],
        left: Bool[np.ndarray, " refusals"],
    ) -> Predicate:  # fmt: skip
        """Add signs while more open refusals are explained."""
        adds, deletes = (as_words([part], frame.words)[0] for part in (predicate.adds, predicate.deletes))
        admissible, explained = np.empty(len(frame.askings), dtype=bool), np.empty(self.refusals, dtype=bool)
        gain = np.empty((frame.bits, 2), dtype=np.int64)
        scratch = [np.empty((len(frame.askings), frame.words), dtype=np.uint64) for _ in range(2)]
        judge(adds, deletes, false_start, frame.bits, *frame.arrays, admissible, explained)
        now = int((explained & left).sum())
        while frame.bits:
            weigh_signs(adds, deletes, false_start, frame.bits, *frame.arrays, left, asking, *scratch, gain)
            best = int(gain.argmax())
            if gain.flat[best] <= now:
                break
            now = int(gain.flat[best])
            bit, sign = divmod(best, 2)
            part = adds if sign == 0 else deletes
            part[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        return Predicate(
            predicate.types, int.from_bytes(adds.tobytes(), "little"), int.from_bytes(deletes.tobytes(), "little"),
            predicate.start, predicate.true_at,
        )  # fmt: skip

    def finish(self, chosen: list[tuple[Predicate, Bool[np.ndarray, " refusals"]]]) -> list[Predicate]:
        """Drop needless predicates and signs; say who asks each."""
        nothing = np.zeros(self.refusals, dtype=bool)
        everything = np.logical_or.reduce([nothing, *(explained for _, explained in chosen)])
        for i in range(len(chosen) - 1, -1, -1):
            rest = np.logical_or.reduce([nothing, *(e for j, (_, e) in enumerate(chosen) if j != i)])
            if (rest | ~everything).all():
                del chosen[i]
        chosen = self.unite(chosen)
        return self.guess_starts([self.use_up(self.with_askings(predicate)) for predicate, _ in chosen])

    def unite(self, chosen: list[Judged]) -> list[Judged]:
        """Two predicates become one where that explains what both did: `clear` as taken away by stacking upon, and as
        taken away by lifting, say."""
        while (found := next(self.united(chosen), None)) is not None:
            chosen = found
        return chosen

    def united(self, chosen: list[Judged]) -> Iterator[list[Judged]]:
        for (i, (one, by_one)), (j, (other, by_other)) in combinations(enumerate(chosen), 2):
            if one.types != other.types or one.adds & other.deletes or one.deletes & other.adds:
                continue
            rest = [judged for k, judged in enumerate(chosen) if k not in (i, j)]
            by_rest = np.logical_or.reduce([by_one & False, *(explained for _, explained in rest)])
            needed = (by_one | by_other) & ~by_rest
            for start, true_at in ((one.start, one.true_at), (other.start, other.true_at)):
                both = Predicate(one.types, one.adds | other.adds, one.deletes | other.deletes, start, true_at)
                _, explained = self.frames[one.types].judge(both, self.refusals)
                if (explained | ~needed).all():
                    yield [*rest[:i], (both, explained), *rest[i:]]

    def guess_starts(self, chosen: list[Predicate]) -> list[Predicate]:
        """What a predicate is at a named start where nothing decides it: as in most places where something does. A
        success decides that it is true, a refusal that nothing else explains that it is false."""
        judged = [self.frames[p.types].judge(p, self.refusals)[1] for p in chosen]
        for number, predicate in enumerate(chosen):
            frame = self.frames[predicate.types]
            others = [explained for i, explained in enumerate(judged) if i != number]
            needed = set(np.flatnonzero(judged[number] & ~np.logical_or.reduce([judged[number] & False, *others])))
            false = {
                frame.starts[int(frame.reason_by[i]) - frame.bits]
                for i in self.explaining(predicate)
                if frame.reason_by[i] >= frame.bits and int(frame.reason_refusal[i]) in needed
            }
            asked = [frame.askings.index(asking) for asking in predicate.asked]
            true = self.settle_starts(frame, predicate, np.isin(frame.window_asking, asked), frame.named).true_at
            if len(true) > len(false & frame.named):
                chosen[number] = replace(predicate, true_at=frame.named - false)
                judged[number] = frame.judge(chosen[number], self.refusals)[1]
        return [self.with_askings(predicate) for predicate in chosen]

    def explains_as_much(self, trial: list[Predicate], chosen: list[Predicate]) -> bool:
        """Whether these forbid no success and explain every refusal that those do."""
        nothing = np.zeros(self.refusals, dtype=bool)

        def explained(predicates: list[Predicate]) -> Bool[np.ndarray, " refusals"]:
            return np.logical_or.reduce(
                [nothing, *(self.frames[p.types].judge(p, self.refusals)[1] for p in predicates)]
            )

        for predicate in trial:
            frame = self.frames[predicate.types]
            asked = [frame.askings.index(asking) for asking in predicate.asked]
            if not frame.judge(predicate, self.refusals)[0][asked].all():
                return False
        return bool((explained(trial) | ~explained(chosen)).all())

    def use_up(self, predicate: Predicate) -> Predicate:
        """An action that needs the predicate probably deletes it, if nobody who asks it ever worked after the action
        without an adder in between, and somebody did with one."""
        frame = self.frames[predicate.types]
        bit_of = {token: bit for bit, token in enumerate(self.summary.projection.tokens[predicate.arity])}
        asked = [frame.askings.index(asking) for asking in predicate.asked]
        for asking in predicate.asked:
            bit = bit_of.get(asking)
            if bit is None or (predicate.adds | predicate.deletes) >> bit & 1:
                continue
            seen = np.isin(frame.window_asking, asked) & (frame.window_by == bit)
            more = Predicate(
                predicate.types, predicate.adds, predicate.deletes | 1 << bit, predicate.start, predicate.true_at,
                predicate.asked,
            )  # fmt: skip
            if seen.any() and frame.judge(more, self.refusals)[0][asked].all():
                predicate = more
        return predicate

    def with_askings(self, predicate: Predicate) -> Predicate:
        """Asked by all who may ask it and have a refusal that it explains."""
        return replace(predicate, asked=tuple(self.explained_by(predicate)))

    def explained_by(self, predicate: Predicate) -> dict[Asking, set[int]]:
        """For each asking that the predicate is admissible for, the refusals that it explains there."""
        frame = self.frames[predicate.types]
        found: dict[int, set[int]] = defaultdict(set)
        for i in self.explaining(predicate):
            found[int(frame.reason_asking[i])].add(int(frame.reason_refusal[i]))
        return {frame.askings[asking]: found[asking] for asking in sorted(found)}

    def explaining(self, predicate: Predicate) -> Iterator[int]:
        """The reasons at which the predicate is false and may be asked."""
        frame = self.frames[predicate.types]
        admissible, _ = frame.judge(predicate, self.refusals)
        false_start = frame.false_starts(predicate)
        signed = predicate.adds | predicate.deletes
        for i in np.flatnonzero(admissible[frame.reason_asking]).tolist():
            by = int(frame.reason_by[i])
            token = by < frame.bits
            if not (predicate.deletes >> by & 1 if token else false_start[by - frame.bits]):
                continue
            if not int.from_bytes(frame.reasons[i].tobytes(), "little") & signed & ~(1 << by if token else 0):
                yield i


def show(predicates: Iterable[Predicate], projection: Projection) -> str:
    lines = []
    for p in predicates:

        def names(mask: int, p: Predicate = p) -> str:
            found = [projection.tokens[p.arity][bit] for bit in bits_of(mask)]
            return " ".join(f"{projection.schemas[s][0]}{list(places)}" for s, places in found)

        asked = " ".join(f"{projection.asked[s][0]}{list(places)}" for s, places in p.asked)
        lines.append(f"/{p.arity} start {p.start} + {names(p.adds)} - {names(p.deletes)} asked {asked}")
    return "\n".join(lines)
