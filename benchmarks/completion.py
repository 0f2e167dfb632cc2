"""What each of completion's settings does, and what one wrong label does, on small worlds.

Every setting is changed alone, on nine clean worlds (those of noise on six noisy ones), seeds 0 and 1. `accuracy` is
that on clean test traces of twice the length, `wrong` counts the traces of the training set that the model gets wrong.
One wrong label: eight places of each kind and world; `wrong` is then the share of training traces, labels set right.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from measuring import options, write_results

from trace2strips.experiments.performing import flip
from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import world_model
from trace2strips.learners.completion.settings import DEFAULTS, CompletionSettings
from trace2strips.learners.layout import Rows
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

World = tuple[str, int, int, str, str, float]  # domain, traces, length, initial states, final values, labels flipped

CLEAN: list[World] = [
    ("blocksworld-5b", 2_000, 50, "atoms", "all", 0.0),
    ("blocksworld-5b", 2_000, 50, "states:4", "goal", 0.0),
    ("maze-5x5", 2_000, 50, "states:4", "goal", 0.0),
    ("maze-5x5", 2_000, 50, "states:20", "goal", 0.0),
    ("npuzzle:2x3", 2_000, 30, "states:4", "goal", 0.0),
    ("blocksworld:4", 2_000, 50, "states:1", "none", 0.0),
    ("blocksworld:4", 2_000, 50, "states:20", "none", 0.0),
    ("ferry:3x3", 1_500, 40, "states:10", "none", 0.0),
    ("logistics:2x1", 1_500, 30, "atoms", "none", 0.0),
]
NOISY: list[World] = [
    ("blocksworld-5b", 2_000, 50, "atoms", "all", 0.01),
    ("blocksworld-5b", 2_000, 50, "atoms", "goal", 0.05),
    ("ferry:3x3", 2_000, 40, "states:5", "goal", 0.01),
    ("ferry:3x3", 2_000, 40, "states:5", "goal", 0.05),
    ("logistics:2x1", 2_000, 30, "atoms", "goal", 0.02),
    ("npuzzle:2x3", 2_000, 30, "states:4", "goal", 0.02),
]
ONE_LABEL: list[World] = [
    ("blocksworld-5b", 2_000, 50, "atoms", "goal", 0.0),
    ("blocksworld:3", 2_000, 20, "states:3", "goal", 0.0),
    ("blocksworld:4", 2_000, 50, "states:20", "none", 0.0),
    ("ferry:3x3", 1_500, 40, "states:10", "none", 0.0),
    ("ferry:3x3", 1_500, 40, "atoms", "goal", 0.0),
    ("logistics:2x1", 1_500, 30, "atoms", "none", 0.0),
    ("maze:3x3", 1_500, 30, "atoms", "goal", 0.0),
]
ALL = 10**9  # where a setting bounds something: no bound
VALUES: dict[str, Sequence[float]] = {
    "success_weight": (1, 3, 30, 100),
    "state_traces": (1, 100, ALL),
    "trial_demands": (100, ALL),
    "open_refusals": (0.0, 0.1),
    "sampled_refusals": (100, ALL),
    "sampled_labels": (30, 3_000),
    "windows": (30, ALL),
    "tries": (1, 20),
    "rounds": (2, 10),
    "several_rounds": (2, 6),
    "starts": (1, 1_000),
    "joins": (0, 1, 20),
    "noise_errors": (0.5, 1, 4),
    "noise_effect": (0, 1, 2, 6),
    "noise_success": (1, 4),
    "noise_refusals": (0, 1, 3),
    "deviations": (0, 1, 6),
}


def complete(train: Dataset, settings: CompletionSettings = DEFAULTS) -> WorldModel:
    layout = Rows(train.vocabulary)
    return world_model(Completion(train, layout, settings).run(), layout)


def wrong_share(world: WorldModel, traces: Dataset) -> float:
    return float(wrong_traces(world.over_tokens(traces.vocabulary), traces).mean())


def sample_world(world: World, seed: int, quick: bool) -> tuple[Dataset, Dataset]:
    name, traces, length, init, suffix, noise = world
    domain = get_domain(name)
    train = sample(domain, SampleSettings(traces // (10 if quick else 1), length, "train", init, suffix, seed))
    test = sample(domain, SampleSettings(2_000, 2 * length, "test", init, suffix, seed), like=train)
    return (flip(train, noise, seed) if noise else train), test


def measure(settings: CompletionSettings, data: list[tuple[Dataset, Dataset]]) -> dict[str, Any]:
    learned = [(complete(train, settings), train, test) for train, test in data]
    return {
        "accuracy": round(1 - statistics.mean(wrong_share(world, test) for world, _, test in learned), 4),
        "worst": round(1 - max(wrong_share(world, test) for world, _, test in learned), 4),
        "wrong": sum(round(wrong_share(world, train) * len(train)) for world, train, _ in learned),
        "atoms": sum(len(world.model.atoms) for world, _, _ in learned),
    }


def measure_one_label(data: list[tuple[Dataset, Dataset]], places: int) -> list[dict[str, Any]]:
    found: dict[str, list[tuple[float, float]]] = {"no label": []}
    for train, test in data:
        world = complete(train)
        found["no label"].append((wrong_share(world, train), wrong_share(world, test)))
        kinds = train.vocabulary.kinds[train.tokens]
        rng = np.random.default_rng(5)
        for what, where in (
            ("a success called refused", (kinds == Kind.ACTION) & ~train.inapplicable),
            ("a refusal called success", (kinds == Kind.ACTION) & train.inapplicable),
            ("a final value", kinds == Kind.TEST_ATOM),
        ):
            for place in rng.choice(np.flatnonzero(where), min(places, int(where.sum())), replace=False):
                labels = train.inapplicable.copy()
                labels[place] = not labels[place]
                world = complete(replace(train, inapplicable=labels))
                found.setdefault(what, []).append((wrong_share(world, train), wrong_share(world, test)))
    return [
        {
            "wrong label": what,
            "runs": len(shares),
            "wrong": round(statistics.mean(share for share, _ in shares), 4),
            "worst wrong": round(max(share for share, _ in shares), 4),
            "accuracy": round(1 - statistics.mean(share for _, share in shares), 4),
        }
        for what, shares in found.items()
    ]


def main() -> None:
    arguments = options(__doc__)
    quick = arguments.quick
    seeds = (0,) if quick else (0, 1)
    clean, noisy, one_label = (
        [sample_world(world, seed, quick) for world in (worlds[:1] if quick else worlds) for seed in of]
        for worlds, of in ((CLEAN, seeds), (NOISY, seeds), (ONE_LABEL, (0,)))
    )
    rows: list[dict[str, Any]] = []
    for data, noise in ((clean, False), (noisy, True)):
        rows.append({"setting": "defaults", "noisy": noise, **measure(DEFAULTS, data)})
        print(rows[-1], flush=True)
        for name, values in VALUES.items():
            if name.startswith(("noise_", "deviations")) == noise:
                for value in values:
                    row = measure(replace(DEFAULTS, **{name: value}), data)  # type: ignore[arg-type]
                    rows.append({"setting": name, "value": value, "noisy": noise, **row})
                    print(rows[-1], flush=True)
    rows += measure_one_label(one_label, 1 if quick else 8)
    print(*rows[-4:], sep="\n")
    settings = {"clean": CLEAN, "noisy": NOISY, "one_label": ONE_LABEL, "seeds": seeds}
    write_results(arguments.out, "python benchmarks/completion.py", settings, rows)


if __name__ == "__main__":
    main()
