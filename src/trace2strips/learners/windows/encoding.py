"""A dataset as numbers for the compiled collection: slots of actions, tuples of objects, features of told atoms.

A *slot* is an action together with one query: the tuple of objects that the query looks at, sorted, so that a tuple
has one number however an action orders it; the *frame* that turns tokens of the sorted tuple into those of the query's
order; and the token that the action itself leaves there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from jaxtyping import Int32, Int64, UInt64

from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming, Schema, schema_of

Feature = tuple[str, tuple[int, ...]]  # a told atom: its predicate, and which object of the tuple each argument is


@dataclass(frozen=True)
class Encoding:
    """Everything that the kernel reads besides the traces themselves."""

    projection: Projection
    objects: tuple[str, ...]
    orders: tuple[tuple[int, ...], ...]  # of all arities; a frame is one of these
    frames: Int32[np.ndarray, "orders bits"]
    words: int  # 64-bit words of a window
    slot_start: Int64[np.ndarray, " tokens_and_one"]
    slot_query: Int32[np.ndarray, " slots"]
    slot_tuple: Int32[np.ndarray, " slots"]
    slot_frame: Int32[np.ndarray, " slots"]
    slot_bit: Int32[np.ndarray, " slots"]  # −1 for tests
    schema: Int32[np.ndarray, " tokens"]
    tuples: tuple[tuple[int, ...], ...]  # sorted numbers of objects
    parts: Int32[np.ndarray, "tuples parts"]  # the tuples of some of the objects of each, −1: none
    sizes: Int32[np.ndarray, " tuples"]  # how many objects each has
    features: tuple[Feature, ...]
    told_tuple: Int32[np.ndarray, " tokens"]  # which tuple an initial atom is about, −1: none that matters
    told_bit: Int32[np.ndarray, " tokens"]
    feature_words: int
    types: tuple[tuple[int, ...], ...]  # of the arguments of each schema that can be attempted


def schemas_of(words: Iterable[tuple[str, ...]]) -> tuple[Schema, ...]:
    return tuple(sorted({schema_of(name, tuple(arguments))[0] for name, *arguments in words}))


def encode(dataset: Dataset, naming: Naming, arity: int, known: Projection | None = None) -> Encoding:
    """With a projection that is known, schemas that it does not have get no slots: nothing is known of them."""
    vocabulary = dataset.vocabulary
    by_kind: dict[Kind, list[tuple[int, str]]] = {kind: [] for kind in Kind}
    for token, (kind, subject) in enumerate(zip(vocabulary.kinds.tolist(), vocabulary.subjects, strict=True)):
        by_kind[Kind(kind)].append((token, subject))
    words = {token: naming.action(name) for kind in (Kind.ACTION, Kind.TEST_ATOM) for token, name in by_kind[kind]}
    words |= {token: naming.words(name) for token, name in by_kind[Kind.INIT_ATOM]}
    actions = schemas_of(words[token] for token, _ in by_kind[Kind.ACTION])
    tests = schemas_of(words[token] for token, _ in by_kind[Kind.TEST_ATOM])
    projection = known or Projection(actions, tests, arity)
    arity = projection.arity
    number_of = {("action", schema): i for i, schema in enumerate(projection.schemas)}
    number_of |= {("test", schema): len(projection.schemas) + i for i, schema in enumerate(projection.tests)}
    objects = tuple(sorted({word for found in words.values() for word in found[1:]}))
    object_number = {name: i for i, name in enumerate(objects)}
    orders = tuple(order for r in range(arity + 1) for order in permutations(range(r)))
    order_number = {order: i for i, order in enumerate(orders)}
    bits = max((len(tokens) for tokens in projection.tokens), default=1) or 1
    frames = np.zeros((len(orders), bits), dtype=np.int32)
    for i, order in enumerate(orders):
        table = projection.reframe(len(order), order)
        frames[i, : len(table)] = table
    tuple_number: dict[tuple[int, ...], int] = {}
    slots: list[tuple[int, int, int, int]] = []
    slot_start = [0]
    schema_numbers = np.full(len(vocabulary), -1, dtype=np.int32)
    told_tuple = np.full(len(vocabulary), -1, dtype=np.int32)
    told_bit = np.full(len(vocabulary), -1, dtype=np.int32)
    features: dict[Feature, int] = {}
    places: list[tuple[tuple[int, int], str]] = []
    for token, kind in enumerate(vocabulary.kinds.tolist()):
        if kind in (Kind.ACTION, Kind.TEST_ATOM):
            schema, found = schema_of(words[token][0], words[token][1:])
            number = number_of.get(("action" if kind == Kind.ACTION else "test", schema), -1)
            if number < 0:
                slot_start.append(len(slots))
                continue
            schema_numbers[token] = number
            numbers = tuple(object_number[name] for name in found)
            places += [((number, i), name) for i, name in enumerate(found)]
            for r in range(arity + 1):
                for positions in combinations(range(len(numbers)), r):
                    about = [numbers[i] for i in positions]
                    ordered = tuple(sorted(about))
                    order = tuple(ordered.index(x) for x in about)  # about[j] = ordered[order[j]]
                    left = tuple(positions[about.index(x)] for x in ordered)
                    bit = projection.bit[r][number, left] if kind == Kind.ACTION else -1
                    slots.append((
                        projection.query_number[number, positions],
                        tuple_number.setdefault(ordered, len(tuple_number)), order_number[order], bit,
                    ))  # fmt: skip
        elif kind == Kind.INIT_ATOM:
            predicate, *arguments = words[token]
            ordered = tuple(sorted({object_number[name] for name in arguments}))
            if len(ordered) <= arity:
                feature = (predicate, tuple(ordered.index(object_number[name]) for name in arguments))
                told_tuple[token] = tuple_number.setdefault(ordered, len(tuple_number))
                told_bit[token] = features.setdefault(feature, len(features))
        slot_start.append(len(slots))
    columns = np.array(slots, dtype=np.int32).reshape(-1, 4)
    tuples = tuple(tuple_number)
    widths = [choice for r in range(arity) for choice in combinations(range(arity), r)]  # of a tuple of `arity` objects
    parts = np.full((len(tuples), max(1, len(widths))), -1, dtype=np.int32)
    for i, ordered in enumerate(tuples):
        chosen = [choice for r in range(len(ordered)) for choice in combinations(ordered, r)]
        for j, part in enumerate(chosen):
            parts[i, j] = tuple_number.get(part, -1)
    return Encoding(
        projection, objects, orders, frames, -(-bits // 64), np.array(slot_start), columns[:, 0].copy(),
        columns[:, 1].copy(), columns[:, 2].copy(), columns[:, 3].copy(), schema_numbers, tuples, parts,
        np.array([len(t) for t in tuples], dtype=np.int32), tuple(features), told_tuple, told_bit,
        max(1, -(-len(features) // 64)), find_types(projection, places),
    )  # fmt: skip


def find_types(projection: Projection, places: Iterable[tuple[tuple[int, int], str]]) -> tuple[tuple[int, ...], ...]:
    """Arguments that one object can stand for have one type, and so has each place of an action, whether or not one
    object stands in several of them; types are numbered as they come."""
    above: dict[tuple[int, int], tuple[int, int]] = {}

    def top(place: tuple[int, int]) -> tuple[int, int]:
        while (up := above.setdefault(place, place)) != place:
            above[place] = above[up]
            place = up
        return place

    def join(one: tuple[int, int], other: tuple[int, int]) -> None:
        low, high = sorted((top(one), top(other)))
        above[high] = low

    first: dict[str, tuple[int, int]] = {}
    for place, name in places:
        join(first.setdefault(name, place), place)
    argument: dict[tuple[bool, str, int, int], tuple[int, int]] = {}
    for number, (name, pattern) in enumerate(projection.asked):
        is_test = number >= len(projection.schemas)
        for i, which in enumerate(pattern):
            join(argument.setdefault((is_test, name, len(pattern), i), (number, which)), (number, which))
    numbers: dict[tuple[int, int], int] = {}
    return tuple(
        tuple(numbers.setdefault(top((schema, i)), len(numbers)) for i in range(arity_of(found)))
        for schema, found in enumerate(projection.asked)
    )


def unpack_features(mask: UInt64[np.ndarray, " words"], features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    return tuple(feature for i, feature in enumerate(features) if int(mask[i // 64]) >> (i % 64) & 1)


__all__ = ["Encoding", "Feature", "arity_of", "encode", "unpack_features"]
