"""AMLGym's benchmark: `windows` from action names and initial atoms alone, beside learners that see all states.

A case is learned on the three smallest problems of kind `learning`, from traces of up to 50 attempts, half of them
refused. All learners of a case get the same traces: `windows` the names, what worked, and the initial atoms; AMLGym's
learners the actions that worked, with the state before and after each. Then
- `windows` is tested on longer traces of three larger problems, compared with the hidden domain in the three problems
  that it learned from, and plans the five largest problems of kind `solving`;
- for the first seed everybody is scored by AMLGym's own metrics.
Each case runs in a process of its own, which can be killed and whose memory can be told.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trace2strips.errors import UserError, printable
from trace2strips.experiments.provenance import commit
from trace2strips.judging.equivalence import DIFFERENT, EQUIVALENT
from trace2strips.judging.own_world import (
    MAX_PAIRS,
    WALK,
    compare_instance,
    never_worked,
    over_instance,
    plan_problem,
    test_traces,
    training_traces,
)
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.learners.windows.lifted_learner import lifted_of
from trace2strips.pddl import format_domain, parse_domain
from trace2strips.peers.amlgym_files import amlgym_version, domain_file, domains_with_problems, problem_files
from trace2strips.peers.cases import OURS, Case, put_row, read_rows
from trace2strips.peers.scoring import score, silence
from trace2strips.peers.signatures import in_words_of
from trace2strips.peers.trajectories import Trajectory, trajectories
from trace2strips.planning.plans import Limits, Planning
from trace2strips.processes import die_with_parent
from trace2strips.traces import Dataset
from trace2strips.worlds import World
from trace2strips.worlds.pddl_files import given_problems, world_from_files

PEERS = {
    "sam": "SAM",
    "offlam": "OffLAM",
    "nolam": "NOLAM",
    "rosame": "ROSAME",
}  # those of AMLGym that learn from traces
LEARNERS = (OURS, *PEERS)
TRACES = (20, 100, 1_000)
SEEDS = (0, 1, 2)
SCORED_SEED = 0  # AMLGym's metrics take longer than learning
PROBLEMS = 3  # to learn from
TESTED = slice(3, 6)  # problems of kind `solving` for longer traces
PLANNED = slice(5, 10)  # and for plans
SECONDS = 300  # of the processor, for one case
WAITING = 4  # times as long by the clock, since other work may be going on, and planners wait


def all_cases() -> list[Case]:
    """Those of `windows` first: they are quick."""
    names = domains_with_problems()
    ours = [Case(d, n, s) for n in TRACES for s in SEEDS for d in names]
    told = [Case(d, TRACES[1], SCORED_SEED, final=True) for d in names]
    theirs = [Case(d, n, SCORED_SEED, peer) for n in TRACES for peer in PEERS for d in names]
    return ours + told + theirs


def training_world(name: str) -> World:
    return world_from_files(domain_file(name), problem_files(name, "learning")[:PROBLEMS], WALK)


# --- one case, in a process of its own -------------------------------------------------------------------------------


def measure(case: Case) -> Iterator[dict[str, Any]]:
    """What is known, more and more of it: AMLGym's metrics come last and may take too long. Works in the current
    directory."""
    world = training_world(case.domain)
    train = training_traces(world, case.traces, case.seed, True, case.suffix)
    found, text = measure_windows(case, world, train) if case.learner == OURS else measure_peer(case, world, train)
    yield found
    if case.seed == SCORED_SEED and not case.final:
        yield found | scored(text, case.domain)


def measure_windows(case: Case, world: World, train: Dataset) -> tuple[dict[str, Any], str]:
    learner = make_learner(OURS).told_by(train)
    with timed() as found:
        learned = learn(train, learner, seed=case.seed)
    larger = world_from_files(domain_file(case.domain), problem_files(case.domain, "solving")[TESTED], WALK)
    figures = learned.tested_on(test_traces(larger, train, learner, case.seed, case.suffix)).figures
    found |= {
        "explainable": learned.summary is not None and not learned.summary.inexplicable,
        "labels_taken_for_wrong": figures.wrong_labels,
        "arity": figures.arity,
        "certain_share": figures.certain_share,
        "wrong_certificates": figures.inexplicable,
        "test_accuracy": figures.test_accuracy,
        "never_worked": list(never_worked(world, train)),
    }
    verdicts = []
    for domain in world.instances:
        verdict = compare_instance(learned, over_instance(learned, domain), domain, case.seed, MAX_PAIRS)
        verdicts.append(verdict.verdict)
        if verdict.verdict == DIFFERENT and "counterexample" not in found:
            found["counterexample"] = list(verdict.trace or ())
    found["verdicts"] = verdicts
    found["equivalent"] = all(verdict == EQUIVALENT for verdict in verdicts)
    large = world_from_files(domain_file(case.domain), problem_files(case.domain, "solving")[PLANNED])
    with Planning("fast-downward", limits=Limits(seconds=20)) as planning:
        outcomes = [
            plan_problem(problem, over_instance(learned, domain), planning)
            for domain in large.instances
            for problem in given_problems(domain)
        ]
    found |= {"plans": len(outcomes), "plans_right": sum(outcome.right for outcome in outcomes)}
    signature = parse_domain(domain_file(case.domain).read_text())
    starts_alone = [replace(t, states=t.states[:1] * len(t.states)) for t in trajectories(world, train)]
    return found, format_domain(in_words_of(signature, lifted_of(learned), starts_alone))


def measure_peer(case: Case, world: World, train: Dataset) -> tuple[dict[str, Any], str]:
    from amlgym.algorithms import get_algorithm
    from amlgym.util.util import empty_domain

    paths, problems = [], {path.name: path.read_text() for path in problem_files(case.domain, "learning")[:PROBLEMS]}
    for number, trajectory in enumerate(trajectories(world, train)):
        paths.append(Path(f"{number}_traj"))
        paths[-1].write_text(str(Trajectory(trajectory.states, trajectory.actions)))
        Path(f"{number}_prob.pddl").write_text(problems[trajectory.problem])  # ROSAME looks for the objects there
    with silence():
        signature = empty_domain(str(domain_file(case.domain)), "signature.pddl")
        learner = get_algorithm(PEERS[case.learner])
        with timed() as found:
            text = learner.learn(signature, [str(path) for path in paths])
    return found, text


@contextlib.contextmanager
def timed() -> Iterator[dict[str, Any]]:
    """What learning takes: by the clock, by the processor (the same on a busy machine), and memory."""
    found: dict[str, Any] = {}
    clock, processor = time.perf_counter(), time.process_time()
    yield found
    found |= {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - processor}
    found["memory_mb"] = peak_memory()


def scored(text: str, name: str) -> dict[str, Any]:
    path = Path("learned.pddl")
    path.write_text(text)
    try:
        return score(path.resolve(), name, problem_files(name, "solving")[PLANNED]).row()
    except Exception as error:  # whatever AMLGym or a planner beneath it raises is told in the table
        return {"not_scored": one_line(error)}


def peak_memory() -> int:
    """Of this process so far, with all that it has imported."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


# --- all cases -------------------------------------------------------------------------------------------------------


def perform(case: Case, seconds: float = SECONDS) -> dict[str, Any]:
    """The row of a case; one that fails or takes too long has a row that says so."""

    def limited() -> None:
        die_with_parent()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))

    words = [sys.executable, "-m", "trace2strips.peers.outside", json.dumps(asdict(case))]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=limited,
        ) as process,
    ):  # fmt: skip
        try:
            out, err = process.communicate(timeout=WAITING * seconds)
            in_time = process.returncode != -signal.SIGXCPU
        except subprocess.TimeoutExpired:
            end(process)
            out, err = process.communicate()
            in_time = False
        finally:
            end(process)
    if in_time:
        lines = err.strip().splitlines() or ["no word"]
        found = json.loads(out.splitlines()[-1]) if process.returncode == 0 else {"failed": lines[-1][:200]}
    else:
        late = f"not finished in {seconds:.0f} s"
        found = {**json.loads(out.splitlines()[-1]), "not_scored": late} if out.endswith("\n") else {"failed": late}
    return row_of(case, found)


def row_of(case: Case, found: dict[str, Any]) -> dict[str, Any]:
    made = {"commit": commit(), "date": datetime.now(UTC).date().isoformat(), "amlgym": amlgym_version()}
    return asdict(case) | found | made


def end(process: subprocess.Popen[str]) -> None:
    """With the planners that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def execute(
    cases: Sequence[Case], results: Path, limit_seconds: float | None = None
) -> Iterator[tuple[Case, dict[str, Any]]]:
    """What is not in `results` yet; each row is written as soon as it is there."""
    known = read_rows(results)
    clock = time.monotonic()
    for case in cases:
        if case in known:
            continue
        if limit_seconds is not None and time.monotonic() - clock > limit_seconds:
            return
        said = too_long(case, known)
        row = row_of(case, {"failed": said}) if said else perform(case)
        known[case] = row
        put_row(results, row)
        yield case, row


def too_long(case: Case, known: Mapping[Case, Mapping[str, Any]]) -> str | None:
    """Why a case is not tried: with fewer traces it did not finish or, for a learner that reads every state of every
    trace, took so long that these would take longer than we wait."""
    for traces in (n for n in TRACES if n < case.traces):
        row = known.get(replace(case, traces=traces), {})
        if "failed" in row and row["failed"].startswith(("not finished", "not tried")):
            return f"not tried: {row['failed'].removeprefix('not tried: ')} with {traces} traces"
        took = row.get("cpu_seconds", row.get("seconds", 0))
        if case.learner != OURS and took * case.traces / traces > SECONDS:
            return f"not tried: {took:.0f} s with {traces} traces"
    return None


def summary(row: dict[str, Any]) -> str:
    """A row for people who wait for it."""
    if "failed" in row:
        return printable(row["failed"])
    said = [f"learned in {row['seconds']:.1f} s"]
    if "test_accuracy" in row:
        said += [f"test accuracy {row['test_accuracy']:.3f}", f"certain {row['certain_share']:.0%}"]
        said += [
            "equivalent" if row["equivalent"] else "not equivalent",
            f"plans {row['plans_right']} of {row['plans']}",
        ]
    if row.get("syntax_precision") is not None:
        said.append(
            f"AMLGym: text {row['syntax_precision']:.2f} / {row['syntax_recall']:.2f}, solved {row['solved']:.0%}"
        )
    return ", ".join(said)


def chosen_cases(
    domains: Sequence[str], learners: Sequence[str], seeds: Sequence[int], traces: int | None
) -> list[Case]:
    for name in domains:
        domain_file(name)
    found = [
        case
        for case in all_cases()
        if (not domains or case.domain in domains) and (not learners or case.learner in learners)
        if (not seeds or case.seed in seeds) and traces in (None, case.traces)
    ]
    if not found:
        raise UserError(
            "outside has no such case", hint=f"learners {', '.join(LEARNERS)}; traces {', '.join(map(str, TRACES))}"
        )
    return found


if __name__ == "__main__":
    for so_far in measure(Case(**json.loads(sys.argv[1]))):
        print(json.dumps(so_far), flush=True)
