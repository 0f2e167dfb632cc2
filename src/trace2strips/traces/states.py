"""The states of a model along one trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trace2strips.model.strips import State, StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.dataset import Dataset, vocabulary_of
from trace2strips.traces.trace import Trace


def states_along(model: StripsModel, dataset: Dataset) -> Iterator[State]:
    """The state before each position of the one trace of a dataset, and after the last; `model` is over its tokens."""
    state = frozenset(model.atoms)
    for token, refused in zip(dataset.tokens.tolist(), dataset.inapplicable.tolist(), strict=True):
        yield state
        if not refused:
            step = model.actions[token]
            state = (state - step.delete) | step.add
    yield state


def false_atoms(
    over_tokens: Callable[[Vocabulary], StripsModel], trace: Trace, name: str, is_final: bool = False
) -> tuple[str, ...]:
    """What a model misses for an attempt after what worked in the trace, sorted; a final value is asked like one."""
    kind = Kind.TEST_ATOM if is_final else Kind.ACTION
    asked = Trace((), (), final={name: False}) if is_final else Trace((name,), (False,))
    dataset = Dataset.of([trace], vocabulary_of([trace, asked]))
    model = over_tokens(dataset.vocabulary)
    *_, state = states_along(model, dataset)
    return tuple(sorted(model.actions[dataset.vocabulary.number(kind, name)].pre - state))
