"""Learner `windows` on the five families: what a few traces of the small size give, on that size and on a larger one.

    python benchmarks/windows.py --out results/windows.json

Initial atoms are told, nothing else. Trace accuracy of the small model, and the share of positions that are certain, on
test traces of up to 200 actions; a certificate that is wrong would be counted.
"""

from __future__ import annotations

import time

from measuring import options, write_results

from trace2strips.learners.learning import learn
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.learner import Windows
from trace2strips.traces import Dataset
from trace2strips.traces.names import understand
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SIZES = {  # small, large
    "blocksworld-5b": "blocksworld:20",
    "ferry-5c": "ferry:12x8",
    "npuzzle-5t": "npuzzle:5x5",
    "maze-5x5": "maze:9x9",
    "logistics-3c": "logistics:8x8",
}
TRACES = (5, 10, 20, 50, 100, 300)
SEEDS = range(5)
TEST = 2_000
LEARNER = Windows(separator="_")


def main() -> None:
    arguments = options(__doc__)
    sizes = {"blocksworld:3": "blocksworld:4"} if arguments.quick else SIZES
    test_traces = 20 if arguments.quick else TEST
    rows = []
    for small, large in sizes.items():
        tests = {
            name: sample(get_domain(name), SampleSettings(test_traces, 200, "test", suffix="none", seed=9))
            for name in (small, large)
        }
        for traces in (5, 10) if arguments.quick else TRACES:
            for seed in SEEDS:
                train = sample(get_domain(small), SampleSettings(traces, 50, suffix="none", seed=seed))
                row = {"domain": small, "traces": traces, "seed": seed, **measure(train, tests[small], tests[large])}
                rows.append(row)
                print(row, flush=True)
    settings = {"sizes": sizes, "test_traces": test_traces, "train_length": 50, "test_length": 200}
    write_results(arguments.out, "python benchmarks/windows.py", settings, rows)


def measure(train: Dataset, same: Dataset, larger: Dataset) -> dict[str, float | int]:
    start = time.perf_counter()
    learned = learn(train, LEARNER)
    seconds = time.perf_counter() - start
    found: dict[str, float | int] = {"seconds": seconds, "train_errors": learned.figures.train_errors}
    naming = understand(train.vocabulary.actions, LEARNER.separator)
    summary = LEARNER.summarise(train, naming)
    for name, test in (("same", same), ("larger", larger)):
        answers = answer_all(summary, test, naming)
        asked = answers != Answer.NOT_ASKED
        wrong = ((answers == Answer.WORKS) & test.inapplicable) | ((answers == Answer.REFUSED) & ~test.inapplicable)
        found |= {
            # a schema that training never saw counts as one without conditions
            f"{name}_accuracy": 1 - float(learned.predictor.wrong_traces(test).mean()),
            f"{name}_certain": float((answers[asked] != Answer.OPEN).mean()),
            f"{name}_positions": int(asked.sum()),
            f"{name}_wrong_certificates": int(wrong.sum()),
        }
    return found


if __name__ == "__main__":
    main()
