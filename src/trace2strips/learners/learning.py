"""`learn`: traces in, `Learned` out, by whichever learner is asked; `load`: the same from a run folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trace2strips.errors import FileError, UserError
from trace2strips.learners.learner import Figures, Job, Learned, Learner, Watcher, columns_of
from trace2strips.learners.registry import learner_class, make_learner
from trace2strips.learners.runs import broken, read_run
from trace2strips.learners.suspects import from_csv
from trace2strips.schemas import Schema, record_of
from trace2strips.traces.reading import Traces, as_dataset


def learn(
    traces: Traces,
    learner: Learner | str | None = None,
    *,
    seed: int = 0,
    test: Traces | None = None,
    folder: Path | None = None,
    watch: Watcher | None = None,
) -> Learned:
    """Learn a world model from a path, a list of traces, or lists of (action, ok).

    `learner` is a learner or the name of one. With `test` the figures say how well these traces are predicted. With
    `folder` training leaves checkpoints there, and goes on where it was cut off. `watch` is told how it goes.
    """
    if learner is None or isinstance(learner, str):
        learner = make_learner() if learner is None else make_learner(learner)
    dataset = as_dataset(traces)
    learner = learner.told_by(dataset)
    learner.check(dataset)
    testing = None if test is None else as_dataset(test, columns_of(dataset))
    if testing is not None:
        learner.check_names(dataset.vocabulary, testing.vocabulary)  # told before the work, not after it
    learned = replace(learner.learn(dataset, Job(seed, folder, watch)), columns=columns_of(dataset))
    return learned if testing is None else learned.tested_on(testing)


def load(folder: str | Path) -> Learned:
    """What `learn` returned, from the run folder that `Learned.save` or `trace2strips learn` wrote."""
    folder = Path(folder)
    run = read_run(folder)
    try:
        name = run.settings["learner"]
        learner = make_learner(name, Schema(record_of(learner_class(name))).take(run.settings["settings"]))
        seed, data, figures = run.settings["seed"], run.settings["data"], Figures.of(run.metrics)
        lifted = learner.read_lifted(run.lifted)
        summary = None if run.summary is None else learner.summary_from_text(run.summary, run.vocabulary)
        suspects = () if run.suspects is None else tuple(from_csv(run.suspects))
    except FileError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, UserError):
        raise broken(folder) from None
    return Learned(
        learner, seed, data, run.vocabulary, run.world, figures, run.weights, lifted, summary, suspects, run.columns
    )
