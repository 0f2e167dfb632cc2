"""Learner `windows` where nothing is told but the names of actions; and from traces in which everything worked.

    python benchmarks/windows_untold.py --out results/windows_untold.json

*untold*: one start of which nothing is told, traces of up to 50 actions, half of them refused. On 2,000 test traces of
up to 200 actions from the same start: trace accuracy of the small model, share of positions that are certain,
certificates that are wrong.

*worked*: five traces without any refusal, as many and as long as SIFT is said to have had, once from one start of which
nothing is told, once from starts whose atoms are told. Without refusals no precondition can be asked for; what can be
used is the cautious model, which accepts what every model that fits accepts, and refuses what it does not know. On
2,000 traces with half of the attempts refused: the share of what works that it accepts, and what it accepts wrongly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import options, write_results

from trace2strips.learners.learning import learn
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.learner import Windows
from trace2strips.model.strips import state_of
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.names import understand
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAINS = ("blocksworld-5b", "ferry-5c", "npuzzle-5t", "maze-5x5", "logistics-3c")
TRACES = (20, 100, 500)
LENGTHS = {"blocksworld-5b": 85, "ferry-5c": 170, "npuzzle-5t": 200, "logistics-3c": 350}  # of five traces
SEEDS = range(3)
TEST = 2_000
LEARNER = Windows(separator="_")
ONE_START = "states:1"


def main() -> None:
    arguments = options(__doc__)
    tests = 20 if arguments.quick else TEST
    rows: list[dict[str, Any]] = []
    for name in ("blocksworld:3",) if arguments.quick else DOMAINS:
        domain = get_domain(name)
        test = sample(domain, SampleSettings(tests, 200, "test", ONE_START, "none", 9))
        for traces in (5,) if arguments.quick else TRACES:
            for seed in SEEDS:
                train = sample(domain, SampleSettings(traces, 50, "train", ONE_START, "none", seed))
                row = {"what": "untold", "domain": name, "traces": traces, "seed": seed, **untold(train, test)}
                rows.append(row)
                print(row, flush=True)
    for name, length in {"blocksworld:3": 20}.items() if arguments.quick else LENGTHS.items():
        domain = get_domain(name)
        for told in (False, True):
            init = "atoms" if told else ONE_START
            test = sample(domain, SampleSettings(tests, 200, "train", init, "none", 9))
            for seed in SEEDS:
                train = Dataset.of(walks(domain, 5, length, told, seed))
                row = {"what": "worked", "domain": name, "told": told, "length": length, "seed": seed}
                rows.append(row | worked(train, test))
                print(rows[-1], flush=True)
    settings = {"test_traces": tests, "train_length": 50, "test_length": 200, "lengths": LENGTHS}
    write_results(arguments.out, "python benchmarks/windows_untold.py", settings, rows)


def untold(train: Dataset, test: Dataset) -> dict[str, Any]:
    learned = learn(train, LEARNER)
    answers, wrong = ask(train, test)
    asked = answers != Answer.NOT_ASKED
    return {
        "accuracy": 1 - float(learned.predictor.wrong_traces(test).mean()),
        "certain": float((answers[asked] != Answer.OPEN).mean()),
        "positions": int(asked.sum()),
        "wrong_certificates": wrong,
        "train_errors": learned.figures.train_errors,
        "predicates": len(learned.lifted.to_json()["predicates"]) if learned.lifted else 0,
        "seconds": learned.figures.train_seconds,
    }


def worked(train: Dataset, test: Dataset) -> dict[str, Any]:
    """`accepted` and `accuracy` are shares of attempts, `whole_traces` of traces in which every attempt is right."""
    answers, wrong = ask(train, test)
    asked = answers != Answer.NOT_ASKED
    works = asked & ~test.inapplicable
    right = ~asked | (test.inapplicable == (answers != Answer.WORKS))
    return {
        "accepted": float((answers[works] == Answer.WORKS).mean()),
        "accuracy": float(right[asked].mean()),
        "whole_traces": float(np.logical_and.reduceat(right, test.offsets[:-1].astype(np.int64)).mean()),
        "positions": int(asked.sum()),
        "wrong_certificates": wrong,
    }


def ask(train: Dataset, test: Dataset) -> tuple[np.ndarray, int]:
    """The answers at all positions of test traces, and how many certificates are wrong."""
    naming = understand(train.vocabulary.actions, LEARNER.separator)
    answers = answer_all(LEARNER.summarise(train, naming), test, naming)
    wrong = ((answers == Answer.WORKS) & test.inapplicable) | ((answers == Answer.REFUSED) & ~test.inapplicable)
    return answers, int(wrong.sum())


def walks(domain: Domain, traces: int, length: int, told: bool, seed: int) -> list[Trace]:
    """Random walks in which every action works, all from one start or each from its own, which is told then."""
    rng = np.random.default_rng([seed, 7])
    states = domain.draw_states(rng, traces, "train") if told else domain.state_set(1).repeat(traces, axis=0)
    found = []
    for row in states:
        start = state = state_of(domain.model, row)
        names: list[str] = []
        for _ in range(length):
            possible = [action for action in domain.model.actions if action.applicable(state)]
            action = possible[rng.integers(len(possible))]
            names.append(action.name)
            state = action.progress(state)
        initial = start & set(domain.initial_atoms)
        found.append(Trace(tuple(names), (True,) * length, initial if told else None, None if told else "s0"))
    return found


if __name__ == "__main__":
    main()
