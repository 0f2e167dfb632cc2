"""Plan lengths of the 100 planning problems per domain on the hidden model, beside the paper's.

    python benchmarks/problem_difficulty.py [--out results/problem_difficulty.json]

Mimir, GBFS with FF, at most 10^6 generated states, as in the paper. The paper's column is that of the SB Transformer
with init-atoms, whose extracted models equal the hidden ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

from measuring import options, write_results

from trace2strips.planning.plans import Limits, Planning
from trace2strips.worlds import BENCHMARKS, get_domain

PROBLEMS, SEED, MAX_STATES = 100, 0, 10**6
PAPER = json.loads((Path(__file__).parent.parent / "results" / "paper.json").read_text())["extended_planning"]


def measure(name: str) -> dict[str, object]:
    domain = get_domain(name)
    problems = domain.problems(PROBLEMS, seed=SEED)
    with Planning("mimir", limits=Limits(states=MAX_STATES)) as planning:
        results = planning.solve_all(problems)
    lengths = []
    for problem, result in zip(problems, results, strict=True):
        assert result.plan is not None, result
        assert problem.solved_by(result.plan)
        lengths.append(len(result.plan))
    theirs = PAPER[name]["SB atoms"]
    ours, paper = mean(lengths), theirs["mean_length"]["mean"]
    return {
        "domain": name, "mean_length": ours, "paper_mean_length": paper, "ratio": ours / paper,
        "max_length": max(lengths), "mean_states": mean(result.states or 0 for result in results),
        "paper_mean_states": theirs["generated_states"]["mean"],
    }  # fmt: skip


def main() -> None:
    arguments = options(__doc__)
    rows = []
    for name in BENCHMARKS:
        rows.append(measure(name))
        print(json.dumps(rows[-1]), flush=True)
    settings = {
        "problems": PROBLEMS, "seed": SEED, "init": "atoms", "planner": "mimir GBFS FF", "max_states": MAX_STATES,
        "threads": 1,
    }  # fmt: skip
    write_results(arguments.out, "python benchmarks/problem_difficulty.py", settings, rows)
    far = [row["domain"] for row in rows if abs(float(str(row["ratio"])) - 1) > 0.25]
    print(
        "mean plan length within 25 % of the paper's:", "all ten" if not far else f"not in {', '.join(map(str, far))}"
    )


if __name__ == "__main__":
    main()
