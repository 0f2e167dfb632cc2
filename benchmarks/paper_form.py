"""The STRIPS Transformer in the paper's form with the paper's values, and with what the paper leaves open varied.

    python benchmarks/paper_form.py --out results/paper_form.json

The attention form, 100,000 traces, init-atoms, RAdam, 50 heads. One thing is changed at a time, first for 20,000 steps
on two small domains (`screened`), then the paper's values and what screened best for 500,000 steps (`whole`). Training
accuracy is that of the binarised network on all training traces at the best validation, as in the paper; test accuracy
on 5,000 longer traces.

Every row is saved as soon as it is measured; the command goes on where it was stopped. A part of it:
--stage whole --domain ferry-5c --variant "paper's values"
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Int64
from measuring import Growing, options

from trace2strips.experiments.runs import Run
from trace2strips.learners.radam import BETA1, BETA2, EPSILON, rectification
from trace2strips.learners.registry import make_learner
from trace2strips.learners.training import TrainingSettings, train
from trace2strips.learners.transformer.kernels import gradient_step
from trace2strips.learners.transformer.learner import Strips
from trace2strips.learners.transformer.network import NetworkSettings, StripsNetwork
from trace2strips.learners.transformer.parameters import Layout, model_of
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import trace_accuracy
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import sample

DOMAINS = ("ferry-5c", "blocksworld-5b")
STEPS = {"screened": 20_000, "whole": 500_000}
TEST_TRACES = 5_000


@dataclass(frozen=True)
class Variant:
    """What differs from the paper's values. `l1` says of what the weight 10⁻⁴ is taken; with `own_goals` a trace tells
    the final values of the atoms of a goal of its own, not of all atoms that can occur in a goal."""

    network: Mapping[str, Any] = field(default_factory=dict)
    l1: str = "mean"
    suffix: str = "goal"
    own_goals: bool = False
    by_positions: bool = False
    gradient_stops: bool = False
    batch: int = 16


VARIANTS = {
    "paper's values": Variant(),
    "L1 of the sum": Variant(l1="sum"),
    "L1 of the sum of each head's mean": Variant(l1="heads"),
    "no L1": Variant(l1="none"),
    "logits": Variant({"logit": True}),
    "logits, no L1": Variant({"logit": True}, l1="none"),
    "the gradient stops at a clip": Variant(gradient_stops=True),
    "the gradient stops at a clip, L1 of the sum": Variant(gradient_stops=True, l1="sum"),
    "α on the other class": Variant({"alpha": 0.001}),
    "α = .5": Variant({"alpha": 0.5}),
    "α = .5, no L1": Variant({"alpha": 0.5}, l1="none"),
    "α = .9": Variant({"alpha": 0.9}),
    "γ = 0": Variant({"gamma": 0.0}),
    "γ = 2": Variant({"gamma": 2.0}),
    "final values of all atoms": Variant(suffix="all"),
    "final values of all atoms, no L1": Variant(suffix="all", l1="none"),
    "a goal of its own for each trace": Variant(own_goals=True),
    "a goal of its own for each trace, no L1": Variant(own_goals=True, l1="none"),
    "a goal of its own for each trace, γ = 2": Variant({"gamma": 2.0}, own_goals=True),
    "positions weigh alike": Variant(by_positions=True),
    "queries and keys from U[0, 1)": Variant({"query_range": (0.0, 1.0), "key_range": (0.0, 1.0)}),
    "batches of 64": Variant(batch=64),
    "rate .001": Variant({"rate": 0.001}),
    "rate .05": Variant({"rate": 0.05}),
}


class Variation(StripsNetwork):
    """The network with what presets do not vary."""

    def __init__(self, layout: Layout, dataset: Dataset, settings: NetworkSettings, variant: Variant) -> None:
        super().__init__(layout, dataset, settings, seed=0)
        self.variant = variant
        lengths = np.diff(dataset.offsets)
        self.longer = np.cumsum(lengths) / lengths.sum()
        self.raw = {name: getattr(self, name).x.copy() for name in ("query", "key", "value")}

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """The loss is a mean over traces of means over positions; traces drawn by their length make all positions
        weigh alike."""
        if self.variant.by_positions:
            chosen = np.searchsorted(self.longer, np.random.default_rng([1, self.steps]).random(len(chosen)))
        return self.stopping_step(chosen) if self.variant.gradient_stops else super().step(chosen)

    def stopping_step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """θ is the parameter cut to [0, 1]; beyond, its gradient is 0 and only L1, of the parameter, pulls back."""
        s = self.settings
        loss = gradient_step(self.theta, self.layout, self.dataset, chosen, s.form, s.alpha, s.gamma, self.gradient)
        self.steps += 1
        short = rectification(self.steps)
        for name, weight in (("query", s.l1), ("key", s.l1), ("value", 0.0)):
            part, x = getattr(self, name), self.raw[name]
            slope = getattr(self.gradient, name).sum(axis=0) / len(chosen) * ((x > 0) & (x < 1))
            slope = (slope + weight / max(1, part.free.sum()) * np.sign(x)) * part.free
            part.mean[:] = BETA1 * part.mean + (1 - BETA1) * slope
            part.square[:] = BETA2 * part.square + (1 - BETA2) * slope**2
            mean = part.mean / (1 - BETA1**self.steps)
            root = np.sqrt(part.square / (1 - BETA2**self.steps)) + EPSILON
            x -= (s.rate * (short * mean / root if short else mean)).astype(np.float32)
            part.theta[part.free] = np.clip(x, 0, 1)[part.free]
        return loss


@cache
def traces(name: str, suffix: str, own_goals: bool, train_traces: int) -> tuple[Dataset, Dataset]:
    run, domain = (
        Run(name, suffix=suffix, learner="strips", traces=train_traces, test_traces=TEST_TRACES),
        get_domain(name),
    )
    made = sample(domain, run.training_set)
    test = sample(domain, run.test_set, like=made)
    return (with_own_goals(made, domain, 0), with_own_goals(test, domain, 1)) if own_goals else (made, test)


def with_own_goals(dataset: Dataset, domain: Domain, seed: int) -> Dataset:
    """Of the final values only those of a goal that is drawn for each trace, from its initial state."""
    vocabulary, atoms = dataset.vocabulary, domain.model.atoms
    numbers = np.array([domain.model.atom_index.get(name, -1) for name in vocabulary.subjects])  # of each token
    traces = np.repeat(np.arange(len(dataset)), np.diff(dataset.offsets))
    kinds = vocabulary.kinds[dataset.tokens]
    initial = np.zeros((len(dataset), len(atoms)), dtype=bool)
    told = kinds == Kind.INIT_ATOM
    initial[traces[told], numbers[dataset.tokens[told]]] = True
    goals = domain.family.draw_goals(np.random.default_rng(seed), initial, domain.column)
    stays = kinds != Kind.TEST_ATOM
    stays[~stays] = goals[traces[~stays], numbers[dataset.tokens[~stays]]]
    before = np.concatenate([[0], np.cumsum(stays)])
    return replace(
        dataset, tokens=dataset.tokens[stays], inapplicable=dataset.inapplicable[stays], offsets=before[dataset.offsets]
    )


def measure(domain: str, variant: Variant, steps: int, train_traces: int) -> dict[str, Any]:
    dataset, test = traces(domain, variant.suffix, variant.own_goals, train_traces)
    learner = make_learner("strips", {"preset": "paper", "form": "attention"})
    assert isinstance(learner, Strips)
    layout = learner.lay_out(dataset)
    settings = learner.network_settings(dataset)
    free = layout.actions * layout.heads
    weights = {"mean": 1.0, "sum": free, "heads": layout.heads, "none": 0.0}
    settings = replace(settings, **variant.network, l1=settings.l1 * weights[variant.l1])
    network = Variation(layout, dataset, settings, variant)
    begin = time.perf_counter()
    report = train(network, dataset, TrainingSettings(steps, variant.batch, min(20_000, steps)))
    return {
        "train_accuracy": report.best, "best_step": report.best_step,
        "test_accuracy": trace_accuracy(model_of(network.theta, layout), test),
        "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def main() -> None:
    arguments = options(__doc__, stage=tuple(STEPS), domain=DOMAINS, variant=tuple(VARIANTS))
    quick = arguments.quick
    settings = {"steps": STEPS, "traces": 100_000, "test_traces": TEST_TRACES, "seed": 0}
    command = "python benchmarks/paper_form.py --out results/paper_form.json"
    file = Growing(arguments.out, command, settings, ("stage", "domain", "variant"))
    for stage in arguments.stage:
        for domain in ("blocksworld:3",) if quick else arguments.domain:
            names = arguments.variant if stage == "screened" or quick else best_variants(file, domain)
            for name in names[:2] + names[6:7] if quick else names:
                key = {"stage": stage, "domain": domain, "variant": name}
                if file.find(**key) is None:
                    steps, size = (500, 200) if quick else (STEPS[stage], 100_000)
                    row = file.add(key | measure(domain, VARIANTS[name], steps, size))
                    print(f"{stage} {domain} {name}: train {row['train_accuracy']:.4f} test {row['test_accuracy']:.4f}"
                          f" {row['seconds']:.0f} s", flush=True)  # fmt: skip


def best_variants(file: Growing, domain: str) -> tuple[str, ...]:
    """The paper's values, and the two that screened best."""
    rows = [row for row in file.rows if row["stage"] == "screened" and row["domain"] == domain]
    rows.sort(key=lambda row: -row["train_accuracy"])
    return tuple(dict.fromkeys(("paper's values", *(row["variant"] for row in rows[:2]))))


if __name__ == "__main__":
    main()
