"""The STRIPS Transformer in the paper's form with the paper's values, and with what the paper leaves open varied.

    python benchmarks/paper_form.py --out results/paper_form.json

The attention form, 100,000 traces, init-atoms, RAdam, 50 heads. First one thing is changed at a time, for 20,000 steps
on ferry-5c (`screened`); then the paper's values and what was found train for 500,000 steps on all small domains
(`whole`), or until no training trace is wrong. Training accuracy is that of the binarised network on all training
traces at the best validation, as in the paper; test accuracy on 5,000 longer traces.

Every row is saved as soon as it is measured; the command goes on where it was stopped. A part of it:
--stage whole --domain ferry-5c --variant "paper's values" --seed 0
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Growing, options
from open_form import Choices, OpenNetwork

from trace2strips.experiments.runs import Run
from trace2strips.learners.registry import make_learner
from trace2strips.learners.training import TrainingSettings, train
from trace2strips.learners.transformer.learner import Strips
from trace2strips.learners.transformer.parameters import Layout
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import sample

DOMAINS = ("ferry-5c", "blocksworld-5b", "npuzzle-5t", "maze-5x5", "logistics-3c")
STEPS = {"screened": 20_000, "whole": 500_000}
SEEDS = {"screened": (0, 1), "whole": (0, 1, 2)}
TEST_TRACES = 5_000

PAPER = "paper's values"
SPARE = "init-false is learned on spare heads"
ALIKE = "actions and test-p weigh alike"
BOTH = f"{SPARE}, {ALIKE}"
OWN = "a goal of its own for each trace"
FOUND = Choices(spare_false="learned", weights="kinds")
VARIANTS = {
    PAPER: Choices(),
    SPARE: Choices(spare_false="learned"),
    ALIKE: Choices(weights="kinds"),
    f"{ALIKE}, {OWN}": Choices(weights="kinds", own_goals=True),
    f"{ALIKE}, no L1": Choices(weights="kinds", l1="none"),
    BOTH: FOUND,
    f"{SPARE}, no L1": Choices(spare_false="learned", l1="none"),
    f"{SPARE}, {OWN}": Choices(spare_false="learned", own_goals=True),
    f"{BOTH}, {OWN}": replace(FOUND, own_goals=True),
    f"{BOTH}, no L1": replace(FOUND, l1="none"),
    f"{BOTH}, L1 of the sum of each head's mean": replace(FOUND, l1="heads"),
    f"{BOTH}, L1 of the sum": replace(FOUND, l1="sum"),
    f"{BOTH}, γ = 2": replace(FOUND, gamma=2.0),
    "init-false does nothing to spare heads": Choices(spare_false="nothing"),
    f"init-false does nothing to spare heads, {ALIKE}": Choices(spare_false="nothing", weights="kinds"),
    "init-false and init-p are learned on all heads": Choices(learned=frozenset({Kind.INIT_FALSE, Kind.INIT_ATOM})),
    "test-p is learned on all heads": Choices(learned=frozenset({Kind.TEST_ATOM})),
    "L1 of the sum": Choices(l1="sum"),
    "L1 of the sum, loss summed over a batch": Choices(l1="sum", summed=True),
    "L1 of the sum of each head's mean": Choices(l1="heads"),
    "no L1": Choices(l1="none"),
    "logits": Choices(theta="logits"),
    "logits, no L1": Choices(theta="logits", l1="none"),
    "the gradient stops at a clip": Choices(theta="held"),
    "the gradient stops at a clip, L1 of the sum": Choices(theta="held", l1="sum"),
    "α on the other class": Choices(alpha=0.001),
    "α = .5": Choices(alpha=0.5),
    "α = .5, no L1": Choices(alpha=0.5, l1="none"),
    "α = .9": Choices(alpha=0.9),
    "γ = 0": Choices(gamma=0.0),
    "γ = 2": Choices(gamma=2.0),
    "final values of all atoms": Choices(suffix="all"),
    "final values of all atoms, no L1": Choices(suffix="all", l1="none"),
    OWN: Choices(own_goals=True),
    f"{OWN}, no L1": Choices(own_goals=True, l1="none"),
    f"{OWN}, γ = 2": Choices(own_goals=True, gamma=2.0),
    "positions weigh alike": Choices(weights="positions"),
    "setup prefixes do not count in |τ|": Choices(weights="scored"),
    "logarithms from 10⁻³ on": Choices(limit=1e-3),
    "logarithms from 10⁻³ on, no gradient below": Choices(limit=1e-3, stops=True),
    "logarithms from 10⁻⁷ on, no gradient below": Choices(limit=1e-7, stops=True),
    "logarithms from 10⁻¹² on": Choices(limit=1e-12),
    "gradients of norm 1 at most": Choices(norm=1.0),
    "gradients of norm .1 at most": Choices(norm=0.1),
    "RAdam with ε = 10⁻⁴": Choices(epsilon=1e-4),
    "queries and keys from U[0, 1)": Choices(start=(0.0, 1.0)),
    "batches of 64": Choices(batch=64),
    "rate .001": Choices(rate=0.001),
    "rate .05": Choices(rate=0.05),
    "as many heads as atoms": Choices(heads=None),
    "100 heads": Choices(heads=100),
}
WHOLE = (PAPER, BOTH)
QUICK = (PAPER, f"{BOTH}, {OWN}", "test-p is learned on all heads")


@lru_cache(maxsize=2)
def traces(name: str, suffix: str, own_goals: bool, train_traces: int) -> tuple[Dataset, Dataset]:
    domain = get_domain(name)
    run = Run(name, suffix=suffix, learner="strips", traces=train_traces, test_traces=TEST_TRACES)
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


def lay_out(dataset: Dataset, heads: int) -> Layout:
    learner = make_learner("strips", {"preset": "paper", "form": "attention", "heads": heads})
    assert isinstance(learner, Strips)
    return learner.lay_out(dataset)


def measure(domain: str, choices: Choices, seed: int, steps: int, train_traces: int) -> dict[str, Any]:
    dataset, test = traces(domain, choices.suffix, choices.own_goals, train_traces)
    heads = choices.heads or len(get_domain(domain).model.atoms)
    network = OpenNetwork(lay_out(dataset, heads), dataset, choices, seed)
    begin, used = time.perf_counter(), time.process_time()
    report = train(network, dataset, TrainingSettings(steps, choices.batch, min(20_000, steps), seed))
    return {
        "train_accuracy": report.best, "best_step": report.best_step, "steps": report.step,
        "test_accuracy": network.evaluate(test),
        "seconds": time.perf_counter() - begin, "processor_seconds": time.process_time() - used,
    }  # fmt: skip


def plan(stages: tuple[str, ...], domains: tuple[str, ...], variants: tuple[str, ...], seeds: tuple[int, ...],
         quick: bool) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The rows to measure, in order: of 500,000 steps only of `WHOLE`, unless variants are named; of 20,000 only on
    ferry-5c, unless domains are named."""
    for stage in stages:
        for seed in (0,) if quick else (seed for seed in SEEDS[stage] if seed in seeds):
            named = domains != DOMAINS or stage == "whole"
            for domain in ("blocksworld:3",) if quick else domains if named else DOMAINS[:1]:
                few = WHOLE if stage == "whole" and variants == tuple(VARIANTS) else variants
                for variant in QUICK if quick else few:
                    yield {"stage": stage, "domain": domain, "variant": variant, "seed": seed}


def papers() -> dict[str, dict[str, float]]:
    """What the paper has."""
    figures = json.loads((Path(__file__).parents[1] / "results" / "paper.json").read_text(encoding="utf-8"))["main"]
    lines = {domain: figures[domain]["STRIPS atoms"] for domain in DOMAINS}
    return {
        domain: {f"{part}_{kind}": line[part][kind] for part in ("train", "test") for kind in ("mean", "best_seed")}
        for domain, line in lines.items()
    }


def main() -> None:
    seeds = tuple(sorted({seed for some in SEEDS.values() for seed in some}))
    arguments = options(__doc__, stage=tuple(STEPS), domain=DOMAINS, variant=tuple(VARIANTS), seed=seeds)
    quick = arguments.quick
    settings = {"steps": STEPS, "traces": 100_000, "test_traces": TEST_TRACES, "paper": papers()}
    command = "python benchmarks/paper_form.py --out results/paper_form.json"
    file = Growing(arguments.out, command, settings, ("stage", "domain", "variant", "seed"))
    stages, domains, variants, seeds = (
        tuple(getattr(arguments, name)) for name in ("stage", "domain", "variant", "seed")
    )
    for key in plan(stages, domains, variants, seeds, quick):
        if file.find(**key) is None:
            steps, size = (500, 200) if quick else (STEPS[key["stage"]], 100_000)
            row = file.add(key | measure(key["domain"], VARIANTS[key["variant"]], key["seed"], steps, size))
            figures = f"train {row['train_accuracy']:.4f} test {row['test_accuracy']:.4f}"
            print(*key.values(), figures, f"{row['seconds']:.0f} s", sep="  ", flush=True)


if __name__ == "__main__":
    main()
