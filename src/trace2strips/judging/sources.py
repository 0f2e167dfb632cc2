"""A model and what is known of where it comes from: `Source`.

Judging needs more than a model: a learned one comes with the words of its traces, from which its initial states follow,
and with the hidden domain, if that is known. It stands here, below experiments and commands, which all judge; that
`equivalence` does without it keeps the learners out of the comparison of two plain models. Which words a user may say
for a model (a run folder, a file, a domain) is known to `commands.sources` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from trace2strips.learners.learner import Learned
from trace2strips.model.goals import Goal, Names
from trace2strips.model.strips import Atom, StripsModel
from trace2strips.model.world import WorldModel
from trace2strips.worlds import Domain


@dataclass(frozen=True)
class Source:
    """A model and where it comes from: `world` and `learned` if it was learned, `domain` if the hidden one is known."""

    name: str
    model: StripsModel
    world: WorldModel | None = None
    domain: Domain | None = None
    learned: Learned | None = None

    @property
    def encoding(self) -> str:
        """How training traces told their initial state."""
        return str((self.learned.figures.encoding if self.learned else None) or "atoms")

    @property
    def named_states(self) -> tuple[str, ...]:
        """The names of the initial states of a run that was told no atoms."""
        words = None if self.world is None else self.world.vocabulary
        return () if words is None or words.init_atoms else words.init_states

    def about(self, goal: Names | Goal, init: Names | None, enable: Names = ()) -> Source:
        """The same over the objects that goal and start name, and actions that shall be possible, where the model is a
        lifted one."""
        if self.learned is None or not self.is_lifted:
            return self
        return self.with_world(self.learned.world_about(goal, init, enable))

    @property
    def is_lifted(self) -> bool:
        return self.learned is not None and self.learned.lifted is not None

    def over(self, other: Source) -> Source:
        """The same over the actions and told the atoms of another one, where this is a lifted one. If the other is not,
        objects that it does not know are left out."""
        if self.learned is None or not self.is_lifted:
            return self
        learner, own = self.learned.learner, self.model.action_index
        kept = own if other.is_lifted else learner.about_same_objects(self.learned, own, other.model.action_index)
        every = dict.fromkeys((*kept, *other.model.action_index))
        return self.with_world(learner.world_over(self.learned, every, other.model.atoms))

    def with_world(self, world: WorldModel) -> Source:
        return replace(self, model=world.model, world=world)

    def tell(self, told: Bool[np.ndarray, "starts told"], names: Sequence[Atom]) -> Bool[np.ndarray, "starts atoms"]:
        """Initial states of this model from atoms told by name, as `init-false` and `init-p` would make them."""
        sayable = set(names if self.world is None else self.world.vocabulary.init_atoms)
        states = np.zeros((len(told), len(self.model.atoms)), dtype=bool)
        number = self.model.atom_index
        meaning = {} if self.world is None else self.world.meaning
        for column, atom in enumerate(names):
            if atom in sayable:
                for true in meaning.get(atom, {atom} & number.keys()):
                    states[:, number[true]] |= told[:, column]
        for true in () if self.world is None else self.world.always:
            states[:, number[true]] = True
        return states


def over_same_actions(a: Source, b: Source) -> tuple[Source, Source]:
    """Two sources for comparing: a lifted one is grounded over the actions and told atoms of the other as well."""
    return a.over(b), b.over(a)
