"""A small lifted model over the tokens of a dataset: what classifies its traces, compiled like any STRIPS model."""

from __future__ import annotations

from collections.abc import Sequence

from trace2strips.learners.windows.predicates import TRUE, Predicate, bits_of
from trace2strips.learners.windows.projection import Projection, schema_of
from trace2strips.model.strips import StripsAction, StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.names import Naming


def over_tokens(
    predicates: Sequence[Predicate], projection: Projection, vocabulary: Vocabulary, naming: Naming
) -> StripsModel:
    """Setup actions included, in the order of the token numbers. Atoms are (predicate, objects) written out."""
    numbers = {schema: i for i, schema in enumerate(projection.schemas)}
    tests = {schema: len(projection.schemas) + i for i, schema in enumerate(projection.tests)}
    known: dict[str, tuple[int, tuple[str, ...]]] = {}

    def atom(number: int, objects: tuple[str, ...]) -> str:
        name = "\x1f".join((str(number), *objects))
        known[name] = number, objects
        return name

    parts: list[tuple[str, frozenset[str], frozenset[str], frozenset[str]]] = []
    told: list[tuple[int, str]] = []
    for token, (kind, subject) in enumerate(zip(vocabulary.kinds.tolist(), vocabulary.subjects, strict=True)):
        pre, add, delete = set(), set(), set()
        if kind in (Kind.ACTION, Kind.TEST_ATOM):
            name, *arguments = naming.words(subject)
            schema, objects = schema_of(name, tuple(arguments))
            number = (numbers if kind == Kind.ACTION else tests).get(schema)
            for i, predicate in enumerate(predicates):
                for asked, places in predicate.asked:
                    if asked == number:
                        pre.add(atom(i, tuple(objects[j] for j in places)))
                if kind == Kind.ACTION:
                    for found, mask in ((add, predicate.adds), (delete, predicate.deletes)):
                        for bit in bits_of(mask):
                            left, places = projection.tokens[predicate.arity][bit]
                            if left == number:
                                found.add(atom(i, tuple(objects[j] for j in places)))
        elif kind == Kind.INIT_ATOM:
            name, *arguments = naming.words(subject)
            for i, predicate in enumerate(predicates):
                if isinstance(predicate.start, tuple) and predicate.start[0] == name:
                    places = predicate.start[1:]
                    about = {place: word for place, word in zip(places, arguments, strict=False)}
                    if len(places) == len(arguments) and all(about[p] == w for p, w in zip(places, arguments)):
                        if len(set(about.values())) == predicate.arity:
                            add.add(atom(i, tuple(about[j] for j in range(predicate.arity))))
        parts.append((vocabulary.names[token], frozenset(pre), frozenset(add), frozenset(delete)))
        del told[:]
    atoms = tuple(sorted(known))
    always = frozenset(name for name, (i, _) in known.items() if predicates[i].start == TRUE)
    actions = []
    for token, (name, pre, add, delete) in enumerate(parts):
        if vocabulary.kinds[token] == Kind.INIT_FALSE:
            add, delete = always, frozenset(atoms) - always
        actions.append(StripsAction(name, pre, add, delete - add))
    return StripsModel(atoms, tuple(actions), name="learned")
