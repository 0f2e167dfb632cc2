"""What was learned, as people and planners want it: a model over domain actions, and how setup actions relate to it.

M' = ⟨F', A'⟩ is aligned with the vocabulary of the traces it was learned from: an atom that a setup action names
carries that name, all others are invented; for each named initial state it says what holds in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from trace2strips.errors import ModelError, suggest
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary


@dataclass(frozen=True)
class WorldModel:
    """A learned model over domain actions, aligned with the vocabulary of the traces it was learned from."""

    model: StripsModel
    vocabulary: Vocabulary
    states: Mapping[str, State] = field(default_factory=dict)  # I' of each `init-s`
    always: State = frozenset()  # what holds wherever initial atoms are told, without being told
    meaning: Mapping[Atom, State] = field(default_factory=dict)  # of told atoms that do not stand for themselves

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
        words = vocabulary or self.vocabulary
        plain = words.extend(self.model, self.states, of_its_atoms=True)
        if not self.always and not self.meaning:
            return plain
        actions = list(plain.actions)
        for i, (kind, subject) in enumerate(zip(words.kinds.tolist(), words.subjects, strict=True)):
            if kind == Kind.INIT_FALSE:
                actions[i] = replace(actions[i], add=self.always, delete=actions[i].delete - self.always)
            elif kind == Kind.INIT_ATOM:
                actions[i] = replace(actions[i], add=self.meaning.get(subject, actions[i].add))
        return StripsModel(plain.atoms, tuple(actions), plain.name)

    def told(self, atoms: Iterable[Atom]) -> State:
        """What holds where exactly these initial atoms are told."""
        known = self.model.atom_index
        return self.always.union(*(self.meaning.get(a, {a} & known.keys()) for a in atoms))

    def counts(self) -> dict[str, int]:
        """Atoms, preconditions and effects."""
        return count_parts(self.model)


def count_parts(model: StripsModel) -> dict[str, int]:
    return {
        "atoms": len(model.atoms),
        "preconditions": sum(len(action.pre) for action in model.actions),
        "effects": sum(len(action.add) + len(action.delete) for action in model.actions),
    }


def world_to_json(world: WorldModel) -> dict[str, Any]:
    """The model in plain words: atoms, actions, initial states, and what the setup actions were."""
    order = world.model.atom_index.__getitem__
    return {
        "atoms": list(world.model.atoms),
        "invented": list(world.invented),
        "actions": [
            {key: sorted(getattr(action, key), key=order) if key != "name" else action.name
             for key in ("name", "pre", "add", "delete")}
            for action in world.model.actions
        ],
        "states": {name: sorted(state, key=order) for name, state in world.states.items()},
        "vocabulary": asdict(world.vocabulary),
        **({"always": sorted(world.always, key=order)} if world.always else {}),
        **({"meaning": {a: sorted(s, key=order) for a, s in world.meaning.items()}} if world.meaning else {}),
    }  # fmt: skip


def world_from_json(record: dict[str, Any]) -> WorldModel:
    actions = tuple(
        StripsAction(a["name"], frozenset(a["pre"]), frozenset(a["add"]), frozenset(a["delete"]))
        for a in record["actions"]
    )
    states = {name: frozenset(state) for name, state in record["states"].items()}
    model = StripsModel(tuple(record["atoms"]), actions, name="learned")
    meaning = {atom: frozenset(state) for atom, state in record.get("meaning", {}).items()}
    always = frozenset(record.get("always", ()))
    return WorldModel(model, vocabulary_from_json(record["vocabulary"]), states, always, meaning)


def vocabulary_from_json(record: Mapping[str, Any]) -> Vocabulary:
    words: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
    return Vocabulary(**words)
