"""Proofs: why an attempt works, is refused or is open, with the places of the log that say so.

A certificate of "no" is one refusal and, for each reason that it could have had, a success that rules it out: the
same action worked although no more had happened since. Then no STRIPS model, of any size, explains the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trace2strips.learners.windows.answers import Answer
from trace2strips.learners.windows.predicates import bits_of
from trace2strips.learners.windows.reference import History, Reason
from trace2strips.learners.windows.starts import start_key
from trace2strips.learners.windows.summary import Place, Refusal, Summary
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming
from trace2strips.traces.trace import Trace

LOOKED_AT = 1_000  # refusals that nothing explains: a log with wrong labels may have very many


@dataclass(frozen=True)
class RuledOut:
    """A reason that cannot be: `since` happened, then only `between`; and yet it worked at this place of the log."""

    since: str
    between: tuple[str, ...]
    worked: Place


@dataclass(frozen=True)
class Proof:
    """The answer to an attempt. `ruled_out` are reasons that successes rule out, `live` those that are left.

    *works*: nothing is live. *refused*: the refusal at `refused` had no live reason but some of these, with no less
    in between. *open*: models that fit the log disagree.
    """

    action: str
    answer: Answer
    ruled_out: tuple[RuledOut, ...]
    live: tuple[str, ...]
    refused: Place | None = None


def prove(summary: Summary, naming: Naming, trace: Trace, action: str, is_test: bool = False) -> Proof:
    """Theorem 2 for one attempt, or a final value, after what worked in the trace."""
    summary = summary.with_schemas(naming.schema(name)[0] for name in (*trace.actions, *(() if is_test else (action,))))
    schema, situation = situation_of(summary, naming, trace, action, is_test)
    ruled_out, live = [], []
    for reason, window in situation.items():
        places = [place for other, place in summary.smallest.get(reason, {}).items() if other & ~window == 0]
        said = describe(summary, reason)
        if places:
            ruled_out.append(RuledOut(said, tuple(names_of(summary, reason, window)), min(places)))
        else:
            live.append(said)
    if summary.nothing_certain:
        return Proof(action, Answer.OPEN, tuple(ruled_out), tuple(live))
    if not live:
        return Proof(action, Answer.WORKS, tuple(ruled_out), ())
    for refusal in summary.refusals:
        if refusal.schema == schema and is_within(situation, refusal):
            return Proof(action, Answer.REFUSED, tuple(ruled_out), tuple(live), refusal.place)
    return Proof(action, Answer.OPEN, tuple(ruled_out), tuple(live))


def is_within(situation: Mapping[Reason, int], refusal: Refusal) -> bool:
    return all(reason in situation and situation[reason] & ~window == 0 for reason, window in refusal.reasons.items())


def prove_inexplicable(summary: Summary, naming: Naming, dataset: Dataset) -> Proof | None:
    """The shortest certificate that no STRIPS model explains the log, of the first so many; None if a model does."""
    found = []
    for refusal in summary.inexplicable[:LOOKED_AT]:
        index = refusal.place >> 32
        found.append(prove_refusal(summary, naming, dataset[index], index, refusal))
    return min(found, key=lambda proof: (len({out.worked for out in proof.ruled_out}), proof.refused), default=None)


def prove_refusal(summary: Summary, naming: Naming, trace: Trace, index: int, refusal: Refusal) -> Proof:
    """That nothing explains this refusal of the trace with this number."""
    position = refusal.place & (2**32 - 1)
    if position < len(trace.actions):
        before = Trace(trace.actions[:position], trace.ok[:position], trace.init, trace.state)
        action = trace.actions[position]
    else:  # a final value
        before = Trace(trace.actions, trace.ok, trace.init, trace.state)
        action = list(trace.final)[position - len(trace.actions)]
    schema, situation = situation_of(summary, naming, before, action, position >= len(trace.actions), index)
    assert schema == refusal.schema
    out = []
    for reason, window in situation.items():
        places = [place for other, place in summary.smallest[reason].items() if other & ~window == 0]
        out.append(RuledOut(describe(summary, reason), tuple(names_of(summary, reason, window)), min(places)))
    return Proof(action, Answer.OPEN, tuple(out), (), refusal.place)


def situation_of(
    summary: Summary, naming: Naming, trace: Trace, action: str, is_test: bool = False, index: int | None = None
) -> tuple[int, dict[Reason, int]]:
    """Where an action stands after what worked in the trace: its schema, and its reasons with their windows. `index` is
    the trace's number in the log, None: it is a new one."""
    projection = summary.projection
    history = History(projection)
    for name, ok in zip(trace.actions, trace.ok, strict=True):
        if ok:
            schema, objects = naming.schema(name)
            history.apply(projection.schemas.index(schema), objects)
    schema, objects = naming.schema(action)
    group = projection.tests if is_test else projection.schemas
    number = group.index(schema) + len(projection.schemas) * is_test
    told = [naming.words(atom) for atom in trace.init or ()]
    return number, history.situation(number, objects, lambda about: start_key(trace, told, about, summary.start, index))


def describe(summary: Summary, reason: Reason, objects: tuple[str, ...] | None = None) -> str:
    """What may have taken something away, in words: `stack(_, 1)`, where 1 is the first argument of the attempt, or
    that object."""
    query, by = reason
    _, positions = summary.projection.queries[query]
    if not isinstance(by, int):
        return "the start"
    return token_name(summary, len(positions), by, positions, objects)


def names_of(summary: Summary, reason: Reason, window: int) -> Iterator[str]:
    _, positions = summary.projection.queries[reason[0]]
    return (token_name(summary, len(positions), bit, positions) for bit in bits_of(window))


def token_name(
    summary: Summary, arity: int, bit: int, positions: tuple[int, ...], objects: tuple[str, ...] | None = None
) -> str:
    schema, places = summary.projection.tokens[arity][bit]
    name, pattern = summary.projection.schemas[schema]
    names = objects or [str(i + 1) for i in range(max(positions, default=-1) + 1)]
    of = {place: names[positions[i]] for i, place in enumerate(places)}
    return f"{name}({', '.join(of.get(argument, '_') for argument in pattern)})" if pattern else name
