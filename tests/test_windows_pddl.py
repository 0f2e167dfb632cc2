"""What `windows` writes for planners: a lifted domain.pddl, a problem for each known start, and plans for any objects."""

import subprocess
import sys
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path

import pytest
from conftest import Run

import trace2strips as t2s
from trace2strips.errors import ModelError
from trace2strips.learners.learner import Learned
from trace2strips.learners.windows.instances import (
    Instance,
    known_objects,
    pddl_files,
    with_starts,
    world_about,
    write_problem,
)
from trace2strips.learners.windows.lifted import LiftedAction, LiftedPredicate, LiftedWorld
from trace2strips.learners.windows.relations import is_implied, tried, with_relations
from trace2strips.model.lifted import Literal
from trace2strips.model.strips import StripsProblem
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.pddl import encode_name, format_problem, parse_domain, parse_problem
from trace2strips.traces.names import Naming
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def learned_from(world: str, traces: int = 20, init: str = "atoms") -> Learned:
    return t2s.learn(sample(get_domain(world), SampleSettings(traces, 50, init=init, suffix="none")), "windows")


def lifted_of(learned: Learned) -> LiftedWorld:
    assert isinstance(learned.lifted, LiftedWorld)
    return learned.lifted


@pytest.fixture(scope="module")
def blocks() -> Learned:
    return learned_from("blocksworld-5b")


@pytest.fixture(scope="module")
def puzzle() -> Learned:
    return learned_from("npuzzle-5t")


# --- planners ---------------------------------------------------------------------------------------------------------

MIMIR = """
import pymimir, sys
problem = pymimir.Problem(pymimir.Domain(sys.argv[1]), sys.argv[2])
heuristic = pymimir.FFHeuristic(problem)
result = pymimir.gbfs_eager(problem, problem.get_initial_state(), heuristic)
assert result.status == "solved", result.status
for action in result.solution or ():
    print("plan", action)
"""
UNIFIED = """
import sys
from unified_planning.io import PDDLReader
from unified_planning.shortcuts import OneshotPlanner, get_environment
get_environment().credits_stream = None
problem = PDDLReader().parse_problem(*sys.argv[1:])
with OneshotPlanner(name="fast-downward") as planner:
    for action in planner.solve(problem).plan.actions:
        print("plan", "(" + " ".join([action.action.name, *map(str, action.actual_parameters)]) + ")")
"""


def plan_of(planner: str, domain: Path, problem: Path) -> list[tuple[str, ...]]:
    """The actions that a planner finds for two files, as a user would call it."""
    packages = {"mimir": "pymimir", "unified-planning": "unified_planning", "fast-downward": "up_fast_downward"}
    if find_spec(packages.get(planner, planner)) is None or (planner[0] == "u" and not find_spec("up_fast_downward")):
        pytest.skip(f"{planner} is not installed")
    where = problem.parent
    if planner == "pyperplan":
        command = [sys.executable, "-m", "pyperplan", "-s", "gbf", "-H", "hff", domain, problem]
    elif planner == "fast-downward":
        spec = find_spec("up_fast_downward")
        assert spec is not None
        assert spec.origin is not None
        script = Path(spec.origin).parent / "downward" / "fast-downward.py"
        command = [sys.executable, script, "--plan-file", where / "plan", domain, problem, "--search",
                   "eager_greedy([ff()])"]  # fmt: skip
    else:
        command = [sys.executable, "-c", MIMIR if planner == "mimir" else UNIFIED, domain, problem]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, cwd=where)
    files = {"pyperplan": problem.with_name(problem.name + ".soln"), "fast-downward": where / "plan"}
    lines = (files[planner].read_text() if planner in files else done.stdout).splitlines()
    found = [line.removeprefix("plan ") for line in lines if planner in files or line.startswith("plan (")]
    return [tuple(line.strip("()").split()) for line in found if line.startswith("(")]


GOALS = {"blocksworld-5b": "(on b1 b2) (on b2 b3)", "ferry-5c": "(at c1 p2) (at c2 p3)",
         "npuzzle-5t": "(at t1 c1-1) (at t2 c1-2)", "maze-5x5": "(at c2-2)", "logistics-3c": "(at k1 a3)"}  # fmt: skip


@pytest.mark.parametrize("planner", ["mimir", "fast-downward", "pyperplan", "unified-planning"])
@pytest.mark.parametrize("world", GOALS)
def test_planners_take_the_files_and_their_plans_work(world: str, planner: str, tmp_path: Path) -> None:
    """In the hidden world; relations keep them from moves that nobody ever tried."""
    learned = learned_from(world, 100)
    for name, text in learned.learner.pddl_files(learned).items():
        (tmp_path / name).write_text(text)
    problem = tmp_path / "problem.pddl"
    assert "(:goal (and))" in problem.read_text()
    assert plan_of(planner, tmp_path / "domain.pddl", problem) == []
    goal = maze_goal(learned) if world == "maze-5x5" else GOALS[world]
    problem.write_text(problem.read_text().replace("(:goal (and))", f"(:goal (and {goal}))"))
    plan = ["_".join(words) for words in plan_of(planner, tmp_path / "domain.pddl", problem)]
    assert plan
    hidden = get_domain(world).model
    wanted = [atom.strip("() ").replace(" ", "_") for atom in goal.split(")")[:-1]]
    start = frozenset(lifted_of(learned).example or ())
    assert StripsProblem(hidden, start, frozenset(wanted)).solved_by(plan)


def maze_goal(learned: Learned) -> str:
    """A cell that two moves lead to."""
    example = lifted_of(learned).example or ()
    here = next(atom.removeprefix("at_") for atom in example if atom.startswith("at_"))
    free = {atom.removeprefix("free_") for atom in example if atom.startswith("free_")}
    moves = {r.name: r.tuples for r in lifted_of(learned).relations}["may-move-1-2"]
    near = {y for x, y in moves if x == here and y in free}
    return f"(at {min(y for x, y in moves if x in near and y in free and y != here and y not in near)})"


# --- starts -----------------------------------------------------------------------------------------------------------


def test_a_problem_for_each_start(run: Run, tmp_path: Path) -> None:
    learned = learned_from("blocksworld:3", 60, "states:3")
    learned.save(tmp_path / "run")
    files = sorted(path.name for path in (tmp_path / "run").glob("problem*"))
    assert files == ["problem-s0.pddl", "problem-s1.pddl", "problem-s2.pddl"]
    domain = parse_domain((tmp_path / "run" / "domain.pddl").read_text())
    for name in ("s0", "s1", "s2"):
        problem = parse_problem((tmp_path / "run" / f"problem-{name}.pddl").read_text(), domain)
        init = {"_".join((x.predicate, *x.arguments)) for x in problem.init}
        assert {atom for atom in init if not atom.startswith("different")} == learned.start(name)
        assert run("plan", "run", "--problem", f"run/problem-{name}.pddl").returncode == 0
    t2s.load(tmp_path / "run").save(tmp_path / "again")
    for file in ("domain.pddl", *files, "model.json"):
        assert (tmp_path / "again" / file).read_text() == (tmp_path / "run" / file).read_text()


def test_plain_names_and_no_objects(run: Run, tmp_path: Path) -> None:
    door = [[("close", False), ("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 3
    t2s.learn(door, "windows").save(tmp_path / "run")
    text = (tmp_path / "run" / "problem.pddl").read_text()
    assert "Where the traces begin." in text
    (tmp_path / "goal.pddl").write_text(text.replace("(and)))", "(and (after-open))))"))
    assert run("plan", "run", "--problem", "goal.pddl").stdout == "open\n"


def test_files_of_a_run_before_do_not_stay(tmp_path: Path) -> None:
    learned = learned_from("blocksworld:3", 20, "states:3")
    learned.save(tmp_path / "run")
    learned_from("blocksworld:3", 20).save(tmp_path / "run", force=True)
    assert [path.name for path in (tmp_path / "run").glob("problem*")] == ["problem.pddl"]


# --- other objects ----------------------------------------------------------------------------------------------------


def test_a_plan_for_objects_never_seen(blocks: Learned) -> None:
    start = ["clear_x", "ontable_x", "clear_y", "on_y_z", "ontable_z", "handempty"]
    plan = blocks.plan("on_x_y", init=start).plan
    assert plan == ("pick-up_x", "stack_x_y")
    assert blocks.plan(["on_z_x", "!ontable_x"], init=start).plan is not None
    assert str(t2s.plan(blocks, "on_x_w", init=start)) == "no plan: unsolvable"  # nothing is told of w
    with pytest.raises(ModelError, match="unknown atom"):
        blocks.plan("under_x_y", init=start)
    assert blocks.plan("on_b1_b2", init="clear_b1 ontable_b1 clear_b2 ontable_b2 handempty").plan is not None


def test_names_with_spaces() -> None:
    traces = []
    for x, y in permutations("abc", 2):
        (z,) = set("abc") - {x, y}
        steps = ((f"take {z} {y}", False), (f"drop {x} {y}", False), (f"take {x} {y}", True), (f"take {x} {y}", False),
                 (f"drop {x} {y}", True), (f"drop {x} {y}", False), (f"take {x} {y}", True))  # fmt: skip
        traces.append(t2s.Trace(tuple(a for a, _ in steps), tuple(ok for _, ok in steps), frozenset({f"on {x} {y}"})))
    learned = t2s.learn(traces, "windows")
    assert learned.plan(["!on x y"], init=["on x y"]).plan is not None


def test_the_map_of_other_objects_must_be_told(puzzle: Learned) -> None:
    start = ["at_t9_x", "empty_y"]
    with pytest.raises(ModelError, match=r"which of these objects may stand together .* 'may-move-2-3_c1-1_c1-2'"):
        puzzle.plan("at_t9_y", init=start)
    assert puzzle.plan("at_t9_y", init=[*start, "may-move-2-3_x_y"]).plan == ("move_t9_x_y",)
    assert puzzle.plan("at_t9_y", init=[*start, "may-move-2-3_y_x"]).plan is None


def test_an_object_of_no_clear_type() -> None:
    """Two predicates start as `at`; an object of which nothing else is told may be either."""
    naming = Naming("separator", "_")
    predicates = tuple(LiftedPredicate(f"at{i}", (i, 2), "told", told="at") for i in (0, 1))
    actions = (LiftedAction("go", (0, 1), (0, 2), ((0, (0, 1)),)), LiftedAction("fly", (0, 1), (1, 2), ((1, (0, 1)),)))
    lifted = LiftedWorld(naming, predicates, actions, ())
    world = lifted.world(Vocabulary(("go_a_p", "fly_b_p"), ("at_a_p", "at_b_p"), has_init_false=True))
    assert world.told(["at_a_p"]) == {"at0_a_p", "at1_a_p"}  # one told atom, two learned ones
    with pytest.raises(ModelError, match="what kind of object 'c' is, is not clear"):
        world_about(lifted, world, ["at_c_p"])


def test_what_starts_true_needs_not_be_told(tmp_path: Path) -> None:
    """The hand is empty at first, and no trace says so."""
    domain = get_domain("blocksworld-5b")
    train = [
        t2s.Trace(trace.actions, trace.ok, frozenset(a for a in trace.init or () if a != "handempty"))
        for trace in sample(domain, SampleSettings(60, 50, suffix="none"))
    ]
    learned = t2s.learn(train, "windows")
    assert learned.figures.train_errors == 0
    hands = [p.name for p in lifted_of(learned).predicates if p.start == "true"]
    assert hands
    start = ["clear_x", "ontable_x", "clear_y", "ontable_y"]
    assert learned.plan("on_x_y", init=start).plan == ("pick-up_x", "stack_x_y")
    assert f"({hands[0]})" in learned.learner.pddl_files(learned)["problem.pddl"]
    learned.save(tmp_path / "run")
    again = t2s.load(tmp_path / "run")
    assert again.world == learned.world
    assert learned.world is not None
    assert again.over_tokens(t2s.Dataset.of(train)) == learned.over_tokens(t2s.Dataset.of(train))
    assert t2s.compare(again, domain.model, traces=sample(domain, SampleSettings(200, 0))).verdict == "equivalent"


@pytest.mark.parametrize(("small", "large"), [("npuzzle-5t", "npuzzle:3x3"), ("logistics-3c", "logistics:4x3")])
def test_problem_files_of_larger_worlds(run: Run, small: str, large: str, tmp_path: Path) -> None:
    """In the words of the hidden domain, and in those of the learned one."""
    learned = learned_from(small, 100)
    learned.save(tmp_path / "run")
    domain = get_domain(large)
    problem = next(p for p in domain.problems(20) if not p.goal <= p.init)
    (tmp_path / "hidden.pddl").write_text(format_problem(domain.lifted_problem(problem)))
    plan = run("plan", "run", "--problem", "hidden.pddl").stdout.splitlines()
    assert problem.solved_by(plan)
    lifted = lifted_of(learned)
    facts = {(name, *rest) for name, tuples in tried(lifted, domain.model.action_index).items() for rest in tuples}
    facts |= {lifted.naming.words(atom) for atom in problem.init}
    instance = with_starts(lifted, Instance(known_objects(lifted, domain.model.action_index), frozenset(facts)))
    text = write_problem(lifted, instance, "larger", "A larger one.")
    goal = " ".join(str(Literal(encode_name(w), tuple(rest))) for w, *rest in map(lifted.naming.words, problem.goal))
    (tmp_path / "learned.pddl").write_text(text.replace("(:goal (and))", f"(:goal (and {goal}))"))
    for model in ("run", "run/domain.pddl"):
        assert problem.solved_by(run("plan", model, "--problem", "learned.pddl").stdout.splitlines())


def test_lifted_files_without_a_run(run: Run, blocks: Learned, tmp_path: Path) -> None:
    for name, text in blocks.learner.pddl_files(blocks).items():
        (tmp_path / name).write_text(text.replace("(:goal (and))", "(:goal (and (on b1 b2)))"))
    plan = run("plan", "domain.pddl", "--problem", "problem.pddl").stdout.splitlines()
    start = frozenset(lifted_of(blocks).example or ())
    assert StripsProblem(get_domain("blocksworld-5b").model, start, frozenset({"on_b1_b2"})).solved_by(plan)
    result = run("plan", "domain.pddl", "--init", "handempty", "--goal", "on_b1_b2")
    assert result.returncode == 2
    assert "this is a lifted domain" in result.stderr


def test_compare_grounds_over_the_other_side(blocks: Learned, puzzle: Learned) -> None:
    for learned, other in ((blocks, "blocksworld:4"), (puzzle, "npuzzle:2x2"), (puzzle, "npuzzle:3x2")):
        domain = get_domain(other)
        result = t2s.compare(learned, domain.model, traces=sample(domain, SampleSettings(50, 5)))
        assert (result.verdict, result.only_a, result.only_b) == ("equivalent", (), ())
    start = frozenset({"clear_b1", "ontable_b1", "clear_b2", "ontable_b2", "handempty"})
    result = t2s.compare(blocks, learned_from("blocksworld:3", 100), traces=[t2s.Trace((), (), start)])
    assert (result.verdict, result.only_a, result.only_b) == ("equivalent", (), ())  # over the five blocks of both


# --- relations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "names"),
    [
        ("blocksworld-5b", []),
        ("blocksworld:8", []),
        ("ferry-5c", []),
        ("npuzzle-5t", ["may-move-2-3"]),
        ("maze-5x5", ["may-move-1-2"]),
        ("logistics-3c", ["may-drive-1-4", "may-drive-3-4", "may-fly-3"]),
    ],
)
def test_relations_that_people_would_write(world: str, names: list[str]) -> None:
    for traces in (20, 100):
        found = lifted_of(learned_from(world, traces)).relations
        assert [relation.name for relation in found] == names


def test_a_relation_that_leaves_out_little() -> None:
    """The 2×2 puzzle has eight of twelve pairs of cells: only many traces tell that from chance."""
    actions = (LiftedAction("go", (0, 1), (0, 0)),)
    lifted = LiftedWorld(Naming("separator", "_"), (), actions, ())
    pairs = [f"go_{x}_{y}" for x, y in ("ab", "ba", "bc", "cb", "cd", "dc", "da", "ad")]
    few, many = (with_relations(lifted, dict.fromkeys(pairs, count), ()) for count in (3, 5))
    assert few.relations == ()
    assert [(r.name, len(r.tuples)) for r in many.relations] == [("may-go-1-2", 8)]
    files = pddl_files(many, Vocabulary(tuple(pairs), init_states=("start",)))
    assert "(may-go-1-2 a b)" in files["problem.pddl"]
    assert "different" not in files["domain.pddl"]


def test_a_search_that_takes_long_keeps_the_relation() -> None:
    """What is implied is found out by looking at all choices, up to a limit."""
    places = [f"p{i}" for i in range(40)]
    relation = frozenset((x, y) for x in places for y in places if x != y)
    domains = [frozenset(places)] * 2
    assert is_implied((0, 1), relation, {}, domains)
    assert not is_implied((0, 1), relation - {("p3", "p4")}, {}, domains)
    wide = [frozenset(f"p{i}" for i in range(1000))] * 3
    everything = frozenset((f"p{i}",) for i in range(1000))
    assert not is_implied((2,), everything, {}, wide)  # it is, but who wants to wait


def test_mistakes_in_a_problem_file(run: Run, puzzle: Learned, tmp_path: Path) -> None:
    puzzle.save(tmp_path / "run")
    text = (tmp_path / "run" / "problem.pddl").read_text()
    cases = [
        (text.replace("(:goal (and))", "(:goal (and (may-move-2-3 c1-1 c2-3)))"), "is static and does not hold"),
        (text.replace("t1 - move-1", "t1 - move-7"), "move-7"),
        (text.replace("(empty ", "(hollow "), "hollow"),
        (text.replace("(:init ", "(:init (empty nowhere) "), "nowhere"),
    ]
    for i, (wrong, message) in enumerate(cases):
        (tmp_path / f"{i}.pddl").write_text(wrong)
        result = run("plan", "run", "--problem", f"{i}.pddl")
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), (message, result)
        assert message in result.stderr
        assert f"{i}.pddl" in result.stderr
