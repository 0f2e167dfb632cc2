"""What a user may name as a model: the folder of a learned run, a propositional PDDL file, or a benchmark domain.

Also how a planning problem is put to it: by atoms, by the name of an initial state, or by a PDDL problem file in the
model's own atoms or in those of the hidden domain. May import up to `evaluation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import DomainError, FileError, ModelError, PddlError, shorten, suggest, with_file
from trace2strips.files import read_text
from trace2strips.judging.plan_outcomes import align, start_names
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import load
from trace2strips.model.strips import Atom, State, StripsModel, StripsProblem
from trace2strips.model.world import WorldModel
from trace2strips.pddl import parse_expression, parse_model_problem, parse_problem, read_model
from trace2strips.traces.dataset import START
from trace2strips.worlds import Domain, get_domain


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

    def tell(self, told: Bool[np.ndarray, "starts told"], names: Sequence[Atom]) -> Bool[np.ndarray, "starts atoms"]:
        """Initial states of this model from atoms told by name, as `init-false` and `init-p` would make them."""
        sayable = set(names if self.world is None else self.world.vocabulary.init_atoms)
        column = {atom: i for i, atom in enumerate(names) if atom in sayable}
        states = np.zeros((len(told), len(self.model.atoms)), dtype=bool)
        for i, atom in enumerate(self.model.atoms):
            if atom in column:
                states[:, i] = told[:, column[atom]]
        return states


def open_source(name: str) -> Source:
    path = Path(name)
    if path.is_dir():
        learned = load(path)
        return Source(name, learned.model, learned.world, known_domain(learned.figures.domain), learned)
    if path.suffix == ".pddl":
        return Source(name, read_model(path))
    if path.exists():
        raise FileError("is no model", file=path, hint="a run folder, a .pddl file or a domain such as blocksworld-5b")
    try:
        domain = get_domain(name)
    except DomainError as error:
        if ":" in name:
            raise
        if "/" in name:
            raise FileError("no such file or folder", file=name) from None
        message = f"{shorten(name)!r} is no run folder, no .pddl file and no domain"
        raise DomainError(message, hint=error.hint) from None
    return Source(name, domain.model, domain=domain)


def known_domain(name: str | None) -> Domain | None:
    """A benchmark domain by name; None for a domain of the user's own files."""
    try:
        return None if name is None else get_domain(name)
    except DomainError:
        return None


def initial_state(source: Source, words: Sequence[str] | None) -> State:
    """By atoms, or by the name of a learned initial state; without a word, where all training traces began."""
    states = {} if source.world is None else source.world.states
    if words is None:
        if START in states:
            return states[START]
        raise ModelError(
            "where to start is not said",
            hint="--init s0 names one of the learned initial states" if states else "--init ATOM … or --problem FILE",
        )
    if len(words) == 1 and words[0] in states:
        return states[words[0]]
    if states and not any(word in source.model.atom_index for word in words):
        raise ModelError(f"unknown initial state {words[0]!r}" if words else "no initial state is named",
                         hint=suggest(words[0] if words else "", states, "initial states"))  # fmt: skip
    return source.model.state(words)


def read_source_problem(source: Source, path: Path) -> StripsProblem:
    """A problem file in the model's own atoms, or in those of the hidden domain, grounded or lifted."""

    def read() -> StripsProblem:
        text = read_text(path)
        declared, lifted = outline(text, path)
        domain = source.domain
        if domain is None or (declared == source.model.name and not lifted):
            return parse_model_problem(text, source.model, str(path))
        if lifted:
            problem = domain.problem_of(parse_problem(text, domain.lifted, str(path)))
        else:
            problem = parse_model_problem(text, domain.model, str(path))
        return problem if source.world is None else align(problem, source.world, start_of(source, problem.init))

    return with_file(path, read)


def outline(text: str, path: Path) -> tuple[str, bool]:
    """The domain that a problem file says it is for, and whether it has objects."""
    declared, lifted = "", False
    for section in parse_expression(text, str(path)).items[2:]:
        if section.head == ":domain" and len(section.items) == 2:
            declared = section.items[1].word
        lifted |= section.head == ":objects" and len(section.items) > 1
    return declared, lifted


def start_of(source: Source, init: State) -> str | None:
    """The `init-s` of a hidden initial state; None where initial states are told atom by atom."""
    assert source.domain is not None
    names = start_names(source.domain, source.encoding)
    if names and init not in names:
        raise PddlError(
            "its initial state is none of those the model was trained on",
            hint=f"the model knows {len(names)} initial states; learn from init-atoms traces for others",
        )
    return names.get(init)
