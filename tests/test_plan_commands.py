"""`trace2strips plan` and the planning half of `evaluate`, as a user would call them."""

import json
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.pddl import format_model, format_model_problem, format_problem
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAIN = get_domain("blocksworld:3")
TABLE = "ontable_b1 ontable_b2 ontable_b3 clear_b1 clear_b2 clear_b3 handempty"
TOWER = ["pick-up_b2", "stack_b2_b3", "pick-up_b1", "stack_b1_b2"]


def save(dataset: Dataset, folder: Path) -> Path:
    learn(dataset, "strips+completion").save(folder)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learned from initial atoms, from named initial states, and from a log that tells nothing but actions."""
    folder = tmp_path_factory.mktemp("runs")
    save(sample(DOMAIN, SampleSettings(3000, 25)), folder / "atoms")
    save(sample(DOMAIN, SampleSettings(3000, 25, init="states:5")), folder / "states")
    door = [("open",), ("open", "open"), ("close",), ("open", "close"), ("open", "close", "close")]
    labels = [(True,), (True, False), (False,), (True, True), (True, True, False)]
    save(Dataset.of(Trace(a, ok) for a, ok in zip(door, labels, strict=True)), folder / "log")
    return folder


def refused(result: object, message: str) -> None:
    """One line on standard error, exit code 2, nothing on standard output."""
    assert result.returncode == 2, result  # type: ignore[attr-defined]
    assert result.stdout == ""  # type: ignore[attr-defined]
    assert result.stderr.count("\n") == 1  # type: ignore[attr-defined]
    assert message in result.stderr  # type: ignore[attr-defined]


@pytest.mark.parametrize("planner", ["mimir", "fast-downward", "pyperplan"])
def test_plan_with_a_learned_model(run: Run, runs: Path, planner: str) -> None:
    words = ("--init", TABLE, "--goal", "on_b1_b2, on_b2_b3", "--planner", planner, "--optimal")
    result = run("plan", runs / "atoms", *words)
    assert (result.returncode, result.stdout.splitlines()) == (0, TOWER), result.stderr
    assert "4 actions" in result.stderr
    record = json.loads(run("plan", runs / "atoms", *words, "--json").stdout)
    assert (record["status"], record["plan"], record["planner"]) == ("solved", TOWER, planner)


def test_models_of_all_kinds(run: Run, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "hidden.pddl").write_text(format_model(DOMAIN.model))
    for model in ("blocksworld:3", "hidden.pddl"):
        result = run("plan", model, "--init", TABLE, "--goal", "on_b1_b2", "--goal", "on_b2_b3", "--optimal")
        assert result.stdout.splitlines() == TOWER
    result = run("plan", runs / "states", "--init", "s0", "--enable", "stack_b1_b2")
    assert result.returncode == 0, result.stderr
    assert run("plan", runs / "log", "--enable", "close").stdout == "open\n"


def test_problem_files(run: Run, runs: Path, tmp_path: Path) -> None:
    """In the hidden domain's words, lifted or grounded, or in the model's own."""
    problem = next(p for p in DOMAIN.problems(20) if not p.goal <= p.init)
    (tmp_path / "lifted.pddl").write_text(format_problem(DOMAIN.lifted_problem(problem)))
    (tmp_path / "grounded.pddl").write_text(format_model_problem(problem))
    (tmp_path / "own.pddl").write_text(
        format_model_problem(problem).replace("(:domain blocksworld)", "(:domain learned)")
    )
    for name in ("lifted.pddl", "grounded.pddl"):
        for model in (runs / "atoms", "blocksworld:3"):
            plan = run("plan", model, "--problem", name).stdout.splitlines()
            assert problem.solved_by(plan)
    assert problem.solved_by(run("plan", runs / "atoms", "--problem", "own.pddl").stdout.splitlines())


def test_goals_by_example(run: Run, runs: Path) -> None:
    result = run("plan", runs / "atoms", "--init", TABLE, "--after", " ".join(TOWER), "--optimal")
    assert result.stdout.splitlines() == TOWER
    result = run("plan", runs / "atoms", "--init", TABLE, "--enable", "stack_b1_b2", "--optimal")
    assert result.stdout.splitlines() == ["pick-up_b1"]
    result = run("plan", "blocksworld:3", "--init", TABLE, "--goal", "!clear_b1 !holding_b1", "--optimal")
    assert len(result.stdout.splitlines()) == 2


def test_several_goals_at_once(run: Run) -> None:
    """Atoms, actions that shall be possible, and the state after a trace; all of them hold at the end."""
    words = ("plan", "blocksworld:3", "--init", TABLE, "--optimal")
    both = run(*words, "--enable", "pick-up_b1", "--enable", "unstack_b2_b3")
    assert both.stdout.splitlines() == ["pick-up_b2", "stack_b2_b3"]
    together = run(*words, "--goal", "on_b2_b3; clear_b2", "--enable", "stack_b1_b2")
    assert together.stdout.splitlines() == ["pick-up_b2", "stack_b2_b3", "pick-up_b1"]
    assert "contradicts itself" in run(*words, "--after", "pick-up_b1", "--after", "pick-up_b2").stderr


def test_a_goal_by_a_trace_of_a_file(run: Run, runs: Path, tmp_path: Path) -> None:
    """What was refused in it changed nothing; it may begin elsewhere."""
    (tmp_path / "log.txt").write_text("!close\nopen !open\n")
    assert run("plan", runs / "log", "--after", "log.txt:2").stdout == "open\n"
    assert run("plan", runs / "log", "--after", "open !open").stdout == "open\n"
    assert run("plan", runs / "log", "--after", "open; open!").stdout == "open\n"
    assert run("plan", runs / "log", "--after", "log.txt:1").stderr.startswith("0 actions")
    tower = f"{TABLE.replace(' ', '; ')} | pick-up_b1; stack_b1_b2"
    found = run("plan", runs / "atoms", "--init", TABLE, "--after", tower, "--optimal")
    assert found.stdout.splitlines() == ["pick-up_b1", "stack_b1_b2"]
    refused(run("plan", runs / "log", "--after", "log.txt:7"), "log.txt:7: no trace begins on this line")
    refused(run("plan", runs / "log", "--after", "log.txt"), "there are 2 traces where one is asked for")


def test_names_with_spaces(run: Run, tmp_path: Path) -> None:
    steps = "!shut (it), now; open the door; !open the door; shut (it), now; !shut (it), now; open the door"
    log = [[(step.strip("!"), step[0] != "!") for step in steps.split("; ")]] * 3
    learned = learn(log, make_learner("windows", {"separator": ""}))
    learned.save(tmp_path / "run")
    after = "after-open the door"
    assert {atom.name for atom in learned.rules.atoms} == {after, "before-open the door"}
    assert run("plan", "run", "--goal", after).stdout == "open the door\n"
    assert run("plan", "run", "--goal", f"{after}, !before-open the door").stdout == "open the door\n"
    assert run("plan", "run", "--enable", "shut (it), now").stdout == "open the door\n"
    example = "open the door shut (it), now !shut (it), now open the door"
    assert run("plan", "run", "--after", example).stdout == "open the door\n"
    assert learned.plan(enable="shut (it), now").plan == ("open the door",)
    assert learned.plan(after=[("open the door", True), ("open the door", False)]).plan == ("open the door",)
    assert learned.plan(after="open the door").plan == ("open the door",)


def test_no_plan_is_exit_code_1(run: Run, runs: Path) -> None:
    words = ("plan", runs / "atoms", "--init", TABLE)
    for planner in ("mimir", "fast-downward", "pyperplan"):
        result = run(*words, "--goal", "on_b1_b2 on_b2_b1", "--planner", planner)
        assert (result.returncode, result.stdout) == (1, "no plan: unsolvable\n"), (planner, result)
    limited = run("plan", "blocksworld-8b", "--problem", "p.pddl")
    refused(limited, "p.pddl")
    result = run(*words, "--goal", "on_b1_b2 on_b2_b3", "--max-states", 2)
    assert (result.returncode, result.stdout) == (1, "no plan: out of states\n")


def test_the_plan_is_written(run: Run, tmp_path: Path) -> None:
    words = ("plan", "blocksworld:3", "--init", TABLE, "--goal", "on_b1_b2", "--out", "plan.txt")
    assert run(*words).returncode == 0
    assert (tmp_path / "plan.txt").read_text() == "(pick-up_b1)\n(stack_b1_b2)\n"
    refused(run(*words), "plan.txt")
    assert run(*words, "--force").returncode == 0


def test_mistakes(run: Run, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.pddl").write_text("(define (problem p) (:domain learned)\n (:init (nothing))\n (:goal (and)))")
    (tmp_path / "other.pddl").write_text("(define (problem p) (:domain gripper) (:init (at-robby)) (:goal (and)))")
    words = ("plan", runs / "atoms", "--init", TABLE)
    cases: list[tuple[tuple[object, ...], str]] = [
        ((*words, "--goal", "on_b1_b9"), "unknown atom 'on_b1_b9' (hint: did you mean 'on_b1_b"),
        (("plan", runs / "atoms", "--init", "tabel_b1", "--goal", "on_b1_b2"), "unknown atom 'tabel_b1'"),
        (("plan", runs / "states", "--init", "s7", "--goal", "on_b1_b2"), "unknown initial state 's7'"),
        (("plan", runs / "atoms", "--goal", "on_b1_b2"), "where to start is not said"),
        (("plan", runs / "states", "--goal", "on_b1_b2"), "where to start is not said (hint: --init s0"),
        (words, "there is no goal"),
        ((*words, "--goal", "on_b1_b2 !on_b1_b2"), "the goal contradicts itself"),
        ((*words, "--enable", "stack_b1_b9"), "unknown action 'stack_b1_b9'"),
        ((*words, "--after", "stack_b1_b2"), "action 1 of the example, 'stack_b1_b2', cannot be applied"),
        ((*words, "--after", "jump"), "unknown action 'jump'"),
        ((*words, "--goal", "on_b1_b2", "--problem", "bad.pddl"), "--problem says init and goal already"),
        (("plan", runs / "atoms", "--problem", "bad.pddl"), "bad.pddl:2"),
        (("plan", runs / "atoms", "--problem", "other.pddl"), "other.pddl:1:46: unknown predicate 'at-robby'"),
        (("plan", runs / "atoms", "--problem", "missing.pddl"), "missing.pddl"),
        (
            (*words, "--goal", "on_b1_b2", "--planner", "mimmir"),
            "unknown planner 'mimmir' (hint: did you mean 'mimir'?",
        ),
        ((*words, "--goal", "on_b1_b2", "--max-states", 0), "0"),
        ((*words, "--goal", "on_b1_b2", "--max-seconds", -1), "-1"),
        ((*words, "--goal", "on_b1_b2", "--max-memory", 0), "0"),
        (
            ("plan", "blocksword-8b", "--init", TABLE, "--goal", "x"),
            "'blocksword-8b' is no run folder, no .pddl file and no domain",
        ),
        (("plan", "no/such/run", "--goal", "x"), "no such file or folder"),
        (("plan", tmp_path, "--goal", "x"), "no run of trace2strips"),
        (("evaluate", runs / "atoms", "--planner", "nobody"), "unknown planner"),
        (("evaluate", runs / "atoms", "--problems", -1), "-1 problems"),
        (("evaluate", runs / "atoms", "--domain", "nowhere-3"), "unknown domain"),
    ]
    for arguments, message in cases:
        refused(run(*arguments), message)


def test_evaluate_plans(run: Run, runs: Path, tmp_path: Path) -> None:
    metrics = json.loads(run("evaluate", runs / "atoms", "--problems", 20, "--json").stdout)
    assert (metrics["problems"], metrics["plan_accuracy"], metrics["plans_correct"]) == (20, 1.0, 20)
    assert (metrics["domain"], metrics["encoding"], metrics["planner"]) == ("blocksworld:3", "atoms", "mimir")
    metrics = json.loads(run("evaluate", runs / "states", "--problems", 20, "--json").stdout)
    assert (metrics["plan_accuracy"], metrics["problems_with_unseen_actions"]) == (1.0, 0)
    text = run("evaluate", runs / "atoms", "--problems", 5).stdout
    assert "5 problems of blocksworld:3" in " ".join(text.split())
    assert "plan_accuracy" not in json.loads(run("evaluate", runs / "atoms", "--problems", 0, "--json").stdout)
    world = json.loads(run("evaluate", runs / "states", "--problems", 0, "--world", "--json").stdout)["world"]
    assert (world["whole_sets"], world["compression"], world["distinction_recall"]) == (1.0, 1.0, 1.0)
    refused(run("evaluate", runs / "log", "--world"), "the traces do not say which domain they come from")
    result = run("evaluate", runs / "log")
    assert (result.returncode, "no planning" in result.stderr) == (0, True)
    write_traces(sample(DOMAIN, SampleSettings(50, 10, seed=7)), tmp_path / "t.jsonl")
    result = run("evaluate", runs / "atoms", "--test", "t.jsonl", "--problems", 0)
    assert "test accuracy 1.00000 (0 of 50 wrong)" in result.stdout
