"""Every planner, fast and optimal, against breadth-first search; limits; and planners that crash or are not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY_NAME, models

from trace2strips.errors import PlannerError
from trace2strips.model.strips import State, StripsAction, StripsModel, StripsProblem
from trace2strips.pddl import encode_name, format_model, format_model_problem
from trace2strips.planning.planners import Planner
from trace2strips.planning.plans import PLANNERS, Limits, Planning, Status, solve
from trace2strips.worlds import get_domain

OTHERS = [name for name, planner in PLANNERS.items() if planner.package]  # that are packages of their own
SEARCHES = [(name, optimal) for name in PLANNERS for optimal in (False, True)]


@pytest.fixture(scope="module", params=SEARCHES, ids=lambda search: f"{search[0]}{'-optimal' * search[1]}")
def planning(request: pytest.FixtureRequest) -> Iterator[Planning]:
    name, optimal = request.param
    with Planning(name, optimal, Limits(seconds=60)) as shared:
        yield shared


def shortest_plan(problem: StripsProblem) -> list[str] | None:
    """Breadth-first search, to compare with."""
    plans: dict[State, list[str]] = {problem.init: []}
    queue = [problem.init]
    for state in queue:  # grows while it is walked
        if problem.goal <= state:
            return plans[state]
        for action in problem.model.actions:
            if action.applicable(state) and action.progress(state) not in plans:
                plans[action.progress(state)] = [*plans[state], action.name]
                queue.append(action.progress(state))
    return None


def check(planning: Planning, problem: StripsProblem) -> None:
    expected = shortest_plan(problem)
    result = planning.solve(problem)
    assert result.message == ""
    if expected is None:
        assert (result.status, result.plan) == (Status.UNSOLVABLE, None)
        return
    assert result.status is Status.SOLVED
    assert result.plan is not None
    assert problem.solved_by(result.plan)
    if planning.optimal:
        assert len(result.plan) == len(expected)


@st.composite
def problems(draw: st.DrawFn) -> StripsProblem:
    model = draw(models(names=ANY_NAME))
    states = st.frozensets(st.sampled_from(model.atoms)) if model.atoms else st.just(frozenset())
    return StripsProblem(model, draw(states), draw(states), draw(ANY_NAME))


@given(problem=problems())
@settings(max_examples=60)
def test_random_problems(planning: Planning, problem: StripsProblem) -> None:
    check(planning, problem)


def problem(actions: list[StripsAction], init: str, goal: str, atoms: str = "pqr") -> StripsProblem:
    return StripsProblem(StripsModel(tuple(atoms), tuple(actions)), frozenset(init), frozenset(goal))


def action(name: str, pre: str = "", add: str = "", delete: str = "") -> StripsAction:
    return StripsAction(name, frozenset(pre), frozenset(add), frozenset(delete))


EDGES = {
    "a goal that nobody adds": problem([action("a", "p", "q")], "p", "r"),
    "a goal atom that nobody touches": problem([action("a", "p", "q")], "pr", "qr"),
    "reachable one by one, not together": problem([action("a", "p", "q", "p"), action("b", "p", "r", "p")], "p", "qr"),
    "a goal that holds": problem([action("a", "p", "q")], "pr", "r"),
    "no goal": problem([action("a", "p", "q")], "p", ""),
    "no precondition": problem([action("a", "", "q", "p")], "p", "q"),
    "no effects": problem([action("a"), action("b", "p"), action("c", "p", "q")], "p", "q"),
    "adds its own precondition": problem([action("a", "p", "pq")], "p", "pq"),
    "adds nothing but its own precondition": problem([action("a", "p", "p")], "p", "q"),
    "deletes only": problem([action("a", "p", "", "p")], "p", "q"),
    "deletes what is not there": problem([action("a", "p", "q", "r")], "p", "q"),
    "no actions, solved": problem([], "p", "p"),
    "no actions, unsolvable": problem([], "p", "q"),
    "no atoms": problem([action("a")], "", "", atoms=""),
    "nothing at all": problem([], "", "", atoms=""),
}


@pytest.mark.parametrize("case", EDGES.values(), ids=EDGES)
def test_edges(planning: Planning, case: StripsProblem) -> None:
    check(planning, case)


def test_names_come_back_as_they_were(planning: Planning) -> None:
    names = ["Stack A on B", "größe→1", "(and", "; no comment"]
    atoms = ["Start", " ", "p\n", "漢字", "not"]
    actions = [StripsAction(n, frozenset({atoms[i]}), frozenset({atoms[i + 1]})) for i, n in enumerate(names)]
    model = StripsModel(tuple(atoms), tuple(actions), name="A model")
    result = planning.solve(StripsProblem(model, frozenset({"Start"}), frozenset({"not"}), name="x y"))
    assert result.plan == tuple(names)


def test_an_independent_validator_agrees(planning: Planning) -> None:
    from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
    from unified_planning.io import PDDLReader
    from unified_planning.plans import ActionInstance, SequentialPlan

    domain = get_domain("blocksworld-5b")
    tasks = domain.problems(2, seed=5)
    for task, result in zip(tasks, planning.solve_all(tasks), strict=True):
        parsed = PDDLReader().parse_problem_string(format_model(domain.model), format_model_problem(task))
        assert result.plan
        for length, expected in ((len(result.plan), "VALID"), (len(result.plan) - 1, "INVALID")):
            steps = [ActionInstance(parsed.action(encode_name(name))) for name in result.plan[:length]]
            verdict = SequentialPlanValidator().validate(parsed, SequentialPlan(steps))
            assert verdict.status is ValidationResultStatus[expected]


def test_many_workers_give_results_in_order() -> None:
    tasks = get_domain("blocksworld-5b").problems(12, seed=1)
    done: list[int] = []
    with Planning(workers=3) as many, Planning() as one:
        results = many.solve_all(tasks, progress=done.append)
        assert len(many.processes) == 3
        assert [r.plan for r in results] == [r.plan for r in one.solve_all(tasks)]
        assert sum(done) == 12
        workers = many.processes
        assert many.solve_all([]) == []
        assert many.processes == workers
    assert not any(map(alive, workers))
    assert all(task.solved_by(result.plan or ()) for task, result in zip(tasks, results, strict=True))


def test_two_models_in_one_worker() -> None:
    blocks, ferry = (get_domain(name).problems(2, seed=0) for name in ("blocksworld-5b", "ferry-5c"))
    with Planning() as planning:
        for task in (blocks[0], ferry[0], blocks[1], ferry[1]):
            assert task.solved_by(planning.solve(task).plan or ("no plan",))
        assert len(planning.processes) == 1


# --- limits ---------------------------------------------------------------------------------------------------


CHAIN = StripsProblem(
    StripsModel(
        tuple(f"p{i}" for i in range(20)),
        tuple(StripsAction(f"a{i}", frozenset({f"p{i}"}), frozenset({f"p{i + 1}"})) for i in range(19)),
    ),
    frozenset({"p0"}),
    frozenset({"p19"}),
)


@pytest.fixture(scope="module")
def hard() -> StripsProblem:
    """The 15-puzzle: no planner here solves it optimally within minutes."""
    return get_domain("npuzzle:4x4").problems(1, seed=0)[0]


@pytest.mark.parametrize(("name", "optimal"), SEARCHES)
def test_limit_on_states(name: str, optimal: bool) -> None:
    """The chain has 20 states, and each of them is needed."""
    for states in (1, 2, 19):
        result = solve(CHAIN, name, optimal, Limits(states=states))
        assert (result.status, result.plan) == (Status.OUT_OF_STATES, None)
    result = solve(CHAIN, name, optimal, Limits(states=21))
    assert (result.status, len(result.plan or ())) == (Status.SOLVED, 19)


@pytest.mark.parametrize("name", PLANNERS)
def test_limit_on_seconds(name: str, hard: StripsProblem) -> None:
    with Planning(name, optimal=True, limits=Limits(seconds=0.3)) as planning:
        result = planning.solve(hard)
        assert (result.status, result.plan) == (Status.OUT_OF_TIME, None)
        assert result.seconds >= 0.3
        (worker,) = planning.processes
        assert planning.solve(CHAIN).status is Status.SOLVED
        assert planning.processes == (worker,)  # the planner itself kept to the limit
        assert not children(worker)


@pytest.fixture(scope="module")
def wide() -> StripsProblem:
    """Many states, each of them large: q and r cannot both be had, but that takes all ways to set 16 switches to know."""
    switches = [
        action
        for i in range(16)
        for action in (StripsAction(f"on{i}", frozenset({f"dark{i}"}), frozenset({f"lit{i}"}), frozenset({f"dark{i}"})),
                       StripsAction(f"off{i}", frozenset({f"lit{i}"}), frozenset({f"dark{i}"}), frozenset({f"lit{i}"})))
    ]  # fmt: skip
    dark, lit, idle = ([f"{word}{i}" for i in range(n)] for word, n in (("dark", 16), ("lit", 16), ("idle", 3_000)))
    fork = (action("left", "p", "q", "p"), action("right", "p", "r", "p"))
    model = StripsModel(("p", "q", "r", *dark, *lit, *idle), (*switches, *fork))
    return StripsProblem(model, frozenset({"p", *dark, *idle}), frozenset("qr"))


@pytest.mark.parametrize(("name", "task"), [("mimir", "hard"), ("fast-downward", "wide"), ("pyperplan", "wide")])
def test_limit_on_memory(name: str, task: str, request: pytest.FixtureRequest) -> None:
    with Planning(name, optimal=True, limits=Limits(memory_mb=20)) as planning:
        assert planning.solve(request.getfixturevalue(task)).status is Status.OUT_OF_MEMORY
        planning.limits = Limits()
        assert planning.solve(CHAIN).status is Status.SOLVED


@pytest.mark.parametrize(("name", "megabytes"), [("mimir", 60), ("fast-downward", 40), ("pyperplan", 40)])
def test_a_search_reaches_the_limit_on_memory(name: str, megabytes: int) -> None:
    """The same limit is enough for the same model with a goal that is near, so it is the search that fills it; without
    limits on states and time nothing else ends it."""
    switches = [StripsAction(f"{a}{i}", frozenset({f"{a}{i}"}), frozenset({f"{b}{i}"}), frozenset({f"{a}{i}"})) for i in range(24) for a, b in (("dark", "lit"), ("lit", "dark"))]  # fmt: skip
    dark, lit, idle = ([f"{word}{i}" for i in range(n)] for word, n in (("dark", 24), ("lit", 24), ("idle", 30_000 if name == "fast-downward" else 6_000)))  # fmt: skip
    model = StripsModel(("p", "q", "r", *dark, *lit, *idle), (*switches, action("left", "p", "q", "p"), action("right", "p", "r", "p")))  # fmt: skip
    start = frozenset({"p", *dark, *idle})
    with Planning(name, limits=Limits(states=None, seconds=None, memory_mb=megabytes)) as planning:
        assert planning.solve(StripsProblem(model, start, frozenset("q"))).plan == ("left",)
        assert planning.solve(StripsProblem(model, start, frozenset("qr"))).status is Status.OUT_OF_MEMORY
        assert planning.solve(CHAIN).status is Status.SOLVED


def test_the_default_planner_without_mimir() -> None:
    """Blocked as if pymimir were not there: all that plans goes on with the planner that is part of the package."""
    script = """
import sys
sys.modules["pymimir"] = None
import trace2strips as t2s
from trace2strips.planning.planners import DEFAULT_PLANNER
learned = t2s.learn([[("open", True), ("open", False), ("close", True), ("close", False)], [("close", False), ("open", True), ("close", True), ("open", True)]])
print(DEFAULT_PLANNER, learned.plan("after-open"), t2s.plan("blocksworld:3", "on_b1_b2", init="ontable_b1 ontable_b2 ontable_b3 clear_b1 clear_b2 clear_b3 handempty"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "plain open pick-up_b1\nstack_b1_b2\n", done.stderr


def test_no_limits_at_all() -> None:
    for name in PLANNERS:
        assert solve(CHAIN, name, limits=Limits(None, None, None)).status is Status.SOLVED
        assert solve(CHAIN, name, limits=Limits(10**30, 1e30, 10**30)).status is Status.SOLVED


@pytest.mark.parametrize(
    "values", [{"states": 0}, {"states": -1}, {"seconds": 0.0}, {"seconds": float("nan")}, {"memory_mb": 0},
               {"seconds": float("inf")}]
)  # fmt: skip
def test_impossible_limits(values: dict[str, float]) -> None:
    (name,) = values
    with pytest.raises(PlannerError, match=rf"limit {name} is .* \(hint: give a number above 0"):
        Limits(**values)


def test_no_workers() -> None:
    with pytest.raises(PlannerError, match="0 workers"):
        Planning(workers=0)


# --- planners that die, hang or are not there --------------------------------------------------------------------


def alive(pid: int) -> bool:
    """Runs, or is a zombie that nobody has waited for."""
    return Path(f"/proc/{pid}").exists()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Adds a planner whose `solve` runs the given code; its module is a file that the worker imports."""

    def add(name: str, code: str) -> None:
        body = "".join(f"        {line}\n" for line in code.splitlines())
        (tmp_path / f"{name}.py").write_text(
            "import os, sys, time\nfrom trace2strips.planning.planners import Answer, Status\n"
            "class Search:\n    def __init__(self, atoms, actions, optimal): pass\n"
            f"    def solve(self, init, goal, states, seconds):\n{body}"
            "        return Answer(Status.SOLVED, (), 0)\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(PLANNERS, name, Planner(name, name, name, "write it", "", ""))

    return add


HOLDS, OPEN = problem([], "p", "p"), problem([], "p", "pq")


def test_a_segmentation_fault_in_mimir_costs_one_problem(register: Callable[[str, str], None]) -> None:
    register(
        "segfault",
        "import pymimir.advanced.formalism as formalism\n"
        "domain = '(define (domain d) (:requirements :strips) (:predicates (p)) (:action a :parameters () :effect (and (p))))'\n"
        "if 1 in goal:\n"
        "    formalism.Parser(domain, '', formalism.ParserOptions())",
    )
    with Planning("segfault") as planning:
        first, second, third = planning.solve_all([HOLDS, OPEN, HOLDS])
    assert first.status is third.status is Status.SOLVED
    assert (second.status, second.plan) == (Status.CRASHED, None)
    assert second.message.startswith("segfault died of SIG")


def test_an_abort_for_want_of_memory_is_told_apart(register: Callable[[str, str], None]) -> None:
    register(
        "aborts",
        "os.write(2, b\"terminate called after throwing an instance of 'std::bad_alloc'\\n\")\nos.abort()",
    )
    result = solve(HOLDS, "aborts")
    assert result.status is Status.OUT_OF_MEMORY
    assert "SIGABRT" in result.message


def test_an_exception_is_a_crash_with_a_message(register: Callable[[str, str], None]) -> None:
    register("raises", "raise RuntimeError('no idea')")
    result = solve(HOLDS, "raises")
    assert (result.status, result.message) == (Status.CRASHED, "RuntimeError: no idea")


def test_a_planner_that_keeps_no_limit_is_stopped_from_outside(
    register: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trace2strips.planning.workers.GRACE", 0.1)
    register("hangs", "time.sleep(600 if 1 in goal else 0)")
    with Planning("hangs", limits=Limits(seconds=0.2)) as planning:
        first, second, third = planning.solve_all([HOLDS, OPEN, HOLDS])
    assert (first.status, second.status, third.status) == (Status.SOLVED, Status.OUT_OF_TIME, Status.SOLVED)
    assert second.message == "stopped from outside"


def test_what_a_planner_prints_harms_nobody(
    register: Callable[[str, str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    register("prints", "os.write(1, b'x' * 200_000)\nos.write(2, b'y' * 200_000)\nprint('z')")
    with Planning("prints") as planning:
        assert [r.status for r in planning.solve_all([HOLDS] * 3)] == [Status.SOLVED] * 3
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["mimir", "fast-downward"])
def test_killing_a_worker_costs_one_problem(name: str, hard: StripsProblem) -> None:
    with Planning(name, optimal=True) as planning:
        assert planning.solve(CHAIN).status is Status.SOLVED
        (worker,) = planning.processes
        searching: list[int] = []

        def kill() -> None:
            searching.extend(children(worker))
            os.kill(worker, signal.SIGKILL)

        killer = threading.Timer(0.5, kill)
        killer.start()
        first, second = planning.solve_all([hard, CHAIN])
        killer.join()
        assert (first.status, first.message) == (Status.CRASHED, f"{name} died of SIGKILL")
        assert second.status is Status.SOLVED
        assert planning.processes != (worker,)
        assert not alive(worker)
        assert len(searching) == (1 if name == "fast-downward" else 0)
        wait_until(lambda: not any(map(running, searching)))


def test_a_worker_killed_while_idle_costs_nothing() -> None:
    with Planning() as planning:
        planning.solve(CHAIN)
        (worker,) = planning.processes
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not running(worker))
        assert planning.solve(CHAIN).status is Status.SOLVED
        assert not alive(worker)


SCRIPT = """
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off
import sys, threading, time
from trace2strips.planning.plans import Planning
from trace2strips.worlds import get_domain
def tell():
    while not planning.processes:
        time.sleep(0.02)
    print(planning.processes[0], flush=True)
with Planning(sys.argv[1], optimal=True) as planning:
    threading.Thread(target=tell).start()
    planning.solve(get_domain("npuzzle:4x4").problems(1, seed=0)[0])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("name", ["mimir", "fast-downward"])
def test_workers_end_with_the_program(name: str, how: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as program:
        assert program.stdout is not None
        worker = int(program.stdout.readline())
        time.sleep(0.5)
        searching = [worker, *children(worker)]
        assert len(searching) == (2 if name == "fast-downward" else 1)
        program.send_signal(how)
        program.wait(30)
        wait_until(lambda: not any(map(running, searching)))


@pytest.mark.parametrize("name", PLANNERS)
def test_a_worker_starts_without_the_rest_of_the_package(name: str) -> None:
    """Numba alone would take longer to import than most searches take."""
    module = PLANNERS[name].module
    script = f"import sys, json, trace2strips.planning.planners.worker, {module}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    ours = {name for name in loaded if name.split(".")[0] == "trace2strips"}
    planners = "trace2strips.planning.planners"
    light = {"trace2strips", "trace2strips.planning", "trace2strips.processes", planners, f"{planners}.worker", module}
    assert ours <= light
    assert not loaded & {"numba", "jaxtyping", "torch"}


def test_no_growth_over_many_problems() -> None:
    """benchmarks/planners.py measures 1,000 of a larger domain."""
    tasks = get_domain("blocksworld-5b").problems(400, seed=0)
    with Planning() as planning:
        planning.solve_all(tasks[:50])
        (worker,) = planning.processes
        early = resident_pages(worker)
        results = planning.solve_all(tasks[50:])
        assert planning.processes == (worker,)
        assert resident_pages(worker) < 1.1 * early
    assert all(task.solved_by(r.plan or ("no plan",)) for task, r in zip(tasks[50:], results, strict=True))


def resident_pages(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def test_unknown_planner() -> None:
    with pytest.raises(PlannerError, match=r"unknown planner 'fastdownward' \(hint: did you mean 'fast-downward'\?\)"):
        Planning("fastdownward")


@pytest.mark.parametrize("name", OTHERS)
def test_planner_that_is_not_installed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, PLANNERS[name].package, None)  # as Python marks what cannot be imported
    with pytest.raises(PlannerError, match=rf"planner '{name}' is not installed \(hint: pip install '"):
        Planning(name)


@pytest.mark.parametrize("name", OTHERS)
def test_planner_that_is_installed_but_broken(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / PLANNERS[name].package).mkdir()
    (tmp_path / PLANNERS[name].package / "__init__.py").write_text("raise ImportError('libplanner.so is missing')\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with Planning(name) as planning:
        with pytest.raises(PlannerError, match=rf"planner '{name}' cannot be loaded: .*\(hint: pip install '"):
            planning.solve(CHAIN)
        assert planning.processes == ()
