"""Plan lengths of the 100 planning problems per domain on the hidden model, beside the paper's.

    python benchmarks/problem_difficulty.py [--out results/problem_difficulty.json]

Mimir, GBFS with FF, at most 10^6 generated states, as in the paper. The paper's column is that of the SB Transformer
with init-atoms, whose extracted models equal the hidden ones.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean

import pymimir.advanced.formalism as formalism
import pymimir.advanced.search as search
from measuring import options, write_results

from trace2strips.domains import BENCHMARKS, get_domain
from trace2strips.pddl import format_model, format_model_problem

PROBLEMS, SEED, MAX_STATES = 100, 0, 10**6
PAPER = json.loads((Path(__file__).parent.parent / "results" / "paper.json").read_text())["extended_planning"]


def plan_length(parser: formalism.Parser, problem_text: str) -> tuple[int, int]:
    """Length of the plan and number of generated states."""
    problem = parser.parse_problem(problem_text, "", formalism.ParserOptions())
    context = search.SearchContext.create(
        problem, search.SearchContextOptions(search.LiftedOptions(search.LiftedKPKCOptions()))
    )
    settings = search.GBFSEagerOptions()
    settings.max_num_states = MAX_STATES
    settings.event_handler = handler = search.DefaultGBFSEagerEventHandler(problem, True)
    heuristic = search.FFHeuristic.create(search.LiftedGrounder(problem))
    result = search.find_solution_gbfs_eager(context, heuristic, settings)
    assert result.status.name == "SOLVED", result.status.name
    return len(result.plan.get_actions()), handler.get_statistics().get_num_generated()


@contextmanager
def silent_stdout() -> Iterator[None]:
    """Mimir prints every atom from C++; only the file descriptor itself can be silenced."""
    sys.stdout.flush()
    saved = os.dup(1)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)


def measure(name: str) -> dict[str, object]:
    domain = get_domain(name)
    with silent_stdout():
        parser = formalism.Parser(format_model(domain.model), "", formalism.ParserOptions())
        plans = [plan_length(parser, format_model_problem(problem)) for problem in domain.problems(PROBLEMS, seed=SEED)]
    lengths = [length for length, _ in plans]
    theirs = PAPER[name]["SB atoms"]
    ours, paper = mean(lengths), theirs["mean_length"]["mean"]
    return {
        "domain": name, "mean_length": ours, "paper_mean_length": paper, "ratio": ours / paper,
        "max_length": max(lengths), "mean_states": mean(n for _, n in plans),
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
