"""A learned model for other programs: PDDL, JSON, unified-planning, and the state graph as DOT and SVG."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from conftest import Run
from unified_planning.engines import SequentialPlanValidator
from unified_planning.plans import ActionInstance, SequentialPlan

import trace2strips as t2s
from trace2strips.errors import ModelError, UserError
from trace2strips.learners.windows.learner import Windows
from trace2strips.model.state_graph import explore
from trace2strips.model.strips import StripsAction, StripsModel
from trace2strips.pages.graph import Graph, quoted
from trace2strips.pddl import parse_domain, parse_model
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOOR = [[("close", False), ("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 3
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def ferry() -> t2s.Learned:
    return t2s.learn(sample(get_domain("ferry:2x2"), SampleSettings(100, 30, suffix="none")), "windows")


def test_unified_planning_takes_the_plans_of_ours(ferry: t2s.Learned) -> None:
    """The same model: a plan that is right for one is right for the other, in the log's own names."""
    problem = ferry.to_unified_planning()
    assert {action.name for action in problem.actions} == {"board", "debark", "sail"}
    example = ferry.lifted.example  # type: ignore[union-attr]
    car, port = next(atom.split("_")[1:] for atom in example if atom.startswith("at_"))
    ports = {thing.name for thing in problem.all_objects} - {"c1", "c2"}
    goal = f"at_{car}_{min(ports - {port})}"
    steps = ferry.plan(goal, example).plan
    assert steps
    problem.add_goal(problem.fluent("at")(problem.object(car), problem.object(goal.split("_")[2])))
    words = [step.split("_") for step in steps]
    plan = SequentialPlan(
        [ActionInstance(problem.action(name), tuple(map(problem.object, rest))) for name, *rest in words],
        problem.environment,
    )
    with SequentialPlanValidator() as validator:
        assert validator.validate(problem, plan)
        assert not validator.validate(problem, SequentialPlan(plan.actions[:-1], problem.environment))


@pytest.mark.parametrize("name", ["windows", "completion"])
def test_unified_planning_objects_of_ground_models(name: str) -> None:
    names = {"open": "open (the) door", "close": 'shut "it"; now'}
    log = [[(names[action], ok) for action, ok in trace] for trace in DOOR]
    problem = t2s.learn(log, Windows("") if name == "windows" else name).to_unified_planning()
    assert {action.name for action in problem.actions} == set(names.values())
    first = [str(fluent) for fluent, value in problem.initial_values.items() if value.is_true()]
    (opening,) = [a for a in problem.actions if a.name == names["open"]]
    assert first == [str(x) for x in opening.preconditions]


def test_a_name_may_stand_for_two_things() -> None:
    log = [[("go(go)", True), ("go(go)", False), ("back(go)", True), ("go(go)", True), ("go(x)", True)]] * 2
    problem = t2s.learn(log, "windows").to_unified_planning()
    assert problem.action("go").name == "go"
    assert {thing.name for thing in problem.all_objects} == {"go-object", "x"}


def test_without_the_library_a_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace2strips.pddl.unified.find_spec", lambda _: None)
    with pytest.raises(UserError, match="unified-planning is not installed"):
        t2s.learn(DOOR, "windows").to_unified_planning()


def test_the_state_graph_is_that_of_the_model(ferry: t2s.Learned) -> None:
    graph = ferry.state_graph()
    domain = get_domain("ferry:2x2")
    assert len(graph.nodes) == domain.family.count_states() == 16
    hidden = explore(domain.model, [domain.model.state(ferry.lifted.example)])  # type: ignore[union-attr]
    assert sorted(graph.layers) == sorted(hidden.distances)
    assert sum(len(names) for *_, names in graph.edges) == sum(len(names) for *_, names in hidden.edges) == 32
    door = t2s.learn(DOOR, "completion").state_graph()
    assert door.edges == ((0, 1, ("open",)), (1, 0, ("close",)))
    assert (door.nodes, door.layers) == ((("p1",), ("p0",)), (0, 1))


def test_a_large_graph_is_counted_and_refused(ferry: t2s.Learned) -> None:
    with pytest.raises(ModelError, match="the model has 16 states, and at most 10 are drawn"):
        ferry.state_graph(most=10)
    bits = [
        action
        for i in range(20)
        for p in [frozenset({f"p{i}"})]
        for action in (StripsAction(f"on{i}", add=p), StripsAction(f"off{i}", delete=p))
    ]
    model = StripsModel(tuple(f"p{i}" for i in range(20)), tuple(bits))
    with pytest.raises(ModelError, match="the model has more than 20,000 states"):
        explore(model, [frozenset()])


def test_several_starts_and_loops() -> None:
    model = StripsModel(("p",), (StripsAction("stay"), StripsAction("go", frozenset({"p"}), delete=frozenset({"p"}))))
    graph = explore(model, [frozenset({"p"}), frozenset()])
    assert (graph.starts, graph.distances) == (2, (0, 0))
    assert graph.edges == ((0, 0, ("stay",)), (0, 1, ("go",)), (1, 1, ("stay",)))
    assert graph.labels() == [["p"], []]
    drawn = Graph("x", tuple(map(tuple, graph.labels())), graph.distances, graph.edges)
    assert len(ET.fromstring(drawn.svg()).findall(f"{SVG}path")) == 3
    alone = Graph("x", ((),), (0,), ())
    assert len(ET.fromstring(alone.svg()).findall(f"{SVG}g")) == 1


def test_pictures_hold_any_name() -> None:
    hostile = '</text><script>alert(1)</script>"\\\n\x1b'
    graph = Graph(hostile, ((hostile,) * 6, ("a" * 200,)), (0, 1), ((0, 1, (hostile, "x" * 200)), (1, 0, ("back",))))
    root = ET.fromstring(graph.svg())
    assert not list(root.iter(f"{SVG}script"))
    assert "<script>" in "".join(root.itertext())
    assert "\x1b" not in graph.svg() + graph.dot()
    assert quoted('a"b\\') == '"a\\"b\\\\"'
    assert graph.dot().count("\n") == 7
    boxes = [(float(r.get("x", 0)), float(r.get("x", 0)) + float(r.get("width", 0))) for r in root.iter(f"{SVG}rect")
             if r.get("class") != "page"]  # fmt: skip
    assert all(left >= 0 and right <= float(root.get("width", 0)) for left, right in boxes)


def test_command(run: Run, tmp_path: Path, ferry: t2s.Learned) -> None:
    ferry.save(tmp_path / "run")
    domain = run("export", "run").stdout
    assert domain == (tmp_path / "run" / "domain.pddl").read_text()
    assert {schema.name for schema in parse_domain(domain).schemas} == {"board", "debark", "sail"}
    record = json.loads(run("export", "run", "--format", "json").stdout)
    assert [action["action"] for action in record["actions"]] == ["board(x, y)", "debark(x, y)", "sail(x, y)"]
    assert {rule["level"] for rule in record["rules"]} <= {"certain", "likely", "free"}
    assert all(atom["meaning"] for atom in record["atoms"])
    assert "action board(" in run("export", "run", "--format", "unified-planning").stdout
    assert run("export", "run", "--format", "svg", "--out", "g.svg").returncode == 0
    assert len(ET.parse(tmp_path / "g.svg").getroot().findall(f"{SVG}g")) == 16
    assert run("export", "run", "--format", "dot").stdout.count("->") == 32
    one = run("export", "run", "--format", "dot", "--init", "at_c1_p1 at-ferry_p1 empty-ferry")
    assert (one.returncode, one.stdout.count("[label=")) == (0, 6 + 10), one.stderr
    t2s.learn(DOOR, "completion").save(tmp_path / "door")
    assert len(parse_model(run("export", "door").stdout).actions) == 2


def test_mistakes(run: Run, tmp_path: Path, ferry: t2s.Learned) -> None:
    ferry.save(tmp_path / "run")
    t2s.learn(sample(get_domain("blocksworld:2"), SampleSettings(50, 10)), "completion").save(tmp_path / "told")
    for words, message in (
        (("run", "--format", "pdl"), "unknown format 'pdl' (hint: did you mean 'pddl'?)"),
        (("run", "--format", "svg", "--max-states", 3), "run: the model has 16 states, and at most 3 are drawn"),
        (("run", "--init", "x"), "--init says where a picture begins, and pddl is none"),
        (("run", "--out", "run/domain.pddl"), "domain.pddl"),
        (("nowhere",), "no run of trace2strips"),
        (("told", "--format", "dot"), "where to start is not said"),
    ):
        result = run("export", *words)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result
        assert message in result.stderr
