"""What `trace2strips check` tells of a dataset: its statistics, and where its labels contradict each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from trace2strips.bits import extend_hash
from trace2strips.compilation import compiled
from trace2strips.errors import TraceError, suggest
from trace2strips.model.strips import StripsModel, label_tokens
from trace2strips.model.vocabulary import TEST_ATOM, Kind
from trace2strips.traces.dataset import Dataset


@dataclass(frozen=True)
class Statistics:
    traces: int
    actions: int  # distinct domain actions
    positions: int  # domain actions in all traces
    refused: int
    shortest: int
    mean_length: float
    longest: int
    with_init: int
    with_state: int
    with_final: int
    never_worked: tuple[str, ...]
    never_refused: tuple[str, ...]


def describe(dataset: Dataset) -> Statistics:
    vocabulary = dataset.vocabulary
    kinds = vocabulary.kinds[dataset.tokens]
    is_action = kinds == Kind.ACTION
    lengths = count_per_trace(dataset, is_action)
    worked = np.bincount(dataset.tokens[is_action & ~dataset.inapplicable], minlength=len(vocabulary))
    refused = np.bincount(dataset.tokens[is_action & dataset.inapplicable], minlength=len(vocabulary))

    def named(counts: Int[np.ndarray, " tokens"]) -> tuple[str, ...]:
        first = vocabulary.first[Kind.ACTION]
        return tuple(name for i, name in enumerate(vocabulary.actions) if counts[first + i] == 0)

    return Statistics(
        traces=len(dataset),
        actions=len(vocabulary.actions),
        positions=int(is_action.sum()),
        refused=int((is_action & dataset.inapplicable).sum()),
        shortest=int(lengths.min()) if len(lengths) else 0,
        mean_length=float(lengths.mean()) if len(lengths) else 0.0,
        longest=int(lengths.max(initial=0)),
        with_init=int((count_per_trace(dataset, kinds == Kind.INIT_FALSE) > 0).sum()),
        with_state=int(((count_per_trace(dataset, kinds == Kind.INIT_STATE) > 0) & ~dataset.untold).sum()),
        with_final=int((count_per_trace(dataset, kinds == Kind.TEST_ATOM) > 0).sum()),
        never_worked=named(worked),
        never_refused=named(refused),
    )


def count_per_trace(dataset: Dataset, mask: Bool[np.ndarray, " positions"]) -> Int[np.ndarray, " traces"]:
    before = np.concatenate([[0], np.cumsum(mask)])
    return before[dataset.offsets[1:]] - before[dataset.offsets[:-1]]


@dataclass(frozen=True)
class Contradiction:
    """One action in one history (the same initial state, the same actions that worked) that worked and was refused."""

    action: str
    worked: tuple[int, int]  # (trace, position among the tokens that were told)
    refused: tuple[int, int]


def find_contradictions(dataset: Dataset) -> list[Contradiction]:
    """Positions that no STRIPS model at all can explain together, one entry per history and action."""
    keys = np.empty(len(dataset.tokens), dtype=np.uint64)
    hash_histories(dataset.vocabulary.kinds, dataset.tokens, dataset.inapplicable, dataset.offsets, keys)
    scored = np.flatnonzero(dataset.vocabulary.kinds[dataset.tokens] >= Kind.ACTION)
    order = scored[np.argsort(keys[scored], kind="stable")]
    starts = np.flatnonzero(np.concatenate([[True], keys[order][1:] != keys[order][:-1]])) if len(order) else order
    sizes = np.diff(np.append(starts, len(order)))
    refused = np.add.reduceat(dataset.inapplicable[order].astype(np.int64), starts) if len(order) else starts
    found = []
    mixed = (refused > 0) & (refused < sizes)
    for start, size in zip(starts[mixed], sizes[mixed], strict=True):
        group = order[start : start + size]
        labels = dataset.inapplicable[group]
        good, bad = int(group[~labels][0]), int(group[labels][0])
        name = dataset.vocabulary.names[int(dataset.tokens[good])]
        found.append(Contradiction(name, locate(dataset, good), locate(dataset, bad)))
    return sorted(found, key=lambda c: (min(c.worked, c.refused), c.action))


def locate(dataset: Dataset, position: int) -> tuple[int, int]:
    """The trace, and the position among the tokens of it that were told."""
    trace = int(np.searchsorted(dataset.offsets, position, side="right")) - 1
    return trace, position - int(dataset.offsets[trace]) - int(dataset.untold[trace])


def list_histories(dataset: Dataset) -> list[tuple[int, ...]]:
    """For each position the tokens that had worked before it in its trace, and its own: the slow `hash_histories`."""
    found = []
    for trace in range(len(dataset)):
        history: tuple[int, ...] = ()
        for i in range(int(dataset.offsets[trace]), int(dataset.offsets[trace + 1])):
            token = int(dataset.tokens[i])
            found.append((*history, token))
            if dataset.vocabulary.kinds[token] != Kind.TEST_ATOM and not dataset.inapplicable[i]:
                history = (*history, token)
    return found


@compiled()
def hash_histories(kinds, tokens, inapplicable, offsets, keys):  # type: ignore[no-untyped-def]
    """keys[i]: a hash of what had worked before position i, and of the action at i (64 bits: no chance collisions)."""
    for trace in range(len(offsets) - 1):
        history = np.uint64(0)
        for i in range(offsets[trace], offsets[trace + 1]):
            keys[i] = extend_hash(history, tokens[i])
            if kinds[tokens[i]] != TEST_ATOM and not inapplicable[i]:  # test-p changes nothing
                history = keys[i]


def unknown_starts(dataset: Dataset) -> Bool[np.ndarray, " traces"]:
    """The traces that start in a named state of which nobody says what holds in it, as in the text formats."""
    vocabulary = dataset.vocabulary
    unknown = np.zeros(len(vocabulary), dtype=bool)
    first = vocabulary.first[Kind.INIT_STATE]
    unknown[first : first + len(vocabulary.init_states)] = [
        name not in dataset.states for name in vocabulary.init_states
    ]
    return (count_per_trace(dataset, unknown[dataset.tokens]) > 0) & ~dataset.untold


@dataclass(frozen=True)
class Disagreement:
    """Positions whose label is not what a model says."""

    count: int
    trace: int
    position: int
    action: str
    says_worked: bool


def predict(dataset: Dataset, model: StripsModel) -> Bool[np.ndarray, " positions"]:
    """Which positions a known model refuses. Where no start is told every atom is true, as for f_M; nothing is said of
    traces with `unknown_starts`."""
    vocabulary = dataset.vocabulary
    for noun, names, known in (
        ("action", vocabulary.actions, model.action_index),
        ("atom", (*vocabulary.init_atoms, *vocabulary.test_atoms), model.atom_index),
    ):
        for name in names:
            if name not in known:
                raise TraceError(f"unknown {noun} {name!r}", hint=suggest(name, known, f"{noun}s"))
    states = {name: dataset.states.get(name, frozenset(model.atoms)) for name in vocabulary.init_states}
    return label_tokens(vocabulary.extend(model, states).bits, dataset.tokens, dataset.offsets)


def compare_with(dataset: Dataset, model: StripsModel) -> Disagreement | None:
    """Check every label against a known model, but for the traces with `unknown_starts`."""
    labels = predict(dataset, model)
    skipped = np.repeat(unknown_starts(dataset), np.diff(dataset.offsets))
    wrong = np.flatnonzero((labels != dataset.inapplicable) & ~skipped)
    if not len(wrong):
        return None
    trace, position = locate(dataset, int(wrong[0]))
    name = dataset.vocabulary.names[int(dataset.tokens[wrong[0]])]
    return Disagreement(len(wrong), trace, position, name, not bool(dataset.inapplicable[wrong[0]]))
