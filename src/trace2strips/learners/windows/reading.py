"""How a log is best read, where its names and starts as they stand leave refusals inexplicable.

Then either labels are wrong, or something is not said: objects that actions do not name (`constants`), starts that
differ although they are told alike, or names have no arguments at all. Each of these is a reading; the one with the
shortest description of the log is taken. One that takes labels to be wrong must be shorter by `fitting.EVIDENCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from jaxtyping import Bool

from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.constants import complete_constants, explaining_constants, find_constants
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.fitting import EVIDENCE, Fit, fit, fit_clean, label_nats, quick_nats
from trace2strips.learners.windows.memory import summarise_log
from trace2strips.learners.windows.simulation import simulate
from trace2strips.learners.windows.start_groups import (
    can_be_grouped,
    group_nats,
    group_starts,
    starts_in,
    with_named_starts,
)
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.statics import fit_with_statics
from trace2strips.learners.windows.summary import Summary
from trace2strips.traces import Dataset
from trace2strips.traces.names import PLAIN, Naming

Summarise = Callable[[Naming, StartLevel], Summary]  # with the smallest arity that explains the log
MOST_ODD = 0.1  # of the traces: with more, labels alone are the shorter description, and looking for both takes long
MOST_NAMES = 60  # actions without arguments that are looked at instead of names that have some


@dataclass(frozen=True)
class Reading:
    """What is kept of the log, the small model, and the description length by which readings are compared."""

    summary: Summary
    fit: Fit
    nats: float
    unexplained: int = 0  # refusals that no model explains which begins as the small one does
    grouped: Dataset | None = None  # the log with names for the starts that were found in it

    @property
    def is_consistent(self) -> bool:
        """Whether it is known that no two labels contradict each other: a model explains both."""
        return self.summary.start != StartLevel.OWN and not self.summary.inexplicable


def read_log(
    dataset: Dataset,
    naming: Naming,
    summarise: Summarise,
    start: StartLevel | None,
    noise: float | int | None,
    fixed: bool,
    begun: Summarise | None = None,
    traces: int | None = None,
) -> Reading:
    """`fixed`: names are read as they are, whatever that leaves inexplicable. Of a log that is not in memory `dataset`
    is the beginning, `begun` summarises that alone, and `traces` is the length of all."""
    begun, traces = begun or summarise, len(dataset) if traces is None else traces
    level = StartLevel.SAME if start is None else start
    first = as_it_stands(dataset, naming, summarise, level, noise)
    if not first.summary.inexplicable or (noise == 0 and start is not None):
        return first
    readings = [first]
    if start is None and dataset.vocabulary.has_init_false:
        readings += other_starts(dataset, naming, summarise, first, StartLevel.OBJECTS, traces)
        if not readings[-1].fit.label_nats:
            return readings[-1]
    readings += other_names(dataset, naming, summarise, level, noise, first, fixed, begun)
    if start is None:
        best = min(readings, key=lambda reading: reading.nats)
        ways = [naming, best.summary.naming]
        if not fixed and len(dataset.vocabulary.actions) <= MOST_NAMES:
            ways.append(PLAIN)
        for way in dict.fromkeys(ways) if len(dataset) == traces else ():  # groups are of the whole log
            readings += few_starts(dataset, way, summarise, noise, best.nats)
        readings += other_starts(dataset, naming, summarise, best, StartLevel.OWN, traces)
    return min(readings, key=lambda reading: reading.nats)


def few_starts(
    dataset: Dataset, naming: Naming, summarise: Summarise, noise: float | int | None, shortest: float
) -> Iterator[Reading]:
    """A few starts that nobody named, each of at least two traces: one that starts in its own way is no start but an
    excuse. It is a guess, so what is certain is what is so whatever the start of each trace. It needs `EVIDENCE` beyond
    that of wrong labels: a few of these would pass for starts.

    A trace that has no place in any start, or that no start explains, may have a wrong label: where a few are such, and
    `noise` is not said, labels are doubted too, if what is said of starts leaves room below the `shortest` reading."""
    if noise or not can_be_grouped(dataset):
        return
    summary = summarise(naming, StartLevel.OWN)
    arity = summary.projection.arity
    odd = np.zeros(len(dataset), dtype=bool)
    odd[[refusal.place >> 32 for refusal in summary.inexplicable]] = True
    if odd.any() and (noise is not None or odd.mean() > MOST_ODD):
        return
    found = collect_windows(some := dataset.chosen(~odd), encode(some, naming, arity), StartLevel.OWN)
    groups = group_starts(found, some) if found.is_explainable() else None
    if groups is None:
        return
    places = np.flatnonzero(~odd)
    groups = [places[group].tolist() for group in groups]
    alone = [group for group in groups if len(group) < 2]
    if alone and noise is not None:
        return
    odd[[trace for group in alone for trace in group]] = True
    groups = groups[: len(groups) - len(alone)]
    if len(groups) < 2 or (odd.any() and group_nats(groups, 1) + 3 * EVIDENCE >= shortest):
        return
    if odd.any():
        groups = with_odd_traces(dataset, odd, groups, naming, arity)
    grouped = with_named_starts(dataset, groups)
    searched = summarise_log(grouped, naming, arity, StartLevel.SAME)
    small = fit(grouped, searched, None) if odd.any() else fit_clean(grouped, searched)[0]
    nats = small.handicapped + group_nats(groups, len(small.lifted.predicates)) + 2 * EVIDENCE
    left = 0 if small.doubted else len(searched.inexplicable)
    yield Reading(summary.without_own_starts(), small, nats, left, grouped)


def with_odd_traces(
    dataset: Dataset, odd: Bool[np.ndarray, " traces"], groups: list[list[int]], naming: Naming, arity: int
) -> list[list[int]]:
    """The groups with all other traces, each where the model of the groups is wrong least often."""
    kept = np.flatnonzero(~odd)
    renumbered = [np.searchsorted(kept, group).tolist() for group in groups]
    clean = with_named_starts(dataset.chosen(~odd), renumbered)
    lifted = fit_clean(clean, summarise_log(clean, naming, arity, StartLevel.SAME))[0].lifted
    others = dataset.chosen(odd).in_words_of(clean.vocabulary)
    wrong = []
    for name in clean.vocabulary.init_states:
        _, refused = simulate(lifted, started := starts_in(others, name))
        before = np.append(0, np.cumsum(refused != started.inapplicable))[started.offsets]
        wrong.append(np.diff(before))
    home = np.argmin(wrong, axis=0)
    numbers = np.flatnonzero(odd)
    return [sorted([*group, *numbers[home == i].tolist()]) for i, group in enumerate(groups)]


def as_it_stands(
    dataset: Dataset, naming: Naming, summarise: Summarise, level: StartLevel, noise: float | int | None
) -> Reading:
    summary = summarise(naming, level)
    if level == StartLevel.SAME or noise or (summary.inexplicable and noise is None):
        searched = summary if level == StartLevel.SAME else summarise(naming, StartLevel.SAME)
        found, unexplained = fit(dataset, searched, noise), len(searched.inexplicable)
    else:
        found, unexplained = fit_alike(dataset, summary, naming, summarise)
    return Reading(summary.without_own_starts(), found, found.handicapped, unexplained)


def fit_alike(dataset: Dataset, summary: Summary, naming: Naming, summarise: Summarise) -> tuple[Fit, int]:
    """The small model where starts are told apart by more than what is told, and the refusals it leaves unexplained. It
    begins as told atoms and names say: how another trace starts nobody knows."""
    if summary.start == StartLevel.OBJECTS:
        return fit_with_statics(dataset, summary)
    searched = summarise(naming, StartLevel.SAME)
    return fit_clean(dataset, searched)[0], len(searched.inexplicable)


def other_names(
    dataset: Dataset,
    naming: Naming,
    summarise: Summarise,
    level: StartLevel,
    noise: float | int | None,
    first: Reading,
    fixed: bool,
    begun: Summarise,
) -> Iterator[Reading]:
    """With constants, and without arguments. Constants are looked for in the beginning of the log: first those that
    explain all of it, which is soon known; if that is not far shorter than wrong labels, those of the shortest model.
    Looking for models takes long: only where more is said of labels than of the model something else must be amiss."""
    if naming == PLAIN:
        return
    arity, level_of_noise = first.summary.projection.arity, first.fit.noise

    def left(naming: Naming) -> int:
        return len(begun(naming, level).inexplicable)

    found, is_clear = naming, False
    worth = EVIDENCE + (first.fit.label_nats or label_nats(len(first.summary.inexplicable), len(dataset.tokens)))
    if not noise and (exact := explaining_constants(dataset, naming, arity, level, worth)) is not None:
        reading = as_it_stands(dataset, exact.naming, summarise, level, noise)
        reading = replace(reading, nats=reading.nats + exact.nats)
        is_clear = not reading.summary.inexplicable and reading.nats < first.nats
        if is_clear:
            found = exact.naming
            yield reading
    if first.fit.noise and first.fit.label_nats <= first.fit.model_nats:
        return
    if not is_clear:
        found = find_constants(dataset, naming, arity, level_of_noise)
        if found != naming:
            yield as_it_stands(dataset, found, summarise, level, noise)
        if (complete := complete_constants(dataset, found, arity, left)) is not None:
            yield as_it_stands(dataset, complete, summarise, level, noise)
    if not fixed and len(dataset.vocabulary.actions) <= MOST_NAMES:
        lengths = [quick_nats(dataset, names, arity, level_of_noise) for names in (PLAIN, found)]
        if lengths[0] < lengths[1]:
            yield as_it_stands(dataset, PLAIN, summarise, level, noise)


def other_starts(
    dataset: Dataset, naming: Naming, summarise: Summarise, best: Reading, level: StartLevel, traces: int
) -> Iterator[Reading]:
    """Starts that differ although they are told alike, if that is shorter than the best reading so far. Where relations
    that nobody told explain all, these are what is said, and `EVIDENCE` is asked for them as for anything unsaid.
    Otherwise it has to be said of each start how each predicate begins there."""
    summary = summarise(naming, level)
    if summary.inexplicable:
        return
    found, unexplained = fit_alike(dataset, summary, naming, summarise)
    if level == StartLevel.OBJECTS and not unexplained:
        nats = found.model_nats + EVIDENCE
    else:
        starts = traces if level == StartLevel.OWN else len(very_objects(summary))
        nats = found.model_nats + log(2) * starts * len(found.lifted.predicates)
    if nats < best.nats:
        yield Reading(summary.without_own_starts(), found, nats, unexplained)


def very_objects(summary: Summary) -> set[Any]:
    """The tuples of objects that starts are told apart by."""
    return {by[1] for _, by in summary.smallest if not isinstance(by, int) and by[0] == "told-of"}
