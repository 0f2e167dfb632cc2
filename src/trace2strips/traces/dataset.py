"""`Dataset`: many traces for machines, in flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, UInt

from trace2strips.errors import TraceError, with_file
from trace2strips.model.goals import START
from trace2strips.model.strips import Atom, State
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.columns import Columns
from trace2strips.traces.dataset_file import read_fields, write_fields
from trace2strips.traces.trace import Trace

SEPARATOR = "separator"  # in the settings: what stands between a name and its arguments
OFFER = "; further columns could be: "  # in what was understood of a log: columns that nobody uses


def unused_columns(understood: Iterable[str]) -> str:
    """Columns of a log that may hold arguments and were not used, as they are offered to people."""
    return next((text.split(OFFER, 1)[1] for text in understood if OFFER in text), "")


@dataclass(frozen=True)
class Origin:
    """Where each attempt of a log of events stands, and what was understood of its columns, a line each for people.
    Attempts are those of all traces, one trace after the other."""

    files: tuple[str, ...]
    file: UInt[np.ndarray, " attempts"]  # which of the files
    line: Int64[np.ndarray, " attempts"]
    understood: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()  # of a file: the names of its traces, where rows of other files would belong to them
    columns: Columns | None = None  # that were used, for another log of the same kind

    def place(self, attempt: int) -> tuple[str, int]:
        return self.files[int(self.file[attempt])], int(self.line[attempt])

    def of_attempts(self, chosen: Any) -> Origin:
        """Of some attempts."""
        return replace(self, file=self.file[chosen], line=self.line[chosen])


@dataclass(frozen=True)
class Dataset:
    """Trace t is tokens[offsets[t]:offsets[t+1]]; inapplicable[i] is the label z of position i.

    Every trace begins with setup actions: one that tells nothing of its initial state begins in the state `start`.
    Without it an atom could not be false at the start: what no action has touched counts as true.
    """

    vocabulary: Vocabulary
    tokens: UInt[np.ndarray, " positions"]
    inapplicable: Bool[np.ndarray, " positions"]
    offsets: Int64[np.ndarray, " boundaries"]
    settings: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)  # what the init-s actions stand for, where known
    lines: Sequence[int] = ()  # of a text file: where each trace stands; not kept in a dataset file
    untold: Bool[np.ndarray, " traces"] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """The traces that tell nothing of their initial state: only here they begin in `start`, not for those who read
    them one by one or in a file. Empty where nobody has looked yet."""
    file: str | None = None  # where the traces were read, as it was named; not kept in a dataset file
    origin: Origin | None = None  # of a log of events; not kept in a dataset file

    def __post_init__(self) -> None:
        begins = self.offsets[:-1]
        silent = np.ones(len(self), dtype=bool)
        some = self.offsets[1:] > begins
        silent[some] = self.vocabulary.kinds[self.tokens[begins[some]]] > Kind.INIT_STATE
        changed: dict[str, Any] = with_start(vars(self), silent) if silent.any() else {}
        changed["untold"] = silent | self.untold if len(self.untold) else silent
        for name, value in changed.items():
            object.__setattr__(self, name, value)  # the one place where a dataset changes: while it is made

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def separator(self) -> str | None:
        """What its file or who made it says of names: what stands before an argument; None: nothing is said."""
        found = self.settings.get(SEPARATOR)
        return found if isinstance(found, str) else None

    def __getitem__(self, index: int) -> Trace:
        if not -len(self) <= index < len(self):
            raise IndexError(f"trace {index} of {len(self)}")
        index %= len(self)
        where = slice(int(self.offsets[index]), int(self.offsets[index + 1]))
        words = self.vocabulary.subjects
        init: set[Atom] | None = None
        state = None
        actions: list[str] = []
        ok: list[bool] = []
        final: dict[Atom, bool] = {}
        for token, refused in zip(self.tokens[where].tolist(), self.inapplicable[where].tolist(), strict=True):
            match Kind(self.vocabulary.kinds[token]):
                case Kind.INIT_FALSE:
                    init = set()
                case Kind.INIT_ATOM:
                    init = (init or set()) | {words[token]}
                case Kind.INIT_STATE:
                    state = None if self.untold[index] else words[token]
                case Kind.ACTION:
                    actions.append(words[token])
                    ok.append(not refused)
                case Kind.TEST_ATOM:
                    final[words[token]] = not refused
        return Trace(tuple(actions), tuple(ok), None if init is None else frozenset(init), state, final)

    def __iter__(self) -> Iterator[Trace]:
        return (self[i] for i in range(len(self)))

    def actions_before(self) -> Int64[np.ndarray, " boundaries"]:
        """How many actions stand before each trace, and in all."""
        is_action = self.vocabulary.kinds[self.tokens] == Kind.ACTION
        return np.append(0, np.cumsum(is_action))[self.offsets]

    def first(self, traces: int) -> Dataset:
        """The first so many traces; the same arrays, shorter."""
        offsets = self.offsets[: traces + 1]
        end = int(offsets[-1])
        return replace(
            self,
            tokens=self.tokens[:end],
            inapplicable=self.inapplicable[:end],
            offsets=offsets,
            lines=self.lines[:traces],
            untold=self.untold[:traces],
            origin=None if self.origin is None else self.origin.of_attempts(slice(int(self.actions_before()[traces]))),
        )

    def only(self, traces: Bool[np.ndarray, " traces"], kept: Bool[np.ndarray, " positions"]) -> Dataset:
        """These traces, in their order, and these positions of them; each must keep what tells its start."""
        kept = kept & np.repeat(traces, np.diff(self.offsets))
        before = np.append(0, np.cumsum(kept))[self.offsets]
        is_action = self.vocabulary.kinds[self.tokens] == Kind.ACTION
        return replace(
            self,
            tokens=self.tokens[kept],
            inapplicable=self.inapplicable[kept],
            offsets=np.append(0, before[1:][traces]),
            lines=tuple(np.asarray(self.lines)[traces].tolist()) if len(self.lines) else (),
            untold=self.untold[traces],
            origin=None if self.origin is None else self.origin.of_attempts(kept[is_action]),
        )

    def chosen(self, wanted: Bool[np.ndarray, " traces"]) -> Dataset:
        """Some of the traces, in their order, with the names of all."""
        return self.only(wanted, np.ones(len(self.tokens), dtype=bool))

    def place(self, trace: int, attempt: int = 0) -> tuple[str | None, int | None]:
        """File and line, as far as they are known, of an attempt, or of the trace where attempts have no lines."""
        if self.origin is not None and (begin := int(self.actions_before()[trace])) + attempt < len(self.origin.line):
            return self.origin.place(begin + attempt)
        return self.file, int(self.lines[trace]) if len(self.lines) else None

    def in_words_of(self, vocabulary: Vocabulary) -> Dataset:
        """The same traces in the token numbers of another vocabulary. Initial atoms that it does not know are left out;
        other names that it does not know are an error."""
        if vocabulary == self.vocabulary:
            return self
        ours = self.vocabulary
        number = np.full(len(ours), -1)
        for token in np.unique(self.tokens).tolist():
            kind, subject = Kind(ours.kinds[token]), ours.subjects[token]
            if kind != Kind.INIT_ATOM or (kind, subject) in vocabulary.numbers:
                number[token] = vocabulary.number(kind, subject)
        tokens = number[self.tokens]
        known = np.append(0, np.cumsum(tokens >= 0))
        return Dataset(
            vocabulary,
            tokens[tokens >= 0].astype(token_type(vocabulary)),
            self.inapplicable[tokens >= 0],
            known[self.offsets],
            self.settings,
            self.states,
            self.lines,
            self.untold,
            self.file,
            self.origin,
        )

    def names(self, index: int) -> list[str]:
        """The token names of one trace, setup actions and all."""
        tokens = self.tokens[int(self.offsets[index]) : int(self.offsets[index + 1])]
        return [self.vocabulary.names[token] for token in tokens.tolist()]

    def told_names(self, index: int) -> list[str]:
        """The same without a start that nobody told."""
        return self.names(index)[int(self.untold[index]) :]

    @staticmethod
    def of(traces: Iterable[Trace], vocabulary: Vocabulary | None = None, lines: Sequence[int] = ()) -> Dataset:
        """Encode traces; without a vocabulary, the one of all names in them, sorted. An unknown name is reported
        with the trace's entry in `lines`, where given.
        """
        found: dict[tuple[Kind, str], int] = {}  # in the order in which they come

        def note(kind: Kind, subject: str = "") -> int:
            return found.setdefault((kind, subject), len(found))

        number = note if vocabulary is None else vocabulary.number
        tokens: list[int] = []
        refused: list[bool] = []
        offsets = [0]
        for index, trace in enumerate(traces):  # one at a time: of a long log they would fill the memory
            try:
                if trace.init is None and trace.state is None and not trace.final:  # most are, in a long log
                    tokens.extend([number(Kind.ACTION, action) for action in trace.actions])
                    refused.extend([not ok for ok in trace.ok])
                else:
                    for token, label in encode(trace, number, None if vocabulary is None else number):
                        tokens.append(token)
                        refused.append(label)
            except TraceError as error:
                error.line = lines[index] if lines else None
                raise
            offsets.append(len(tokens))
        numbered = np.array(tokens, dtype=np.int64)
        if vocabulary is None:
            vocabulary = vocabulary_with(found)
            numbered = np.array([vocabulary.number(*word) for word in found], dtype=np.int64)[numbered]
        return Dataset(
            vocabulary,
            numbered.astype(token_type(vocabulary)),
            np.array(refused, dtype=bool),
            np.array(offsets, dtype=np.int64),
            lines=lines,
        )

    def save(self, path: str | Path, force: bool = False) -> None:
        """One `.t2s` file, which holds what was told. Same data, same bytes."""
        write_fields(without_start(vars(self)) if self.untold.any() else vars(self), Path(path), force)

    @staticmethod
    def load(path: str | Path) -> Dataset:
        """Map a `.t2s` file into memory."""
        return with_file(path, lambda: Dataset(**read_fields(Path(path))))


def with_start(fields: Mapping[str, Any], silent: Bool[np.ndarray, " traces"]) -> dict[str, Any]:
    """The fields of a dataset that change when these traces are to begin in the state `start`."""
    vocabulary: Vocabulary = fields["vocabulary"]
    kinds, states = vocabulary.kinds, vocabulary.init_states
    wider = vocabulary if START in states else replace(vocabulary, init_states=(*states, START))
    moved = np.arange(len(kinds)) + (len(wider) - len(kinds)) * (kinds > Kind.INIT_STATE)
    begins = fields["offsets"][:-1][silent]
    start = wider.number(Kind.INIT_STATE, START)
    return {
        "vocabulary": wider,
        "tokens": np.insert(moved[fields["tokens"]], begins, start).astype(token_type(wider)),
        "inapplicable": np.insert(fields["inapplicable"], begins, False),
        "offsets": fields["offsets"] + np.append(0, np.cumsum(silent)),
    }


def without_start(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `with_start`: all fields, without the starts that nobody told. The name goes too, unless some
    trace tells that it begins there."""
    vocabulary, untold, offsets = fields["vocabulary"], fields["untold"], fields["offsets"]
    begins = offsets[:-1][untold]
    tokens = np.delete(fields["tokens"], begins)
    start = vocabulary.number(Kind.INIT_STATE, START)
    if not (tokens == start).any():
        named = tuple(name for name in vocabulary.init_states if name != START)
        vocabulary = replace(vocabulary, init_states=named)
        tokens = tokens - (tokens > start)
    return {
        **fields,
        "vocabulary": vocabulary,
        "tokens": tokens.astype(token_type(vocabulary)),
        "inapplicable": np.delete(fields["inapplicable"], begins),
        "offsets": offsets - np.append(0, np.cumsum(untold)),
    }


def encode(
    trace: Trace, number: Callable[[Kind, str], int], order: Callable[[Kind, str], int] | None = None
) -> Iterator[tuple[int, bool]]:
    """Token and label of each position: the setup prefix, the actions, the `test-p` suffix. Atoms are in the `order`
    of a vocabulary, or of their names, which in a vocabulary of our making is the same."""

    def in_order(kind: Kind, atoms: Iterable[str]) -> list[str]:
        return sorted(atoms) if order is None else sorted(atoms, key=partial(order, kind))

    if trace.init is not None:
        yield number(Kind.INIT_FALSE, ""), False
        for atom in in_order(Kind.INIT_ATOM, trace.init):
            yield number(Kind.INIT_ATOM, atom), False
    if trace.state is not None:
        yield number(Kind.INIT_STATE, trace.state), False
    for action, ok in zip(trace.actions, trace.ok, strict=True):
        yield number(Kind.ACTION, action), not ok
    for atom in in_order(Kind.TEST_ATOM, trace.final):
        yield number(Kind.TEST_ATOM, atom), not trace.final[atom]


def vocabulary_of(traces: Iterable[Trace]) -> Vocabulary:
    """All names that occur, sorted."""
    return vocabulary_with((kind, name) for trace in traces for kind, name in words_of(trace))


def words_of(trace: Trace) -> Iterator[tuple[Kind, str]]:
    if trace.init is not None:
        yield Kind.INIT_FALSE, ""
        yield from ((Kind.INIT_ATOM, atom) for atom in trace.init)
    if trace.state is not None:
        yield Kind.INIT_STATE, trace.state
    yield from ((Kind.ACTION, action) for action in trace.actions)
    yield from ((Kind.TEST_ATOM, atom) for atom in trace.final)


def vocabulary_with(words: Iterable[tuple[Kind, str]]) -> Vocabulary:
    names: dict[Kind, set[str]] = {kind: set() for kind in Kind}
    for kind, name in words:
        names[kind].add(name)
    return Vocabulary(
        actions=tuple(sorted(names[Kind.ACTION])),
        init_atoms=tuple(sorted(names[Kind.INIT_ATOM])),
        init_states=tuple(sorted(names[Kind.INIT_STATE])),
        test_atoms=tuple(sorted(names[Kind.TEST_ATOM])),
        has_init_false=bool(names[Kind.INIT_FALSE]),
    )


def token_type(vocabulary: Vocabulary) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if len(vocabulary) < 2**16 else np.uint32
