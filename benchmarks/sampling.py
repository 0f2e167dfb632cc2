"""Sampling speed and memory for the ten domains, beside random walks through pymimir's successor generator.

    python benchmarks/sampling.py [--out results/sampling.json] [--quick]

For each domain, in a process of its own: 10^5 training traces (D=50; maze-7x7 200) and 2·10^5 test traces (D=200;
maze-7x7 400), written to disk. Then, in the same run, random walks with pymimir: applicable actions of a state, one
of them at random, its successor; the faster of its two modes (lifted, grounded) counts. A step is one domain action.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pymimir.advanced.formalism as formalism
import pymimir.advanced.search as search
from measuring import options, write_results

from trace2strips.model.vocabulary import Kind
from trace2strips.pddl import format_domain, format_problem
from trace2strips.worlds import BENCHMARKS, Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

WALK_SECONDS = 2.0
WALK_LENGTH = 50
SEED = 0
SPLITS = {"train": 100_000, "test": 200_000}
LENGTHS = {"train": 50, "test": 200}
LONG_LENGTHS = {"maze-7x7": {"train": 200, "test": 400}}  # walks in a large maze are long


def measure_sampler(name: str, scale: int) -> dict[str, Any]:
    """One domain's two datasets: seconds, steps, peak memory. Runs in a fresh process, so that the peak is its own."""
    domain = get_domain(name)
    sample(domain, SampleSettings(10, 5))  # load the compiled code
    lengths = LONG_LENGTHS.get(name, LENGTHS)
    row: dict[str, Any] = {"domain": name}
    with tempfile.TemporaryDirectory() as folder:
        training = None
        for split, traces in SPLITS.items():
            traces //= scale
            start = time.perf_counter()
            dataset = sample(domain, SampleSettings(traces, lengths[split], split, seed=SEED), like=training)
            dataset.save(Path(folder) / f"{split}.t2s")
            seconds = time.perf_counter() - start
            steps = int((dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION).sum())
            row |= {f"{split}_max_length": lengths[split], f"{split}_seconds": seconds,
                    f"{split}_traces_per_second": traces / seconds, f"{split}_steps": steps,
                    f"{split}_positions": len(dataset.tokens)}  # fmt: skip
            training = training or dataset
    row["steps_per_second"] = (row["train_steps"] + row["test_steps"]) / (row["train_seconds"] + row["test_seconds"])
    row["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return row


def measure_mimir(domain: Domain, grounded: bool, seconds: float) -> float:
    """Steps per second of random walks of WALK_LENGTH actions from one initial state."""
    parser = formalism.Parser(format_domain(domain.lifted), "", formalism.ParserOptions())
    text = format_problem(domain.lifted_problem(domain.problems(1)[0]))
    problem = parser.parse_problem(text, "", formalism.ParserOptions())
    mode = search.GroundedOptions() if grounded else search.LiftedOptions(search.LiftedKPKCOptions())
    context = search.SearchContext.create(problem, search.SearchContextOptions(mode))
    generator, states = context.get_applicable_action_generator(), context.get_state_repository()
    rng = random.Random(SEED)
    steps = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        state, metric = states.get_or_create_initial_state()
        for _ in range(WALK_LENGTH):
            action = rng.choice(generator.generate_applicable_actions(state))
            state, metric = states.get_or_create_successor_state(state, action, metric)
        steps += WALK_LENGTH
    return steps / (time.perf_counter() - start)


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--one":  # the child processes of the two measurements
        name, what = sys.argv[2], sys.argv[3]
        if what == "sampler":
            print(json.dumps(measure_sampler(name, int(sys.argv[4]))))
        else:
            out, sink = os.dup(1), os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)  # mimir prints every atom from C++
            speed = measure_mimir(get_domain(name), what == "grounded", float(sys.argv[4]))
            os.write(out, json.dumps(speed).encode())
        return
    arguments = options(__doc__)
    scale, seconds = (100, 0.2) if arguments.quick else (1, WALK_SECONDS)
    rows = []
    print(f"{'domain':16}{'train/s':>10}{'test/s':>10}{'steps/s':>14}{'mimir steps/s':>15}{'ratio':>8}{'peak MB':>9}")
    for name in BENCHMARKS:
        row = child(name, "sampler", scale)
        row["mimir_steps_per_second"] = max(child(name, mode, seconds) for mode in ("lifted", "grounded"))
        row["ratio"] = row["steps_per_second"] / row["mimir_steps_per_second"]
        rows.append(row)
        print(
            f"{name:16}{row['train_traces_per_second']:10,.0f}{row['test_traces_per_second']:10,.0f}"
            f"{row['steps_per_second']:14,.0f}{row['mimir_steps_per_second']:15,.0f}{row['ratio']:8,.0f}"
            f"{row['peak_memory_mb']:9,.0f}",
            flush=True,
        )
    ratio, peak = min(row["ratio"] for row in rows), max(row["peak_memory_mb"] for row in rows)
    mean = np.exp(np.mean(np.log([row["ratio"] for row in rows])))
    print(f"smallest ratio {ratio:.0f} (bar: 5), geometric mean {mean:.0f}; largest peak {peak:.0f} MB (bar: 1000)")
    settings = {
        "seed": SEED, "traces": {split: count // scale for split, count in SPLITS.items()}, "max_length": LENGTHS,
        "max_length_of": LONG_LENGTHS, "init": "atoms", "suffix": "goal", "threads": numba.get_num_threads(),
        "mimir": {"threads": 1, "walk_length": WALK_LENGTH, "seconds": seconds, "seed": SEED},
    }  # fmt: skip
    write_results(arguments.out, "python benchmarks/sampling.py", settings, rows)


def child(name: str, what: str, amount: float) -> Any:
    words = [sys.executable, __file__, "--one", name, what, str(amount)]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
