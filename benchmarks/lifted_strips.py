"""Learner `lifted-strips` on the five families, beside `windows` and the ground `strips` on the same traces.

    python benchmarks/lifted_strips.py --out results/lifted_strips.json

*told*: initial atoms are told, nothing else; training traces of up to 50 actions of the small size. Trace accuracy on
test traces of up to 200 actions of that size and of a larger one that training never saw; plans for problems of the
larger size, planned in the learned world by Fast Downward in 5 s each, executed in the hidden one. *untold*: all traces
begin in one state of which nothing is told; same size alone.

`strips` (ground) knows the objects of training alone, and is measured with one seed. Every row is saved as soon as it
is measured; the command goes on where it was stopped. A part of it: --learner windows --domain ferry-5c --seed 10
"""

from __future__ import annotations

import time
from typing import Any

from measuring import Growing, options

from trace2strips.errors import ModelError
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.traces import Dataset
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample
from windows_equivalence import plan_all

SIZES = {  # small, large, planned on
    "blocksworld-5b": ("blocksworld:20", "blocksworld:12"),
    "ferry-5c": ("ferry:12x8", "ferry:12x8"),
    "npuzzle-5t": ("npuzzle:5x5", "npuzzle:3x3"),
    "maze-5x5": ("maze:9x9", "maze:9x9"),
    "logistics-3c": ("logistics:8x8", "logistics:5x4"),
}
LEARNERS = ("lifted-strips", "windows", "strips")
WHAT = ("told", "untold")
TRACES = (100, 20, 10, 50, 300)  # the most telling first
SEEDS = (10, 11, 12, 13, 14)  # others than those with which the learner's settings were chosen
TEST_SEED = 19
TEST = 1_000
PROBLEMS = 10
MOST_SECONDS = 5  # of a search; in a wrong model it may find nothing for hours
UNTOLD_TRACES = (20, 100, 300)
PLANS = ("problems", "plans_correct", "plan_max_length", "why")
QUICK = {"strips": {"steps": 20}, "lifted-strips": {"steps": 500}}


def main() -> None:
    arguments = options(__doc__, learner=LEARNERS, domain=tuple(SIZES), seed=SEEDS, what=WHAT)
    quick = arguments.quick
    sizes = {"blocksworld:3": ("blocksworld:4", "blocksworld:4")} if quick else SIZES
    tests, problems = (20, 2) if quick else (TEST, PROBLEMS)
    settings = {"sizes": sizes, "traces": TRACES, "untold_traces": UNTOLD_TRACES, "seeds": SEEDS, "test_traces": tests,
                "problems": problems, "train_length": 50, "test_length": 200}  # fmt: skip
    command = "python benchmarks/lifted_strips.py --out results/lifted_strips.json"
    file = Growing(arguments.out, command, settings, ("what", "learner", "domain", "traces", "seed"))
    made: dict[tuple[str, str], Dataset] = {}

    def test_set(name: str, init: str) -> Dataset:
        if (name, init) not in made:
            made[name, init] = sample(get_domain(name), SampleSettings(tests, 200, "test", init, "none", TEST_SEED))
        return made[name, init]

    for what in arguments.what:
        init = "atoms" if what == "told" else "states:1"
        for traces in (10,) if quick else TRACES if what == "told" else UNTOLD_TRACES:
            for learner in arguments.learner:
                for small in sizes if quick else arguments.domain:
                    for seed in arguments.seed[:1] if quick or learner == "strips" else arguments.seed:
                        key = {"what": what, "learner": learner, "domain": small, "traces": traces, "seed": seed}
                        if file.find(**key) is not None:
                            continue
                        train = sample(get_domain(small), SampleSettings(traces, 50, "train", init, "none", seed))
                        begin = time.perf_counter()
                        learned = learn(train, make_learner(learner, options_of(learner, quick)), seed=seed)
                        row = {**key, "seconds": time.perf_counter() - begin, **described(learned)}
                        row["same_accuracy"] = accuracy(learned, test_set(small, init), train)
                        if what == "told" and learned.lifted is not None:
                            large, planned = sizes[small]
                            row["larger_accuracy"] = accuracy(learned, test_set(large, init), train)
                            row |= plans(learned, planned, problems)
                        print(file.add(row), flush=True)


def options_of(learner: str, quick: bool) -> dict[str, Any]:
    separator = {} if learner == "strips" else {"separator": "_"}
    return separator | (QUICK.get(learner, {}) if quick else {})


def described(learned: Learned) -> dict[str, Any]:
    f = learned.figures
    predicates = None if learned.lifted is None else len(learned.lifted.to_json()["predicates"])
    return {"train_errors": f.train_errors, "attempts": f.attempts, "steps": f.steps, "predicates": predicates}


def accuracy(learned: Learned, test: Dataset, train: Dataset) -> float:
    """A schema that training never saw counts as one without conditions; for the ground form, each such action."""
    if learned.lifted is None:
        known = set(train.vocabulary.actions)
        unseen = {name for name in test.vocabulary.actions if name not in known}
        return 1 - learned.errors(test) / len(test) if not unseen else without(learned, test, unseen)
    return 1 - float(learned.predictor.wrong_traces(test).mean())


def without(learned: Learned, test: Dataset, unseen: set[str]) -> float:
    """The ground form knows nothing of actions that training never tried: traces that have one are wrong."""
    fine = [trace for trace in test if not unseen & set(trace.actions)]
    return (len(fine) - learned.errors(fine)) / len(test) if fine else 0.0


def plans(learned: Learned, size: str, problems: int) -> dict[str, Any]:
    domain = get_domain(size)
    world = learned.learner.world_over(learned, domain.model.action_index, domain.model.atoms)
    try:
        found = plan_all(world, domain, problems, MOST_SECONDS)
    except ModelError as error:  # from few traces no action may need an atom that goals are about
        found = {"problems": problems, "plans_correct": 0, "plan_max_length": None, "why": str(error)}
    return {"planned_on": size, **{name: found[name] for name in PLANS if name in found}}


if __name__ == "__main__":
    main()
