"""Learner `windows`: the version space of the log, and one small lifted model in it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from trace2strips.errors import TraceError, UserError
from trace2strips.explorer.contents import Known
from trace2strips.learners.learner import (
    Figures,
    Job,
    Learned,
    Learner,
    basic_figures,
    one_sided,
    refuse_unknown,
)
from trace2strips.learners.runs import content_hash
from trace2strips.learners.suspects import Suspect, find_suspects
from trace2strips.learners.training import Report
from trace2strips.learners.verdicts import Verdict
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.cautious import first_of_problem, first_trace, only_certain
from trace2strips.learners.windows.collection import Collected, collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.evidence import Support, support_of, support_text
from trace2strips.learners.windows.exploring import known_of, objects_of
from trace2strips.learners.windows.fitting import fit_clean
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.lifted_learner import LiftedLearner, lifted_of
from trace2strips.learners.windows.memory import merge, remember, summarise_log
from trace2strips.learners.windows.projection import arity_of, count_tokens
from trace2strips.learners.windows.proofs import prove
from trace2strips.learners.windows.questions import Questions
from trace2strips.learners.windows.reading import Reading, read_log
from trace2strips.learners.windows.relations import Together, with_relations
from trace2strips.learners.windows.saving import from_text, to_text
from trace2strips.learners.windows.simulation import wrong_traces
from trace2strips.learners.windows.start_groups import describe_starts, starts_in
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.statics import fit_with_statics
from trace2strips.learners.windows.summary import Summary, summarise
from trace2strips.model.goals import START, Names
from trace2strips.model.strips import State, StripsModel, StripsProblem
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.dataset import unused_columns
from trace2strips.traces.names import PLAIN, Naming, Schema, understand
from trace2strips.traces.trace import Trace

MOST_TOKENS = 8_192  # bits of a window, 1 kB: with more a log of any size is too much for a laptop
FIRST, MOST = 2, 4  # objects that an atom may be about: two suffice for nearly all domains, four is what fits a laptop
UNTOLD = "an untold start"  # a name that no start of a log has
HELD_OUT = 400  # traces: one half of them shows what the other makes certain


@dataclass(frozen=True)
class Windows(LiftedLearner):
    """`separator`: what stands between an action's name and its arguments; None: found out, '': there are none.
    `arity`: atoms are about at most so many objects; None: two, and more where a refusal stays inexplicable.
    `start`: what is assumed of starts (`StartLevel`); None: the strongest level at which the log is explainable.
    `noise`: the share of labels that are wrong; None: found out."""

    name = "windows"
    is_quick = True
    separator: str | None = None
    arity: int | None = None
    start: str | None = None
    noise: float | int | None = None

    def __post_init__(self) -> None:
        if self.start is not None:
            refuse_unknown(self.start, tuple(StartLevel), "level of starts")
        if self.arity is not None and not 0 <= self.arity <= MOST:
            raise UserError(f"atoms about {self.arity} objects", hint=f"0 to {MOST}")
        if self.noise is not None and not 0 <= self.noise < 0.5:
            raise UserError(
                f"a share of {self.noise} wrong labels", hint="0 to less than 0.5: half of them say nothing"
            )

    def told_by(self, dataset: Dataset) -> Windows:
        return self if self.separator is not None else replace(self, separator=dataset.separator)

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        self.check_actions(dataset.vocabulary.actions)

    def check_actions(self, actions: Sequence[str]) -> None:
        naming = understand(actions, self.separator)
        arity = FIRST if self.arity is None else self.arity
        if (tokens := count_tokens(schemas_in(actions, naming), arity)) > MOST_TOKENS:
            if naming == PLAIN:
                message = f"{tokens:,} different actions without arguments, at most {MOST_TOKENS:,} can be learned"
                hint = "do names hold arguments? --separator says what stands before them"
            else:
                message = f"{tokens:,} ways to act on up to {arity} objects, at most {MOST_TOKENS:,} can be learned"
                hint = f"--arity {arity - 1}, or fewer kinds of actions" if arity else "fewer kinds of actions"
            raise TraceError(message, hint=hint)

    def learn(self, dataset: Dataset, job: Job) -> Learned:
        clock = time.perf_counter()
        naming = understand(dataset.vocabulary.actions, self.separator)
        job.tell("windows", Report())
        start = None if self.start is None else StartLevel(self.start)
        fixed = self.separator is not None or self.arity is not None
        found = read_log(dataset, naming, partial(self.summarise_at, dataset), start, self.noise, fixed)
        job.tell("predicates", Report())
        return self.finished(found, dataset if found.grouped is None else found.grouped, job, clock)

    def update(self, learned: Learned, dataset: Dataset, job: Job) -> Learned:
        clock = time.perf_counter()
        before: Summary | None = learned.summary
        again = "learn from all logs at once"
        if before is None:
            raise UserError("the run is of an earlier version and kept nothing of its log", hint=again)
        if before.nothing_certain or before.start == StartLevel.OWN:
            why = "only starts of their own explain"
            if before.nothing_certain:
                why = "labels are wrong in" if before.wrong_labels else "no model explains"
                if before.naming.constants:
                    why = "what actions are about was guessed from"
            raise UserError(f"{why} the log of the run, so the log itself is needed", hint=again)
        vocabulary = united(learned.vocabulary, dataset.vocabulary)
        naming = replace(understand(vocabulary.actions, self.separator), constants=before.naming.constants)
        if naming.form != before.naming.form or (naming.separator != before.naming.separator and naming.form != "call"):
            hint = f"--separator, or {again}"
            raise TraceError(f"with these traces names are read in another way: {naming}", hint=hint)
        job.tell("windows", Report())
        summary = merge(
            replace(before, naming=naming), summarise_log(dataset, naming, before.projection.arity, before.start)
        )
        if summary.inexplicable:
            place = summary.where(summary.inexplicable[0].place)
            raise TraceError(
                f"with these traces no model explains the refusal at {place}, if {'; '.join(summary.assumptions[:2])}",
                hint=f"{again}: weaker assumptions are tried then",
            )
        job.tell("predicates", Report())
        if summary.start == StartLevel.OBJECTS:
            fit, unexplained = fit_with_statics(dataset, summary)
        else:
            fit, unexplained = fit_clean(dataset, summary)[0], 0
        reading = Reading(summary, fit, fit.nats, unexplained)
        found = self.finished(reading, dataset, job, clock)
        data = hashlib.sha256(f"{learned.data} {found.data}".encode()).hexdigest()
        figures = replace(found.figures, earlier_traces=before.traces)
        world = lifted_of(found).world(vocabulary)
        return replace(found, data=data, vocabulary=vocabulary, world=world, figures=figures.with_model(world))

    def finished(self, reading: Reading, dataset: Dataset, job: Job, clock: float) -> Learned:
        """With all that planners and people want to know."""
        lifted = completed(reading)
        errors = int(wrong_traces(lifted, dataset).sum())
        suspects = find_suspects(dataset, reading.fit.refused)
        tested = Tested(len(dataset), errors, len(suspects), tuple(suspects), tuple(one_sided(dataset)))
        figures = basic_figures(dataset, errors, time.perf_counter() - clock, reading.is_consistent)
        return self.assembled(reading, lifted, tested, figures, content_hash(dataset), dataset.vocabulary, job)

    def assembled(
        self, reading: Reading, lifted: LiftedWorld, tested: Tested, basic: Figures, data: str,
        vocabulary: Vocabulary, job: Job,
    ) -> Learned:  # fmt: skip
        """From what is known of the log, whoever looked at it: all at once or shard by shard."""
        summary, found = reading.summary, reading.fit
        world = lifted.world(vocabulary)
        suspects, errors = tested.suspects, tested.errors
        summary = replace(summary, wrong_labels=tested.wrong_labels)
        warnings = list(tested.warnings)
        if suspects:
            unless = "(--noise 0: they are right), or this world is not STRIPS (check --strips)"
            if columns := unused_columns(basic.understood):
                unless = f"{unless}, or what an action is about stands in a column that was not used: {columns}"
            warnings.append(
                f"{tested.wrong_labels} labels are probably wrong {unless}; nothing is certain: {suspects[0]}, …"
            )
        elif reading.unexplained:
            hint = "(hint: trace2strips check --strips)"
            if columns := unused_columns(basic.understood):
                hint = f"(hint: what an action is about may stand in a column that was not used: {columns})"
            start = StartLevel.SAME.sentence
            warnings.append(f"{reading.unexplained} refusals that no STRIPS model can explain if {start} {hint}")
        elif summary.naming.constants:
            hint = "(hint: name these objects in the log, or say that names have no arguments: --separator '')"
            warnings.append(f"nothing is certain, as this was guessed: {summary.naming} {hint}")
        elif errors:
            warnings.append(f"{errors} of {tested.traces} training traces are not explained by the small model")
        figures = replace(
            basic,
            warnings=tuple(warnings),
            start=str(summary.start),
            arity=summary.projection.arity,
            assumptions=summary.assumptions,
            **self.held_out(summary),
            inexplicable=len(summary.inexplicable),
            noise=found.noise,
            starts_found=() if reading.grouped is None else describe_starts(reading.grouped),
            wrong_labels=tested.wrong_labels,
        ).with_model(world)
        return Learned(
            self, job.seed, data, vocabulary, world, figures, lifted=lifted, summary=summary, suspects=suspects
        )

    def certainty(self, summary: Summary | None, dataset: Dataset) -> dict[str, Any]:
        if summary is None:
            return {}
        answers = answer_all(summary, dataset, summary.naming)
        asked = max(1, int((answers != Answer.NOT_ASKED).sum()))
        works, refused = answers == Answer.WORKS, answers == Answer.REFUSED
        return {
            "certain_share": int((works | refused).sum()) / asked,
            "open_share": int((answers == Answer.OPEN).sum()) / asked,
            "inexplicable": int((works & dataset.inapplicable | refused & ~dataset.inapplicable).sum()),
        }

    def answers(self, learned: Learned, dataset: Dataset) -> UInt8[np.ndarray, " positions"] | None:
        """An unknown action is one more reason to refuse whatever is about its arguments, and nothing that worked rules
        it out. Too many of them: then nothing is certain."""
        summary: Summary | None = learned.summary
        if summary is None:
            return None
        schemas = {*summary.projection.schemas, *schemas_in(dataset.vocabulary.actions, summary.naming)}
        if count_tokens(schemas, summary.projection.arity) > MOST_TOKENS:
            return None
        answers = answer_all(summary, dataset, summary.naming)
        answers[self.apart(learned, dataset)[dataset.tokens] & (answers == Answer.WORKS)] = Answer.OPEN
        return answers

    def apart(self, learned: Learned, dataset: Dataset) -> Bool[np.ndarray, " tokens"]:
        """Actions with objects that never worked together there, in the dataset neither: an untold fact may forbid
        them."""
        together, naming = Together(lifted_of(learned)), learned.summary.naming
        found = np.zeros(len(dataset.vocabulary), dtype=bool)
        first, said = (
            dataset.vocabulary.first[Kind.ACTION],
            [naming.schema(name) for name in dataset.vocabulary.actions],
        )
        worked = np.zeros(len(dataset.vocabulary), dtype=bool)
        worked[dataset.tokens[~dataset.inapplicable]] = True
        for schema, objects in compress(said, worked[first:]):
            together.add(schema, objects)
        found[first : first + len(said)] = [bool(together.apart(*one)) for one in said]
        return found

    def explain_verdict(
        self, learned: Learned, trace: Trace, name: str, is_final: bool, verdict: str
    ) -> tuple[str, ...]:
        if verdict != Verdict.IMPOSSIBLE:
            return super().explain_verdict(learned, trace, name, is_final, verdict)
        summary: Summary = learned.summary
        proof = prove(summary, summary.naming, trace, name, is_final)
        if proof.refused is not None:
            return (f"it was refused at {summary.where(proof.refused)}, and whatever can be why is so here too",)
        return tuple(
            f"not because of {out.since}: it worked at {summary.where(out.worked)}, with "
            f"{'no more than ' + ', '.join(out.between) if out.between else 'nothing'} since"
            for out in proof.ruled_out
        )

    def held_out(self, summary: Summary) -> dict[str, Any]:
        """What one half of the kept traces makes certain in the other: all that was learned from is certain itself."""
        traces = [sampled.trace for sampled in summary.sample[:HELD_OUT]]
        if summary.nothing_certain:
            return {"certain_share": 0.0, "open_share": 1.0}
        if len(traces) < 2:
            return {}
        known, new = Dataset.of(traces[::2]), Dataset.of(traces[1::2])
        found = collect_windows(known, encode(known, summary.naming, summary.projection.arity), summary.start)
        half = summarise(found, known.vocabulary, summary.start)
        shares = self.certainty(replace(half, naming=summary.naming), new)
        return {name: shares[name] for name in ("certain_share", "open_share")}

    def questions(self, learned: Learned) -> Questions:
        if learned.summary is None:
            raise UserError("the run is of an earlier version and kept nothing of its log", hint="learn it again")
        return Questions(learned.summary, lifted_of(learned))

    def known(self, learned: Learned) -> Known:
        if learned.summary is None:  # of an earlier version
            return Known(objects=objects_of(lifted_of(learned), learned.vocabulary.actions))
        return known_of(learned.summary, self.questions(learned))

    def summary_to_text(self, summary: Summary) -> str:
        return to_text(summary)

    def summary_from_text(self, text: str, vocabulary: Vocabulary) -> Summary:
        summary = from_text(text)
        known = set(summary.projection.schemas)
        if any(summary.naming.schema(name)[0] not in known for name in vocabulary.actions):
            raise ValueError("no summary: of another log")
        return summary

    def summarise(self, dataset: Dataset, naming: Naming) -> Summary:
        """At the strongest level of starts that explains the log, with the smallest arity there. A condition on one
        object more is preferred to a weaker level: it still says something of every trace to come, while a start
        that nobody knows leaves open whatever it may explain. Where nothing explains the log all are taken to start as
        they are told."""
        levels = tuple(StartLevel) if self.start is None else (StartLevel(self.start),)
        first: Collected | None = None
        for level in levels:
            if level == StartLevel.OBJECTS and first is not None and not dataset.vocabulary.has_init_false:
                continue  # nothing is told: it is the level before
            found = self.collect(dataset, naming, level)
            if found.is_explainable():
                return remember(found, dataset, naming, level)
            first = first or found
        assert first is not None
        return remember(first, dataset, naming, levels[0])

    def summarise_at(self, dataset: Dataset, naming: Naming, level: StartLevel) -> Summary:
        """At this level."""
        return remember(self.collect(dataset, naming, level), dataset, naming, level)

    def collect(self, dataset: Dataset, naming: Naming, level: StartLevel) -> Collected:
        """With the smallest arity that explains the log at this level."""
        arity = FIRST if self.arity is None else self.arity
        while True:
            found = collect_windows(dataset, encode(dataset, naming, arity), level)
            largest = max((arity_of(schema) for schema in found.encoding.projection.asked), default=0)
            if self.arity is not None or arity >= min(MOST, largest) or found.is_explainable():
                return found
            arity += 1
            if count_tokens(found.encoding.projection.schemas, arity) > MOST_TOKENS:
                return found

    def first_trace(self, learned: Learned, world: WorldModel, init: Names | None) -> Trace:
        self.questions(learned)  # says if nothing was kept of the log
        lifted = lifted_of(learned)
        first = first_trace(lifted, world, init)
        summary: Summary = learned.summary
        sayable = {predicate.told for predicate in lifted.predicates}
        words = [summary.naming.words(atom) for atom in first.init or ()]
        known = {name for group in summary.objects for name in group}
        if not all(known.issuperset(objects) for _, *objects in words) and any(
            summary.naming.words(atom)[0] not in sayable for atom in summary.told
        ):  # of new objects not all can be told that the log tells: so nothing is known of how they start
            return Trace((), (), state=UNTOLD)
        return first

    def first_of_problem(self, learned: Learned, problem: StripsProblem) -> Trace:
        self.questions(learned)  # says if nothing was kept of the log
        return first_of_problem(lifted_of(learned), learned.summary, learned.need_world(), problem)

    def only_certain(
        self, learned: Learned, small: StripsModel, start: State, first: Trace, wanted: Collection[str] = ()
    ) -> tuple[StripsModel, State]:
        return only_certain(learned.summary, small, start, first, wanted)

    def pddl_files(self, learned: Learned) -> dict[str, str]:
        files = super().pddl_files(learned)
        if learned.summary is not None:
            files["support.txt"] = support_text(learned.support, learned.summary)
        return files

    def support(self, learned: Learned) -> tuple[Support, ...]:
        return () if learned.summary is None else support_of(lifted_of(learned), learned.summary)

    def for_part(self, learned: Learned) -> Learner:
        f = learned.figures
        is_clean = self.noise is None and f.start == StartLevel.SAME and not f.wrong_labels and not f.inexplicable
        return replace(self, noise=0) if is_clean else self

    def wrong_by_start(self, learned: Learned, dataset: Dataset) -> Bool[np.ndarray, "starts traces"]:
        spoken = dataset.in_words_of(
            replace(dataset.vocabulary, init_states=tuple(sorted({*learned.vocabulary.init_states, START})))
        )
        lifted = lifted_of(learned)
        return np.array([wrong_traces(lifted, starts_in(spoken, name)) for name in learned.vocabulary.init_states])


def schemas_in(actions: Iterable[str], naming: Naming) -> set[Schema]:
    return {naming.schema(name)[0] for name in actions}


@dataclass(frozen=True)
class Tested:
    """What the small model says of the log that it was learned from."""

    traces: int
    errors: int  # traces with a wrong prediction
    wrong_labels: int
    suspects: tuple[Suspect, ...]  # the first of them
    warnings: tuple[str, ...]  # of labels that are all alike


def completed(reading: Reading) -> LiftedWorld:
    """The small model with relations that nobody told, and a start to show."""
    summary = reading.summary
    lifted = with_relations(reading.fit.lifted, summary.worked, summary.told)
    return replace(lifted, example=summary.example)


def united(one: Vocabulary, other: Vocabulary) -> Vocabulary:
    """All names of two logs, sorted."""
    groups = zip(one.groups, other.groups, strict=True)
    atoms, states, actions, finals = (tuple(sorted({*mine, *theirs})) for mine, theirs in groups)
    return Vocabulary(actions, atoms, states, finals, one.has_init_false or other.has_init_false)
