"""Is the lifted domain that `windows` learns from the small size the hidden one, and do its plans work on large sizes?

    python benchmarks/windows_equivalence.py --out results/windows_equivalence.json

Proven equivalent, on each of three sizes: from all initial states of two large draws the learned and the hidden model
accept the same traces, shown by looking at all pairs of states that can be reached, or by invariants
(docs/equivalence.md). Plans: the learned domain is grounded over the actions of the large size, those that can be tried
there; 100 problems are planned with it by Fast Downward, and each plan is executed in the hidden world. Models that are
equal are planned with once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from measuring import options, write_results

from trace2strips.judging.equivalence import EQUIVALENT, compare
from trace2strips.judging.plan_outcomes import Judged, PlanningReport, align, judge
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import choose_starts
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.learners.windows.learner import Windows
from trace2strips.model.strips import StripsModel
from trace2strips.model.world import WorldModel
from trace2strips.planning.planners.fast_downward import Search
from trace2strips.planning.plans import PlanResult
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SIZES = {  # learned from, compared on, planned on
    "blocksworld-5b": (("blocksworld:4", "blocksworld:5", "blocksworld:6"), ("blocksworld:20",)),
    "ferry-5c": (("ferry:3x3", "ferry:4x4", "ferry:5x5"), ("ferry:12x8",)),
    "npuzzle-5t": (("npuzzle:2x2", "npuzzle:2x3", "npuzzle:3x3"), ("npuzzle:4x4", "npuzzle:5x5")),
    "maze-5x5": (("maze:3x3", "maze:5x5", "maze:7x7"), ("maze:9x9",)),
    "logistics-3c": (("logistics:2x1", "logistics:3x2", "logistics:4x2"), ("logistics:8x8",)),
}
TRACES = (20, 100)
SEEDS = range(5)
PROBLEMS = 100
STARTS = 20_000
SEARCH = "let(hff, ff(), lazy_greedy([hff], preferred=[hff]))"  # hundreds of times as fast on 20 blocks as without
LEARNER = Windows(separator="_")


def main() -> None:
    arguments = options(__doc__)
    sizes = {"blocksworld:3": (("blocksworld:3",), ("blocksworld:4",))} if arguments.quick else SIZES
    problems = 5 if arguments.quick else PROBLEMS
    rows = []
    done: dict[tuple[str, StripsModel], dict[str, Any]] = {}
    for small, (compared, planned) in sizes.items():
        for traces in TRACES:
            for seed in range(1) if arguments.quick else SEEDS:
                train = sample(get_domain(small), SampleSettings(traces, 50, suffix="none", seed=seed))
                learned = learn(train, LEARNER)
                for size in compared:
                    row = {"domain": small, "traces": traces, "seed": seed, "size": size}
                    rows.append(row | equivalence(learned, get_domain(size)))
                    print(rows[-1], flush=True)
                for size in planned:
                    world = grounded(learned, get_domain(size))
                    if (size, world.model) not in done:
                        done[size, world.model] = plan_all(world, get_domain(size), problems)
                    row = {"domain": small, "traces": traces, "seed": seed, "size": size}
                    rows.append(row | done[size, world.model])
                    print(rows[-1], flush=True)
    settings = {"sizes": sizes, "search": SEARCH, "starts": STARTS, "train_length": 50, "problems": problems}
    write_results(arguments.out, "python benchmarks/windows_equivalence.py", settings, rows)


def grounded(learned: Learned, domain: Domain) -> WorldModel:
    return LEARNER.world_over(learned, domain.model.action_index, domain.model.atoms)


def equivalence(learned: Learned, domain: Domain) -> dict[str, Any]:
    begin = time.perf_counter()
    world = grounded(learned, domain)
    ours, hidden = Source("learned", world.model, world, None, learned), Source(domain.name, domain.model, None, domain)
    starts, further = choose_starts(ours, hidden, count=STARTS)
    found = compare(world.model, domain.model, starts, further=further)
    return {
        "verdict": found.verdict, "proven": found.verdict == EQUIVALENT, "how": list(found.how), "pairs": found.pairs,
        "states": domain.family.count_states(), "starts": found.starts,
        "trace": None if found.trace is None else list(found.trace), "refused_by": found.refused_by,
        "start": list(found.start_b), "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def plan_all(world: WorldModel, domain: Domain, problems: int, seconds: float = 300) -> dict[str, Any]:
    """Plan in the learned world, execute in the hidden one."""
    number = world.model.atom_index

    def numbers(atoms: Iterable[str]) -> list[int]:
        return sorted(map(number.__getitem__, atoms))

    actions = [(numbers(a.pre), numbers(a.add), numbers(a.delete)) for a in world.model.actions]
    search = Search(len(number), actions, optimal=False)
    search.command[search.command.index("--search") + 1] = SEARCH
    judged = []
    for problem in domain.problems(problems):
        ours = align(problem, world)
        begin = time.perf_counter()
        answer = search.solve(numbers(ours.init), numbers(ours.goal), None, seconds)
        names = None if answer.plan is None else tuple(world.model.actions[i].name for i in answer.plan)
        result = PlanResult(answer.status, names, answer.states, time.perf_counter() - begin, answer.message)
        judged.append(Judged(problem.name, judge(problem, result), result))
    return PlanningReport(tuple(judged)).row()


if __name__ == "__main__":
    main()
