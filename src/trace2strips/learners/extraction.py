"""From parameters to a readable STRIPS model: binarise, merge equal heads, prune, name.

`extract` takes a completed or a plain binarised network. The result is a `WorldModel`: M' = ⟨F', A'⟩ over the domain
actions, and how setup actions relate to it (which atoms are aligned, what each `init-s` makes true).
May import up to `completion`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from trace2strips.errors import ModelError, suggest
from trace2strips.learners.completion.completion import Completion, Heads, effects_of
from trace2strips.learners.completion.histories import ADD, DELETE
from trace2strips.learners.transformer.strips_transformer import Layout, Theta, wrong_traces
from trace2strips.model.strips import State, StripsAction, StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset


@dataclass(frozen=True)
class WorldModel:
    """A learned model over domain actions, aligned with the vocabulary of the traces it was learned from."""

    model: StripsModel
    vocabulary: Vocabulary
    states: Mapping[str, State] = field(default_factory=dict)  # I' of each `init-s`

    @property
    def invented(self) -> tuple[str, ...]:
        """Atoms that no setup action names."""
        named = {*self.vocabulary.init_atoms, *self.vocabulary.test_atoms}
        return tuple(atom for atom in self.model.atoms if atom not in named)

    def start(self, name: str) -> State:
        """What holds after `init-s`."""
        if name not in self.states:
            raise ModelError(f"unknown initial state {name!r}", hint=suggest(name, self.states, "initial states"))
        return self.states[name]

    def over_tokens(self, vocabulary: Vocabulary | None = None) -> StripsModel:
        """The model with its setup actions, in the order of the token numbers: what classifies whole traces.

        Setup actions about atoms that were pruned away do nothing.
        """
        known = frozenset(self.model.atoms)
        words = vocabulary or self.vocabulary
        actions = []
        for name, kind, subject in zip(words.names, words.kinds.tolist(), words.subjects, strict=True):
            about = frozenset({subject}) & known
            match Kind(kind):
                case Kind.INIT_FALSE:
                    actions.append(StripsAction(name, delete=known))
                case Kind.INIT_ATOM:
                    actions.append(StripsAction(name, add=about))
                case Kind.TEST_ATOM:
                    actions.append(StripsAction(name, pre=about))
                case Kind.INIT_STATE:
                    state = self.states[subject]
                    actions.append(StripsAction(name, add=state, delete=known - state))
                case Kind.ACTION:
                    actions.append(self.model.action(subject))
        return StripsModel(self.model.atoms, tuple(actions), name=self.model.name)

    def counts(self) -> dict[str, int]:
        """Atoms, preconditions and effects."""
        return count_parts(self.model)


def count_parts(model: StripsModel) -> dict[str, int]:
    return {
        "atoms": len(model.atoms),
        "preconditions": sum(len(action.pre) for action in model.actions),
        "effects": sum(len(action.add) + len(action.delete) for action in model.actions),
    }


def extract(theta: Theta, layout: Layout, completion: Completion, dataset: Dataset) -> WorldModel:
    """The paper's reading of the parameters, θ̄ ≥ 0.5, pruned: heads with equal effects are one, and what no training
    label needs is gone. The pruned model is taken unless it gets more training traces wrong.
    """
    binary = theta.binarise()
    effects = effects_of(theta, layout)
    aligned = len(layout.aligned)
    start = np.minimum(np.arange(layout.heads), aligned)
    pre: list[set[int]] = [
        set(np.flatnonzero(binary.query[row] * layout.askable[row]).tolist()) for row in range(layout.actions)
    ]
    first: dict[bytes, int] = {}
    for head in range(aligned, layout.heads):
        same = first.setdefault(effects[:, head].tobytes(), head)
        if same != head:
            pre = [{same if h == head else h for h in asked} for asked in pre]
    heads = Heads(effects, start, [*pre, *({h} for h in range(aligned))])
    plain = world_model(heads, layout)
    pruned = world_model(completion.prune(heads), layout)
    worse = wrong_traces(pruned.over_tokens(), dataset).sum() > wrong_traces(plain.over_tokens(), dataset).sum()
    return plain if worse else pruned


def world_model(heads: Heads, layout: Layout, name: str = "learned") -> WorldModel:
    """Names and lists. Aligned heads carry their atom's name, invented ones `p<head>`; heads nobody asks are gone."""
    aligned = len(layout.aligned)
    tested = {layout.aligned.index(atom) for atom in layout.vocabulary.test_atoms}
    used = sorted(set().union(tested, *heads.pre[: layout.actions]))
    taken = set(layout.aligned)
    names: dict[int, str] = {}
    for head in used:
        text = layout.aligned[head] if head < aligned else f"p{head}"
        while head >= aligned and text in taken:
            text += "_"
        names[head] = text

    def chosen(row: int, effect: int) -> frozenset[str]:
        return frozenset(names[head] for head in used if heads.effects[row, head] == effect)

    actions = tuple(
        StripsAction(text, frozenset(names[h] for h in heads.pre[row]), chosen(row, ADD), chosen(row, DELETE))
        for row, text in enumerate(layout.vocabulary.actions)
    )
    states = {text: chosen(layout.actions + i, ADD) for i, text in enumerate(layout.vocabulary.init_states)}
    return WorldModel(StripsModel(tuple(names.values()), actions, name=name), layout.vocabulary, states)
