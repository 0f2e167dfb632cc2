"""Worlds that are not among the five: one command each, from PDDL files to a model that is proven or shown wrong.

    python benchmarks/foreign.py --out results/foreign.json

`trace2strips learn --domain benchmarks/domains/NAME/domain.pddl --problem …/p1.pddl … --traces 300 --seed S` in a
process of its own, for each domain and three seeds. From its own-world.json: accuracy on longer traces from starts held
back, whether the model is equivalent to the hidden one in every problem, how many problems were planned rightly, and
seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import options, write_results

DOMAINS = Path(__file__).parent / "domains"
SEEDS = (10, 11, 12)  # others than those with which the way of sampling was found
TRACES = 300
KEPT = ("traces", "attempts", "refused", "test_traces", "test_accuracy", "certain_share", "verdict", "plans",
        "plans_right", "learning_seconds")  # fmt: skip


def main() -> None:
    arguments = options(__doc__)
    names = ["hanoi"] if arguments.quick else sorted(folder.name for folder in DOMAINS.iterdir())
    rows: list[dict[str, Any]] = []
    for name in names:
        for seed in SEEDS[:1] if arguments.quick else SEEDS:
            rows.append(measure(name, seed, 30 if arguments.quick else TRACES))
            print(rows[-1], flush=True)
    write_results(arguments.out, "python benchmarks/foreign.py", {"traces": TRACES, "seeds": list(SEEDS)}, rows)


def measure(name: str, seed: int, traces: int) -> dict[str, Any]:
    folder = DOMAINS / name
    problems = [word for path in sorted(folder.glob("p*.pddl")) for word in ("--problem", str(path))]
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary) / "run"
        words = ["learn", "--domain", str(folder / "domain.pddl"), *problems, "--traces", str(traces)]
        clock = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "trace2strips", *words, "--seed", str(seed), "--out", str(out)],
            check=True, capture_output=True,
        )  # fmt: skip
        seconds = time.perf_counter() - clock
        found = json.loads((out / "own-world.json").read_text())
    row = {"domain": name, "seed": seed, **{key: found[key] for key in KEPT}, "seconds": seconds}
    row["actions"] = [one["actions"] for one in found["instances"]]
    row["different"] = [one["comparison"]["trace"] for one in found["instances"] if one["comparison"]["trace"]]
    return row


if __name__ == "__main__":
    main()
