"""Is each learned model equivalent to the hidden one? The measurements behind results/equivalence.json.

    python benchmarks/equivalence.py [--out results/equivalence.json] [--domain D ...] [--encoding E ...] [--seeds 0]

10^5 training traces (D=50; maze-7x7 200), preset fast, factored form, as in the experiment `main`. The models are
compared from 10^5 generated initial states (encoding atoms), or from the named ones, over actions and the final values
that traces tell (test-p). Where invariants settle it before the product is exhausted, the search goes on by itself to
MAX_PAIRS pairs, to see the same another way. Rows that the file has already are kept.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measuring import write_results

from trace2strips.experiments.provenance import commit
from trace2strips.judging.equivalence import EXHAUSTED, compare
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import find_starts, with_final_values
from trace2strips.learners.learning import learn
from trace2strips.worlds import BENCHMARKS, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

MAX_PAIRS = 12_000_000
SETTINGS = {"traces": 100_000, "preset": "fast", "starts": 100_000, "max_pairs": MAX_PAIRS}
KEY = ("domain", "encoding", "seed")


def perform(name: str, encoding: str, seed: int) -> dict[str, Any]:
    domain = get_domain(name)
    length = 200 if name == "maze-7x7" else 50
    learned = learn(sample(domain, SampleSettings(100_000, length, "train", encoding, "goal", seed)), seed=seed)
    a, b = Source("hidden", domain.model, domain=domain), Source("learned", learned.model, learned.world)
    clock = time.perf_counter()
    models = with_final_values(a, b)
    starts, further = find_starts(a, b, count=100_000, seed=seed)
    result = compare(*models, starts, seed=seed, further=further)
    seconds = time.perf_counter() - clock
    row = {"domain": name, "encoding": encoding, "seed": seed, "train_errors": learned.figures.train_errors,
           "reachable_states": domain.family.count_states(), **asdict(result), "seconds": seconds}  # fmt: skip
    for key in ("mapping", "mapping_back"):
        row[key] = [entry for entry in row[key] if entry["atom"] != entry["other"]]  # the rest equal their namesakes
    if result.how and EXHAUSTED not in result.how:
        clock = time.perf_counter()
        again = compare(*models, starts, MAX_PAIRS, seed, exhaust=True)
        row |= {"searched_pairs": again.pairs, "searched_how": again.how, "search_seconds": time.perf_counter() - clock}
    return row | {"commit": commit()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--domain", nargs="+", choices=BENCHMARKS, default=BENCHMARKS)
    parser.add_argument("--encoding", nargs="+", default=["atoms"])
    parser.add_argument("--seeds", default="0")
    arguments = parser.parse_args()
    old = arguments.out is not None and arguments.out.exists()
    rows = json.loads(arguments.out.read_text())["rows"] if old else []
    done = {tuple(row[name] for name in KEY) for row in rows}
    for encoding in arguments.encoding:
        for name in arguments.domain:
            for seed in map(int, arguments.seeds.split(",")):
                if (name, encoding, seed) in done:
                    continue
                row = perform(name, encoding, seed)
                rows.append(row)
                searched = f", search {row['searched_how']} {row['searched_pairs']:,}" if "searched_how" in row else ""
                print(
                    f"{name:15} {encoding:10} seed {seed}: {row['verdict']} {row['how']} {row['pairs']:,} pairs, "
                    f"{row['starts']:,} starts, {row['further']:,} further, {row['added']} added, "
                    f"{row['seconds']:.1f} s{searched} {row['trace'] or ''}",
                    flush=True,
                )
                write_results(arguments.out, "python benchmarks/equivalence.py", SETTINGS, rows)


if __name__ == "__main__":
    main()
