"""`Trace`: one trace for people. `Dataset`: many for machines, in flat arrays, one file, loaded without a copy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, UInt
from safetensors.numpy import save

from trace2strips.errors import TraceError
from trace2strips.files import check_readable, reading, writing
from trace2strips.model.strips import Atom, State
from trace2strips.model.vocabulary import Kind, Vocabulary

FORMAT = "trace2strips-dataset-1"
START = "start"  # the initial state of traces that do not tell theirs
ARRAYS: dict[str, dict[str, type[np.generic]]] = {  # name → types in the file
    "tokens": {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32},
    "inapplicable": {"BOOL": np.bool_},
    "offsets": {"I64": np.int64},
}


@dataclass(frozen=True)
class Trace:
    """Actions with whether each worked; optionally the atoms true at the start (or the name of a known initial
    state) and the values of some atoms at the end."""

    actions: tuple[str, ...]
    ok: tuple[bool, ...]
    init: State | None = None
    state: str | None = None
    final: Mapping[Atom, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.actions) != len(self.ok):
            raise TraceError(f"{len(self.actions)} actions but {len(self.ok)} marks", hint="one mark for each action")
        if self.init is not None and self.state is not None:
            raise TraceError("a trace has initial atoms or the name of an initial state, not both")


@dataclass(frozen=True)
class Dataset:
    """Trace t is tokens[offsets[t]:offsets[t+1]]; inapplicable[i] is the label z of position i."""

    vocabulary: Vocabulary
    tokens: UInt[np.ndarray, " positions"]
    inapplicable: Bool[np.ndarray, " positions"]
    offsets: Int64[np.ndarray, " boundaries"]
    settings: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)  # what the init-s actions stand for, where known
    lines: Sequence[int] = ()  # of a text file: where each trace stands; not kept in a dataset file

    def __len__(self) -> int:
        return len(self.offsets) - 1

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
                    state = words[token]
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
        tokens, inapplicable = self.tokens[:end], self.inapplicable[:end]
        return replace(self, tokens=tokens, inapplicable=inapplicable, offsets=offsets, lines=self.lines[:traces])

    def with_start(self) -> Dataset:
        """The same traces; those that say nothing of their initial state start in one that is named `start`.

        Without it an atom could not be false at the start: what no action has touched counts as true.
        """
        kinds = self.vocabulary.kinds
        begins = self.offsets[:-1]
        told = np.zeros(len(self), dtype=bool)
        some = self.offsets[1:] > begins
        told[some] = kinds[self.tokens[begins[some]]] <= Kind.INIT_STATE
        if told.all():
            return self
        states = self.vocabulary.init_states
        vocabulary = self.vocabulary if START in states else replace(self.vocabulary, init_states=(*states, START))
        moved = np.arange(len(kinds)) + (len(vocabulary) - len(kinds)) * (kinds > Kind.INIT_STATE)
        start = vocabulary.number(Kind.INIT_STATE, START)
        return Dataset(
            vocabulary,
            np.insert(moved[self.tokens], begins[~told], start).astype(token_type(vocabulary)),
            np.insert(self.inapplicable, begins[~told], False),
            self.offsets + np.concatenate([[0], np.cumsum(~told)]),
            self.settings,
            self.states,
            self.lines,
        )

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
        )

    def names(self, index: int) -> list[str]:
        """The token names of one trace, setup actions and all."""
        tokens = self.tokens[int(self.offsets[index]) : int(self.offsets[index + 1])]
        return [self.vocabulary.names[token] for token in tokens.tolist()]

    @staticmethod
    def of(traces: Iterable[Trace], vocabulary: Vocabulary | None = None, lines: Sequence[int] = ()) -> Dataset:
        """Encode traces; without a vocabulary, the one of all names in them, sorted. An unknown name is reported
        with the trace's entry in `lines`, where given.
        """
        items = list(traces)
        vocabulary = vocabulary or vocabulary_of(items)
        tokens: list[int] = []
        refused: list[bool] = []
        offsets = [0]
        for index, trace in enumerate(items):
            try:
                for token, label in encode(trace, vocabulary):
                    tokens.append(token)
                    refused.append(label)
            except TraceError as error:
                error.line = lines[index] if lines else None
                raise
            offsets.append(len(tokens))
        return Dataset(
            vocabulary,
            np.array(tokens, dtype=token_type(vocabulary)),
            np.array(refused, dtype=bool),
            np.array(offsets, dtype=np.int64),
            lines=lines,
        )

    def save(self, path: str | Path, force: bool = False) -> None:
        """One file: a JSON header (vocabulary, settings, states), then the arrays. Same data, same bytes."""
        header = {
            "vocabulary": asdict(self.vocabulary),
            "settings": dict(self.settings),
            "states": {name: sorted(state) for name, state in self.states.items()},
        }
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in ARRAYS}
        with writing(Path(path), force) as stream:
            stream.write(save(arrays, {FORMAT: json.dumps(header)}))  # several keys would come in random order

    @staticmethod
    def load(path: str | Path) -> Dataset:
        """Map the file into memory; pages are read when they are used."""
        path = Path(path)
        check_readable(path)
        with reading(path), path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            size = path.stat().st_size
            raw = stream.read(length) if length <= size - 8 else b""
        try:
            header = json.loads(raw)
            meta = json.loads(header["__metadata__"][FORMAT])
            vocabulary = read_vocabulary(meta["vocabulary"])
            states = {name: frozenset(check_names(state)) for name, state in meta["states"].items()}
            settings = dict(meta["settings"])
            arrays: dict[str, Any] = {}
            for name, types in ARRAYS.items():
                start, end = header[name]["data_offsets"]
                kind = np.dtype(types[header[name]["dtype"]])
                if 8 + length + end > size:
                    raise TraceError("the dataset file is cut off", hint="copy or sample it again")
                shape = (end - start) // kind.itemsize
                arrays[name] = (
                    np.memmap(path, mode="r", dtype=kind, offset=8 + length + start, shape=(shape,)).view(np.ndarray)
                    if shape
                    else np.empty(0, dtype=kind)
                )
            check_arrays(**arrays, tokens_known=len(vocabulary))
        except TraceError as error:
            error.file = str(path)
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise TraceError("not a trace2strips dataset", file=path, hint="'trace2strips sample' writes one") from None
        return Dataset(vocabulary, **arrays, settings=settings, states=states)


def check_arrays(tokens: np.ndarray, inapplicable: np.ndarray, offsets: np.ndarray, tokens_known: int) -> None:
    """Compiled loops index with what a file says and look at no bounds, so it is looked at here, once."""
    for broken, what in (
        (len(offsets) < 2, "it has no trace"),
        (len(tokens) != len(inapplicable), "as many labels as tokens are needed"),
        (len(offsets) > 0 and (offsets[0], offsets[-1]) != (0, len(tokens)), "its offsets do not span its tokens"),
        ((offsets[1:] < offsets[:-1]).any(), "its offsets decrease"),
        (len(tokens) > 0 and tokens.max() >= tokens_known, "a token is not in its vocabulary"),
        (inapplicable.view(np.uint8).max(initial=0) > 1, "a label is neither true nor false"),
    ):
        if broken:
            raise TraceError(f"broken dataset: {what}", hint="copy or sample it again")


def read_vocabulary(fields: Mapping[str, Any]) -> Vocabulary:
    """From the header of a file; whatever is of the wrong type is a TypeError."""
    has_init_false = fields["has_init_false"]
    if not isinstance(has_init_false, bool):
        raise TypeError
    groups = {key: check_names(value) for key, value in fields.items() if key != "has_init_false"}
    return Vocabulary(**groups, has_init_false=has_init_false)


def check_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise TypeError
    return tuple(value)


def encode(trace: Trace, vocabulary: Vocabulary) -> Iterator[tuple[int, bool]]:
    """Token and label of each position: the setup prefix, the actions, the `test-p` suffix."""
    number = vocabulary.number
    if trace.init is not None:
        yield number(Kind.INIT_FALSE), False
        yield from ((token, False) for token in sorted(number(Kind.INIT_ATOM, atom) for atom in trace.init))
    if trace.state is not None:
        yield number(Kind.INIT_STATE, trace.state), False
    for action, ok in zip(trace.actions, trace.ok, strict=True):
        yield number(Kind.ACTION, action), not ok
    yield from sorted((number(Kind.TEST_ATOM, atom), not value) for atom, value in trace.final.items())


def vocabulary_of(traces: Sequence[Trace]) -> Vocabulary:
    """All names that occur, sorted."""
    return Vocabulary(
        actions=tuple(sorted({action for trace in traces for action in trace.actions})),
        init_atoms=tuple(sorted({atom for trace in traces for atom in trace.init or ()})),
        init_states=tuple(sorted({trace.state for trace in traces if trace.state is not None})),
        test_atoms=tuple(sorted({atom for trace in traces for atom in trace.final})),
        has_init_false=any(trace.init is not None for trace in traces),
    )


def token_type(vocabulary: Vocabulary) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if len(vocabulary) < 2**16 else np.uint32
