"""Which small model describes a log best: one that explains every label, or one that takes some labels to be wrong.

Both are chosen by description length in nats: what the model says, plus what it takes to say which labels are wrong,
N·h(e/N) for e of N (h is the binary entropy). Where the log is explainable labels count as right unless taking some to
be wrong is shorter by `EVIDENCE` for each of them: the share of wrong labels is free, so in a small log a tenth of them
would be an excuse for whatever is rare, and few logs are explainable of which a tenth is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from jaxtyping import Bool

from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.lifted import LiftedWorld, Place, in_order, lift, order_of
from trace2strips.learners.windows.predicates import Predicate, Search
from trace2strips.learners.windows.repair import most_likely
from trace2strips.learners.windows.rows import Rows
from trace2strips.learners.windows.simulation import idle_effects
from trace2strips.learners.windows.summary import Summary
from trace2strips.learners.windows.support import without_needless
from trace2strips.learners.windows.tolerant import TolerantSearch
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming

EVIDENCE = log(10_000)  # nats: wrong labels are believed in an explainable log if that is ten thousand times likelier
STRICT = 1e-12  # the noise level of a log without wrong labels: no label is worth more than the whole model
FIRST_NOISE = 0.02  # where the estimate of an unknown noise level begins
CARES = (3.0, 10.0, 30.0)  # how many refusals one forbidden success outweighs while predicates are looked for
ROUNDS = 4  # of repairing labels and fitting again
FLIP = 1.6  # contradictions that one wrong label must remove, while the model may still be wrong itself
QUICK_ATTEMPTS, QUICK_CARE = 10_000, 10.0  # where readings are tried
MOST_ATTEMPTS = 300_000  # of a log with wrong labels that are counted


@dataclass(frozen=True)
class Fit:
    """A small model, what it takes to be wrong in the log, and how long the description is."""

    lifted: LiftedWorld
    refused: Bool[np.ndarray, " positions"]  # what really happened, most likely
    noise: float  # the share of labels that are wrong
    model_nats: float
    label_nats: float
    doubted: bool = False  # labels were taken to be wrong where that is likely

    @property
    def nats(self) -> float:
        return self.model_nats + self.label_nats

    @property
    def handicapped(self) -> float:
        """The length by which fits are compared: wrong labels must be worth believing in."""
        return self.nats + (EVIDENCE if self.label_nats else 0.0)


def label_nats(wrong: float | int, attempts: int) -> float:
    """N·h(e/N): what it takes to say which labels are wrong."""
    if wrong <= 0 or wrong >= attempts:
        return 0.0
    share = wrong / attempts
    return attempts * -(share * log(share) + (1 - share) * log(1 - share))


def fit(dataset: Dataset, summary: Summary, noise: float | int | None) -> Fit:
    """`noise`: the share of wrong labels; None: found out. The summary has the log's sample."""
    if noise is None and summary.inexplicable:
        return fit_noisy(dataset, summary, None)
    if noise:
        return fit_noisy(dataset, summary, noise)
    search = Search(summary)
    clean, rows = fit_clean(dataset, summary, search)
    if noise is None and is_doubtful(rows, search, clean):
        noisy = fit_noisy(dataset, summary, None)
        doubted = int((noisy.refused != dataset.inapplicable).sum())
        return noisy if noisy.nats + EVIDENCE * max(1, doubted) < clean.nats else clean
    return clean


def fit_clean(dataset: Dataset, summary: Summary, search: Search | None = None) -> tuple[Fit, Rows]:
    """Every label is explained that can be. What the search finds in the summary is made smaller on the kept sample,
    and completed where the sample does not show all."""
    search = search or Search(summary)
    predicates, rows, nats = small_predicates(search)
    lifted = lift(predicates, summary.projection, summary.types, summary.naming, summary.told)
    kept = with_needed(without_needless(lifted, sample_of(summary)), predicates, search)
    return Fit(kept, dataset.inapplicable, 0.0, nats, 0.0), rows


def with_needed(lifted: LiftedWorld, predicates: Sequence[Predicate], search: Search) -> LiftedWorld:
    """With preconditions that are needless in the sample, but explain a refusal of the log that no other explains."""
    kept = [set(action.pre) for action in (*lifted.actions, *lifted.tests)]
    explaining: dict[int, list[tuple[int, Place]]] = {}
    for number, predicate in enumerate(in_order(predicates)):
        order = order_of(predicate)
        for (schema, places), refusals in search.explained_by(predicate).items():
            place = (number, tuple(places[i] for i in order))
            for refusal in refusals:
                explaining.setdefault(refusal, []).append((schema, place))
    for refusal in sorted(explaining):
        if not any(place in kept[schema] for schema, place in explaining[refusal]):
            schema, place = explaining[refusal][0]
            kept[schema].add(place)
    count = len(lifted.actions)
    actions = [replace(a, pre=tuple(sorted(pre))) for a, pre in zip(lifted.actions, kept[:count], strict=True)]
    tests = [replace(a, pre=tuple(sorted(pre))) for a, pre in zip(lifted.tests, kept[count:], strict=True)]
    return replace(lifted, actions=tuple(actions), tests=tuple(tests))


def small_predicates(search: Search) -> tuple[list[Predicate], Rows, float]:
    """From the summary alone, so that whoever has merged summaries gets what learning from all at once gives."""
    summary = search.summary
    sample = sample_of(summary)
    encoding = encode(sample, summary.naming, summary.projection.arity, summary.projection)
    rows = replace(Rows.of(sample, encoding), types=summary.types)
    found = search.found
    strict = TolerantSearch(rows, STRICT)
    strict.adopt(found)
    strict.settle()
    chosen = search.run(with_all_signs(strict.predicates, found))
    return without_idle(chosen, search, sample), rows, strict.size_nats


def without_idle(predicates: list[Predicate], search: Search, sample: Dataset) -> list[Predicate]:
    """Signs that changed nothing wherever the action worked go, unless something needs them: stacking upon a block that
    is never in the hand need not take it out of there."""
    summary = search.summary
    ordered = in_order(predicates)
    lifted = lift(ordered, summary.projection, summary.types, summary.naming)
    for number, (part, schema, places) in idle_effects(lifted, sample):
        predicate = ordered[number]
        order = order_of(predicate)
        for bit, (by, where) in enumerate(summary.projection.tokens[predicate.arity]):
            if by == schema and tuple(where[i] for i in order) == places:
                smaller = replace(predicate, **{part: getattr(predicate, part) & ~(1 << bit)})
                trial = [smaller if i == number else other for i, other in enumerate(ordered)]
                if search.explains_as_much(trial, ordered):
                    ordered = trial
    return ordered


def with_all_signs(predicates: Sequence[Predicate], found: Sequence[Predicate]) -> list[Predicate]:
    """Signs that explain something stay, even where others explain it too: `pick-up` takes `clear` away, although the
    hand is enough to refuse what comes next."""

    def is_part(one: Predicate, other: Predicate) -> bool:
        same = (one.types, one.start, one.true_at) == (other.types, other.start, other.true_at)
        return same and not one.adds & ~other.adds and not one.deletes & ~other.deletes

    return [next((other for other in found if is_part(one, other)), one) for one in predicates]


def sample_of(summary: Summary) -> Dataset:
    return Dataset.of([sampled.trace for sampled in summary.sample])


def is_doubtful(rows: Rows, search: Search, clean: Fit) -> bool:
    """Whether some labels of the sample are worth a second look: a model that gets them wrong is shorter."""
    attempts = int((rows.row_of >= 0).sum())
    doubt = TolerantSearch(rows, 1 / (attempts + 2))
    doubt.adopt(search.found)
    doubt.settle()
    said = label_nats(doubt.errors, attempts) + EVIDENCE * doubt.errors
    return doubt.errors > 0 and doubt.size_nats + said < clean.nats


def traces_with(dataset: Dataset, attempts: int) -> int:
    """How many of the first traces have at most so many attempts, at least one trace."""
    return max(1, int(np.searchsorted(dataset.offsets, attempts, side="right")) - 1)


def fit_noisy(dataset: Dataset, summary: Summary, noise: float | int | None) -> Fit:
    """Fit, find out which labels are wrong, fit again without them, until nothing changes; the shortest is taken."""
    some = dataset.first(traces_with(dataset, MOST_ATTEMPTS))
    naming = summary.naming
    encoding = encode(some, naming, summary.projection.arity, summary.projection)
    attempts = int((some.vocabulary.kinds[some.tokens] >= ACTION).sum())
    labels = some.inapplicable
    level = FIRST_NOISE if noise is None else noise
    best: tuple[float, float, LiftedWorld] | None = None
    found: list[Predicate] | None = None
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        seen.add(labels.tobytes())
        rows = replace(Rows.of(some, encoding, labels), types=summary.types)
        search = search_noisy(rows, min(0.3, max(level, 1 / (attempts + 2))), found)
        found = search.predicates
        lifted = lift(found, summary.projection, summary.types, naming, summary.told)
        wrong = search.errors + float((labels != some.inapplicable).sum())
        said = label_nats(wrong, attempts)
        if best is None or search.size_nats + said < best[0] + best[1]:
            best = search.size_nats, said, lifted
        labels = most_likely(lifted.over_tokens(some.vocabulary), some, FLIP, 1.0)
        if noise is None:
            level = wrong / attempts
        if labels.tobytes() in seen:
            break
    assert best is not None
    size, said, lifted = best
    refused = really_refused(lifted, dataset)
    attempts = int((dataset.vocabulary.kinds[dataset.tokens] >= ACTION).sum())
    return Fit(lifted, refused, float((refused != dataset.inapplicable).sum()) / max(1, attempts), size, said, True)


def really_refused(lifted: LiftedWorld, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
    """What really happened, most likely, if this is the model."""
    return most_likely(lifted.over_tokens(dataset.vocabulary), dataset, 0.9, 1.0)


def search_noisy(rows: Rows, level: float, found: Sequence[Predicate] | None) -> TolerantSearch:
    """From nothing, with several kinds of care, or from what was found before."""
    searches = [TolerantSearch(rows, level, care) for care in (CARES if found is None else (1.0,))]
    for search in searches:
        search.adopt(found or ())
        search.run()
    best = min(searches, key=lambda s: s.nats)
    best.improve()
    return best


def quick_nats(dataset: Dataset, naming: Naming, arity: int, noise: float) -> float:
    """About how long the description is, from the beginning of the log and a first search."""
    some = dataset.first(traces_with(dataset, QUICK_ATTEMPTS))
    rows = Rows.of(some, encode(some, naming, arity))
    attempts = int((rows.row_of >= 0).sum())
    search = TolerantSearch(rows, max(noise, 1 / (attempts + 2)), QUICK_CARE)
    search.fill()
    search.care = 1.0
    search.fit_again()
    return search.size_nats + label_nats(search.errors, attempts)
