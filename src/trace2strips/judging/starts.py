"""What is compared, and from where: the starts that runs and domains suggest, or that a user gives.

Apart from `equivalence`, which works on any two models and knows neither runs nor domains.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from trace2strips.errors import ModelError, UserError, suggest
from trace2strips.judging.equivalence import check_seed
from trace2strips.judging.joint import Starts, everything_true
from trace2strips.judging.sources import Source
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel, state_of
from trace2strips.pddl import read_model_problem
from trace2strips.worlds import Domain

MOST_STARTS = 10_000_000


def with_final_values(a: Source, b: Source) -> tuple[StripsModel, StripsModel]:
    """Both models, with a `test-p` for each final value that the traces of a run tell and both models can."""
    tested = dict.fromkeys(atom for side in (a, b) if side.world for atom in side.world.vocabulary.test_atoms)
    actions = [
        StripsAction(f"test-{atom}", pre=frozenset({atom}))
        for atom in tested
        if all(atom in m.atom_index and f"test-{atom}" not in m.action_index for m in (a.model, b.model))
    ]
    first, second = (StripsModel(m.atoms, (*m.actions, *actions), m.name) for m in (a.model, b.model))
    return first, second


def told_starts(a: Source, b: Source, atoms: Iterable[Atom], origin: str) -> Starts:
    """One start: the atoms told are true, each model takes those it has."""
    known = tuple(dict.fromkeys((*a.model.atoms, *b.model.atoms)))
    told = tuple(dict.fromkeys(atoms))
    for atom in told:
        if atom not in known:
            raise ModelError(f"unknown atom {atom!r}", hint=suggest(atom, known, "atoms"))
    pair = frozenset(told) & frozenset(a.model.atoms), frozenset(told) & frozenset(b.model.atoms)
    return Starts.of(a.model, b.model, {origin: pair}, origin)


def problem_starts(a: Source, b: Source, path: Path) -> Starts:
    """The initial state of a propositional problem file."""
    union = StripsModel(tuple(dict.fromkeys((*a.model.atoms, *b.model.atoms))), ())
    return told_starts(a, b, read_model_problem(path, union).init, f"the initial state of {path}")


def find_starts(
    a: Source, b: Source, domain: Domain | None = None, count: int = 100_000, seed: int = 0
) -> tuple[Starts, Starts | None]:
    """The starts that the sides themselves suggest, and further ones, drawn apart, to check a proof on.

    With a domain: its generated initial states, or those a run knows by name. Two runs: their named states. Else F.
    """
    if not 1 <= count <= MOST_STARTS:
        raise UserError(f"cannot draw {count} starts", hint=f"1 to {MOST_STARTS}")
    check_seed(seed)
    domain = domain or a.domain or b.domain
    named = [side.named_states for side in (a, b) if side.named_states]
    if named and (domain is not None or len(named) == 2):
        names = named[0]
        told = {} if domain is None else {f"s{i}": row for i, row in enumerate(domain.state_set(len(names)))}
        # s0 of 50 states is another state than s0 of 100
        if set(names) != set(named[-1]) or (domain is not None and set(names) != set(told)):
            raise UserError("the sides do not have the same named initial states", hint="--init ATOMS")

        def state(side: Source, name: str) -> State:
            if side.world is not None and side.named_states:
                return side.world.states[name]
            assert domain is not None
            return state_of(side.model, side.tell(told[name][None], domain.model.atoms)[0])

        pairs = {name: (state(a, name), state(b, name)) for name in names}
        return Starts.of(a.model, b.model, pairs, "named initial states"), None
    if domain is None:
        return everything_true(a.model, b.model), None
    rng = np.random.default_rng([seed, 4])
    atoms, origin = domain.model.atoms, f"generated initial states of {domain.name}"
    draws = [np.unique(domain.draw_states(rng, count), axis=0) for _ in range(2)]
    first, second = (Starts(a.tell(rows, atoms), b.tell(rows, atoms), origin=origin) for rows in draws)
    return first, second
