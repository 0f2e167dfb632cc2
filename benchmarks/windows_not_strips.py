"""Worlds that are not STRIPS: how many traces it takes until that is proven; and the same worlds with objects named.

    python benchmarks/windows_not_strips.py --out results/windows_not_strips.json

Traces of 20 attempts from one start of which nothing is told (`not_strips.py`). For each of 20 seeds the first number
of traces after which `trace2strips check --strips` has a proof, and how many places of the log the proof names. With
the objects among the arguments: the first number of traces (5, 10, 20, …) with which 1,000 test traces of 100 attempts
are predicted without an error.
"""

from __future__ import annotations

from measuring import options, write_results
from not_strips import WORLDS, World

from trace2strips.learners.learning import learn
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.proofs import Proof, prove_inexplicable
from trace2strips.traces import Dataset
from trace2strips.traces.names import understand

LENGTH = 20
MOST = 200  # traces
STEPS = (5, 10, 20, 50, 100, 200, 500)
LEARNER = Windows()


def main() -> None:
    arguments = options(__doc__)
    seeds, tests = (2, 20) if arguments.quick else (20, 1_000)
    rows = []
    for kind in WORLDS:
        for seed in range(seeds):
            traces, proof = first_proof(kind(named=False), seed)
            places = 0 if proof is None else 1 + len({out.worked for out in proof.ruled_out})
            row = {"world": kind.name, "seed": seed, "proven_after": traces, "places": places,
                   "exact_after": first_exact(kind(named=True), seed, tests)}  # fmt: skip
            rows.append(row)
            print(row, flush=True)
    settings = {"length": LENGTH, "test_traces": tests, "test_length": 100, "most": MOST, "steps": STEPS}
    write_results(arguments.out, "python benchmarks/windows_not_strips.py", settings, rows)


def first_proof(world: World, seed: int) -> tuple[int | None, Proof | None]:
    """The first number of traces that no STRIPS model explains, and the proof."""
    log = world.log(MOST, LENGTH, seed)
    for traces in range(1, MOST + 1):
        dataset = Dataset.of(log[:traces])
        naming = understand(dataset.vocabulary.actions)
        proof = prove_inexplicable(LEARNER.summarise(dataset, naming), naming, dataset)
        if proof is not None:
            return traces, proof
    return None, None


def first_exact(world: World, seed: int, tests: int) -> int | None:
    test = world.log(tests, 100, 1000 + seed)
    log = world.log(STEPS[-1], LENGTH, seed)
    for traces in STEPS:
        train = Dataset.of(log[:traces])
        known = set(train.vocabulary.actions)
        if all(name in known for trace in test for name in trace.actions) and learn(train, LEARNER).errors(test) == 0:
            return traces
    return None


if __name__ == "__main__":
    main()
