"""The interface of all learners: traces in, `Learned` out.

A learner is a frozen dataclass whose fields are its settings. `check` says before any work what cannot be learned;
`learn` does it. What differs from run to run and is no setting (the seed, the run folder, whom to tell) is in a `Job`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, UInt8

from trace2strips.errors import TraceError, UserError, shorten
from trace2strips.explorer.contents import Attention, Known, Surroundings, make_record
from trace2strips.explorer.page import format_explorer, format_frame
from trace2strips.files import writing_text
from trace2strips.learners.card import Card
from trace2strips.learners.rules import AtomExplanation, Rules, rules_of_world
from trace2strips.learners.runs import RunRecord, content_hash, open_run, run_settings, write_run
from trace2strips.learners.suspects import Suspect, to_csv
from trace2strips.learners.training import Report
from trace2strips.learners.verdicts import Judgement, judge, lost_traces, missing
from trace2strips.model.goals import START, Goal, Names, applicability, goal_of, initial_state, pose, split_names
from trace2strips.model.lifted import LiftedDomain, LiftedProblem
from trace2strips.model.state_graph import MOST_DRAWN, explore
from trace2strips.model.strips import State, StripsModel, StripsProblem, label_given
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.pages.graph import Graph
from trace2strips.pddl import format_model
from trace2strips.pddl.unified import as_lifted, to_unified_planning
from trace2strips.planning.planners import DEFAULT_PLANNER
from trace2strips.planning.plans import PlanResult, solve
from trace2strips.schemas import Schema, record_of
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces
from trace2strips.traces.checking import Contradiction, find_contradictions
from trace2strips.traces.columns import Columns
from trace2strips.traces.examples import goal_after, read_example
from trace2strips.traces.one_trace import read_trace
from trace2strips.traces.reading import Traces, as_dataset, as_trace
from trace2strips.traces.states import false_atoms
from trace2strips.traces.trace import Trace

Watcher = Callable[[str, Report], None]  # told the stage ("training", "completion", "probing") and where it stands
OneTrace = Trace | str | Sequence[tuple[str, bool]]
NO_ACTION, NO_ACTION_HINT = "there is no action in the traces", "a trace needs actions that worked or were refused"
LONGEST_PRINTED = 40  # lines of a model that `str` shows


@dataclass(frozen=True)
class Job:
    """One piece of learning: the seed, the folder for checkpoints, where a run that was cut off goes on, and whom to
    tell how it goes."""

    seed: int = 0
    folder: Path | None = None
    watch: Watcher | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise UserError(f"the seed {self.seed} is out of range", hint="0 to 2^63 - 1")

    def tell(self, stage: str, report: Report) -> None:
        if self.watch:
            self.watch(stage, report)


class Learner(ABC):
    """What turns traces into a model."""

    name: ClassVar[str]  # on the command line, in run folders and in rows of results
    any_objects: ClassVar[bool] = False  # whether what is learned holds for objects that the log never had

    def told_by(self, dataset: Dataset) -> Learner:
        """The same with what the traces say of themselves, where nobody said otherwise."""
        return self

    def check(self, dataset: Dataset) -> None:
        """Refuse traces that nothing can be learned from."""
        if not (dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION).any():
            raise TraceError(NO_ACTION, hint=NO_ACTION_HINT)

    @abstractmethod
    def learn(self, dataset: Dataset, job: Job) -> Learned:
        """Learn from traces that `check` has let pass."""

    def meaning(self) -> Mapping[str, Any]:
        """What the settings stand for in this version: a preset may change from one to the next."""
        return {}

    def keeps_nothing(self) -> UserError:
        return UserError(
            f"learner {self.name!r} keeps nothing of its log to go on with",
            hint="learn from all logs at once, or with --learner windows",
        )

    def not_certain(self) -> UserError:
        return UserError(f"learner {self.name!r} does not know what is certain", hint="learn with --learner windows")

    def run_settings(self, seed: int, data: str) -> dict[str, Any]:
        """What the folder of a run on traces with this hash says of it."""
        settings = asdict(self)  # type: ignore[call-overload]  # every learner is a dataclass
        return run_settings(self.name, settings, seed, self.meaning(), data)

    def steps_for(self, actions: int) -> int:
        """How many steps of training are wanted where there are so many actions."""
        return 0

    def expected_seconds(self, dataset: Dataset) -> float | None:
        """About how long learning takes, where that is known; for learners that may take long."""
        return None

    def check_names(self, known: Vocabulary, used: Vocabulary) -> None:
        """Refuse test traces with names that nothing was learned of."""
        check_names(known, used)

    def known_actions(self, known: Vocabulary, actions: Iterable[str]) -> set[str]:
        """Those of the actions of which something may have been learned."""
        return set(actions) & set(known.actions)

    def read_lifted(self, record: Mapping[str, Any] | None) -> Lifted | None:
        """The lifted world that a run folder keeps, for learners that make one."""
        return None

    def summary_to_text(self, summary: Any) -> str:
        """What is kept of the log, for learners that keep something; a run folder holds it."""
        raise self.keeps_nothing()

    def summary_from_text(self, text: str, vocabulary: Vocabulary) -> Any:
        """The inverse; a ValueError where the text is no summary of a log with these actions."""
        raise self.keeps_nothing()

    def update(self, learned: Learned, dataset: Dataset, job: Job) -> Learned:
        """What would have been learned from these traces behind those that were learned from."""
        raise self.keeps_nothing()

    def certainty(self, summary: Any, dataset: Dataset) -> dict[str, Any]:
        """The figures of how much is certain in these traces, for learners that know."""
        return {}

    def unknown_names(self, known: Vocabulary, used: Vocabulary) -> Bool[np.ndarray, " tokens"]:
        """Which tokens of another log nothing was learned of."""
        pairs = zip(used.kinds.tolist(), used.subjects, strict=True)
        return np.array([(Kind(kind), subject) not in known.numbers for kind, subject in pairs], dtype=bool)

    def answers(self, learned: Learned, dataset: Dataset) -> UInt8[np.ndarray, " positions"] | None:
        """What is certain at each position (`windows.answers.Answer`), for learners that know."""
        return None

    def explain_verdict(
        self, learned: Learned, trace: Trace, name: str, is_final: bool, verdict: str
    ) -> tuple[str, ...]:
        """Why a verdict on an attempt after this trace, a sentence each."""
        if learned.world is None or learned.figures.model_train_errors is not None:  # a network predicts
            return ()
        known = [(a, ok) for a, ok in zip(trace.actions, trace.ok, strict=True) if a in learned.vocabulary.actions]
        told = None if trace.init is None else trace.init & set(learned.vocabulary.init_atoms)
        seen = replace(trace, actions=tuple(a for a, _ in known), ok=tuple(ok for _, ok in known), init=told)
        return missing(false_atoms(learned.world.over_tokens, seen, name, is_final))

    def questions(self, learned: Learned) -> Questions:
        """Who answers with certainty, where the learner keeps what its log says."""
        raise self.not_certain()

    def first_trace(self, learned: Learned, world: WorldModel, init: Names | None) -> Trace:
        """A trace without actions that begins where a plan does."""
        raise self.not_certain()

    def first_of_problem(self, learned: Learned, problem: StripsProblem) -> Trace:
        """A trace without actions that begins where a problem of the learned model does."""
        raise self.not_certain()

    def known(self, learned: Learned) -> Known:
        """What is kept of the log, for the explorer's page."""
        return Known()

    def attention(self, learned: Learned, traces: Dataset | None) -> Attention | None:
        """What each head reads on some of these traces, for transformers; without traces, on a walk in the model."""
        return None

    def support(self, learned: Learned) -> tuple[Any, ...]:
        """How sure each precondition and effect is, a `Support` each, for learners that know."""
        return ()

    def rules(self, learned: Learned) -> Rules:
        """The learned model in words."""
        return rules_of_world(learned.need_world())

    def predicate_of(self, learned: Learned, atom: str) -> str:
        """The predicate of an atom over some objects; where nothing is lifted, the atom itself."""
        return atom

    def only_certain(
        self, learned: Learned, small: StripsModel, start: State, first: Trace, wanted: Collection[str] = ()
    ) -> tuple[StripsModel, State]:
        """The model in which actions work only where that is certain, and its start; `wanted` actions are in it even if
        they never are. For learners that have a `first_trace`."""
        raise self.not_certain()

    def world_about(self, learned: Learned, names: Collection[str]) -> WorldModel:
        """The world to plan in where these atoms are named, one or several in each text; a lifted one may be about
        other objects than training."""
        return learned.need_world()

    def atoms_of(self, learned: Learned, actions: Names) -> list[str]:
        """What these actions need, where a lifted model has a say on objects that training never had."""
        return []

    def world_over(self, learned: Learned, actions: Iterable[str], atoms: Iterable[str]) -> WorldModel:
        """The world over these actions, told these atoms or those of training, as far as it is lifted."""
        return learned.need_world()

    def about_same_objects(self, learned: Learned, actions: Iterable[str], others: Iterable[str]) -> list[str]:
        """Those of the actions that are about objects of the others."""
        return list(actions)

    def read_problem(self, learned: Learned, text: str, file: str) -> StripsProblem | None:
        """A PDDL problem with objects for the learned domain; None where it has no lifted one."""
        return None

    def as_lifted(self, learned: Learned) -> tuple[LiftedDomain, LiftedProblem]:
        """The domain, and the problem that begins where traces do, as far as that is known."""
        world = learned.need_world()
        return as_lifted(world.model, next(iter(world.states.values()), world.always))

    def example_start(self, learned: Learned) -> Names | None:
        """The initial atoms of a trace, where the learner keeps some."""
        return None

    def pddl_files(self, learned: Learned) -> dict[str, str]:
        """What a run folder has beside model.pddl, for planners and people."""
        return {}

    is_quick: ClassVar[bool] = False  # so that a second model may be learned to test with

    def for_part(self, learned: Learned) -> Learner:
        """Who learns from a part of the same traces, without finding out again what is known of all of them."""
        return self

    def wrong_positions(self, learned: Learned, dataset: Dataset) -> Bool[np.ndarray, " positions"] | None:
        """Which attempts are predicted wrongly after what really happened, for learners that know."""
        return None

    def wrong_by_start(self, learned: Learned, dataset: Dataset) -> Bool[np.ndarray, "starts traces"]:
        """Which traces are predicted wrongly if they begin in each of the starts that were found."""
        raise NotImplementedError

    def kind_of(self, learned: Learned, action: str) -> str:
        """The name of an action without its arguments, for learners that read them."""
        return action

    @abstractmethod
    def predictor(self, learned: Learned) -> Predictor:
        """What predicts: the model, or a network."""


@runtime_checkable  # the type checker of the tests asks
class Lifted(Protocol):
    """A lifted world: schemas and predicates for any objects."""

    def world(self, vocabulary: Vocabulary) -> WorldModel:
        """The ground world over the objects of a vocabulary."""

    def understood(self) -> str:
        """How the names of the log were read."""

    def pddl(self) -> str:
        """The lifted domain."""

    def to_json(self) -> dict[str, Any]: ...


@runtime_checkable  # the type checker of the tests asks
class Questions(Protocol):
    """What can be asked of a learned world: `learners.windows.questions` answers."""

    def ask(self, trace: Trace, action: str) -> Any: ...

    def next(self, trace: Trace) -> tuple[Any, ...]: ...

    def why(self, trace: Trace, action: str | None = None) -> tuple[Any, ...]: ...

    def suggest(self, trace: Trace | None = None, count: int = 5) -> tuple[Any, ...]: ...


@runtime_checkable  # the type checker of the tests asks
class Predictor(Protocol):
    """Predicts which positions of traces are refused; its own refusals change nothing."""

    def wrong_traces(self, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
        """Which traces have a position that is predicted wrongly."""

    def refused(self, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
        """Which positions are predicted to be refused, if what the labels say happened before."""


@dataclass(frozen=True)
class WorldPredictor:
    """The learned model predicts."""

    world: WorldModel

    def wrong_traces(self, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
        return wrong_traces(self.world.over_tokens(dataset.vocabulary), dataset)

    def refused(self, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
        dataset = dataset.in_words_of(self.world.vocabulary)
        return label_given(self.world.over_tokens().bits, dataset.tokens, dataset.inapplicable, dataset.offsets)


@dataclass(frozen=True)
class Figures:
    """What was measured while learning and testing; None where there is nothing to measure.

    `train_…` and `test_…` are of what predicts: the model, or a decoder's network; then `model_…` are of the model that
    was read out of it.
    """

    traces: int
    train_accuracy: float
    train_errors: int
    train_seconds: float
    contradictions: int = 0
    first_contradiction: Contradiction | None = None
    warnings: tuple[str, ...] = ()
    file: str | None = None  # that the traces were read from
    tried: int | None = None  # attempts in it, and how many of them were refused
    refused: int | None = None
    domain: str | None = None  # what the traces say that they come from
    encoding: str | None = None
    hidden_model: str | None = None  # the fingerprint of the model that they say they were sampled from
    hidden_files: tuple[str, ...] | None = None  # the PDDL files that it was read from
    atoms: int | None = None
    preconditions: int | None = None
    effects: int | None = None
    invented_atoms: int | None = None
    heads: int | None = None
    steps: int | None = None
    attempts: int | None = None
    network_train_accuracy: float | None = None  # of the network before completion
    model_train_accuracy: float | None = None
    model_train_errors: int | None = None
    probing_seconds: float | None = None
    probed_traces: int | None = None
    least_sure_precondition: float | None = None
    least_sure_effect: float | None = None
    start: str | None = None  # of windows: the level of starts and the arity at which the log is explained,
    arity: int | None = None
    assumptions: tuple[str, ...] = ()  # and all that what is certain assumes, a sentence each
    noise: float | int | None = None  # of windows: the share of labels that are probably wrong
    wrong_labels: int | None = None
    earlier_traces: int | None = None  # that a run was updated from; `traces` and `train_…` are of the later ones
    certain_share: float | None = None  # of windows: of the positions of test traces, what is certain and what is open;
    open_share: float | None = None  # without any, of one half of the traces that are kept, by the other half
    inexplicable: int | None = None  # labels that no model which fits the log explains, of test or of training traces
    test_traces: int | None = None
    test_accuracy: float | None = None
    test_errors: int | None = None
    model_test_accuracy: float | None = None
    model_test_errors: int | None = None
    held_out_traces: int | None = None  # without test traces: a part of the traces is held back, and predicted by
    held_out_accuracy: float | None = None  # a second model that is learned from others
    held_out_errors: int | None = None
    held_out_learned_from: int | None = None
    held_out_sound: int | None = None  # of these traces those without a label that looks wrong, if others have some
    held_out_sound_accuracy: float | None = None
    worst_action: str | None = None  # with most wrong predictions there, as a share; and of the others, how often it
    worst_errors: int | None = None  # worked and was refused
    worst_attempts: int | None = None
    worst_worked: int | None = None
    worst_refused: int | None = None
    held_out_told_accuracy: float | None = None  # … if each of these traces told which of `starts_found` is its start
    starts_found: tuple[str, ...] = ()  # of windows: starts that nobody named, a line each; the most common one first
    understood: tuple[str, ...] = ()  # of a log of events: what was understood, a line each

    def record(self) -> dict[str, Any]:
        """For metrics.json: all that there is."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.first_contradiction is not None:
            found["first_contradiction"] = vars(self.first_contradiction)
        for name in ("assumptions", "starts_found", "understood"):
            if not found[name]:
                del found[name]
        return {name: value for name, value in found.items() if value is not None}

    def with_model(self, world: WorldModel) -> Figures:
        """With the size of the model."""
        counts = world.counts()
        return replace(
            self,
            atoms=counts["atoms"],
            preconditions=counts["preconditions"],
            effects=counts["effects"],
            invented_atoms=len(world.invented),
        )

    @staticmethod
    def of(record: Mapping[str, Any]) -> Figures:
        """The inverse of `record`; what a later version may have measured besides is left out. A ValueError where a
        figure is none."""
        found = figures_schema().take(record)
        if (first := found.get("first_contradiction")) is not None:
            found["first_contradiction"] = Contradiction(**first)
        return Figures(**found)


@cache
def figures_schema() -> Schema:
    return Schema(record_of(Figures, "ignore"))


def columns_of(dataset: Dataset) -> Columns | None:
    """Those that were used, of a log of events."""
    return None if dataset.origin is None else dataset.origin.columns


def basic_figures(dataset: Dataset, errors: int, seconds: float, consistent: bool = False) -> Figures:
    """What is measured of every learner. `consistent`: there are no contradictions, it is known already."""
    contradictions = [] if consistent else find_contradictions(dataset)
    attempted = dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    return Figures(
        traces=len(dataset),
        train_accuracy=1 - errors / len(dataset),
        train_errors=errors,
        train_seconds=seconds,
        contradictions=len(contradictions),
        first_contradiction=contradictions[0] if contradictions else None,
        file=dataset.file,
        tried=int(attempted.sum()),
        refused=int((attempted & dataset.inapplicable).sum()),
        domain=dataset.settings.get("domain"),
        encoding=dataset.settings.get("init"),
        hidden_model=dataset.settings.get("model"),
        hidden_files=tuple(files) if (files := dataset.settings.get("files")) else None,
        understood=() if dataset.origin is None else dataset.origin.understood,
    )


@dataclass(frozen=True)
class Learned:
    """What was learned, by whom, and what was measured. It prints itself.

    `world` is None where a decoder's network was learned alone, as from traces that tell no final values: no model was
    read out of it.
    """

    learner: Learner
    seed: int
    data: str  # a hash of the training traces
    vocabulary: Vocabulary  # their names
    world: WorldModel | None
    figures: Figures
    weights: Mapping[str, np.ndarray] | None = field(default=None, repr=False)
    lifted: Lifted | None = field(default=None, repr=False)
    summary: Any = field(default=None, repr=False)  # of windows: what is kept of the log (`windows.summary.Summary`)
    suspects: tuple[Suspect, ...] = field(default=(), repr=False)  # of windows: labels that are probably wrong
    columns: Columns | None = field(default=None, repr=False)  # of the log of events; others are read alike

    @staticmethod
    def of(
        learner: Learner,
        job: Job,
        dataset: Dataset,
        world: WorldModel | None,
        figures: Figures,
        weights: Mapping[str, np.ndarray] | None = None,
    ) -> Learned:
        return Learned(learner, job.seed, content_hash(dataset), dataset.vocabulary, world, figures, weights)

    @property
    def model(self) -> StripsModel:
        """The STRIPS model over domain actions."""
        return self.need_world().model

    def need_world(self) -> WorldModel:
        if self.world is None:
            raise UserError(
                "no model was learned, only a network",
                hint="decoders read a model out of traces that tell final values; completion needs none",
            )
        return self.world

    @property
    def predictor(self) -> Predictor:
        return self.learner.predictor(self)

    def pddl(self) -> str:
        """The domain as PDDL that every planner takes, without setup actions."""
        return format_model(self.model)

    def save(self, folder: str | Path, force: bool = False) -> None:
        """Write a run folder: PDDL, JSON, figures and weights; `trace2strips.load` reads it again."""
        with open_run(Path(folder), self.settings, force):
            self.write(Path(folder))

    def write(self, folder: Path) -> None:
        """Write the results into a run folder that is open already."""
        lifted = None if self.lifted is None else self.lifted.to_json()
        card = self.card()
        files = {**self.learner.pddl_files(self), "card.md": card.markdown(), "card.html": card.html()}
        support = [asdict(one) for one in self.support]
        summary = None if self.summary is None else self.learner.summary_to_text(self.summary)
        figures = self.figures.record()
        suspects = to_csv(self.suspects) if self.suspects else None
        record = RunRecord(
            self.settings, figures, self.vocabulary, self.world, self.weights, lifted, files, summary, suspects,
            support, self.columns,
        )  # fmt: skip
        write_run(record, folder)

    @property
    def settings(self) -> dict[str, Any]:
        """The learner, its settings and the seed as a run folder says them."""
        return self.learner.run_settings(self.seed, self.data)

    def update(self, traces: Traces, watch: Watcher | None = None) -> Learned:
        """With these traces behind those that were learned from: the same model as from all at once."""
        dataset = as_dataset(traces, self.columns)
        self.learner.check(dataset)
        found = self.learner.update(self, dataset, Job(self.seed, None, watch))
        return replace(found, columns=self.columns or columns_of(dataset))

    def ask(self, trace: OneTrace, action: str) -> Any:
        """Does the action work after this trace? A `Reply`: works or refused for certain, or open, with the model's
        guess. A trace is a `Trace`, a list of (action, ok), or text such as "pick-up(a); stack(a, b)!"."""
        return self.questions.ask(self.one_trace(trace, action), action)

    def next(self, trace: OneTrace = ()) -> tuple[Any, ...]:
        """A `Reply` for each action over the objects of the trace."""
        return self.questions.next(self.one_trace(trace))

    def why(self, trace: OneTrace, action: str | None = None) -> tuple[Any, ...]:
        """The proof, an `Explanation`, for the action after the trace, or for each attempt of the trace."""
        return self.questions.why(self.one_trace(trace, action), action)

    def suggest(self, trace: OneTrace | None = None, count: int = 5) -> tuple[Any, ...]:
        """What to try next, a `Suggestion` each: the open attempts whose answers decide most."""
        return self.questions.suggest(None if trace is None else self.one_trace(trace), count)

    def judge(self, traces: Traces) -> Judgement:
        """Every attempt of another log, given as `learn` takes it: as expected, surprising, impossible or unknown."""
        dataset = as_dataset(traces, self.columns)
        if not len(dataset):
            raise TraceError("there is no trace to judge", hint="at least one")
        unknown = self.learner.unknown_names(self.vocabulary, dataset.vocabulary)
        if lost_traces(dataset, unknown).all():
            check_starts(self.vocabulary, dataset.vocabulary)
            raise TraceError(
                "the traces tell initial atoms, and none that was learned from does", hint="leave the atoms out"
            )
        certain = () if self.summary is None else self.summary.assumptions
        explain = partial(self.learner.explain_verdict, self)
        return judge(dataset, unknown, self.predictor.refused, self.learner.answers(self, dataset), certain, explain)

    @cached_property
    def support(self) -> tuple[Any, ...]:
        """How sure each precondition and effect of the lifted model is: certain, likely or free, a `Support` each."""
        return self.learner.support(self)

    @cached_property
    def rules(self) -> Rules:
        """The model in words: what each action needs, makes true and makes false, how sure that is, and what atoms
        seem to mean."""
        return self.learner.rules(self)

    def explain(self, atom: str) -> AtomExplanation:
        """What makes an atom true and false, what needs it, what it seems to mean, and where the log shows it."""
        known = {found.name for found in self.rules.atoms}
        return self.rules.explain(atom if atom in known else self.learner.predicate_of(self, atom))

    def to_unified_planning(self) -> Any:
        """A `unified_planning.model.Problem` that begins where traces do; its goal is empty: add yours."""
        return to_unified_planning(*self.learner.as_lifted(self))

    def state_graph(self, init: Names | None = None, most: int = MOST_DRAWN) -> Graph:
        """The states of a small world and what leads from one to another; `dot()` and `svg()` write it. It begins at
        `init`, or at all starts that are known."""
        told = self.learner.example_start(self) if init is None else init
        world = self.need_world() if told is None else self.world_about((), told)
        starts = list(world.states.values()) if told is None and world.states else [initial_state(world, told)]
        found = explore(world.model, starts, most)
        return Graph("states", tuple(map(tuple, found.labels())), found.distances, found.edges)

    def card(self) -> Card:
        """What was learned from what, how sure it is and how to use it; `markdown()` and `html()` write it."""
        rules = None if self.world is None else self.rules
        naming = None if self.lifted is None else self.lifted.understood()
        settings = {**asdict(self.learner), "seed": self.seed}  # type: ignore[call-overload]  # every learner is a dataclass
        return Card(self.learner.name, settings, self.figures, rules, naming, self.suspects)

    def explore(self, around: Surroundings | None = None) -> Explorer:
        """The world explorer, a page on which the learned world can be tried; in a notebook it shows itself."""
        around = around or Surroundings()
        known, attention = self.learner.known(self), self.learner.attention(self, around.log)
        return Explorer(make_record(self, known, attention, around))

    def _repr_html_(self) -> str:
        """For notebooks: the model card without its page."""
        return self.card().fragment()

    @cached_property
    def questions(self) -> Questions:
        return self.learner.questions(self)

    def one_trace(self, trace: OneTrace, action: str | None = None) -> Trace:
        """A trace as it may be given, with names that are known; and so is the action."""
        found = read_trace(trace, self.columns) if isinstance(trace, str) else as_trace(1, trace)
        _ = self.questions  # who cannot answer says so first
        more = () if action is None else (Trace((action,), (False,), found.init, found.state),)
        self.learner.check_names(self.vocabulary, Dataset.of([found, *more]).vocabulary)
        return found

    def start(self, name: str | None = None) -> State:
        """What the model says of an initial state: by name, or where traces that tell nothing begin."""
        return self.need_world().start(START if name is None else name)

    def plan(
        self,
        goal: Names | Goal = (),
        init: Names | None = None,
        planner: str = DEFAULT_PLANNER,
        certain: bool = False,
        *,
        after: OneTrace | None = None,
        enable: Names = (),
    ) -> PlanResult:
        """A plan that makes these atoms true, or false where written "!atom"; with `after`, that leads to the state
        after this trace; with `enable`, after which these actions work. All that is asked for holds at its end.

        `init` lists the atoms that are true at the start, or names a learned initial state. Without it the plan starts
        where traces begin that do not tell their initial state. A lifted model plans for objects it never saw too.

        Learner `windows` says of each step whether it works in every model that fits the log (`steps`, `certain`). With
        `certain` there are no other steps.
        """
        world = self.world_about(goal, init, enable)
        start = initial_state(world, init)
        wanted = goal if isinstance(goal, Goal) else goal_of(world.model, goal)
        if after is not None:
            known = world.model.action_index
            wanted &= goal_after(
                world,
                start,
                read_example(after, known, self.columns) if isinstance(after, str) else as_trace(1, after),
            )
        knows = certain or self.summary is not None
        first = self.learner.first_trace(self, world, init) if knows else None  # who does not know says so
        actions = split_names(enable, world.model.action_index)
        for task in self.tasks(world.model, start, wanted, first, certain, actions):
            result = self.explained(solve(task, planner), first, certain)
            if result.will_do:
                break
        return result

    def tasks(
        self,
        model: StripsModel,
        start: State,
        goal: Goal,
        first: Trace | None,
        certain: bool = False,
        enable: Sequence[str] = (),
        optimal: bool = False,
    ) -> Iterator[StripsProblem]:
        """The problem to solve, also with actions that shall be applicable. Where each step is to be certain there are
        two: a plan of the small model is found sooner, and often its steps are all certain; otherwise all plans of
        certain steps are searched, in which the actions shall be certain too. `first` is a trace without actions that
        begins where the plan does."""
        if not certain or (not enable and not optimal):
            yield pose(model, start, with_enabled(goal, model, enable))
        if certain:
            assert first is not None
            bound, begin = self.learner.only_certain(self, model, start, first, enable)
            yield pose(bound, begin, with_enabled(goal, bound, enable))

    def explained(self, result: PlanResult, first: Trace | None, certain: bool) -> PlanResult:
        """The plan with what is known of its steps, if it is known where it begins."""
        found = replace(result, certain_only=certain)
        if self.summary is None or first is None or not result.plan:
            return found
        whole = replace(first, actions=result.plan, ok=(True,) * len(result.plan))
        return replace(found, steps=tuple(replace(step, happened=None) for step in self.questions.why(whole)))

    def world_about(self, goal: Names | Goal, init: Names | None, enable: Names = ()) -> WorldModel:
        """The world over the objects that goal and start name, and actions that shall be possible."""
        wanted = [*goal.true, *goal.false] if isinstance(goal, Goal) else as_list(goal)
        wanted += self.learner.atoms_of(self, enable)
        return self.learner.world_about(self, [*wanted, *as_list(() if init is None else init)])

    def errors(self, traces: Traces) -> int:
        """Traces with a wrong prediction. Names that training did not have are the user's error."""
        dataset = as_dataset(traces, self.columns)
        self.check_names(dataset)
        return int(self.predictor.wrong_traces(dataset).sum())

    def accuracy(self, traces: Traces) -> float:
        """The share of traces, given as `learn` takes them, in which every position is predicted rightly."""
        dataset = as_dataset(traces, self.columns)
        return 1 - self.errors(dataset) / len(dataset)  # who gives no trace is told so

    def tested_on(self, traces: Traces) -> Learned:
        """The same with figures of these test traces."""
        dataset = as_dataset(traces, self.columns)
        errors = self.errors(dataset)
        found: dict[str, Any] = {"test_errors": errors, "test_accuracy": 1 - errors / len(dataset)}
        if self.figures.model_train_errors is not None:  # the network predicts, a model was read out of it
            errors = int(WorldPredictor(self.need_world()).wrong_traces(dataset).sum())
            found |= {"model_test_errors": errors, "model_test_accuracy": 1 - errors / len(dataset)}
        found |= self.learner.certainty(self.summary, dataset)
        return replace(self, figures=replace(self.figures, test_traces=len(dataset), **found))

    def over_tokens(self, dataset: Dataset) -> StripsModel:
        """The model with the setup actions of a dataset: what classifies whole traces."""
        self.check_names(dataset)
        return self.need_world().over_tokens(dataset.vocabulary)

    def check_names(self, dataset: Dataset) -> None:
        """Initial atoms that training never saw are no error: nothing is known of them, and they change nothing."""
        if not len(dataset):
            raise TraceError("there is no trace to test on", hint="at least one")
        self.learner.check_names(self.vocabulary, dataset.vocabulary)

    def __str__(self) -> str:
        """Who learned what how well, and the model."""
        f = self.figures
        lines = [f"learned by {self.learner.name}: {f.train_accuracy:.2%} of {f.traces:,} training traces explained"]
        if self.world is None:
            return "\n".join([*lines, "a network alone, no model"])
        lines.append(f"{f.atoms} atoms ({f.invented_atoms} invented), {len(self.model.actions)} actions")
        for action in self.model.actions:
            lines.append(action.name)
            lines += [
                f"  {what} {', '.join(sorted(atoms, key=self.model.atom_index.__getitem__)) or '–'}"
                for what, atoms in (("needs  ", action.pre), ("adds   ", action.add), ("deletes", action.delete))
            ]
        left = len(lines) - LONGEST_PRINTED
        return "\n".join(lines if left <= 0 else [*lines[:LONGEST_PRINTED], f"… {left} more lines: print(it.pddl())"])


@dataclass(frozen=True)
class Explorer:
    """The page of a learned world. A notebook shows it; `html()` is the page as one file."""

    record: Mapping[str, Any] = field(repr=False)

    def html(self) -> str:
        return format_explorer(self.record)

    def save(self, path: str | Path, force: bool = False) -> None:
        with writing_text(Path(path), force) as stream:
            stream.write(self.html())

    def _repr_html_(self) -> str:
        return format_frame(self.html())


def with_enabled(goal: Goal, model: StripsModel, actions: Iterable[str]) -> Goal:
    """The goal, and that these actions can be applied."""
    for name in actions:
        goal &= applicability(model, name)
    return goal


def as_list(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def check_names(known: Vocabulary, used: Vocabulary) -> None:
    """Refuse a name of actions, initial states or final atoms that is not known."""
    check_starts(known, used)
    for kind, names in ((Kind.ACTION, used.actions), (Kind.TEST_ATOM, used.test_atoms)):
        for name in names:
            known.number(kind, name)


def check_starts(known: Vocabulary, used: Vocabulary) -> None:
    """Refuse an initial state that is not known."""
    if START in used.init_states and START not in known.init_states:
        raise TraceError(
            "a trace does not tell its initial state, as all do that were learned from",
            hint="tell its initial atoms" if known.has_init_false else "name its initial state",
        )
    for name in used.init_states:
        known.number(Kind.INIT_STATE, name)


def refuse_unknown(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise UserError(f"unknown {what} {shorten(value)!r}", hint=f"{' or '.join(known)}")


def refuse_negative_steps(steps: int | None) -> None:
    if steps is not None and steps < 0:
        raise UserError(f"{steps} steps", hint="0 or more")


def one_sided(dataset: Dataset) -> list[str]:
    """What cannot be said where labels are all alike, a sentence each."""
    is_action = dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    return said_of(int(is_action.sum()), int(dataset.inapplicable[is_action].sum()))


def said_of(attempts: int, refused: int) -> list[str]:
    if refused == attempts:
        return ["no action ever worked: nothing can be said of effects"]
    if not refused:
        return ["no action was ever refused: nothing can be said of preconditions"]
    return []
