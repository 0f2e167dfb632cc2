"""Listing (c) of the paper: the ground model that is read out of a trained Stick-Breaking Transformer, lifted.

    python benchmarks/listing_c.py --out results/listing_c.json

A tiny or a small world of each family (1,000 steps) and the paper's small size (`paper`, the preset's steps), final
values of all atoms told, seed 0. The ground model lifts if all groundings of an action agree; then its schemas are
compared with those of the hidden model.

Every row is saved as soon as it is measured; the command goes on where it was stopped. A part of it:
--size small --family ferry
"""

from __future__ import annotations

import time
from typing import Any

from measuring import Growing, options

from trace2strips.errors import ModelError
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.learners.windows.lifting import lift_model
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

WORLDS = {
    "tiny": {"blocksworld": "blocksworld:3", "npuzzle": "npuzzle:2x2", "maze": "maze:3x3"},
    "small": {
        "blocksworld": "blocksworld:4", "ferry": "ferry:2x3", "npuzzle": "npuzzle:3x2", "maze": "maze:5x3",
        "logistics": "logistics:2x2",
    },
    "paper": {
        "blocksworld": "blocksworld-5b", "ferry": "ferry-5c", "npuzzle": "npuzzle-5t", "maze": "maze-5x5",
        "logistics": "logistics-3c",
    },
}  # fmt: skip
TRACES = {"tiny": 2_000, "small": 2_000, "paper": 100_000}
STEPS = {"tiny": 1_000, "small": 1_000, "paper": None}
TEST_TRACES = 2_000
SEED = 0


def main() -> None:
    arguments = options(__doc__, size=tuple(WORLDS), family=tuple(WORLDS["small"]))
    quick = arguments.quick
    sizes, families = (("small",), ("blocksworld",)) if quick else (arguments.size, arguments.family)
    settings = {"seed": SEED, "traces": TRACES, "steps": STEPS, "test_traces": TEST_TRACES}
    file = Growing(arguments.out, "python benchmarks/listing_c.py --out results/listing_c.json", settings, ("domain",))
    for size in sizes:
        for family in [name for name in families if name in WORLDS[size]]:
            domain = WORLDS[size][family]
            if file.find(domain=domain) is None:
                steps, traces = (5, 100) if quick else (STEPS[size], TRACES[size])
                row = file.add({"domain": domain, "size": size, **measure(domain, traces, steps)})
                print({name: value for name, value in row.items() if name != "pddl"}, flush=True)


def measure(name: str, traces: int, steps: int | None) -> dict[str, Any]:
    domain = get_domain(name)
    train = sample(domain, SampleSettings(traces, 50, "train", suffix="all", seed=SEED))
    test = sample(domain, SampleSettings(TEST_TRACES, 200, "test", suffix="all", seed=SEED), like=train)
    begin = time.perf_counter()
    learned = learn(train, make_learner("sb", {} if steps is None else {"steps": steps}), seed=SEED, test=test)
    figures = learned.figures
    found: dict[str, Any] = {
        "steps": figures.steps, "seconds": time.perf_counter() - begin, "network_test_errors": figures.test_errors,
        "model_test_errors": figures.model_test_errors,
    }  # fmt: skip
    if learned.world is None:
        return found | {"lifts": False, "why": "no model was read out"}
    try:
        lifted = lift_model(learned.need_world())
    except ModelError as error:
        return found | {"lifts": False, "why": error.message}
    hidden = domain.model
    names = Vocabulary(tuple(action.name for action in hidden.actions), hidden.atoms, has_init_false=True)
    textbook = lift_model(WorldModel(hidden, names))
    same = {schema.name: schema for schema in lifted.domain().schemas} == {
        schema.name: schema for schema in textbook.domain().schemas
    }
    return found | {"lifts": True, "schemas": len(lifted.actions), "textbook": same, "pddl": lifted.pddl()}


if __name__ == "__main__":
    main()
