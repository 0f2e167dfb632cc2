"""Heads of the lifted STRIPS Transformer: predicates, whose parameters all groundings of an action schema share.

For an action schema and a head of arity r there is one parameter (Q, K, V) for each choice of r of the schema's
arguments, in order and of the head's types: a *pattern*. A ground action touches the atoms over its own arguments and
no others. So the number of parameters does not depend on the number of objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from jaxtyping import Bool, Int64

from trace2strips.learners.windows.encoding import find_types
from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming, Schema, schema_of

Pattern = tuple[int, ...]  # which arguments of an action a head is over, in order
Objects = tuple[str, ...]


@dataclass(frozen=True)
class Head:
    """A predicate over objects of these types. An aligned head is what initial or final atoms are called; a spare head
    is to be invented, and belongs to the one asking, a schema's number and a pattern, that may need it; of several such
    every other one is supposed to begin true."""

    types: tuple[int, ...]
    told: Schema | None = None
    owner: tuple[int, Pattern] | None = None
    begins_true: bool = False


@dataclass(frozen=True)
class Pairs:
    """The atoms that each token touches, and the parameter of each: what the kernel walks along."""

    start: Int64[np.ndarray, " tokens_and_one"]
    atom: Int64[np.ndarray, " pairs"]
    param: Int64[np.ndarray, " pairs"]
    first_of: Int64[np.ndarray, " atoms"]  # which value an atom begins with where initial atoms are told
    state_first: Int64[np.ndarray, " tokens"]  # where the values of all atoms stand at a named start, −1: no start


@dataclass(frozen=True)
class LiftedLayout:
    """How the names of a log are read, and which heads there are."""

    vocabulary: Vocabulary
    naming: Naming
    projection: Projection  # schemas of actions and of final atoms, and what bits of them are called
    types: tuple[tuple[int, ...], ...]  # of the arguments of each of these
    heads: tuple[Head, ...]

    @cached_property
    def words(self) -> tuple[tuple[Kind, int, Schema, Objects] | None, ...]:
        """What each token that names objects says: its kind, the number of its schema (−1: an initial atom), the schema
        and its different objects."""
        number = {(Kind.ACTION, schema): i for i, schema in enumerate(self.projection.schemas)}
        actions = len(self.projection.schemas)
        number |= {(Kind.TEST_ATOM, schema): actions + i for i, schema in enumerate(self.projection.tests)}
        found: list[tuple[Kind, int, Schema, Objects] | None] = []
        for kind, subject in read_kinds(self.vocabulary):
            if kind in (Kind.INIT_FALSE, Kind.INIT_STATE):
                found.append(None)
            else:
                schema, objects = read_name(self.naming, kind, subject)
                found.append((kind, number.get((kind, schema), -1), schema, objects))
        return tuple(found)

    @cached_property
    def params(self) -> tuple[tuple[int, int, Pattern], ...]:
        """What each parameter belongs to: a schema's number, a head's and a pattern."""
        return tuple(
            (schema, number, pattern)
            for schema in range(len(self.projection.schemas))
            for number, head in enumerate(self.heads)
            for pattern in permutations(range(len(self.types[schema])), len(head.types))
            if tuple(self.types[schema][i] for i in pattern) == head.types
        )

    @cached_property
    def askable(self) -> Bool[np.ndarray, " params"]:
        """Where a query may be learned: on aligned heads, and where the owner of a spare head asks it."""
        return np.array(
            [self.heads[head].owner in (None, (schema, pattern)) for schema, head, pattern in self.params], dtype=bool
        )

    @cached_property
    def aligned(self) -> dict[tuple[Schema, tuple[int, ...]], int]:
        """The head of what an initial or final atom over objects of some types is called."""
        return {(head.told, head.types): i for i, head in enumerate(self.heads) if head.told is not None}

    @cached_property
    def object_types(self) -> dict[str, int]:
        return types_of_objects(self.words, self.types)

    @cached_property
    def grounding(self) -> tuple[Pairs, tuple[tuple[int, Objects], ...]]:
        """The pairs of all tokens, and the atoms by their numbers: a head and its objects."""
        by_schema: dict[int, list[tuple[int, int, Pattern]]] = defaultdict(list)
        for param, (number, head, pattern) in enumerate(self.params):
            by_schema[number].append((param, head, pattern))
        atoms: dict[tuple[int, Objects], int] = {}
        start, atom, params = [0], list[int](), list[int]()
        for word in self.words:
            if word is not None:
                kind, number, schema, objects = word
                if kind == Kind.ACTION:
                    touched = [(head, tuple(objects[i] for i in p), param) for param, head, p in by_schema[number]]
                else:
                    kinds = tuple(self.object_types.get(name, -1) for name in objects)
                    head = self.aligned.get((schema, kinds), -1)
                    touched = [(head, objects, -1)] if head >= 0 else []
                for head, about, param in touched:
                    atom.append(atoms.setdefault((head, about), len(atoms)))
                    params.append(param)
            start.append(len(atom))
        state_first = np.full(len(self.vocabulary), -1)
        begin = self.vocabulary.first[Kind.INIT_STATE]
        for i in range(len(self.vocabulary.init_states)):
            state_first[begin + i] = len(self.heads) + i * len(atoms)
        first_of = np.array([head for head, _ in atoms], dtype=np.int64)
        starts, touched_atoms, used = (np.array(column, dtype=np.int64) for column in (start, atom, params))
        return Pairs(starts, touched_atoms, used, first_of, state_first), tuple(atoms)

    @property
    def firsts(self) -> int:
        """How many values atoms begin with: one of each head, then one of each atom at each named start."""
        return len(self.heads) + len(self.vocabulary.init_states) * len(self.grounding[1])

    @cached_property
    def learned_first(self) -> Bool[np.ndarray, " firsts"]:
        """Told atoms are false unless they are told; everything else begins as training finds."""
        free = np.ones(self.firsts, dtype=bool)
        for i, head in enumerate(self.heads):
            free[i] = head.told is None
        return free


def read_kinds(vocabulary: Vocabulary) -> Iterable[tuple[Kind, str]]:
    return zip(map(Kind, vocabulary.kinds.tolist()), vocabulary.subjects, strict=True)


def read_name(naming: Naming, kind: Kind, subject: str) -> tuple[Schema, Objects]:
    word, *arguments = naming.words(subject) if kind == Kind.INIT_ATOM else naming.action(subject)
    return schema_of(word, tuple(arguments))


def types_of_objects(
    words: Iterable[tuple[Kind, int, Schema, Objects] | None], types: tuple[tuple[int, ...], ...]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        if word is not None and word[1] >= 0:
            found |= zip(word[3], types[word[1]], strict=True)
    return found


def lay_out(dataset: Dataset, naming: Naming, arity: int, spares: int) -> LiftedLayout:
    """Aligned heads for the names of initial and final atoms; for each schema that was refused and each choice of up to
    `arity` of its arguments so many spare heads of its own."""
    vocabulary = dataset.vocabulary
    schemas: dict[Kind, set[Schema]] = {kind: set() for kind in Kind}
    named = [(kind, *read_name(naming, kind, subject)) for kind, subject in read_kinds(vocabulary)]
    for kind, schema, _ in named:
        schemas[kind].add(schema)
    projection = Projection(tuple(sorted(schemas[Kind.ACTION])), tuple(sorted(schemas[Kind.TEST_ATOM])), arity)
    asked = {(Kind.ACTION, schema): i for i, schema in enumerate(projection.schemas)}
    asked |= {(Kind.TEST_ATOM, schema): len(projection.schemas) + i for i, schema in enumerate(projection.tests)}
    places = [
        ((asked[kind, schema], i), name)
        for kind, schema, objects in named
        if (kind, schema) in asked
        for i, name in enumerate(objects)
    ]
    types = find_types(projection, places)
    bare = LiftedLayout(vocabulary, naming, projection, types, ())
    heads: dict[Head, None] = {}
    refused = np.unique(dataset.tokens[dataset.inapplicable])
    owners = {word[1] for token in refused.tolist() if (word := bare.words[token]) and word[0] == Kind.ACTION}
    for word in bare.words:
        if word is not None and word[0] in (Kind.INIT_ATOM, Kind.TEST_ATOM) and len(word[3]) <= arity:
            kinds = tuple(bare.object_types.get(name, -1) for name in word[3])
            if -1 not in kinds:
                heads[Head(kinds, told=word[2])] = None
    found = list(heads)
    for copy in range(spares):
        for number in sorted(owners):
            for size in range(arity + 1):
                for pattern in combinations(range(arity_of(projection.schemas[number])), size):
                    kinds = tuple(types[number][i] for i in pattern)
                    found.append(Head(kinds, owner=(number, pattern), begins_true=copy % 2 == 1))
    return LiftedLayout(vocabulary, naming, projection, types, tuple(found))


__all__ = ["Head", "LiftedLayout", "Pairs", "Pattern", "lay_out"]
