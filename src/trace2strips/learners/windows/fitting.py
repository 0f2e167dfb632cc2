"""Which small model describes a log best: one that explains every label, or one that takes some labels to be wrong.

Both are chosen by description length in nats: what the model says, plus what it takes to say which labels are wrong,
N·h(e/N) for e of N (h is the binary entropy). Where the log is explainable labels count as right unless taking some to be
wrong is shorter by `EVIDENCE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from jaxtyping import Bool

from trace2strips.learners.windows.encoding import Encoding
from trace2strips.learners.windows.lifted import LiftedWorld, lift
from trace2strips.learners.windows.predicates import Predicate, Search
from trace2strips.learners.windows.repair import most_likely
from trace2strips.learners.windows.rows import Rows
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
MOST_ATTEMPTS = 300_000  # rows are counted over so many; the version space takes all


@dataclass(frozen=True)
class Fit:
    """A small model, what it takes to be wrong in the log, and how long the description is."""

    lifted: LiftedWorld
    refused: Bool[np.ndarray, " positions"]  # what really happened, most likely
    noise: float  # the share of labels that are wrong
    nats: float


def label_nats(wrong: float | int, attempts: int) -> float:
    """N·h(e/N): what it takes to say which labels are wrong."""
    if wrong <= 0 or wrong >= attempts:
        return 0.0
    share = wrong / attempts
    return attempts * -(share * log(share) + (1 - share) * log(1 - share))


def fit(dataset: Dataset, encoding: Encoding, naming: Naming, summary: Summary, noise: float | int | None) -> Fit:
    """`noise`: the share of wrong labels; None: found out."""
    some = dataset.first(traces_with(dataset, MOST_ATTEMPTS))
    rows = Rows.of(some, encoding)
    attempts = max(1, int((rows.row_of >= 0).sum()))
    clean = None
    if noise == 0 or (noise is None and not summary.inexplicable):
        clean = fit_clean(dataset, rows, naming, summary)
        if noise == 0:
            return clean
        doubt = TolerantSearch(rows, 1 / (attempts + 1))
        doubt.adopt(Search(summary).run())
        doubt.settle()
        if not doubt.errors or doubt.size_nats + label_nats(doubt.errors, attempts) + EVIDENCE >= clean.nats:
            return clean
    noisy = fit_noisy(dataset, some, encoding, naming, noise, attempts)
    return noisy if clean is None or noise is not None or noisy.nats + EVIDENCE < clean.nats else clean


def traces_with(dataset: Dataset, attempts: int) -> int:
    """How many of the first traces have at most so many attempts, at least one trace."""
    return max(1, int(np.searchsorted(dataset.offsets, attempts, side="right")) - 1)


def fit_clean(dataset: Dataset, rows: Rows, naming: Naming, summary: Summary) -> Fit:
    """Every label is explained that can be."""
    search = Search(summary)
    strict = TolerantSearch(rows, STRICT)
    strict.adopt(search.run())
    strict.settle()
    predicates = [search.with_askings(search.use_up(predicate)) for predicate in strict.predicates]
    lifted = without_needless(lift(predicates, summary.projection, summary.types, naming), dataset)
    nats = strict.size_nats + label_nats(strict.errors, len(rows.row_of))
    return Fit(lifted, dataset.inapplicable, 0.0, nats)


def fit_noisy(
    dataset: Dataset, some: Dataset, encoding: Encoding, naming: Naming, noise: float | int | None, attempts: int
) -> Fit:
    """Fit, find out which labels are wrong, fit again without them, until nothing changes; the shortest is taken."""
    labels = some.inapplicable
    level = FIRST_NOISE if noise is None else noise
    best: tuple[float, LiftedWorld, float] | None = None
    seen: set[bytes] = set()
    found: list[Predicate] | None = None
    for _ in range(ROUNDS):
        seen.add(labels.tobytes())
        rows = Rows.of(some, encoding, labels)
        level = min(0.3, max(level, 1 / (attempts + 1)))
        searches = [TolerantSearch(rows, level, care) for care in (CARES if found is None else (1.0,))]
        for search in searches:
            search.adopt(found or ())
            search.run()
        search = min(searches, key=lambda s: s.nats)
        found = search.predicates
        lifted = lift(found, rows.projection, rows.types, naming)
        wrong = search.errors + float((labels != some.inapplicable).sum())
        nats = search.size_nats + label_nats(wrong, attempts)
        if best is None or nats < best[0]:
            best = nats, lifted, wrong
        labels = most_likely(lifted.over_tokens(some.vocabulary), some, FLIP, 1.0)
        if noise is None:
            level = wrong / attempts
        if labels.tobytes() in seen:
            break
    assert best is not None
    nats, lifted, _ = best
    refused = most_likely(lifted.over_tokens(dataset.vocabulary), dataset, 0.9, 1.0)
    wrong = float((refused != dataset.inapplicable).sum())
    return Fit(lifted, refused, wrong / max(1, int((dataset.vocabulary.kinds[dataset.tokens] >= ACTION).sum())), nats)


__all__ = ["Fit", "Predicate", "fit"]
