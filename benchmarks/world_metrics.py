"""World-model metrics of what each learner has learned from few and from many traces.

    python benchmarks/world_metrics.py [--out results/world_metrics.json] [--quick]

blocksworld-5b and logistics-3c, learned from 20, 100, 1,000 and 100,000 traces (D=50, init-atoms, final values of all
atoms): by `windows`, whose model is measured, and by `sb`, `sinusoidal` and `rope`, whose network is. For comparison
the hidden model and one that calls every action applicable. All learn from the same traces and are asked after the same
histories, prefixes of 2,000 test traces (D=200), with equal settings. All actions that can ever work are asked about,
whether the training traces saw them at work or not. Each seed draws its own traces; networks have seed 0 alone.

Networks are trained as preset `fast` does, but with at most 1,000 traces `sb` takes 1,000 steps, `sinusoidal` and
`rope` 500. Rows say how many steps it was.

Every row is saved as soon as it is measured; the command goes on where it was stopped. A part of it:
--learner sb --domain logistics-3c --traces 20 100
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from measuring import Growing, options

from trace2strips.experiments.runs import DECODERS
from trace2strips.judging.predictors import ModelPredictor, Predictor
from trace2strips.judging.world_metrics import WorldSettings, measure_world
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAINS = ("blocksworld-5b", "logistics-3c")
LEARNERS = ("hidden model", "always applicable", "windows", *DECODERS)
TRACES = (20, 100, 1_000, 100_000)
SEEDS = (0, 1, 2)
TEST_TRACES = 2_000
NEAR = 3  # actions between the histories of the harder pairs
SETTINGS = WorldSettings(histories=500, pairs=200, exact=1, length=5, walks=2)
SHORT = {"sb": 1_000, "sinusoidal": 500, "rope": 500}  # steps …
SHORT_TRACES = 1_000  # … with at most so many traces


def main() -> None:
    arguments = options(__doc__, learner=LEARNERS, domain=DOMAINS, traces=TRACES)
    quick = arguments.quick
    domains, sizes = (("blocksworld:3",), (20,)) if quick else (arguments.domain, arguments.traces)
    tests = 50 if quick else TEST_TRACES
    settings = replace(SETTINGS, histories=20, pairs=5, pool=500) if quick else SETTINGS
    record = {**asdict(settings), "seed": SEEDS, "near": NEAR, "test_traces": tests, "traces": TRACES}
    command = "python benchmarks/world_metrics.py --out results/world_metrics.json"
    file = Growing(arguments.out, command, record, ("domain", "learner", "traces", "seed"))
    for learner in arguments.learner:
        for domain in map(get_domain, domains):
            for traces in sizes if learner in ("windows", *DECODERS) else (None,):
                for seed in SEEDS[:1] if quick or learner in DECODERS else SEEDS:
                    key = {"domain": domain.name, "learner": learner, "traces": traces, "seed": seed}
                    if file.find(**key) is None:
                        steps = 10 if quick else SHORT.get(learner) if (traces or 0) <= SHORT_TRACES else None
                        row = measure(domain, learner, traces, seed, tests, replace(settings, seed=seed), steps)
                        show(file.add(key | row))


def measure(
    domain: Domain, learner: str, traces: int | None, seed: int, tests: int, settings: WorldSettings, steps: int | None
) -> dict[str, Any]:
    chosen = SampleSettings(traces or 1, 50, "train", suffix="all", seed=seed)
    train = sample(domain, chosen, tried=domain.reachable_actions)
    test = sample(domain, replace(chosen, traces=tests, max_length=200, split="test"), like=train)
    begin = time.perf_counter()
    predictor: Predictor
    if traces is None:
        predictor = reference(learner, domain, test)
        found: dict[str, Any] = {"test_errors": int(wrong_traces(predictor.model, test).sum())}
    else:
        more = {"steps": steps} if learner in DECODERS and steps else {}
        learned = learn(train, make_learner(learner, more), seed=seed, test=test)
        predictor = predictor_of(learned, test)
        names = ("steps", "train_errors", "test_errors", "model_test_errors")
        found = {name: getattr(learned.figures, name) for name in names}
    found |= {"test_accuracy": 1 - found["test_errors"] / len(test), "learn_seconds": time.perf_counter() - begin}
    begin = time.perf_counter()
    metrics = measure_world(predictor, domain.model, test, settings)
    near = measure_world(predictor, domain.model, test, replace(settings, near=NEAR, histories=1))
    found |= metrics.row() | {"near": {key: value for key, value in near.row().items() if key.startswith("di")}}
    return found | {"measure_seconds": time.perf_counter() - begin}


def reference(name: str, domain: Domain, test: Dataset) -> ModelPredictor:
    """The hidden model, or it without any precondition."""
    hidden = test.vocabulary.extend(domain.model)
    if name == "always applicable":
        hidden = replace(hidden, actions=tuple(replace(action, pre=frozenset()) for action in hidden.actions))
    return ModelPredictor(hidden, test.vocabulary)


def predictor_of(learned: Learned, test: Dataset) -> Predictor:
    """A network predicts itself."""
    if learned.learner.name not in DECODERS:
        return ModelPredictor(learned.over_tokens(test), test.vocabulary)
    from trace2strips.judging.network_predictor import NetworkPredictor
    from trace2strips.learners.decoder.learner import decoder_of

    return NetworkPredictor(decoder_of(learned), test.vocabulary)


def show(row: dict[str, Any]) -> None:
    names = ("test_accuracy", "legality_precision", "legality_recall", "whole_sets", "compression",
             "distinction_precision", "distinction_recall", "learn_seconds", "measure_seconds")  # fmt: skip
    text = " ".join(f"{name} {'–' if row[name] is None else f'{row[name]:.4f}'}" for name in names)
    print(f"{row['domain']} {row['learner']} {row['traces'] or 0:,} traces seed {row['seed']}: {text}", flush=True)


if __name__ == "__main__":
    main()
