"""The planners side by side on the same problems, and a worker's memory over 1,000 problems.

    python benchmarks/planners.py [--out results/planners.json] [--quick]

100 blocksworld-8b problems (seed 0) with each planner's fast search and with Fast Downward's optimal one, limits as by
default; every plan is validated. Milliseconds are wall clock per problem over the whole set, the start of the worker
counted apart. Then 1,000 problems in a row in one worker: its resident memory at problem 100 and at the end.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

from measuring import options, write_results

from trace2strips.model.strips import StripsModel, StripsProblem
from trace2strips.planning.plans import PLANNERS, Limits, Planning, Status
from trace2strips.worlds import get_domain

DOMAIN, SEED = "blocksworld-8b", 0
SEARCHES = [*((name, False) for name in PLANNERS), ("fast-downward", True)]
TRIVIAL = StripsProblem(StripsModel((), ()), frozenset(), frozenset())


def compare(name: str, optimal: bool, problems: list[StripsProblem]) -> dict[str, Any]:
    planner = PLANNERS[name]
    start = time.perf_counter()
    with Planning(name, optimal) as planning:
        planning.solve(TRIVIAL)
        ready = time.perf_counter()
        results = planning.solve_all(problems)
        end = time.perf_counter()
    solved = [result for result in results if result.status is Status.SOLVED]
    for problem, result in zip(problems, results, strict=True):
        assert result.plan is None or problem.solved_by(result.plan)
    return {
        "planner": name,
        "search": planner.optimal_search if optimal else planner.search,
        "problems": len(problems),
        "solved": len(solved),
        "mean_length": mean(len(result.plan or ()) for result in solved),
        "mean_states": mean(result.states or 0 for result in solved),
        "ms_per_problem": 1000 * (end - ready) / len(problems),
        "start_ms": 1000 * (ready - start),
    }


def memory(name: str, count: int) -> dict[str, Any]:
    problems = get_domain(DOMAIN).problems(count, seed=SEED)
    with Planning(name) as planning:
        planning.solve_all(problems[: count // 10])
        (worker,) = planning.processes
        early = resident_mb(worker)
        planning.solve_all(problems[count // 10 :])
        assert planning.processes == (worker,), "the worker was replaced"
        return {"planner": name, "in_a_row": count, "early_mb": early, "late_mb": resident_mb(worker)}


def resident_mb(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def main() -> None:
    arguments = options(__doc__)
    problems = get_domain(DOMAIN).problems(5 if arguments.quick else 100, seed=SEED)
    rows = []
    for name, optimal in SEARCHES:
        rows.append(compare(name, optimal, problems))
        print(json.dumps(rows[-1]), flush=True)
    rows.append(memory("mimir", 50 if arguments.quick else 1000))
    print(json.dumps(rows[-1]), flush=True)
    settings = {"domain": DOMAIN, "seed": SEED, "limits": asdict(Limits()), "workers": 1}
    write_results(arguments.out, "python benchmarks/planners.py", settings, rows)


if __name__ == "__main__":
    main()
