"""The small model where labels may be wrong: fewest wrong labels plus a price for everything that the model says.

The model is chosen by its description length. A label that it gets wrong costs log((1 − ε)/ε), where ε is the noise
level; a sign of a predicate costs the logarithm of how many signs it could have been, and so do a precondition and a
predicate. So a rare condition is believed if it explains more than a few wrong labels would, and how many that is
follows from ε. At ε = 0 every label would have to be explained; then `predicates.Search` does it better.

Predicates are found one by one. Each begins as one action that takes something away from one that asks, and climbs: the
sign whose change saves most is changed, until none saves anything; whoever gains by asking asks. All changes are
weighed in one pass: only the signed token that stands first in a history says whether the predicate holds, so changing
a sign matters only at tokens up to that one. Predicates that are there are fitted again beside each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations, product
from math import log

import numpy as np
from jaxtyping import Bool, Float64, Int8, Int32, Int64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.predicates import FALSE, TRUE, Asking, Literal, Predicate, bits_of, reframed
from trace2strips.learners.windows.projection import arity_of
from trace2strips.learners.windows.rows import Rows
from trace2strips.learners.windows.summary import Start

KEPT = 12  # beginnings that are climbed with all who might ask, in one round
ROUNDS = 4  # of fitting all predicates again beside each other


@compiled(vector=True)
def weigh(  # type: ignore[no-untyped-def]
    signs, starts_true, first, last, entry_asking, entry_begin, tokens, entry_start, weights, gain, change,
    start_change,
):  # fmt: skip
    """gain[a]: refusals explained less successes forbidden if asking a needs the predicate. change[a, t, s]: what that
    gains if token t had the sign s − 1; start_change[a, k]: if START k were the other way."""
    for e in range(first, last):
        w = weights[e]
        if w == 0:
            continue
        a = entry_asking[e]
        begin, end = entry_begin[e], entry_begin[e + 1]
        at = begin
        while at < end and signs[tokens[at]] == 0:
            at += 1
        true = signs[tokens[at]] > 0 if at < end else starts_true[entry_start[e]]
        if not true:
            gain[a] += w
        for j in range(begin, at):
            if true:
                change[a, tokens[j], 0] += w
            else:
                change[a, tokens[j], 2] -= w
        if at < end:
            t = tokens[at]
            if true:
                change[a, t, 0] += w
            else:
                change[a, t, 2] -= w
            j = at + 1
            while j < end and signs[tokens[j]] == 0:
                j += 1
            later = signs[tokens[j]] > 0 if j < end else starts_true[entry_start[e]]
            if later != true:
                change[a, t, 1] += w if true else -w
        elif true:
            start_change[a, entry_start[e]] += w
        else:
            start_change[a, entry_start[e]] -= w


@compiled(vector=True)
def total_gain(gain, change, schema, forced, price_ask):  # type: ignore[no-untyped-def]
    """What is gained by all who ask. Of the askings of one schema only the best counts here: two of them may explain
    the same refusals."""
    total = 0.0
    a = 0
    while a < len(gain):
        best, own = 0.0, schema[a]
        while a < len(gain) and schema[a] == own:
            value = gain[a] + change[a] - price_ask
            if value > best or a == forced:
                best = value
            a += 1
        total += best
    return total


@compiled(vector=True)
def count_false(starts_true, free_starts):  # type: ignore[no-untyped-def]
    """At how many of the starts that are free the predicate is false, and how many there are."""
    false, free = 0, 0
    for k in range(len(starts_true)):
        free += free_starts[k]
        false += free_starts[k] and not starts_true[k]
    return false, free


@compiled(vector=True)
def climb(  # type: ignore[no-untyped-def]
    signs, starts_true, free_starts, fixed, forced, schema, first, last, entry_asking, entry_begin, tokens, entry_start,
    weights, price_sign, price_ask, price_start, gain, change, start_change,
):  # fmt: skip
    """Change signs (in place) while that pays. `forced` ≥ 0: this asking asks in any case; `fixed` ≥ 0: this
    token keeps its sign. Returns what is saved."""
    bits = change.shape[1]
    nothing = np.zeros(len(gain))
    while True:
        gain[:] = 0
        change[:] = 0
        start_change[:] = 0
        weigh(
            signs, starts_true, first, last, entry_asking, entry_begin, tokens, entry_start, weights, gain, change,
            start_change,
        )  # fmt: skip
        now = total_gain(gain, nothing, schema, forced, price_ask)
        best, best_token, best_sign = 1e-9, -1, 0
        for t in range(bits):
            if t == fixed:
                continue
            for s in range(3):
                if s - 1 == signs[t]:
                    continue
                total = total_gain(gain, change[:, t, s], schema, forced, price_ask) - now
                total -= price_sign * ((s != 1) - (signs[t] != 0))
                if total > best:
                    best, best_token, best_sign = total, t, s - 1
        best_start = -1
        rare = count_false(starts_true, free_starts)
        for k in range(len(starts_true)):
            if free_starts[k]:
                total = total_gain(gain, start_change[:, k], schema, forced, price_ask) - now
                false = rare[0] + (1 if starts_true[k] else -1)
                total -= price_start * (min(false, rare[1] - false) - min(rare[0], rare[1] - rare[0]))
                if total > best:
                    best, best_start = total, k
        if best_start >= 0:
            starts_true[best_start] = not starts_true[best_start]
        elif best_token >= 0:
            signs[best_token] = best_sign
        else:
            signed = 0
            for t in range(bits):
                signed += signs[t] != 0
            return now - price_sign * signed - price_start * min(rare[0], rare[1] - rare[0])


@compiled(vector=True)
def falsehoods(signs, starts_true, entry_begin, tokens, entry_start, first, last, false):  # type: ignore[no-untyped-def]
    """Where the predicate is false."""
    for e in range(first, last):
        at, end = entry_begin[e], entry_begin[e + 1]
        while at < end and signs[tokens[at]] == 0:
            at += 1
        false[e] = signs[tokens[at]] < 0 if at < end else not starts_true[entry_start[e]]


@dataclass
class Board:
    """All askings of predicates over objects of some types, with the histories that they see in the predicate's order.
    The entries of asking a are first[a] … first[a + 1]."""

    types: tuple[int, ...]
    bits: int
    askings: list[Asking]
    queries: list[int]
    first: Int64[np.ndarray, " askings_and_one"]
    entry_asking: Int64[np.ndarray, " entries"]
    entry_history: Int64[np.ndarray, " entries"]
    entry_begin: Int64[np.ndarray, " entries_and_one"]
    tokens: Int32[np.ndarray, " tokens"]
    entry_start: Int32[np.ndarray, " entries"]
    starts: list[Start]
    free: Bool[np.ndarray, " starts"]
    options: list[str | Literal]

    @staticmethod
    def of(rows: Rows, types: tuple[int, ...]) -> Board:
        projection, r = rows.projection, len(types)
        askings = [
            (number, places)
            for number, schema in enumerate(projection.asked)
            for places in permutations(range(arity_of(schema)), r)
            if tuple(rows.types[number][i] for i in places) == types
        ]
        by_query: dict[int, np.ndarray] = {
            query: np.flatnonzero(rows.query_of == query) for query in range(len(projection.queries))
        }
        starts: dict[Start, int] = {}
        queries, parts, lists, lengths, begins = [], [], [], [], [0]
        numbers: list[np.ndarray] = []
        for number, (schema, places) in enumerate(askings):
            positions = tuple(sorted(places))
            query = projection.query_number[schema, positions]
            order = tuple(positions.index(place) for place in places)  # place j of the predicate is this of the query
            table = np.array(projection.reframe(r, order), dtype=np.int32)
            queries.append(query)
            found = by_query[query]
            begins.append(begins[-1] + len(found))
            parts.append(np.stack([np.full(len(found), number), found], axis=1))
            lengths.append(rows.begin_of[found + 1] - rows.begin_of[found])
            where = spans(rows.begin_of[found], lengths[-1])
            lists.append(table[rows.listed[where]] if len(table) else rows.listed[where])
            known, inverse = np.unique(rows.start_of[found], return_inverse=True)
            seen = [rows.starts[n] for n in known.tolist()]
            if r > 1:
                seen = [reframed(start, [], order) for start in seen]  # type: ignore[misc]
            mapped = np.array([starts.setdefault(start, len(starts)) for start in seen], dtype=np.int32)
            numbers.append(mapped[inverse] if len(known) else np.zeros(0, dtype=np.int32))
        entries = np.concatenate(parts) if parts else np.zeros((0, 2), dtype=np.int64)
        told = [start for start in starts if start[0] == "told"]
        literals = {x for start in told for x in start[1:] if set(x[1:]) == set(range(r))}
        return Board(
            types, len(projection.tokens[r]), askings, queries, np.array(begins), entries[:, 0].copy(),
            entries[:, 1].copy(), np.append(0, np.cumsum(np.concatenate([*lengths, np.zeros(0, dtype=np.int64)]))),
            np.concatenate([*lists, np.zeros(0, dtype=np.int32)]).astype(np.int32),
            np.concatenate([*numbers, np.zeros(0, dtype=np.int32)]).astype(np.int32), list(starts),
            np.array([start[0] != "told" for start in starts], dtype=bool),
            [FALSE, TRUE, *sorted(literals, key=repr)] if told else [FALSE],
        )  # fmt: skip

    def starts_true(self, option: str | Literal) -> Bool[np.ndarray, " starts"]:
        """A new array: whoever has it may change it."""
        return self.told_values[option].copy()

    @cached_property
    def told_values(self) -> dict[str | Literal, Bool[np.ndarray, " starts"]]:
        def holds(start: Start, option: str | Literal) -> bool:
            return option == TRUE or (option != FALSE and option in start[1:]) if start[0] == "told" else True

        return {
            option: np.array([holds(start, option) for start in self.starts], dtype=bool) for option in self.options
        }

    def says(self, option: str | Literal) -> int:
        """How much of starts a predicate says that begins so (`Frame.says`)."""
        if isinstance(option, str):
            return 0
        return 1 + len({option in start[1:] for start in self.starts if start[0] == "told"}) // 2

    @property
    def arity(self) -> int:
        return len(self.types)

    @property
    def beginnings(self) -> tuple[bool, ...]:
        """How starts that atoms do not tell may begin."""
        return (True, False) if self.free.any() else (True,)

    @cached_property
    def schema(self) -> Int64[np.ndarray, " askings"]:
        return np.array([schema for schema, _ in self.askings], dtype=np.int64)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.entry_asking, self.entry_begin, self.tokens, self.entry_start

    def tokens_met(self, first: int, last: int, weights: Float64[np.ndarray, " entries"]) -> Bool[np.ndarray, " bits"]:
        """Which tokens the histories of these entries have that weigh something."""
        found = np.zeros(self.bits, dtype=bool)
        entries = first + np.flatnonzero(weights[first:last])
        begins = self.entry_begin[entries]
        found[self.tokens[spans(begins, self.entry_begin[entries + 1] - begins)]] = True
        return found

    @cached_property
    def arrays_of_one(self) -> tuple[np.ndarray, ...]:
        """For looking at the entries of one asking, whichever that is: it is the first."""
        return np.zeros_like(self.entry_asking), *self.arrays[1:]


def spans(begins: Int64[np.ndarray, " n"], lengths: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " total"]:
    """begins[0], begins[0] + 1, … for each span, one after the other."""
    total = int(lengths.sum())
    shift = np.repeat(begins - np.append(0, np.cumsum(lengths))[:-1], lengths)
    return np.arange(total) + shift


@dataclass
class Fitted:
    """A predicate with its signs as numbers −1, 0, 1 and who asks it."""

    board: Board
    signs: Int8[np.ndarray, " bits"]
    starts_true: Bool[np.ndarray, " starts"]
    option: str | Literal
    asked: list[int] = field(default_factory=list)
    saved: float = 0.0

    @property
    def rare_starts(self) -> int:
        """The starts, of those that atoms do not tell, at which the predicate is otherwise than at most."""
        false = int((self.board.free & ~self.starts_true).sum())
        return min(false, int(self.board.free.sum()) - false)


@dataclass(frozen=True)
class Prices:
    """In wrong labels. Each is the logarithm of how many choices there are over that of the odds of a wrong label."""

    label: float  # nats that one wrong label costs

    @staticmethod
    def at(noise: float) -> Prices:
        return Prices(log((1 - noise) / noise))

    def of(self, choices: int) -> float:
        return log(max(2, choices)) / self.label


class TolerantSearch:
    """Predicates for rows of which some labels are wrong."""

    def __init__(self, rows: Rows, noise: float, care: float = 1.0) -> None:
        self.care = care
        self.rows, self.noise, self.prices = rows, noise, Prices.at(noise)
        queries = rows.projection.queries
        kinds = {tuple(sorted(rows.types[schema][i] for i in positions)) for schema, positions in queries}
        self.boards = [Board.of(rows, types) for types in sorted(kinds, key=lambda t: (len(t), t))]
        self.askings = sum(len(board.askings) for board in self.boards)
        self.false_count = np.zeros(len(rows.schema_of), dtype=np.int64)
        self.column = self.columns_of_queries()
        self.chosen: list[Fitted] = []

    def columns_of_queries(self) -> list[int]:
        """Which column of a row a query is: its place among the queries of its schema."""
        seen: dict[int, int] = defaultdict(int)
        found = []
        for schema, _ in self.rows.projection.queries:
            found.append(seen[schema])
            seen[schema] += 1
        return found

    def run(self) -> None:
        """Find predicates carefully, then fit them by the errors they really make."""
        self.fill()
        self.care = 1.0
        self.fit_again()
        self.fill()

    def settle(self) -> None:
        """The predicates that are there, fitted, completed and replaced while that makes the description shorter."""
        self.fit_again()
        self.fill()
        self.improve()

    @property
    def predicates(self) -> list[Predicate]:
        return [self.finished(fitted) for fitted in self.chosen]

    def adopt(self, predicates: Sequence[Predicate]) -> None:
        """Begin with predicates that were found elsewhere."""
        boards = {board.types: board for board in self.boards}
        for predicate in predicates:
            board = boards[predicate.types]
            signs = np.zeros(board.bits, dtype=np.int8)
            for sign, mask in ((1, predicate.adds), (-1, predicate.deletes)):
                for bit in bits_of(mask):
                    signs[bit] = sign
            true = np.array([not predicate.starts_false(start) for start in board.starts], dtype=bool)
            asked = [board.askings.index(asking) for asking in predicate.asked]
            self.enter(Fitted(board, signs, true, predicate.start, asked))

    def fill(self) -> None:
        """Take predicates while that saves something."""
        while (best := self.find()) is not None:
            before, kept, counts = self.cost, list(self.chosen), self.false_count.copy()
            self.enter(best)
            self.fit_again()
            if self.cost >= before - 1e-6:  # fitting the others again took the gain away
                self.chosen, self.false_count = kept, counts
                return

    def improve(self) -> None:
        """Take a predicate away and fill the gap anew, as long as that makes the description shorter."""
        tried: set[bytes] = set()
        while True:
            for fitted in sorted(self.chosen, key=lambda f: f.saved):
                key = fitted.signs.tobytes() + fitted.starts_true.tobytes() + bytes(str(fitted.asked), "ascii")
                if key in tried:
                    continue
                tried.add(key)
                before, kept, counts = self.nats, list(self.chosen), self.false_count.copy()
                self.remove_same(fitted)
                self.fit_again()
                self.fill()
                if self.nats < before - 1e-6:
                    break
                self.chosen, self.false_count = kept, counts
            else:
                return

    @property
    def errors(self) -> float:
        """Labels that the model gets wrong."""
        refuses = self.false_count > 0
        return float(self.rows.worked[refuses].sum() + self.rows.refused[~refuses].sum())

    @property
    def cost(self) -> float:
        """What the search lowers, in wrong labels."""
        refuses = self.false_count > 0
        labels = self.care * self.rows.worked[refuses].sum() + self.rows.refused[~refuses].sum()
        return float(labels) + sum(self.size(fitted) for fitted in self.chosen)

    @property
    def size_nats(self) -> float:
        """The description length of the model, which does not depend on the noise level."""
        return self.prices.label * sum(self.size(fitted) for fitted in self.chosen)

    @property
    def nats(self) -> float:
        """The description length of the model and of the labels that it gets wrong."""
        return self.errors * self.prices.label + self.size_nats

    def size(self, fitted: Fitted) -> float:
        return (
            self.price_sign * int((fitted.signs != 0).sum())
            + self.price_ask * len(fitted.asked)
            + self.price_start(fitted.board) * fitted.rare_starts
            + self.price_predicate
        )

    @cached_property
    def price_sign(self) -> float:
        """One price for all predicates, so that none is taken for being about fewer objects."""
        return self.prices.of(2 * max(board.bits for board in self.boards))

    def price_start(self, board: Board) -> float:
        """Of saying of one tuple that the predicate starts otherwise there than of most, where no atoms tell it."""
        return self.prices.of(int(board.free.sum()))

    @property
    def price_ask(self) -> float:
        return self.prices.of(self.askings)

    @cached_property
    def price_predicate(self) -> float:
        """One price too, so that none is taken for being about objects of which fewer atoms are told."""
        return self.prices.of(len(self.boards) * max(len(board.options) for board in self.boards))

    def weights(self, board: Board) -> Float64[np.ndarray, " entries"]:
        """Refused less worked of the rows that see an entry's history and are allowed so far."""
        allowed = self.false_count == 0
        per_history = np.zeros(len(self.rows.query_of))
        difference = np.where(allowed, self.rows.refused - self.care * self.rows.worked, 0.0)
        for query in dict.fromkeys(board.queries):
            schema = self.rows.projection.queries[query][0]
            mine = np.flatnonzero((self.rows.schema_of == schema) & allowed)
            np.add.at(per_history, self.rows.histories[mine, self.column[query]], difference[mine])
        return per_history[board.entry_history]

    def find(self) -> Fitted | None:
        """The predicate that saves most beside those that are there."""
        found = [fitted for board in self.boards for fitted in self.candidates(board)]
        # among equals a told name, then the one about more objects, which is the stricter
        return max(found, key=lambda f: (round(f.saved, 6), f.board.says(f.option), f.board.arity), default=None)

    def candidates(self, board: Board) -> Iterator[Fitted]:
        weights = self.weights(board)
        beginnings = sorted(self.beginnings(board, weights), key=lambda b: -b[0])
        for _, signs, starts_true, option in beginnings[:KEPT]:
            fitted = Fitted(board, signs, starts_true, option)
            self.climb(fitted, weights)
            if fitted.saved > 0:
                yield fitted

    def beginnings(
        self, board: Board, weights: Float64[np.ndarray, " entries"]
    ) -> Iterator[tuple[float, Int8[np.ndarray, " bits"], Bool[np.ndarray, " starts"], str | Literal]]:
        """For each asking and each token that may delete: a climb for this asking alone."""
        seen: set[bytes] = set()
        room = self.room(board, 2)
        price = self.price_sign
        for a, (_, places) in enumerate(board.askings):
            if tuple(sorted(places, key=lambda p: (board.types[places.index(p)], p))) != places:
                continue  # the same predicate with its objects in another order
            lo, hi = int(board.first[a]), int(board.first[a + 1])
            if not (weights[lo:hi] > 0).any():
                continue
            schema = board.schema[a : a + 2]  # only it sees these entries; one more stands for its schema
            met = board.tokens_met(lo, hi, weights)
            for option, free in product(board.options, board.beginnings):
                starts = board.starts_true(option)
                starts[board.free] = free
                plain, plain_starts, plain_saved = np.zeros(board.bits, dtype=np.int8), starts, 0.0
                for d in range(-1, board.bits):
                    if d < 0 or met[d]:
                        signs, starts_true = np.zeros(board.bits, dtype=np.int8), starts.copy()
                        if d >= 0:
                            signs[d] = -1
                        saved = climb(
                            signs, starts_true, board.free, d, 0, schema, lo, hi, *board.arrays_of_one, weights, price,
                            self.price_ask, self.price_start(board), *(part[: len(schema)] for part in room),
                        )  # fmt: skip
                        if d < 0:
                            plain, plain_starts, plain_saved = signs, starts_true, saved
                    elif (saved := plain_saved - price) > 0:  # nothing sees this sign: it would climb the same way
                        signs, starts_true = plain.copy(), plain_starts.copy()
                        signs[d] = -1
                    if saved > 0 and (key := signs.tobytes() + starts_true.tobytes()) not in seen:
                        seen.add(key)
                        yield float(saved), signs, starts_true, option

    def room(self, board: Board, askings: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = min(askings, len(board.askings))
        return np.empty(n), np.empty((n, board.bits, 3)), np.empty((n, max(1, len(board.starts))))

    def climb(self, fitted: Fitted, weights: Float64[np.ndarray, " entries"]) -> None:
        """With all who might ask; sets who asks and what is saved."""
        board = fitted.board
        room = self.room(board, len(board.askings))
        saved = climb(
            fitted.signs, fitted.starts_true, board.free, -1, -1, board.schema, 0, len(board.entry_history),
            *board.arrays, weights, self.price_sign, self.price_ask, self.price_start(board), *room,
        )  # fmt: skip
        fitted.asked, more = self.askers(fitted, room[0])
        fitted.saved = float(saved) + more - self.price_predicate

    def askers(self, fitted: Fitted, gain: Float64[np.ndarray, " askings"]) -> tuple[list[int], float]:
        """Of each schema the asking that gains most, and others that gain beside it; and what those gain in all."""
        board, rows = fitted.board, self.rows
        false = self.false_entries(fitted)
        asked, more = [], 0.0
        for schema in sorted({number for number, _ in board.askings}):
            mine = [a for a, (number, _) in enumerate(board.askings) if number == schema]
            best = max(mine, key=lambda a: gain[a])
            if gain[best] <= self.price_ask:
                continue
            asked.append(best)
            others = [a for a in mine if a != best]
            if not others:
                continue
            where = np.flatnonzero((rows.schema_of == schema) & (self.false_count == 0))
            weight = rows.refused[where] - self.care * rows.worked[where]
            weight[self.sees(fitted, false, best, where)] = 0
            for a in others:
                seen = self.sees(fitted, false, a, where)
                if (gained := float(weight[seen].sum()) - self.price_ask) > 0:
                    asked.append(a)
                    more += gained
                    weight[seen] = 0
        return asked, more

    def sees(
        self, fitted: Fitted, false: Bool[np.ndarray, " entries"], a: int, where: Int64[np.ndarray, " some"]
    ) -> Bool[np.ndarray, " some"]:
        """At which of these rows the asking finds the predicate false."""
        board = fitted.board
        lo, hi = int(board.first[a]), int(board.first[a + 1])
        of_history = np.zeros(len(self.rows.query_of), dtype=bool)
        of_history[board.entry_history[lo:hi]] = false[lo:hi]
        return of_history[self.rows.histories[where, self.column[board.queries[a]]]]

    def false_entries(self, fitted: Fitted) -> Bool[np.ndarray, " entries"]:
        board = fitted.board
        false = np.zeros(len(board.entry_history), dtype=bool)
        falsehoods(
            fitted.signs, fitted.starts_true, board.entry_begin, board.tokens, board.entry_start, 0, len(false), false
        )
        return false

    def false_rows(self, fitted: Fitted) -> Bool[np.ndarray, " rows"]:
        """The rows that the predicate refuses."""
        false = self.false_entries(fitted)
        out = np.zeros(len(self.rows.schema_of), dtype=bool)
        for a in fitted.asked:
            mine = np.flatnonzero(self.rows.schema_of == fitted.board.askings[a][0])
            out[mine] |= self.sees(fitted, false, a, mine)
        return out

    def enter(self, fitted: Fitted) -> None:
        self.chosen.append(fitted)
        self.false_count += self.false_rows(fitted)

    def remove(self, fitted: Fitted) -> None:
        self.chosen.remove(fitted)
        self.false_count -= self.false_rows(fitted)

    def fit_again(self) -> None:
        """Each predicate beside the others, until nothing changes."""
        for _ in range(ROUNDS):
            changed = False
            for fitted in list(self.chosen):
                before = (fitted.signs.tobytes(), fitted.starts_true.tobytes(), tuple(fitted.asked))
                self.remove_same(fitted)
                again = replace(
                    fitted, signs=fitted.signs.copy(), starts_true=fitted.starts_true.copy(), asked=[], saved=0.0
                )
                self.climb(again, self.weights(fitted.board))
                if again.saved > 0:
                    self.enter(again)
                changed |= before != (again.signs.tobytes(), again.starts_true.tobytes(), tuple(again.asked))
            if not changed:
                return

    def remove_same(self, fitted: Fitted) -> None:
        self.chosen = [other for other in self.chosen if other is not fitted]
        self.false_count -= self.false_rows(fitted)

    def finished(self, fitted: Fitted) -> Predicate:
        board = fitted.board

        def mask(sign: int) -> int:
            return sum(1 << int(t) for t in np.flatnonzero(fitted.signs == sign))

        true_at = frozenset(
            start for start, true in zip(board.starts, fitted.starts_true, strict=True) if true and start[0] != "told"
        )
        return Predicate(
            board.types, mask(1), mask(-1), fitted.option, true_at, tuple(board.askings[a] for a in fitted.asked)
        )
