"""How well traces are predicted that were not learned from, when nobody gives some to test on.

A part of the traces is held back, a second model is learned from the others, and tested on the part. The model that is
kept is learned from all: a log is seldom too long, and what is certain, and which labels look wrong, should not
depend on a draw. So the figure is of a model that knows a little less than the one that is kept.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from trace2strips.errors import UserError
from trace2strips.learners.learner import Job, Learned, Learner
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset
from trace2strips.traces.splitting import held_back

SHARE = 0.2
FEWEST = 10  # traces: with fewer nothing is held back unless it is asked for
MOST_LEARNED = 300_000  # attempts that the second model is learned from


def measure(
    dataset: Dataset, learner: Learner, share: float, seed: int, doubted: Collection[int] = ()
) -> dict[str, Any]:
    """The figures of traces held back; none where they are too few to be split. `doubted`: the numbers of traces with
    labels that look wrong, counted from one: who predicts rightly what really happened is wrong there."""
    others, tested = held_back(dataset, share)
    if not tested.any() or not others.any():
        return {}
    attempts = np.cumsum(np.where(others, np.diff(dataset.offsets), 0))
    rest, test = dataset.chosen(others & (attempts <= max(attempts[0], MOST_LEARNED))), dataset.chosen(tested)
    try:
        learner.check(rest)
        learned = learner.learn(rest, Job(seed))
    except UserError:  # such as no action in so few traces
        return {}
    wrong = learned.predictor.wrong_traces(test)
    errors = int(wrong.sum())
    told: dict[str, Any] = {}
    sound = ~np.isin(np.flatnonzero(tested) + 1, list(doubted))
    if sound.any() and not sound.all():
        told |= {"held_out_sound": int(sound.sum()), "held_out_sound_accuracy": 1 - float(wrong[sound].mean())}
    if learned.figures.starts_found:
        told["held_out_told_accuracy"] = 1 - float(np.all(learned.learner.wrong_by_start(learned, test), axis=0).mean())
    return {
        "held_out_traces": len(test),
        "held_out_errors": errors,
        "held_out_accuracy": 1 - errors / len(test),
        "held_out_learned_from": len(rest),
        **told,
        **worst_action(learned, rest, test),
    }


def worst_action(learned: Learned, rest: Dataset, test: Dataset) -> dict[str, Any]:
    """The action with the largest share of wrong predictions in the test part, with how many of how many."""
    wrong = learned.learner.wrong_positions(learned, test)
    if wrong is None or not wrong.any():
        return {}
    asked = np.bincount(test.tokens, minlength=len(test.vocabulary))
    missed = np.bincount(test.tokens[wrong], minlength=len(test.vocabulary))
    schemas: dict[str, list[int]] = {}
    for token in np.flatnonzero(test.vocabulary.kinds == ACTION).tolist():
        name = test.vocabulary.subjects[token]
        schemas.setdefault(learned.learner.kind_of(learned, name), []).append(token)
    counted = {name: (int(missed[tokens].sum()), int(asked[tokens].sum())) for name, tokens in schemas.items()}
    worst = max(sorted(counted), key=lambda name: (counted[name][0] / max(1, counted[name][1]), counted[name][0]))
    of_worst = np.isin(rest.tokens, schemas[worst])
    worked, refused = (int((of_worst & (rest.inapplicable == label)).sum()) for label in (False, True))
    return {
        "worst_action": worst,
        "worst_errors": counted[worst][0],
        "worst_attempts": counted[worst][1],
        "worst_worked": worked,
        "worst_refused": refused,
    }


def with_held_out(learned: Learned, dataset: Dataset, share: float | None) -> Learned:
    """With figures of traces held back; without a share, if there are enough and the learner is quick."""
    if share is None and (not learned.learner.is_quick or len(dataset) < FEWEST):
        return learned
    doubted = {suspect.trace for suspect in learned.suspects}
    part = learned.learner.for_part(learned)
    found = measure(dataset, part, SHARE if share is None else share, learned.seed, doubted)
    return replace(learned, figures=replace(learned.figures, **found)) if found else learned
