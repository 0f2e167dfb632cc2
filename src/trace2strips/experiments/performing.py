"""One run: sample, learn, test, plan, compare with the hidden model; its figures as one row.

A run's folder is that of `trace2strips learn` and `figures.json`, the row, which is written last. A run that was cut
off goes on: training at its checkpoint, and what comes after learning from the model that was saved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from trace2strips import __version__
from trace2strips.experiments.code import learner_code, run_code
from trace2strips.experiments.provenance import commit, machine
from trace2strips.experiments.rows import Bin, Row, read_row
from trace2strips.experiments.runs import LARGE, Run
from trace2strips.files import read_text
from trace2strips.judging.equivalence import compare
from trace2strips.judging.plan_outcomes import evaluate_planning, need_unseen, unseen_actions
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import find_starts, with_final_values
from trace2strips.learners.decoder.learner import decoder_of
from trace2strips.learners.learner import Job, Learned, Watcher
from trace2strips.learners.learning import load
from trace2strips.learners.runs import RunLog, content_hash, open_run, read_settings, write_json
from trace2strips.learners.training import Report
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel, count_parts
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

PROBLEMS = 100
PROBED_LONG = 40_000  # actions of the test traces from which M_L is extracted
CURVE = SampleSettings(8_000, 400, "test", suffix="all")  # the traces behind accuracy against length
BIN = 10  # actions
FIGURES = "figures.json"
NOT_IN_ROWS = (  # of a learner's figures
    "domain", "encoding", "hidden_files", "hidden_model", "traces", "heads", "test_traces", "first_contradiction",
    "start", "arity", "assumptions", "earlier_traces", "certain_share", "open_share", "inexplicable",
    "noise", "wrong_labels", "file", "tried", "refused",
    "held_out_traces", "held_out_accuracy", "held_out_errors", "held_out_learned_from",
    "held_out_sound", "held_out_sound_accuracy",
    "worst_action", "worst_errors", "worst_attempts", "worst_worked", "worst_refused", "understood",
    "starts_found", "held_out_told_accuracy",
)  # fmt: skip

Sampler = Callable[[Domain, SampleSettings, Dataset | None], Dataset]  # as `sample`; the last one gives the vocabulary


def perform(run: Run, folder: Path, sampler: Sampler | None = None, watch: Watcher | None = None) -> Row:
    """The row of a run. What the same code has left in the folder is not done again."""
    code = run_code(run.learner)
    there = read_figures(folder) if (folder / FIGURES).exists() else None
    if there is not None and (there.run, there.code) == (run, code):
        return there
    sampler = sampler or sample_anew
    clock = Clock(watch)
    clock.enter("sampling")
    domain = get_domain(run.domain)
    train = sampler(domain, run.training_set, None)
    noisy = flip(train, run.noise, run.seed) if run.noise else train
    clock.enter("learning")
    learned = learn_or_load(run, noisy, folder, watch)
    clock.enter("sampling")
    test = sampler(domain, run.test_set, train)
    clock.enter("testing")
    learned = learned.tested_on(test)
    found = {**figures_of(learned), **hidden_counts(domain, train)}
    if run.noise:
        found["clean_train_accuracy"] = learned.accuracy(train)
    if run.suffix != "none":  # else no goal can be said
        clock.enter("planning")
        found |= plan(learned.need_world(), domain, run.encoding)
    if learned.world is not None:
        clock.enter("comparing")
        found |= compare_with_hidden(learned, domain, run.seed)
    if run.is_decoder and learned.world is not None:
        found |= differences(domain, learned.world)
    if has_curve(run):
        clock.enter("long traces")
        found["accuracy_by_length"] = against_length(learned, sampler(domain, curve_set(run), train))
        if learned.world is not None:
            found |= from_long_traces(learned, domain, test, run.encoding)
    found |= {"seconds": clock.stop(), "machine": machine(), "commit": commit(), "code": code, "version": __version__}
    row = Row(run=run, **found, date=datetime.now(UTC).date().isoformat())
    write_json(folder / FIGURES, row.record())
    return row


def read_figures(folder: Path) -> Row:
    """The row of a finished run."""
    return read_row(read_text(folder / FIGURES), folder / FIGURES)


def has_curve(run: Run) -> bool:
    """Decoders are measured against length too, and on long traces, where the paper does."""
    return run.is_decoder and run.domain in LARGE and run.encoding == "atoms"


def curve_set(run: Run) -> SampleSettings:
    return replace(CURVE, suffix=run.suffix, seed=run.seed)


def sample_anew(domain: Domain, settings: SampleSettings, like: Dataset | None) -> Dataset:
    return sample(domain, settings, like=like)


class Clock:
    """Seconds by what they were spent on; who watches is told when the next thing begins."""

    def __init__(self, watch: Watcher | None = None) -> None:
        self.watch = watch
        self.laps: dict[str, float] = {}
        self.stage: str | None = None
        self.since = 0.0

    def enter(self, stage: str) -> None:
        self.stop()
        self.stage = stage
        if self.watch:
            self.watch(stage, Report())

    def stop(self) -> dict[str, float]:
        now = time.perf_counter()
        if self.stage is not None:
            self.laps[self.stage] = round(self.laps.get(self.stage, 0.0) + now - self.since, 3)
        self.stage, self.since = None, now
        return self.laps


def flip(dataset: Dataset, share: float, seed: int) -> Dataset:
    """Each label of an action or a final value is turned round with this chance."""
    rng = np.random.default_rng([seed, 3])
    scored = dataset.vocabulary.kinds[dataset.tokens] >= Kind.ACTION
    return replace(dataset, inapplicable=dataset.inapplicable ^ (scored & (rng.random(len(scored)) < share)))


def learn_or_load(run: Run, train: Dataset, folder: Path, watch: Watcher | None) -> Learned:
    """Learn in the folder, which keeps log and checkpoints. A model that the same code has learned there from these
    very traces is taken; what else is there is done anew.
    """
    learner = run.make_learner()
    wanted = learner.run_settings(run.seed, content_hash(train)) | {"code": learner_code(run.learner)}
    begun = read_settings(folder)
    stale = begun is not None and begun != wanted
    if not stale and (folder / "metrics.json").exists():
        return load(folder)
    with open_run(folder, wanted, force=stale):
        log = RunLog(folder)

        def tell(stage: str, report: Report) -> None:
            log.write(stage, report)
            if watch:
                watch(stage, report)

        try:
            learner.check(train)
            learned = learner.learn(train, Job(run.seed, folder, tell))
        finally:
            log.close()
        learned.write(folder)
    return learned


def figures_of(learned: Learned) -> dict[str, Any]:
    """What learning and testing measured; the run's own settings are in the row already."""
    return {name: value for name, value in vars(learned.figures).items() if name not in NOT_IN_ROWS}


def hidden_counts(domain: Domain, train: Dataset) -> dict[str, Any]:
    """The size of the hidden model, over the actions of the training set."""
    actions = tuple(domain.model.action(name) for name in train.vocabulary.actions)
    counts = count_parts(StripsModel(domain.model.atoms, actions))
    return {f"hidden_{name}": count for name, count in counts.items()}


def plan(world: WorldModel, domain: Domain, encoding: str) -> dict[str, Any]:
    problems = domain.problems(PROBLEMS, encoding)
    row = evaluate_planning(world, domain, encoding, problems).row()
    row["unseen_actions"] = len(unseen_actions(world, domain))
    row["problems_with_unseen_actions"] = len(need_unseen(world, domain, problems))
    return row


def compare_with_hidden(learned: Learned, domain: Domain, seed: int) -> dict[str, Any]:
    a, b = Source("hidden", domain.model, domain=domain), Source("learned", learned.model, learned.world)
    starts, further = find_starts(a, b, seed=seed)
    found = compare(*with_final_values(a, b), starts, seed=seed, further=further)
    return {"equivalence": found.verdict, "equivalence_how": found.how, "counterexample": found.trace,
            "counterexample_start": found.start, "refused_by": found.refused_by}  # fmt: skip


def differences(domain: Domain, world: WorldModel) -> dict[str, int]:
    """Bit by bit against the hidden model, over the actions that training saw at work; both have the same atoms."""
    found = dict.fromkeys(("missing_preconditions", "extra_preconditions", "missing_effects", "extra_effects"), 0)
    for action in world.model.actions:
        hidden = domain.model.action(action.name)
        for part, what in (("pre", "preconditions"), ("add", "effects"), ("delete", "effects")):
            mine, theirs = getattr(action, part), getattr(hidden, part)
            found[f"missing_{what}"] += len(theirs - mine)
            found[f"extra_{what}"] += len(mine - theirs)
    return found


def against_length(learned: Learned, traces: Dataset) -> tuple[Bin, ...]:
    """Accuracy of the network by the number of actions."""
    right = ~learned.predictor.wrong_traces(traces)
    bins = np.maximum(0, np.diff(traces.actions_before()) - 1) // BIN
    found = np.unique(bins)
    return tuple((int((b + 1) * BIN), float(right[bins == b].mean()), int((bins == b).sum())) for b in found)


def from_long_traces(learned: Learned, domain: Domain, test: Dataset, encoding: str) -> dict[str, Any]:
    """M_L: the model extracted from test traces, how it plans and how it differs from the hidden one."""
    from trace2strips.learners.decoder.probing import extract_by_probing, with_actions

    traces = with_actions(test, PROBED_LONG)
    probed = extract_by_probing(decoder_of(learned), test, traces)
    row = evaluate_planning(probed.world, domain, encoding, domain.problems(PROBLEMS, encoding)).row()
    row |= differences(domain, probed.world) | {"probed_traces": len(traces)}
    return {f"long_{name}": value for name, value in row.items()}
