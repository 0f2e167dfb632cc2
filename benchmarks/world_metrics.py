"""World-model metrics of learned models beside their trace accuracy.

    python benchmarks/world_metrics.py [--out results/world_metrics.json] [--quick]

blocksworld-5b and logistics-3c, learned from 300, 1,000 and 10,000 traces (D=50, init-atoms, preset fast), and for
comparison the hidden model and one that calls every action applicable. Histories come from 20,000 test traces (D=200).
Each seed draws its own traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from measuring import options, write_results

from trace2strips.judging.predictors import ModelPredictor
from trace2strips.judging.world_metrics import WorldSettings, measure_world
from trace2strips.learners.learning import learn
from trace2strips.model.strips import StripsModel
from trace2strips.traces.accuracy import trace_accuracy
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAINS = ("blocksworld-5b", "logistics-3c")
TRACES = (300, 1_000, 10_000)
TEST_TRACES = 20_000
SEEDS = (0, 1, 2)
NEAR = 3  # actions between the histories of the harder pairs


def measure(domain_name: str, seed: int, test_traces: int, settings: WorldSettings) -> Iterator[dict[str, Any]]:
    domain = get_domain(domain_name)
    # the largest training set gives the vocabulary, so that all models are asked the same
    whole = sample(domain, SampleSettings(max(TRACES), 50, "train", seed=seed))
    test = sample(domain, SampleSettings(test_traces, 200, "test", seed=seed), like=whole)
    hidden = test.vocabulary.extend(domain.model)
    yes = replace(hidden, actions=tuple(replace(action, pre=frozenset()) for action in hidden.actions))
    models: dict[str, StripsModel] = {"hidden model": hidden, "always applicable": yes}
    for traces in TRACES:
        train = sample(domain, SampleSettings(traces, 50, "train", seed=seed), like=whole)
        models[f"{traces:,} traces"] = learn(train, seed=seed).over_tokens(test)
    for name, model in models.items():
        predictor = ModelPredictor(model, test.vocabulary)
        metrics = measure_world(predictor, domain.model, test, replace(settings, seed=seed))
        near = measure_world(predictor, domain.model, test, replace(settings, seed=seed, near=NEAR))
        yield {
            "domain": domain_name,
            "model": name,
            "seed": seed,
            "test_accuracy": trace_accuracy(model, test),
            **metrics.row(),
            "near": {key: value for key, value in near.row().items() if key.startswith("di")},
        }


def main() -> None:
    arguments = options(__doc__)
    settings = (
        WorldSettings(pairs=100, pool=5_000)
        if arguments.quick
        else WorldSettings(histories=2_000, pairs=2_000, pool=100_000)
    )
    test_traces = 200 if arguments.quick else TEST_TRACES
    rows = []
    for domain in DOMAINS:
        for seed in SEEDS[:1] if arguments.quick else SEEDS:
            for row in measure(domain, seed, test_traces, settings):
                rows.append(row)
                shown = ("test_accuracy", "legality_precision", "legality_recall", "whole_sets", "compression",
                         "distinction_precision", "distinction_recall")  # fmt: skip
                text = " ".join(f"{name} {'–' if row[name] is None else f'{row[name]:.4f}'}" for name in shown)
                print(f"{domain} seed {seed} {row['model']}: {text}", flush=True)
    command = "python benchmarks/world_metrics.py --out results/world_metrics.json"
    record = {**asdict(settings), "seed": list(SEEDS), "near": NEAR, "test_traces": test_traces, "traces": list(TRACES)}
    write_results(arguments.out, command, record, rows)


if __name__ == "__main__":
    main()
