"""What one shard of a log gives, and how two such parts become one.

A part has all that learning needs of its traces. Parts are merged in the order of the log, in any grouping: what comes
out is the part of all traces at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from trace2strips.errors import TraceError
from trace2strips.learners.suspects import Suspect, find_suspects
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.fitting import really_refused
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.memory import merge, remember, with_lines
from trace2strips.learners.windows.simulation import wrong_traces
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import Summary
from trace2strips.model.goals import START
from trace2strips.model.vocabulary import ACTION, Vocabulary
from trace2strips.traces.names import Naming, Schema
from trace2strips.traces.shards import Block, Read, Shard, hash_shard, read_blocks

MOST_REFUSALS = 20_000  # that are kept of a log that no model explains
MOST_SUSPECTS = 100_000  # that are listed; all are counted
Value = TypeVar("Value")


@dataclass(frozen=True)
class Wanted:
    """How a shard is to be summarised."""

    naming: Naming
    arity: int
    start: StartLevel


@dataclass(frozen=True)
class Part:
    """`names` without the start of traces that tell none, which are there if `untold`; `files`: the first and the last
    file of the log that it is from; `content`: a hash of what was read."""

    summary: Summary
    names: Vocabulary
    untold: bool
    attempts: int  # of actions
    refused: int
    asked: int  # attempts and final values
    settings: Mapping[str, Any]
    separator: str | None
    files: tuple[int, int]
    content: str
    cases: bytes = b""  # hashes of the names of traces that must not be in two files

    @property
    def schemas(self) -> tuple[Schema, ...]:
        return self.summary.projection.schemas

    @property
    def vocabulary(self) -> Vocabulary:
        """With the start of those that tell none: last where one file was read, else in order."""
        states = self.names.init_states
        if not self.untold or START in states:
            return self.names
        one_file = self.files[0] == self.files[1]
        return replace(self.names, init_states=(*states, START) if one_file else tuple(sorted((*states, START))))


def part_of(block: Block, shard: Shard, wanted: Wanted, content: str, threads: int | None) -> Part:
    traces = block.traces
    encoding = encode(traces, wanted.naming, wanted.arity)
    collected = collect_windows(traces, encoding, wanted.start, threads=threads)
    kinds = traces.vocabulary.kinds[traces.tokens]
    is_action = kinds == ACTION
    return Part(
        bounded(remember(collected, traces, wanted.naming, wanted.start)),
        block.names,
        bool(traces.untold.any()),
        int(is_action.sum()),
        int(traces.inapplicable[is_action].sum()),
        int((kinds >= ACTION).sum()),
        traces.settings,
        traces.separator,
        (shard.number, shard.number),
        content,
        b"" if shard.alone or traces.origin is None else hash_names(traces.origin.cases),
    )


def summarise_shard(shard: Shard, wanted: Wanted, read: Read, threads: int | None = None) -> Part | None:
    """Block by block; None where there is no trace."""
    content = hash_shard(shard)
    found = fold((part_of(block, shard, wanted, content, threads) for block in read_blocks(shard, read)), merge_parts)
    return None if found is None else replace(found, content=content)


def merge_parts(one: Part, other: Part) -> Part:
    """Of both, the other one behind the first."""
    if one.separator is not None and other.separator is not None and one.separator != other.separator:
        message = f"separator {other.separator!r}, before it was {one.separator!r}"
        raise TraceError(message, hint="learn from files with one of them, or give all the same")
    theirs = other.summary
    if other.files[0] == one.files[1]:  # the same file goes on
        theirs = replace(theirs, sources=theirs.sources[1:])
    return Part(
        bounded(merge(one.summary, theirs)),
        united(one.names, other.names),
        one.untold or other.untold,
        one.attempts + other.attempts,
        one.refused + other.refused,
        one.asked + other.asked,
        one.settings if one.settings == other.settings else {},
        one.separator if other.separator is None else other.separator,
        (one.files[0], other.files[1]),
        hashlib.sha256(f"{one.content} {other.content}".encode()).hexdigest(),
        without_two(one.cases, other.cases),
    )


def hash_names(names: Iterable[str]) -> bytes:
    """64 bits each, sorted."""
    found = sorted(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") for name in set(names))
    return np.array(found, dtype="<u8").tobytes()


def without_two(one: bytes, other: bytes) -> bytes:
    """All hashes; a trace that is cut would seem to start in the middle."""
    both = np.sort(np.concatenate([np.frombuffer(one, dtype="<u8"), np.frombuffer(other, dtype="<u8")]))
    if len(both) and (twice := int((both[1:] == both[:-1]).sum())):
        hint = "put all rows of a case into one file, or learn from smaller files at once"
        raise TraceError(f"{twice:,} cases go on in another file, and a shard sees one file", hint=hint)
    return both.tobytes()


def bounded(summary: Summary) -> Summary:
    """What no model explains makes nothing certain, and would grow with the log: so the first refusals are kept."""
    if len(summary.refusals) <= MOST_REFUSALS or not summary.inexplicable:
        return summary
    first = summary.refusals[: MOST_REFUSALS - 1]
    kept = sorted({r.place: r for r in (*first, summary.inexplicable[0])}.values(), key=lambda r: r.place)
    return with_lines(replace(summary, refusals=tuple(kept)))


def united(one: Vocabulary, other: Vocabulary) -> Vocabulary:
    """All names, sorted; those of parts of one dataset are the same, in its own order."""
    if one == other:
        return one
    groups = zip(one.groups, other.groups, strict=True)
    atoms, states, actions, finals = (tuple(sorted({*mine, *theirs})) for mine, theirs in groups)
    return Vocabulary(actions, atoms, states, finals, one.has_init_false or other.has_init_false)


@dataclass(frozen=True)
class Errors:
    """What a model says of the traces of a shard."""

    traces: int
    errors: int
    wrong_labels: int
    suspects: tuple[Suspect, ...]


def test_shard(shard: Shard, predicting: LiftedWorld, doubting: LiftedWorld | None, read: Read) -> Errors | None:
    """How many traces a model gets wrong, and which labels the one that doubts some takes to be wrong."""
    return fold((errors_of(block, predicting, doubting) for block in read_blocks(shard, read)), merge_errors)


def errors_of(block: Block, predicting: LiftedWorld, doubting: LiftedWorld | None) -> Errors:
    traces = block.traces
    wrong = int(wrong_traces(predicting, traces).sum())
    suspects = [] if doubting is None else find_suspects(traces, really_refused(doubting, traces))
    return Errors(len(traces), wrong, len(suspects), tuple(suspects[:MOST_SUSPECTS]))


def merge_errors(one: Errors, other: Errors) -> Errors:
    moved = (replace(s, trace=s.trace + one.traces) for s in other.suspects)
    return Errors(
        one.traces + other.traces,
        one.errors + other.errors,
        one.wrong_labels + other.wrong_labels,
        (*one.suspects, *moved)[:MOST_SUSPECTS],
    )


def fold(found: Iterable[Value | None], join: Callable[[Value, Value], Value]) -> Value | None:
    """All in one, in order, those of about the same size with each other: few are kept at a time."""
    waiting: list[tuple[int, Value]] = []
    for value in found:
        if value is None:
            continue
        size = 1
        while waiting and waiting[-1][0] <= size:
            before, earlier = waiting.pop()
            value, size = join(earlier, value), size + before
        waiting.append((size, value))
    while len(waiting) > 1:
        (before, earlier), (size, value) = waiting[-2:]
        waiting[-2:] = [(before + size, join(earlier, value))]
    return waiting[0][1] if waiting else None
