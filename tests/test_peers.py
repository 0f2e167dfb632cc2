"""AMLGym's benchmark and interface. AMLGym leaves files in the working directory: each test has one of its own."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("amlgym")

from trace2strips.errors import FileError, PddlError, TraceError, UserError
from trace2strips.learners.learning import learn
from trace2strips.learners.windows.lifted_learner import lifted_of
from trace2strips.pddl import parse_domain
from trace2strips.pddl.parsing import read_domain
from trace2strips.peers import outside
from trace2strips.peers.amlgym_files import all_domains, domain_file, domains_with_problems, problem_files
from trace2strips.peers.cases import Case, put_row, read_rows
from trace2strips.peers.outside import all_cases, chosen_cases, execute, perform
from trace2strips.peers.signatures import differing, in_words_of, safe_facts
from trace2strips.peers.trajectories import Trajectory, parse_trajectory, read_trajectory, trajectories

NO_CONDITIONS = """(define (domain lamps)
  (:requirements :strips :typing) (:types lamp room - object)
  (:predicates (lit ?l - lamp) (in ?l - lamp ?r - room) (dark ?l - lamp))
  (:action on :parameters (?l - lamp ?r - room) :precondition (and) :effect (and))
  (:action off :parameters (?l - lamp ?r - room) :precondition (and) :effect (and)))"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_wheel_has_25_domains_and_problems_for_21_of_them():
    assert len(all_domains()) == 25
    assert set(all_domains()) - set(domains_with_problems()) == {"driverlog", "grid", "hanoi", "zenotravel"}
    assert [path.name[:2] for path in problem_files("ferry", "learning")] == [f"{i}_" for i in range(10)]
    with pytest.raises(UserError, match="no domain 'fery'"):
        domain_file("fery")


def test_a_trajectory_is_read_as_it_is_written_and_its_trace_has_names_and_the_start_alone():
    text = """(:trajectory (:state (dark l1) (in l1 r)) (:refused (off l1 r)) (:action (on l1 r)) (:state (lit l1) (in l1 r)))"""
    trajectory = parse_trajectory(text)
    assert parse_trajectory(str(trajectory)) == trajectory
    trace = trajectory.trace()
    assert trace.actions == ("off(l1, r)", "on(l1, r)")
    assert trace.ok == (False, True)
    assert trace.init == {"dark(l1)", "in(l1, r)"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(:trajectory (:action (on l)) (:state (lit l)))", "1:14.*do not stand in turn"),
        ("(:trajectory (:state (lit l)) (:action (on l)))", "no state after it"),
        ("(define (domain x))", "starts with '.:trajectory'"),
    ],
)
def test_a_broken_trajectory_is_told_with_its_place(text, message):
    with pytest.raises(PddlError, match=message):
        parse_trajectory(text, "t")


def test_amlgyms_own_trajectories_are_read():
    import amlgym

    files = sorted((Path(amlgym.__file__).parent / "benchmarks/trajectories/learning/ferry").glob("*_traj"))
    found = [read_trajectory(path) for path in files]
    assert len(found) == 10
    assert {words[0] for one in found for words in one.actions} == {"sail", "board", "debark"}


def test_sampled_traces_with_their_states_follow_the_hidden_domain():
    world = outside.training_world("miconic")
    train = outside.training_traces(world, 9, 0, True, "none")
    found = trajectories(world, train)
    assert [one.problem for one in found] == [f"{i}_miconic_prob.pddl" for i in (0, 0, 0, 1, 1, 1, 2, 2, 2)]
    for one, trace in zip(found, train, strict=True):
        assert len(one.states) == len(one.actions) + 1 == sum(trace.ok) + 1
        assert len(one.refused) == len(trace.ok) - sum(trace.ok)
        for words, before, after in zip(one.actions, one.states, one.states[1:], strict=False):
            if words[0] == "board":
                assert ("boarded", words[2]) in after
                assert ("origin", words[2], words[1]) in before
        assert any(fact[0] == "above" for fact in one.states[0])  # static facts are told too


def test_the_textbook_domain_comes_out_in_amlgyms_words():
    world = outside.training_world("blocksworld")
    train = outside.training_traces(world, 100, 3, True, "none")
    reference = parse_domain(domain_file("blocksworld").read_text())
    found = in_words_of(reference, lifted_of(learn(train)), trajectories(world, train))
    for mine, theirs in zip(found.schemas, reference.schemas, strict=True):
        for part in ("pre", "add", "delete"):
            assert set(getattr(mine, part)) == set(getattr(theirs, part)), (mine.name, part)


def test_static_facts_that_always_held_are_preconditions_and_others_are_not():
    on = parse_domain(NO_CONDITIONS).schemas[0]
    facts = frozenset({("dark", "a"), ("in", "a", "r"), ("in", "b", "s")})
    static = {"in": ("lamp", "room"), "dark": ("lamp",)}
    both = [(("a", "r"), facts), (("b", "s"), facts)]
    assert [*map(str, safe_facts(static, on, both[:1]))] == ["(in ?l ?r)", "(dark ?l)"]
    assert [*map(str, safe_facts(static, on, both))] == ["(in ?l ?r)"]  # b was not dark
    still, changed = (
        Trajectory((facts,), ()),
        Trajectory((facts, facts - {("dark", "a")} | {("lit", "a")}), (("on", "a", "r"),)),
    )
    assert differing([still, still]) == set()
    assert differing([still, changed]) == {"dark", "lit"}
    assert differing([still, replace(changed, states=changed.states[1:])]) == {"dark", "lit"}  # two starts


def test_a_schema_that_never_worked_is_left_out():
    facts = frozenset({("dark", "a"), ("in", "a", "r")})
    seen = [Trajectory((facts, facts), (("on", "a", "r"),), ((0, ("off", "a", "r")),))]
    found = in_words_of(parse_domain(NO_CONDITIONS), lifted_of(learn([t.trace() for t in seen])), seen)
    assert [schema.name for schema in found.schemas] == ["on"]


def test_a_case_of_windows_has_every_figure():
    row = perform(Case("ferry", 100, 1))
    assert row["equivalent"]
    assert row["explainable"]
    assert row["test_accuracy"] == 1.0
    assert row["wrong_certificates"] == 0
    assert (row["plans_right"], row["plans"]) == (5, 5)
    assert row["certain_share"] > 0.9
    assert row["seconds"] > 0
    assert row["memory_mb"] > 50
    assert "syntax_precision" not in row  # AMLGym scores the first seed


@pytest.mark.slow
def test_amlgyms_metrics_of_both_sides():
    ours, theirs = perform(Case("ferry", 20)), perform(Case("ferry", 20, 0, "sam"))
    for row in (ours, theirs):
        assert row["applicable_precision"] > 0.9
        assert row["effects_precision"] > 0.9
        assert 0.4 < row["syntax_precision"] <= 1
        assert 0.8 < row["syntax_recall"] <= 1
        assert 0 <= row["solved"] <= 1
    assert theirs["solved"] == 1.0  # it sees the states


def test_a_case_that_takes_too_long_says_so():
    assert perform(Case("ferry", 1_000), seconds=0.2)["failed"] == "not finished in 0 s"


def test_the_limit_is_one_of_the_processor(monkeypatch):
    """Another machine's load, or a planner that is waited for, is no learner's time."""
    monkeypatch.setattr(outside, "WAITING", 1_000)
    assert perform(Case("ferry", 1_000), seconds=1.0)["failed"] == "not finished in 1 s"


def test_rows_are_kept_and_not_done_again(tmp_path, monkeypatch):
    done, made = [], {"commit": None, "date": "2026-11-18", "amlgym": "1.0.13"}
    monkeypatch.setattr(outside, "perform", lambda case: done.append(case) or {**vars(case), **made, "failed": "x"})
    cases = [Case("ferry", 20), Case("ferry", 100)]
    assert len(list(execute(cases[:1], tmp_path / "rows.jsonl"))) == 1
    assert len(list(execute(cases, tmp_path / "rows.jsonl"))) == 1
    assert done == cases
    assert list(read_rows(tmp_path / "rows.jsonl")) == cases
    (tmp_path / "rows.jsonl").write_text('{"domain": "ferry"}\n')
    with pytest.raises(UserError, match=r"rows.jsonl:1: no 'traces'"):
        read_rows(tmp_path / "rows.jsonl")


def test_what_would_take_too_long_is_not_tried_and_says_why(tmp_path, monkeypatch):
    done = []

    def perform(case: Case):
        done.append(case)
        return outside.row_of(case, {"failed": "not finished in 300 s"} if case.domain == "tpp" else {"seconds": 31.0})

    monkeypatch.setattr(outside, "perform", perform)
    cases = [
        Case(name, n, 0, learner) for name in ("tpp", "ferry") for learner in ("windows", "sam") for n in (100, 1_000)
    ]
    rows = dict(execute(cases, tmp_path / "rows.jsonl"))
    # ours does not read every state: its time is not in proportion to the traces
    assert [case for case in cases if case not in done] == [cases[1], cases[3], cases[7]]
    assert rows[cases[1]]["failed"] == rows[cases[3]]["failed"] == "not tried: not finished in 300 s with 100 traces"
    assert rows[cases[7]]["failed"] == "not tried: 31 s with 100 traces"
    assert read_rows(tmp_path / "rows.jsonl") == rows


def test_a_row_that_was_cut_off_goes_when_the_next_one_comes(tmp_path, monkeypatch):
    """By a kill or a full disk; before, every later command refused the file."""
    path, made = tmp_path / "rows.jsonl", {"commit": None, "date": "2026-11-18", "amlgym": "1.0.13", "failed": "x"}
    rows = [{**vars(Case("ferry", 20, seed)), **made} for seed in range(3)]
    put_row(path, rows[0])
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole + json.dumps(rows[1]).encode()[:length])
        assert len(read_rows(path)) == 1 + (length >= len(json.dumps(rows[1])))
    path.write_bytes(whole + json.dumps(rows[1]).encode()[:40])
    put_row(path, rows[2])
    assert list(read_rows(path).values()) == [rows[0], rows[2]]
    path.write_bytes(whole.rstrip())  # whole, and somebody took the line end away
    put_row(path, rows[2])
    assert list(read_rows(path).values()) == [rows[0], rows[2]]

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("trace2strips.peers.cases.os.fsync", full)
    with pytest.raises(FileError, match="No space left on device"):
        put_row(path, rows[1])


def test_the_command_lists_what_is_left_and_refuses_what_it_does_not_know(tmp_path, run):
    assert len(all_cases()) == len(set(all_cases()))
    assert {case.learner for case in chosen_cases(["ferry"], [], [], 20)} == {
        "windows",
        "sam",
        "offlam",
        "nolam",
        "rosame",
    }
    listed = run("reproduce", "outside", "--domain", "ferry", "--learner", "sam", "--dry-run")
    assert "3 cases, 0 of them known" in listed.stdout
    assert "ferry 20 traces seed 0 sam" in listed.stdout
    for words in (("outside", "main"), ("outside", "--learner", "sams"), ("outside", "--traces", "7")):
        assert run("reproduce", *words, "--dry-run").returncode == 2
    assert not list(tmp_path.glob("**/outside.jsonl"))


def test_amlgym_users_call_us_as_one_of_its_algorithms():
    from amlgym.algorithms import get_algorithm

    from trace2strips.peers import Trace2Strips

    world = outside.training_world("ferry")
    train = outside.training_traces(world, 100, 0, True, "none")
    paths = []
    for number, trajectory in enumerate(trajectories(world, train)):
        paths.append(f"{number}_traj")
        Path(paths[-1]).write_text(str(trajectory))
    Path("signature.pddl").write_text(domain_file("ferry").read_text())
    algorithm = get_algorithm("Trace2Strips")
    assert isinstance(algorithm, Trace2Strips)
    Path("learned.pddl").write_text(algorithm.learn("signature.pddl", paths))
    found, hidden = read_domain("learned.pddl"), read_domain(domain_file("ferry"))
    for mine, theirs in zip(found.schemas, hidden.schemas, strict=True):
        assert (set(theirs.add), set(theirs.delete)) == (set(mine.add), set(mine.delete)), mine.name
        assert set(theirs.pre) <= set(mine.pre), mine.name
    Path("0_traj").write_text(str(replace(read_trajectory("0_traj"), refused=())))
    with pytest.raises(TraceError, match="no refused action"):
        algorithm.learn("signature.pddl", paths[:1])


def test_an_action_that_leaves_the_state_as_it_is_was_refused():
    from trace2strips.peers.adapter import with_refusals

    a, b = frozenset({("dark", "l")}), frozenset({("lit", "l")})
    plain = Trajectory((a, a, b), (("off", "l"), ("on", "l")), ((0, ("off", "l")),))
    assert with_refusals(plain) == Trajectory((a, b), (("on", "l"),), ((0, ("off", "l")), (0, ("off", "l"))))


def test_the_agent_learns_in_amlgyms_simulator():
    from amlgym.algorithms import get_algorithm
    from amlgym.benchmarks import get_domain_path, get_problems_path
    from amlgym.util.util import empty_domain
    from unified_planning.io import PDDLReader
    from unified_planning.shortcuts import SequentialSimulator

    from trace2strips.peers import Trace2StripsAgent

    hidden = get_domain_path("blocksworld")
    problem = PDDLReader().parse_problem(hidden, get_problems_path("blocksworld", kind="learning")[1])
    agent = get_algorithm("Trace2StripsAgent", input_domain_path=empty_domain(hidden))
    assert isinstance(agent, Trace2StripsAgent)
    model, tried = agent.learn(SequentialSimulator(problem), max_steps=600, seed=1)
    assert len(tried.actions) == 600
    assert len(tried.states) == 601
    assert any(state is None for state in tried.states)
    found = {schema.name: schema for schema in parse_domain(model).schemas}
    assert "(handempty)" in map(str, found["pick_up"].pre)
    assert "(handempty)" in map(str, found["pick_up"].delete)
    assert "(handempty)" in map(str, found["stack"].add)
    assert agent.learn(SequentialSimulator(problem), max_steps=600, seed=1)[0] == model


def test_what_a_user_gets_without_amlgym(monkeypatch):
    monkeypatch.setattr("trace2strips.peers.amlgym_files.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"AMLGym is not installed.*pip install"):
        domain_file("ferry")


def test_a_row_is_one_line_of_json():
    assert json.loads(json.dumps(perform(Case("ferry", 20, 0, "nolam"), seconds=0.01)))["learner"] == "nolam"
