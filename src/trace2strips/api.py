"""What `import trace2strips` offers beyond the classes and functions of the library: whatever names a model will do."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from trace2strips.commands.sources import hidden_domain_or_none, open_source
from trace2strips.errors import ModelError, TraceError, UserError, shorten
from trace2strips.judging.equivalence import MAX_PAIRS, Comparison
from trace2strips.judging.equivalence import compare as compare_models
from trace2strips.judging.sources import Source, over_same_actions
from trace2strips.judging.starts import choose_starts, with_final_values
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import load
from trace2strips.model.goals import Goal, Names, goal_of, initial_state, pose
from trace2strips.model.strips import StripsModel
from trace2strips.pddl import read_model
from trace2strips.planning.planners import DEFAULT_PLANNER
from trace2strips.planning.plans import PlanResult, solve
from trace2strips.traces import Dataset, unknown_starts
from trace2strips.traces import write_traces as write_dataset
from trace2strips.traces.accuracy import differing_traces
from trace2strips.traces.checking import predict
from trace2strips.traces.reading import Traces, as_dataset
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings
from trace2strips.worlds.sampling import sample as sample_traces

Model = Learned | StripsModel | Domain | str | PathLike[str]
HINT = "what learn returned, a StripsModel, the path of a run folder or of a PDDL file, or a domain such as ferry-5c"


def write_traces(traces: Traces, path: str | PathLike[str], force: bool = False) -> None:
    """Write traces, given as `learn` takes them, as the ending says: .t2s, .jsonl, .csv, .txt; .gz may follow."""
    write_dataset(as_dataset(traces), Path(path), force)


def read_pddl(path: str | PathLike[str]) -> StripsModel:
    """A propositional PDDL domain, such as the model.pddl of a run folder."""
    return read_model(Path(path))


def sample(domain: Domain | str, settings: SampleSettings | None = None, like: Dataset | None = None) -> Dataset:
    """Random labelled traces of a domain or of one by name. A test set takes its names from the training set `like`."""
    return sample_traces(get_domain(domain) if isinstance(domain, str) else domain, settings or SampleSettings(), like)


def accuracy(model: Model, traces: Traces) -> float:
    """The share of traces in which every position is predicted rightly, by whatever names a model.

    Traces are given as `learn` takes them. For a model that was not learned they must tell where they start.
    """
    if isinstance(model, str | PathLike) and Path(model).is_dir():
        model = load(Path(model))
    if isinstance(model, Learned):
        return model.accuracy(traces)
    dataset = as_dataset(traces)
    if not len(dataset):
        raise TraceError("there is no trace to test on", hint="at least one")
    if unknown := int((unknown_starts(dataset) | dataset.untold).sum()):
        raise TraceError(f"{unknown:,} traces do not say what is true at their start", hint="tell their initial atoms")
    return 1 - float(differing_traces(dataset, predict(dataset, as_source(model).model)).mean())


def plan(
    model: Model, goal: Names | Goal, init: Names | None = None, planner: str = DEFAULT_PLANNER, certain: bool = False
) -> PlanResult:
    """A plan that makes these atoms true, or false where written "!atom". It prints itself.

    `init` lists the atoms that are true at the start, or names a learned initial state; what was learned from traces
    that do not tell their initial state can do without. `certain`: each step works in every model that fits the log;
    for models of learner `windows`.
    """
    source = as_source(model)
    if source.learned is not None:
        return source.learned.plan(goal, init, planner, certain)
    if certain:
        raise UserError("nothing is known of the log of this model", hint="learn with --learner windows")
    start = initial_state(source.world or source.model, init)
    wanted = goal if isinstance(goal, Goal) else goal_of(source.model, goal)
    return solve(pose(source.model, start, wanted), planner)


def compare(
    a: Model,
    b: Model,
    init: Names | None = None,
    traces: Traces | None = None,
    max_pairs: int = MAX_PAIRS,
    seed: int = 0,
) -> Comparison:
    """Do two models accept the same traces? The answer prints itself, with its proof or a trace that tells them apart.

    Where they start: `init` lists the atoms that are true, or names a learned initial state; with `traces`, where these
    do. Without both, in the generated initial states of their domain, or in those that both know by name.
    """
    first, second = over_same_actions(as_source(a), as_source(b))
    starts, further = choose_starts(first, second, init, traces=traces, seed=seed)
    return compare_models(*with_final_values(first, second), starts, max_pairs, seed, further)


def as_source(model: Model) -> Source:
    """A model and where it comes from, whatever names it."""
    if isinstance(model, Learned):
        return Source("learned", model.model, model.world, hidden_domain_or_none(model.figures), model)
    if isinstance(model, StripsModel):
        return Source(model.name, model)
    if isinstance(model, Domain):
        return Source(model.name, model.model, domain=model)
    if isinstance(model, str | PathLike):
        return open_source(str(model))
    raise ModelError(f"{shorten(repr(model))} is no model", hint=HINT)
