"""The cautious bound: a STRIPS model that accepts what is certain, no more and no less; and plans in it."""

import json
import random
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from conftest import Run

import trace2strips as t2s
import windows_theorems
from trace2strips.errors import UserError
from trace2strips.learners.learner import Learned
from trace2strips.learners.windows.answers import Answer
from trace2strips.learners.windows.cautious import Cautious, transversals
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.proofs import prove
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import summarise
from trace2strips.model.strips import StripsProblem
from trace2strips.pddl import format_problem
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def test_transversals_are_the_minimal_sets_that_meet_all_windows() -> None:
    rng = random.Random(0)
    assert transversals([]) == (0,)
    assert transversals([0, 3]) == ()
    for _ in range(300):
        windows = [rng.randrange(1, 64) for _ in range(rng.randrange(5))]
        meeting = [s for s in range(64) if all(s & w for w in windows)]
        expected = {s for s in meeting if not any(t != s and t & ~s == 0 for t in meeting)}
        assert set(transversals(windows)) == expected
        for most in (1, 2, 3):  # more cautious: whatever meets these sets contains a window
            few = transversals(windows, most)
            for seen in range(64):
                if windows and all(seen & s for s in few):
                    assert any(w & ~seen == 0 for w in windows)


def logs_and_histories(world: str, count: int) -> list[tuple[Dataset, Dataset]]:
    brute, rng = windows_theorems.BruteForce(world), random.Random(world)
    found = []
    for _ in range(count):
        log, other = (windows_theorems.as_dataset(brute, windows_theorems.random_log(rng, brute)) for _ in range(2))
        found.append((log, other))
    return found


def untold(dataset: Dataset) -> Dataset:
    """The same with starts that have names, or none."""
    traces = [replace(t, init=None, state=None if i % 2 else f"s{len(t.init or ())}") for i, t in enumerate(dataset)]
    return Dataset.of(traces)


@pytest.mark.parametrize("level", StartLevel)
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("world", windows_theorems.WORLDS)
def test_the_bound_accepts_what_is_certain(world: str, told: bool, level: StartLevel) -> None:
    """After random histories, certain or not, of the log's objects."""
    brute = windows_theorems.BruteForce(world)
    naming = windows_theorems.NAMING
    actions = [
        naming.join((name, *(objects[i] for i in pattern)))
        for name, pattern in brute.projection.schemas
        for objects in windows_theorems.distinct(brute.objects, max(pattern, default=-1) + 1)
    ]
    seen = {True: 0, False: 0}
    for log, other in logs_and_histories(world, 60):
        known, asked = (log, other) if told else (untold(log), untold(other))
        collected = collect_windows(known, encode(known, naming, brute.projection.arity, brute.projection), level)
        summary = replace(summarise(collected, known.vocabulary, level), naming=naming).without_own_starts()
        for trace in asked:
            model, start = Cautious(summary, actions, Trace((), (), trace.init, trace.state)).model()
            worked = [name for name, ok in zip(trace.actions, trace.ok, strict=True) if ok]
            state = start
            for i in range(len(worked) + 1):
                before = Trace(tuple(worked[:i]), (True,) * i, trace.init, trace.state)
                for name in actions:
                    certain = prove(summary, naming, before, name).answer == Answer.WORKS
                    assert model.action(name).applicable(state) == certain
                    assert not (certain and summary.nothing_certain)
                    seen[certain] += 1
                if i < len(worked):
                    state = model.action(worked[i]).progress(state)
    assert seen[False] > 100
    assert seen[True] > 50 or level == StartLevel.OWN


def learn_blocks(traces: int) -> Learned:
    return t2s.learn(sample(get_domain("blocksworld-5b"), SampleSettings(traces, 50, suffix="none")), "windows")


@pytest.mark.parametrize("traces", [10, 40, 300])
def test_certain_plans_work_in_the_hidden_world(traces: int) -> None:
    """Of another size, from starts and for goals drawn at random; where nothing is certain there is no plan."""
    learned, hidden = learn_blocks(traces), get_domain("blocksworld:4").model
    starts = [trace.init for trace in sample(get_domain("blocksworld:4"), SampleSettings(4, 0, suffix="none", seed=6))]
    found, missing = 0, 0
    for init, goal in product(starts, ("on_b1_b2", "on_b4_b3 on_b3_b1")):
        start = sorted(init or ())
        small, certain = learned.plan(goal, start), learned.plan(goal, start, certain=True)
        assert len(small.certain) == len(small.plan or ())
        if certain.plan is None:
            assert str(certain) == "no plan whose steps are all certain: unsolvable"
            missing += 1
            continue
        found += bool(certain.plan)
        assert certain.certain == (True,) * len(certain.plan)
        assert all(step.because for step in certain.steps)
        wanted = frozenset(goal.split())
        assert StripsProblem(hidden, frozenset(start), wanted).solved_by(certain.plan)
    assert (found > 0, missing > 0) == {10: (True, True), 40: (True, True), 300: (True, False)}[traces]


def test_certain_plans_are_found_where_the_small_model_has_others() -> None:
    """Nobody jumped before having walked, so the small model sees no need to; for certain it is needed."""
    learned = t2s.learn(
        [[("arrive", False), ("walk", True), ("arrive", False), ("jump", True), ("arrive", True)]], "windows"
    )
    goal = sorted(learned.model.action("arrive").pre)
    small, certain = learned.plan(goal), learned.plan(goal, certain=True)
    assert (small.plan, small.certain, str(small)) == (("jump",), (False,), "jump  ; open")
    assert (certain.plan, certain.certain, str(certain)) == (("walk", "jump"), (True, True), "walk\njump")


def test_where_no_model_explains_the_log_no_step_is_certain() -> None:
    log = [
        [("a", True), ("a", True), ("b", True)],
        [("a", True), ("a", False)],
        [("b", False), ("a", True), ("b", True)],
    ]
    learned = t2s.learn(log, Windows(noise=0))
    assert learned.summary.inexplicable
    assert learned.plan([], certain=True).plan == ()
    (goal,) = learned.model.action("b").pre
    small = learned.plan(goal)
    assert (small.plan, small.certain) == (("a",), (False,))
    assert str(small) == "a  ; open"
    assert learned.plan(goal, certain=True).plan is None


def test_where_labels_are_wrong_no_step_is_certain() -> None:
    learned = t2s.learn([[("a", True), ("a", False), ("b", True), ("a", True)]] * 3, "windows")
    (goal,) = learned.model.action("a").pre
    after = replace(learned, summary=replace(learned.summary, wrong_labels=1))
    for found, certain in ((learned, True), (after, False)):
        assert found.plan(f"!{goal}").certain == (certain,)
        assert (found.plan(f"!{goal}", certain=True).plan is not None) == certain


def test_commands(run: Run, tmp_path: Path) -> None:
    (tmp_path / "door.txt").write_text("open !open close !close open\n!close open close\n")
    run("learn", "door.txt", "--out", "run", "--learner", "windows")
    shown = run("plan", "run", "--enable", "close", "--certain")
    assert (shown.returncode, shown.stdout) == (0, "open\n")
    assert shown.stderr.startswith("1 actions, 1 of them certain, ")
    assert "\ncertain if told atoms say all of a start" in shown.stderr
    told = json.loads(run("plan", "run", "--enable", "close", "--json").stdout)
    assert (told["certain"], told["assumptions"][-1]) == ([True], "the labels are right")
    assert told["steps"][0]["because"][0].endswith("door.txt:1, attempt 1")
    twice = "open close open"  # it never closed for a second time
    opened = run("plan", "run", "--after", f"{twice} close", "--init", "start")
    assert opened.returncode == 0
    (tmp_path / "more.txt").write_text("on !run\non !run on\n")
    run("learn", "more.txt", "--out", "more", "--learner", "windows")
    none = run("plan", "more", "--enable", "run", "--certain")
    assert none.returncode == 1
    assert none.stdout.splitlines()[0] == "no plan whose steps are all certain: unsolvable"
    assert none.stdout.splitlines()[1:2] in ([], ["what could be tried there:"])
    run("learn", "door.txt", "--out", "other", "--learner", "completion")
    text = (tmp_path / "run" / "problem.pddl").read_text()
    (tmp_path / "goal.pddl").write_text(text.replace("(and)))", "(and (after-open))))"))
    (tmp_path / "odd.pddl").write_text(text.replace("(:init (before-open))", "(:init (before-open) (after-open))"))
    by_problem = run("plan", "run", "--problem", "goal.pddl", "--certain")
    assert (by_problem.returncode, by_problem.stdout) == (0, "open\n"), by_problem.stderr
    assert by_problem.stderr.splitlines()[2:] == [
        "and if the problem begins where traces do that tell nothing",
        "that the goal holds then is what the small model says",
    ]
    assert run("plan", "run", "--problem", "odd.pddl").returncode == 0  # not asked for certainty
    for words, message in (
        (("plan", "other", "--enable", "close", "--certain"), "learner 'completion' does not know what is certain"),
        (
            ("plan", "run", "--problem", "odd.pddl", "--certain"),
            "odd.pddl: the problem begins where no trace of the log does",
        ),
        (("plan", "blocksworld-5b", "--goal", "on_b1_b2", "--init", "handempty", "--certain"), "nothing is known of"),
    ):
        result = run(*words)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), words
        assert message in result.stderr


def test_certain_plans_of_problem_files(run: Run, tmp_path: Path) -> None:
    """In the words of the learned domain or of the hidden one, of any size; each step works in the hidden world."""
    train = sample(get_domain("blocksworld-5b"), SampleSettings(300, 50, suffix="none"))
    write_traces(train, tmp_path / "train.t2s")
    run("learn", "train.t2s", "--out", "run", "--learner", "windows", "-q")
    larger = get_domain("blocksworld:7")
    for number, problem in enumerate(p for p in larger.problems(6) if not p.goal <= p.init):
        (tmp_path / f"{number}.pddl").write_text(format_problem(larger.lifted_problem(problem)))
        result = run("plan", "run", "--problem", f"{number}.pddl", "--certain")
        assert result.returncode == 0, result.stderr
        assert "; " not in result.stdout
        assert problem.solved_by(result.stdout.splitlines())
        record = json.loads(run("plan", "run", "--problem", f"{number}.pddl", "--certain", "--json").stdout)
        assert record["certain"] == [True] * len(record["plan"])
    example = (tmp_path / "run" / "problem.pddl").read_text()
    (tmp_path / "own.pddl").write_text(example.replace("(and)))", "(and (on b1 b2))))"))
    own = run("plan", "run", "--problem", "own.pddl", "--certain")
    assert (own.returncode, own.stdout.splitlines()[-1]) == (0, "stack_b1_b2"), own.stderr
    (tmp_path / "held.pddl").write_text(example.replace("(:init ", "(:init (can-put-down b1) "))
    refused = run("plan", "run", "--problem", "held.pddl", "--certain")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "held.pddl: a start at which 'can-put-down_b1' is not false cannot be told" in refused.stderr


def test_named_starts_of_problem_files() -> None:
    """A problem is that of a named start by its name, or if only one is like it."""
    steps = (("go", True), ("go", False))
    log = [Trace(*zip(*steps, strict=True), state=name) for name in ("a", "b")] * 3
    log += [Trace(("go", "go"), (False, False), state="c")] * 3
    learned = t2s.learn(log, "windows")
    (goal,) = learned.model.action("go").pre

    def first(start: str, name: str) -> Trace:
        problem = StripsProblem(learned.model, learned.start(start), frozenset({goal}), name)
        return learned.learner.first_of_problem(learned, problem)

    assert first("a", "a") == Trace((), (), state="a")
    assert first("a", "b") == Trace((), (), state="b")
    assert first("c", "any") == Trace((), (), state="c")
    with pytest.raises(UserError, match="the problem begins like 2 named starts of the log"):
        first("a", "any")


@pytest.mark.parametrize("heavy", [False, True])
def test_nothing_is_certain_of_new_objects_that_cannot_be_told_of_as_the_log_does(heavy: bool) -> None:
    """No learned predicate is `heavy`, so nobody can say whether a new object is; the log tells it of its own."""
    steps = (("put(a)", False), ("take(a)", True), ("take(a)", False), ("put(a)", True), ("take(c)", False))
    init = frozenset({"there(a)", *(["heavy(b)"] if heavy else [])})
    traces = [Trace(tuple(name for name, _ in steps), tuple(ok for _, ok in steps), init)] * 4
    learned = t2s.learn(traces, "windows")
    found = learned.plan("!there(n)", init=["there(n)"])
    assert found.plan == ("take(n)",)
    assert found.certain == (not heavy,)
    assert (learned.plan("!there(n)", init=["there(n)"], certain=True).plan is None) == heavy
