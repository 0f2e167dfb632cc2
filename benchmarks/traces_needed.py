"""How many training traces does each learner need for an exact model?

    python benchmarks/traces_needed.py --out results/traces_needed.json

The ten benchmark domains, initial states told by atoms, final values of goal atoms. All actions that can ever work are
in the vocabulary of training and of test, whether the training traces saw them at work or not: a model from few traces
is asked about all of them. 2,000 test traces of up to 200 actions (maze-7x7: 400), other than those of training.

Numbers of traces are tried from few to many, until all seeds are without an error on the test traces, and two numbers
further. `strips`, which takes long, is tried from many to few, until a seed has an error: that decides it. On the five
large domains a number of traces with which a seed of `completion` or `strips` has an error is not tried with further
seeds.

Every row is saved as soon as it is measured; the command goes on where it was stopped. A part of it:
--learner strips --domain blocksworld-5b ferry-5c --seed 0
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from measuring import Growing, options

from trace2strips.experiments.runs import LARGE, Run
from trace2strips.learners.learning import learn
from trace2strips.worlds import BENCHMARKS, get_domain
from trace2strips.worlds.sampling import sample

LEARNERS = ("windows", "completion", "strips")
DOWNWARDS = ("strips",)
SIZES: tuple[int, ...] = (5, 10, 20, 50, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
SEEDS = (0, 1, 2)
TEST_TRACES = 2_000
FURTHER = 2  # numbers of traces that are tried after the first without an error
QUICK = {"strips": {"steps": 20}}


def main() -> None:
    arguments = options(__doc__, learner=LEARNERS, domain=BENCHMARKS, seed=SEEDS)
    quick = arguments.quick
    domains = ("blocksworld:3",) if quick else arguments.domain
    sizes = SIZES[:2] if quick else SIZES
    tests = 100 if quick else TEST_TRACES
    settings = {"traces": sizes, "seeds": SEEDS, "test_traces": tests, "further": FURTHER, "downwards": DOWNWARDS}
    command = "python benchmarks/traces_needed.py --out results/traces_needed.json"
    file = Growing(arguments.out, command, settings, ("learner", "domain", "traces", "seed"))
    for learner in arguments.learner:
        more = QUICK.get(learner, {}) if quick else {}
        for domain in domains:
            search(file, learner, domain, sizes, arguments.seed[:1] if quick else arguments.seed, tests, more)


def search(
    file: Growing,
    learner: str,
    domain: str,
    sizes: Sequence[int],
    seeds: Sequence[int],
    tests: int,
    more: Mapping[str, Any],
) -> None:
    """Until it is known how many traces are needed."""
    exact = 0  # numbers in a row at which all seeds were
    for traces in reversed(sizes) if learner in DOWNWARDS else sizes:
        errors = 0
        for seed in seeds:
            key: dict[str, Any] = {"learner": learner, "domain": domain, "traces": traces, "seed": seed}
            row = file.find(**key)
            if row is None:
                row = file.add(key | measure(Run(**key, settings=more, test_traces=tests)))
                print(f"{learner} {domain} {traces:,} traces seed {seed}: {row['test_errors']} wrong of {tests:,},"
                      f" {row['seconds']:.1f} s", flush=True)  # fmt: skip
            errors += row["test_errors"]
            if errors and learner != "windows" and domain in LARGE:
                break  # it is decided
        exact = 0 if errors else exact + 1
        if errors if learner in DOWNWARDS else exact > FURTHER:
            break


def measure(run: Run) -> dict[str, Any]:
    domain = get_domain(run.domain)
    train = sample(domain, run.training_set, tried=domain.reachable_actions)
    test = sample(domain, run.test_set, like=train)
    begin = time.perf_counter()
    learned = learn(train, run.make_learner(), seed=run.seed)
    seconds = time.perf_counter() - begin
    errors = learned.errors(test)
    return {
        "ground_actions": len(train.vocabulary.actions), "steps": learned.figures.steps,
        "train_errors": learned.figures.train_errors, "test_errors": errors, "test_traces": len(test),
        "test_accuracy": 1 - errors / len(test), "seconds": seconds,
    }  # fmt: skip


if __name__ == "__main__":
    main()
