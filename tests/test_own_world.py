"""A world of the user's own: from PDDL files to a model that is proven right or shown wrong, by one command."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from trace2strips.errors import DomainError, PddlError
from trace2strips.judging.own_world import WALK, enough_traces, judge_world, training_traces
from trace2strips.judging.own_world import test_traces as held_back_traces
from trace2strips.learners.learning import learn, load
from trace2strips.learners.windows.learner import Windows
from trace2strips.model.strips import state_of
from trace2strips.traces import read_traces
from trace2strips.traces.checking import compare_with
from trace2strips.worlds import World, get_domain, world_from_files
from trace2strips.worlds.pddl_files import given_problems
from trace2strips.worlds.sampling import SampleSettings, sample_world

DOMAINS = Path(__file__).parent.parent / "benchmarks" / "domains"
NAMES = sorted(folder.name for folder in DOMAINS.iterdir())


def files(name: str) -> tuple[Path, list[Path]]:
    return DOMAINS / name / "domain.pddl", sorted((DOMAINS / name).glob("p*.pddl"))


def options(name: str) -> list[object]:
    domain, problems = files(name)
    return ["--domain", domain, *(word for path in problems for word in ("--problem", path))]


def own_world(name: str) -> World:
    domain, problems = files(name)
    return world_from_files(domain, problems, WALK)


def test_there_are_enough_domains_of_others() -> None:
    assert len(NAMES) >= 12
    assert all(len(files(name)[1]) in (2, 3) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_domain_is_read_sampled_and_labelled_rightly(name: str) -> None:
    """Each problem is an instance; labels are those of the hidden model; all that are given can be solved."""
    world = own_world(name)
    assert len(world.instances) == len(files(name)[1])
    assert all(not one.task.out_of_reach for one in world.instances)
    traces = training_traces(world, 40, 0, all_attempts=True)
    assert compare_with(traces, world.model) is None
    assert len({trace.init for trace in traces}) > 5


def test_one_command_from_files_to_proof(run: Run, tmp_path: Path) -> None:
    """Negative preconditions, constants, a negative goal; then all other commands with the same two options."""
    two = options("lockers")
    result = run("learn", *two, "--traces", 200, "--out", "run")
    assert (result.returncode, result.stderr.count("\n")) == (0, 1)
    assert "p1.pddl has (fits brass west), " in result.stderr
    assert "lockers-p1, 18 actions: equivalent, proven" in result.stdout
    assert "lockers-p2, 16 actions: equivalent, proven" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"lockers: equivalent, proven; test accuracy 1.00000; plans 2 of 2; .* s: run/own-world.json", last
    )
    report = json.loads((tmp_path / "run" / "own-world.json").read_text())
    told = ("verdict", "plans", "plans_right", "test_accuracy", "traces", "test_traces", "never_worked", "seed")
    assert [report[key] for key in told] == ["equivalent", 2, 2, 1.0, 200, 1000, [], 0]
    assert report["files"] == ["domain.pddl", "p1.pddl", "p2.pddl"]
    assert 0 < report["test_starts_new"] <= report["test_starts"]
    assert 0.4 < report["refused"] / report["attempts"] < 0.6

    compared = run("compare", "run", *two, "--json")
    assert (compared.returncode, [one["verdict"] for one in json.loads(compared.stdout)]) == (0, ["equivalent"] * 2)
    evaluated = json.loads(run("evaluate", "run", *two, "--json").stdout)
    assert (evaluated["plans_correct"], evaluated["problems"]) == (2, 2)
    assert json.loads(run("evaluate", "run", *two, "--problems", 1, "--json").stdout)["problems"] == 1
    for words in ((), ("run",)):  # with the domain itself, and with what was learned
        planned = json.loads(run("plan", *words, *two, "--json").stdout)
        assert [(one["problem"], one["outcome"]) for one in planned] == [("p1", "correct"), ("p2", "correct")]
    shown = run("plan", "run", *two)
    assert shown.stdout.startswith("; p1\n")
    assert shown.stderr.count("in lockers: correct") == 2
    assert run("sample", *two, "--traces", 30, "--walk", 20, "--out", "x.jsonl").returncode == 0
    checked = run("check", "x.jsonl", *two)
    assert checked.returncode == 0
    assert "every label agrees" in checked.stdout
    assert run("ground", *options("lockers")[:4], "--out", "g.pddl").returncode == 0


def test_a_model_that_is_wrong_is_shown_wrong(run: Run, tmp_path: Path) -> None:
    """From two traces not much is learned: the shortest difference is one that the hidden world confirms."""
    result = run("learn", *options("gripper"), "--traces", 2, "--out", "run", "--seed", 3)
    assert result.returncode == 0
    report = json.loads((tmp_path / "run" / "own-world.json").read_text())
    assert report["verdict"] == "different"
    assert "gripper: different; test accuracy" in result.stdout
    world = own_world("gripper")
    for instance, found in zip(world.instances, report["instances"], strict=True):
        comparison = found["comparison"]
        if comparison["trace"] is None:
            continue
        state = frozenset(comparison["start_b"])
        *before, last = comparison["trace"]
        for name in before:
            assert instance.model.action(name).applicable(state)
            state = instance.model.action(name).progress(state)
        refuses = not instance.model.action(last).applicable(state)
        assert refuses == (comparison["refused_by"] == "B")
    compared = run("compare", "run", *options("gripper"))
    assert compared.returncode == 1
    assert "a shortest trace that tells them apart" in compared.stdout


@pytest.mark.parametrize("name", ["hanoi", "zenotravel", "transport"])
def test_learned_from_files_it_holds_for_problems_never_seen(name: str) -> None:
    """Learned on the first problem alone, it is right about the second one, which has more objects."""
    domain, problems = files(name)
    world = world_from_files(domain, problems[:1], WALK)
    learned = learn(training_traces(world, 300, 0, all_attempts=True), Windows(separator="_"))
    other = judge_world(learned, world_from_files(domain, problems[1:], WALK))
    assert (other.verdict, [plan.right for plan in other.plans]) == ("equivalent", [True])


def test_other_learners_learn_it_too(run: Run, tmp_path: Path) -> None:
    """Without schemas, as far as actions were seen to work."""
    result = run("learn", *options("visitall")[:4], "--traces", 500, "--learner", "completion", "--out", "run")
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads((tmp_path / "run" / "own-world.json").read_text())
    assert (report["learner"], report["test_accuracy"], report["plans_right"]) == ("completion", 1.0, 1)


def test_a_benchmark_domain_can_be_named_as_well(run: Run) -> None:
    result = run("learn", "--domain", "blocksworld:3", "--traces", 100, "--out", "run")
    assert result.returncode == 0
    assert "blocksworld:3: equivalent, proven; test accuracy 1.00000; plans 10 of 10" in result.stdout
    assert run("compare", "run", "--domain", "blocksworld:3").returncode == 0


def test_the_same_seed_gives_the_same() -> None:
    world, again = own_world("sokoban"), own_world("sokoban")
    one, two = (training_traces(some, 50, 7, all_attempts=True) for some in (world, again))
    assert one.vocabulary == two.vocabulary
    for name in ("tokens", "inapplicable", "offsets"):
        assert (getattr(one, name) == getattr(two, name)).all()
    other = training_traces(world, 50, 8, all_attempts=True)
    assert len(other.tokens) != len(one.tokens) or (other.tokens != one.tokens).any()


def test_test_traces_start_elsewhere_and_are_longer() -> None:
    world = own_world("sokoban")
    learner = Windows(separator="_")
    train = training_traces(world, 100, 0, all_attempts=True)
    test = held_back_traces(world, train, learner, 0, "goal")
    assert not {trace.init for trace in train} & {trace.init for trace in test}
    assert max(len(trace.actions) for trace in test) > 2 * max(len(trace.actions) for trace in train)


def test_more_schemas_more_traces() -> None:
    assert [enough_traces(own_world(name)) for name in ("hanoi", "gripper", "driverlog", "rovers")] == [
        100,
        120,
        240,
        360,
    ]


def test_walks_start_where_the_world_can_be() -> None:
    """States on walks keep what the world keeps: a lift is on one floor, a complement is false where its atom holds."""
    (one, _) = own_world("miconic").instances
    rng = np.random.default_rng(0)
    states = [state_of(one.model, row) for row in one.draw_states(rng, 200)]
    assert {sum(atom.startswith("lift-at") for atom in state) for state in states} == {1}
    assert given_problems(one)[0].init in states
    assert any("served_ann" in state for state in states)
    (locker, _) = own_world("lockers").instances
    for row in locker.draw_states(rng, 200):
        state = state_of(locker.model, row)
        for atom, fact in locker.task.opposites.items():
            assert (atom in state) != ("_".join((fact.predicate, *fact.arguments)) in state)


LAMPS = """(define (domain lamps) (:predicates (on ?l) (wired ?l))
  (:action press :parameters (?l) :precondition (wired ?l) :effect (on ?l)))"""


def write_lamps(folder: Path, *problems: str) -> list[Path]:
    (folder / "d.pddl").write_text(LAMPS)
    paths = [folder / f"p{i}.pddl" for i in range(len(problems))]
    for path, text in zip(paths, problems, strict=True):
        path.write_text(f"(define (problem p) (:domain {path.stem}) {text})")
    return paths


def test_a_goal_out_of_reach_is_a_remark_and_no_plan_is_right(run: Run, tmp_path: Path) -> None:
    write_lamps(tmp_path, "(:objects a b) (:init (wired a)) (:goal (and (on a) (on b)))")
    result = run("learn", "--domain", "d.pddl", "--problem", "p0.pddl", "--traces", 20, "--out", "run")
    assert result.returncode == 0
    assert "trace2strips: p0.pddl: the goal (on b) can never become true" in result.stderr
    assert "p0: no plan, and the hidden world has none either" in result.stdout
    assert "plans 1 of 1" in result.stdout


def test_instances_keep_their_own_static_facts(tmp_path: Path) -> None:
    """One object has a wire here and none there: only where it has one it can be pressed."""
    paths = write_lamps(
        tmp_path,
        "(:objects a b) (:init (wired a)) (:goal (on a))",
        "(:objects a b) (:init (wired b)) (:goal (on b))",
        "(:objects a b) (:init (wired b) (on b)) (:goal (on b))",
    )
    world = world_from_files(tmp_path / "d.pddl", paths)
    assert [one.name for one in world.instances] == ["d-p0", "d-p1"]
    assert [tuple(one.model.action_index) for one in world.instances] == [("press_a",), ("press_b",)]
    (remark,) = world.remarks
    assert "p0.pddl has (wired a), " in remark
    assert not world_from_files(tmp_path / "d.pddl", paths[1:]).remarks
    assert [len(given_problems(one)) for one in world.instances] == [1, 2]
    traces = list(sample_world(world, SampleSettings(20, 5)))
    assert {name for trace in traces[:10] for name in trace.actions} == {"press_a"}
    assert {name for trace in traces[10:] for name in trace.actions} == {"press_b"}
    with pytest.raises(DomainError, match="initial states can be named only where all problems have the same objects"):
        sample_world(world, SampleSettings(20, 5, init="states:1"))
    with pytest.raises(DomainError, match="1 traces of 2 problems"):
        sample_world(world, SampleSettings(1, 5))
    with pytest.raises(PddlError, match=r"p1.pddl: its objects or static facts differ"):
        _ = world.only


def test_a_test_set_of_several_problems_takes_the_vocabulary_of_its_training_set() -> None:
    domain, problems = files("hanoi")
    world = world_from_files(domain, problems)
    train = sample_world(world, SampleSettings(100, 20))
    test = sample_world(world, SampleSettings(50, 40, "test"), like=train)
    assert test.vocabulary == train.vocabulary
    assert compare_with(test, world.model) is None
    with pytest.raises(DomainError, match="the training set has domain 'hanoi', not 'blocksworld:3'"):
        sample_world(World("b", (get_domain("blocksworld:3"),)), SampleSettings(5, 5, "test"), like=train)


MISTAKES = {
    ("learn",): "there is nothing to learn from (hint: a trace file, or --domain",
    ("learn", "--domain", "d.pddl", "--problem", "p0.pddl"): "where shall the run go? (hint: --out FOLDER)",
    ("learn", "--domain", "d.pddl", "--out", "r"): "d.pddl: a PDDL domain needs a problem file",
    ("learn", "--problem", "p0.pddl", "--out", "r"): "--problem needs --domain",
    ("learn", "--traces", 5, "--out", "r"): "no domain is named",
    ("learn", "x.jsonl", "--domain", "d.pddl", "--out", "r"): "--domain samples its own traces, and TRACES is given",
    ("learn", "--domain", "d.pddl", "--problem", "p0.pddl", "--test", "x", "--out", "r"): "and --test is given",
    ("learn", "--domain", "no.pddl", "--problem", "p0.pddl", "--out", "r"): "no.pddl: no such file",
    ("learn", "--domain", "d.pddl", "--problem", "no.pddl", "--out", "r"): "no.pddl: no such file",
    ("learn", "--domain", "d.pddl", "--problem", "d.pddl", "--out", "r"): "this file defines a domain, not a problem",
    ("learn", "--domain", "p0.pddl", "--problem", "p0.pddl", "--out", "r"): "defines a problem, not a domain",
    ("learn", "--domain", "d.pddl", "--problem", "p0.pddl", "--traces", 0, "--out", "r"): "cannot sample 0 traces",
    ("learn", "--domain", "d.pddl", "--problem", "p0.pddl", "--seed", -1, "--out", "r"): "the seed -1 is out of range",
    ("learn", "--domain", "nowhere", "--out", "r"): "unknown domain 'nowhere'",
    ("sample", "--out", "x.jsonl"): "no domain is named",
    ("sample", "ferry-5c", "--domain", "d.pddl", "--out", "x.jsonl"): "two domains, 'ferry-5c' and --domain d.pddl",
    ("sample", "--domain", "d.pddl", "--problem", "p0.pddl", "--walk", -1, "--out", "x.jsonl"): "a walk of -1 steps",
    ("compare", "run"): "there is nothing to compare with (hint: a second model, or --domain",
    ("compare", "a", "b", "--problem", "p0.pddl", "--problem", "p0.pddl"): "several starts are given",
    ("plan",): "which model shall plan?",
    ("plan", "a", "--problem", "p0.pddl", "--problem", "p0.pddl"): "several problems are given",
    ("plan", "--domain", "d.pddl", "--problem", "p0.pddl", "--goal", "on_a"): "the problems say init and goal already",
    ("plan", "ferry-5c", "--domain", "d.pddl", "--problem", "p0.pddl"): "'ferry-5c' was not learned",
    (
        "plan",
        "--domain",
        "d.pddl",
        "--problem",
        "p0.pddl",
        "--problem",
        "p1.pddl",
        "--out",
        "x",
    ): "2 plans and one file",
    ("check", "x.jsonl", "--problem", "p0.pddl"): "--problem needs --domain",
    ("evaluate", "run", "--problem", "p0.pddl"): "--problem needs --domain",
}


@pytest.mark.parametrize("words", MISTAKES, ids=lambda words: " ".join(map(str, words)))
def test_mistakes_are_one_line(words: tuple[object, ...], run: Run, tmp_path: Path) -> None:
    write_lamps(
        tmp_path, "(:objects a) (:init (wired a)) (:goal (on a))", "(:objects b) (:init (wired b)) (:goal (on b))"
    )
    before = sorted(path.name for path in tmp_path.iterdir())
    result = run(*words)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
    assert MISTAKES[words] in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before, "nothing is left behind"


def test_what_is_too_large_is_said_before_the_work(run: Run, tmp_path: Path) -> None:
    domain, _ = files("hanoi")
    discs = [f"d{i}" for i in range(1, 201)]
    smaller = " ".join(f"(smaller {a} {b})" for i, b in enumerate(discs) for a in discs[i + 1 :])
    (tmp_path / "p.pddl").write_text(
        f"(define (problem p) (:domain hanoi) (:objects {' '.join(discs)}) (:init {smaller}) (:goal (clear d1)))"
    )
    result = run("learn", "--domain", domain, "--problem", "p.pddl", "--out", "run")
    assert result.returncode == 2
    assert "too large to ground: up to action 'move' there are at least 500,001 instances" in result.stderr
    assert not (tmp_path / "run").exists()


def test_the_page_shows_what_is_printed(run: Run) -> None:
    """docs/own-world.md, up to the seconds that it takes."""
    page = (DOMAINS.parent.parent / "docs" / "own-world.md").read_text()
    (command, shown) = re.search(r"```sh\n(trace2strips learn .*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()  # type: ignore[union-attr]
    words = [
        str(DOMAINS.parent.parent / word) if "/" in word else word for word in command.replace("\\\n", " ").split()
    ]
    printed = run(*words[1:]).stdout
    seconds = re.compile(r"\d+\.\d s")
    assert seconds.sub("… s", printed) == seconds.sub("… s", shown)


def test_a_run_of_a_own_world_is_a_run_like_any_other(run: Run, tmp_path: Path) -> None:
    assert run("learn", *options("visitall"), "--out", "run", "--quiet").stdout == ""
    learned = load(tmp_path / "run")
    assert learned.figures.test_accuracy == 1.0
    assert run("sample", *options("visitall"), "--traces", 20, "--out", "x.jsonl").returncode == 0
    assert learned.accuracy(read_traces(tmp_path / "x.jsonl")) == 1.0
    refused = run("learn", *options("visitall"), "--out", "run")
    assert refused.stderr.startswith("trace2strips: run: holds a finished run already")
    assert run("learn", *options("visitall"), "--out", "run", "--force").returncode == 0
