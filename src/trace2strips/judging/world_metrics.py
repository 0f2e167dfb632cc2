"""How much of the world a predictor has understood: next-action legality, sequence compression, sequence distinction.

The measures of Vafa et al., "Evaluating the World Model Implicit in a Generative Model" (2024), with "applicable" in
place of a probability threshold.

Compression: of pairs of histories that lead to one state, how many have no boundary between them (`boundaries`).
Distinction, of pairs that lead to two: how much of the world's boundary the predictor sees too (recall), and how much
of the predictor's boundary is one in the world (precision).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from jaxtyping import Float64

from trace2strips.errors import TraceError, UserError
from trace2strips.judging.boundaries import BACKWARD, FORWARD, HITS, count_boundaries
from trace2strips.judging.history_pool import Pool
from trace2strips.judging.predictors import ModelPredictor, Predictor
from trace2strips.learners.learner import Learned
from trace2strips.model.strips import StripsModel
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain
from trace2strips.worlds.sampling import SampleSettings, sample

EXACT_MODEL, EXACT_OTHER = 2, 1  # default of `WorldSettings.exact`; 3 is slow where a model accepts nearly everything
HISTORY_TRACES, HISTORY_LENGTH = 2_000, 200  # where `measure_learned` takes its histories from


@dataclass(frozen=True)
class WorldSettings:
    """How much is sampled. Suffixes of up to `exact` actions are all looked at, longer ones, up to `length`, along
    `walks` random walks for each pair. Without `exact` it is 2 for a STRIPS model and 1 for anything else.
    """

    histories: int = 1_000  # for next-action legality
    pairs: int = 1_000  # of each kind
    exact: int | None = None
    length: int = 8
    walks: int = 8
    near: int = 0  # pairs with different states: 0 for any, n for two of one trace that are at most n actions apart
    pool: int = 50_000  # histories among which those with equal states are found
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), int(field.name not in ("walks", "near", "seed"))
            if value is not None and value < least:
                raise UserError(f"{field.name} is {value}", hint=f"{least} or more")


@dataclass(frozen=True)
class Share:
    """`hits` of `of`; hits are no whole number where each pair of histories adds a share of its own."""

    hits: int | float
    of: int

    @property
    def value(self) -> float | None:
        """None where nothing was there to be right or wrong about."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True)
class WorldMetrics:
    """The measures with the counts behind them."""

    legality_precision: Share  # of actions predicted applicable, those that are
    legality_recall: Share  # of applicable actions, those predicted so
    whole_sets: Share  # of histories, those where the whole set is right
    base_rate: Share  # of all actions after all histories, the applicable ones: the precision of saying yes always
    compression: Share  # of pairs with one state, those without a boundary
    distinction_precision: Share  # mean over the pairs with two states between which the predictor sees a boundary
    distinction_recall: Share  # mean over the pairs with two states between which the world has a boundary
    different_pairs: int

    def row(self) -> dict[str, Any]:
        """For a file of results: each share as its value, its hits and its total."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Share):
                found |= {field.name: value.value, f"{field.name}_hits": value.hits, f"{field.name}_of": value.of}
            else:
                found[field.name] = value
        return found


def measure_world(
    predictor: Predictor, hidden: StripsModel, dataset: Dataset, settings: WorldSettings | None = None
) -> WorldMetrics:
    """Compare a predictor with the hidden model, on histories that are prefixes of the dataset's traces.

    The dataset's labels are not looked at. Its vocabulary must be the predictor's.
    """
    settings = settings or WorldSettings()
    world = ModelPredictor(dataset.vocabulary.extend(hidden, dataset.states), dataset.vocabulary)
    if predictor.vocabulary != dataset.vocabulary:
        raise TraceError(
            "predictor and traces have different vocabularies", hint="sample the traces like those it was trained on"
        )
    rng = np.random.default_rng(settings.seed)
    pool = Pool.of(dataset, world, settings.pool, rng)
    asked = pool.gather(rng.permutation(len(pool))[: settings.histories])
    truth, said = world.applicable(*asked), predictor.applicable(*asked)
    both = int((truth & said).sum())

    exact = settings.exact or (EXACT_MODEL if isinstance(predictor, ModelPredictor) else EXACT_OTHER)
    same = pool.same_pairs(settings.pairs, rng)
    different = pool.different_pairs(settings.pairs, settings.near, rng)
    draws = rng.integers(2**32, size=(settings.pairs, settings.walks, max(exact, settings.length)))
    merged = count_boundaries(predictor, world, pool, same, exact, draws[: len(same)])
    seen = count_boundaries(predictor, world, pool, different, exact, draws[: len(different)])
    true = count_boundaries(world, predictor, pool, different, exact, draws[: len(different)])
    return WorldMetrics(
        legality_precision=Share(both, int(said.sum())),
        legality_recall=Share(both, int(truth.sum())),
        whole_sets=Share(int((truth == said).all(axis=1).sum()), len(truth)),
        base_rate=Share(int(truth.sum()), truth.size),
        compression=Share(int((merged[:, FORWARD] + merged[:, BACKWARD] == 0).sum()), len(same)),
        distinction_precision=mean_share(seen),
        distinction_recall=mean_share(true),
        different_pairs=len(different),
    )


def measure_learned(
    learned: Learned, domain: Domain, encoding: str = "atoms", settings: WorldSettings | None = None
) -> WorldMetrics:
    """The measures of a learned model, on histories of the hidden domain in the words that it was trained on."""
    wanted = SampleSettings(HISTORY_TRACES, HISTORY_LENGTH, "test", encoding, "none")
    words = replace(learned.vocabulary, test_atoms=())
    template = replace(sample(domain, replace(wanted, traces=1)).first(0), vocabulary=words)  # names, no traces
    histories = sample(domain, wanted, like=template)
    predictor = ModelPredictor(learned.over_tokens(histories), histories.vocabulary)
    return measure_world(predictor, domain.model, histories, settings)


def mean_share(counts: Float64[np.ndarray, "pairs 3"]) -> Share:
    """Each pair with a boundary counts once, however large its boundary is."""
    there = counts[:, FORWARD] > 0
    return Share(float((counts[there, HITS] / counts[there, FORWARD]).sum()), int(there.sum()))
