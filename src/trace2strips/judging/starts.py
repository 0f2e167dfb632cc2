"""What is compared, and from where: the starts that runs and domains suggest, that traces tell, or that a user gives.

Apart from `equivalence`, which works on any two models and knows neither runs nor domains.

A learned model starts where its traces start. If these tell initial atoms, so must whoever compares it; if they name
their initial states, or begin in one that nobody describes, it knows what holds there in its own atoms, and only the
other side is to be told. From other states, with every atom true for instance, a learned model promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import ModelError, PddlError, TraceError, UserError, suggest, with_file
from trace2strips.files import read_text
from trace2strips.judging.equivalence import check_seed
from trace2strips.judging.joint import Starts, everything_true
from trace2strips.judging.problems import outline
from trace2strips.judging.sources import Source
from trace2strips.model.goals import Names, split_names
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel, state_of
from trace2strips.model.vocabulary import Kind
from trace2strips.pddl import encode_name, parse_model_problem, parse_problem
from trace2strips.traces import Dataset
from trace2strips.traces.reading import Traces, as_dataset
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


def choose_starts(
    a: Source,
    b: Source,
    init: Names | None = None,
    problem: Path | None = None,
    traces: Traces | None = None,
    domain: Domain | None = None,
    count: int = 100_000,
    seed: int = 0,
) -> tuple[Starts, Starts | None]:
    """The starts that a user gives in one of these ways, else those of `find_starts`; and further ones for a proof."""
    atoms, state = read_init(a, b, init)
    if sum(option is not None for option in (atoms, problem, traces, domain)) > 1:
        raise UserError("several starts are given", hint="one of --init, --problem, --traces and --domain")
    if problem is not None:
        return problem_starts(a, b, problem, state), None
    if traces is not None:
        dataset = as_dataset(traces)
        file = Path(traces) if isinstance(traces, str | PathLike) else None
        given = trace_starts(a, b, dataset) if file is None else with_file(file, lambda: trace_starts(a, b, dataset))
        return (given if state is None else given.only(state)), None
    if atoms is not None or (a.named_states and b.named_states and state is not None):
        origin = "the initial state given" if atoms is None else "the initial atoms given"
        return told_starts(a, b, atoms or (), origin, state), None
    given, further = find_starts(a, b, domain, count, seed)
    return (given if state is None else given.only(state)), further


def read_init(a: Source, b: Source, values: Names | None) -> tuple[list[str] | None, str | None]:
    """The atoms of --init, and the name of an initial state among them; None where there are none."""
    if values is None:
        return None, None
    states = dict.fromkeys((*a.named_states, *b.named_states))
    known = {atom for side in (a, b) if not side.named_states for atom in side.model.atoms}
    words = split_names(values, known | states.keys())
    names = [word for word in dict.fromkeys(words) if word in states and word not in known]
    if len(names) > 1:
        raise UserError(f"two initial states are named, {names[0]!r} and {names[1]!r}", hint="one at a time")
    atoms = [word for word in words if word not in names]
    return (atoms if atoms or not names else None), (names[0] if names else None)


# --- given -----------------------------------------------------------------------------------------------------------


def told_starts(a: Source, b: Source, atoms: Iterable[Atom], origin: str, state: str | None = None) -> Starts:
    """One start. The atoms told are true, and each model takes those it has; but a run that knows its initial states
    by name starts in `state`, or in its only one.
    """
    told = frozenset(atoms)
    known = [atom for side in (a, b) if not side.named_states for atom in side.model.atoms]
    for atom in sorted(told - set(known)):
        raise ModelError(f"unknown atom {atom!r}", hint=suggest(atom, dict.fromkeys(known), "atoms"))

    def start(side: Source) -> State:
        if not side.named_states:
            return told & frozenset(side.model.atoms)
        assert side.world is not None
        if state is None and len(side.named_states) > 1:
            raise UserError(
                f"{side.name} knows {len(side.named_states)} initial states by name, and none is chosen",
                hint=f"--init {side.named_states[0]} with --problem FILE, or with what is true in the other model",
            )
        return side.world.start(state or side.named_states[0])

    return Starts.of(a.model, b.model, {state or origin: (start(a), start(b))}, origin)


def problem_starts(a: Source, b: Source, path: Path, state: str | None = None) -> Starts:
    """The initial state of a problem file, in the atoms of either model or of the hidden domain."""
    atoms = with_file(path, lambda: read_initial_atoms(a, b, path))
    return told_starts(a, b, atoms, f"the initial state of {path}", state)


def read_initial_atoms(a: Source, b: Source, path: Path) -> State:
    """Those that a side has; an atom of the hidden domain that neither has is left out."""
    text = read_text(path)
    declared, lifted = outline(text, path)
    domain = a.domain or b.domain
    if lifted and domain is not None:
        init = domain.problem_of(parse_problem(text, domain.lifted, str(path))).init
    elif lifted:
        raise PddlError(
            "the problem has objects, and the models are propositional",
            hint="'trace2strips ground DOMAIN --problem FILE --out-problem GROUND' writes it in single atoms",
        )
    else:
        models = (a.model, b.model) if domain is None else (a.model, b.model, domain.model)
        name = next((model.name for model in models if encode_name(model.name) == declared), a.model.name)
        union = StripsModel(tuple(dict.fromkeys(atom for model in models for atom in model.atoms)), (), name)
        init = parse_model_problem(text, union, str(path)).init
    return init & {*a.model.atoms, *b.model.atoms}


# --- told by traces --------------------------------------------------------------------------------------------------


def trace_starts(a: Source, b: Source, traces: Dataset) -> Starts:
    """All the initial states of traces, each once."""
    words, origin = traces.vocabulary, "the initial states of the traces"
    told, named = initial_states(traces)
    for side in (a, b):
        check_same_states(side, traces, bool(len(told)))
    pairs = {name: (state_named(a, name, traces), state_named(b, name, traces)) for name in named}
    starts = Starts.of(a.model, b.model, pairs, origin)
    if not len(told):
        return starts
    by_atoms = Starts(a.tell(told, words.init_atoms), b.tell(told, words.init_atoms), origin=origin)
    return starts.and_also(by_atoms) if pairs else by_atoms


def check_same_states(side: Source, traces: Dataset, by_atoms: bool) -> None:
    """For a run with named initial states: s0 of 50 is another state than s0 of 100, or than s0 of another domain."""
    if not side.named_states:
        return
    if side.learned is not None:
        figures, told = side.learned.figures, traces.settings
        for what, ours in (("init", figures.encoding), ("domain", figures.domain), ("model", figures.hidden_model)):
            theirs = told.get(what)
            if None not in (ours, theirs) and ours != theirs:
                raise TraceError(
                    f"the initial states are others: {what} {theirs!r}, and for {side.name} {ours!r}",
                    hint="take the traces that it was learned from",
                )
    if by_atoms:
        raise TraceError(
            f"the traces tell initial atoms, and {side.name} knows its initial states by name",
            hint="take the traces that it was learned from",
        )


def initial_states(traces: Dataset) -> tuple[Bool[np.ndarray, "starts init_atoms"], list[str]]:
    """What traces begin with: the different sets of initial atoms, a column per `init-p`, and the names of states."""
    words = traces.vocabulary
    kinds = words.kinds[traces.tokens]
    trace = np.repeat(np.arange(len(traces)), np.diff(traces.offsets))
    rows = np.zeros((len(traces), len(words.init_atoms)), dtype=bool)
    atoms = kinds == Kind.INIT_ATOM
    rows[trace[atoms], traces.tokens[atoms].astype(np.int64) - words.first[Kind.INIT_ATOM]] = True
    named = np.unique(traces.tokens[kinds == Kind.INIT_STATE]).tolist()
    return np.unique(rows[trace[kinds == Kind.INIT_FALSE]], axis=0), [words.subjects[token] for token in named]


def state_named(side: Source, name: str, traces: Dataset) -> State:
    """What holds for this side in an initial state of the traces: as it has learned, or as a sampled dataset says."""
    if side.world is not None and (side.named_states or name in side.world.states):
        return side.world.start(name)
    if name not in traces.states:
        raise TraceError(
            f"nothing says what is true in {side.name} in the initial state {name!r} of the traces",
            hint="--init ATOM,… or --problem FILE",
        )
    rows = np.array([[atom in traces.states[name] for atom in side.model.atoms]], dtype=bool)
    return state_of(side.model, side.tell(rows, side.model.atoms)[0])


# --- found -----------------------------------------------------------------------------------------------------------


def find_starts(
    a: Source, b: Source, domain: Domain | None = None, count: int = 100_000, seed: int = 0
) -> tuple[Starts, Starts | None]:
    """The starts that the sides themselves suggest, and further ones, drawn apart, to check a proof on.

    With a domain: its generated initial states, or those a run knows by name. Two runs: their named states. Two models
    of which none was learned: F. Else a user has to say.
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
        if a.world is not None or b.world is not None:
            raise where_to_start(a, b)
        return everything_true(a.model, b.model), None
    rng = np.random.default_rng([seed, 4])
    atoms, origin = domain.model.atoms, f"generated initial states of {domain.name}"
    draws = [np.unique(domain.draw_states(rng, count), axis=0) for _ in range(2)]
    first, second = (Starts(a.tell(rows, atoms), b.tell(rows, atoms), origin=origin) for rows in draws)
    return first, second


def where_to_start(a: Source, b: Source) -> UserError:
    """What a user has to say before a learned model is compared."""
    run, other = (a, b) if a.named_states or b.world is None else (b, a)
    match len(run.named_states):
        case 0:
            hint = "--traces FILE (those it was learned from), --init ATOM,…, --problem FILE or --domain NAME"
        case 1:
            hint = f"--init ATOM,… or --problem FILE: what is true in {other.name} where the traces of {run.name} begin"
        case _:
            state = run.named_states[0]
            hint = f"--init {state} with --problem FILE, --init {state},ATOM,… or --traces FILE.t2s with these states"
    return UserError(f"where {a.name} and {b.name} start is not said", hint=hint)
