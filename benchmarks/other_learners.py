"""Learners that work with ground actions, in worlds of 50 to 2,300 of them, beside `windows`.

    python benchmarks/other_learners.py [--out results/other_learners.json] [--quick]

5,000 traces (D=50, init-atoms, final values of goal atoms). Before the work each learner says how long it will take
(`expected_seconds`, what `learn` prints); after LIMIT seconds of the processor it is ended. What was learned is tested
on 500 test traces (D=200) and plans 5 problems. Compiled code is loaded before the clock starts. The command goes on
where it was stopped; a part of it: --learner windows --world npuzzle:5x5
"""

from __future__ import annotations

import json
import math
import resource
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from measuring import Growing, options

from trace2strips.judging.own_world import over_instance
from trace2strips.judging.plan_outcomes import Outcome, evaluate_planning
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.model.vocabulary import Kind
from trace2strips.planning.plans import Limits
from trace2strips.traces import Dataset
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

LEARNERS = ("windows", "completion", "strips")
WORLDS = ("blocksworld:5", "ferry:5x5", "blocksworld:12", "ferry:20x10", "logistics:8x8", "npuzzle:5x5", "ferry:40x30")
TRACES, TEST_TRACES, PROBLEMS = 5_000, 500, 5
LIMIT = 120  # seconds of the processor, on one thread
LATE = 5  # of testing and planning, times as long


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        return
    arguments = options(__doc__, learner=LEARNERS, world=WORLDS)
    traces, limit = (50, 20) if arguments.quick else (TRACES, LIMIT)
    learners, worlds = (LEARNERS[:2], ("ferry:3x3",)) if arguments.quick else (arguments.learner, arguments.world)
    settings = {"traces": traces, "test_traces": TEST_TRACES, "problems": PROBLEMS, "limit": limit, "threads": 1}
    command = "python benchmarks/other_learners.py --out results/other_learners.json"
    file = Growing(arguments.out, command, settings, ("learner", "domain"))
    for world in worlds:
        dataset = sampled(world, traces)
        tokens = dataset.tokens[dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION]
        size = {"attempts": len(tokens), "ground_actions": len(dataset.vocabulary.actions)}
        for learner in learners:
            if file.find(learner=learner, domain=world) is None:
                expected = make_learner(learner).expected_seconds(dataset)
                row = {"learner": learner, "domain": world, **size, "expected_seconds": expected}
                print(file.add(row | measured(learner, world, traces, limit)), flush=True)


def sampled(world: str, traces: int) -> Dataset:
    return sample(get_domain(world), SampleSettings(traces, 50, suffix="goal"))


def measured(learner: str, world: str, traces: int, limit: int) -> dict[str, Any]:
    """In a process of its own, which tells first how long learning took. Not done in time: no seconds."""
    words = [sys.executable, __file__, "--child", learner, world, str(traces), str(limit)]
    with tempfile.TemporaryFile("w+") as out:
        ended = subprocess.run(words, stdout=out, check=False).returncode
        if ended not in (0, -signal.SIGXCPU):
            raise SystemExit(f"{learner} on {world} failed: exit code {ended}")
        out.seek(0)
        lines = out.read().splitlines()
    found: dict[str, Any] = {"seconds": None, "test_accuracy": None, "plans_right": None}
    for line in lines:
        found |= json.loads(line)
    return found


def child(learner: str, world: str, traces: int, limit: int) -> None:
    domain, dataset = get_domain(world), sampled(world, traces)
    learn(sampled("ferry:2x2", 50), learner)  # load the compiled code
    end_after(limit)
    clock = time.perf_counter()
    learned = learn(dataset, learner)
    print(
        json.dumps({"seconds": time.perf_counter() - clock, "train_errors": learned.figures.train_errors}), flush=True
    )
    end_after(LATE * limit)
    test = sample(domain, SampleSettings(TEST_TRACES, 200, "test", suffix="goal", seed=1), like=dataset)
    print(json.dumps({"test_accuracy": learned.accuracy(test)}), flush=True)
    problems = domain.problems(PROBLEMS)
    report = evaluate_planning(over_instance(learned, domain), domain, problems=problems, limits=Limits(seconds=20))
    print(json.dumps({"plans_right": report.count(Outcome.CORRECT)}), flush=True)


def end_after(seconds: int) -> None:
    """This process ends when it has worked so long from now on."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + seconds, most))


if __name__ == "__main__":
    main()
