"""Questions to what was learned: answers, proofs with their places, and attempts that decide most."""

import json
from pathlib import Path

import pytest
from conftest import Run

import trace2strips as t2s
from test_windows import attempts
from trace2strips.errors import TraceError, UserError
from trace2strips.learners.learner import Learned
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.questions import Explanation, Questions, Reply
from trace2strips.learners.windows.reference import VersionSpace
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.traces.one_trace import read_trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

TABLE = "clear_a; ontable_a; clear_b; ontable_b; handempty"


@pytest.fixture(scope="module")
def blocks() -> Learned:
    return t2s.learn(sample(get_domain("blocksworld-5b"), SampleSettings(20, 50, suffix="none")), "windows")


@pytest.mark.parametrize("start", StartLevel)
def test_answers_are_those_of_the_definition(start: StartLevel) -> None:
    """What the trace itself says so far is part of the log. Whole datasets are answered without that: more is open."""
    train = sample(get_domain("blocksworld:3"), SampleSettings(12, 15, suffix="none", seed=3))
    learned = t2s.learn(train, Windows(start=start))
    test = sample(get_domain("blocksworld:3"), SampleSettings(12, 20, suffix="none", seed=4), like=train)
    naming, projection = learned.summary.naming, learned.summary.projection
    log = attempts(train, naming, projection, start)
    expected, explained = [], []
    for trace in test:
        steps = attempts(Dataset.of([trace]), naming, projection, start, first=len(train))
        for i, step in enumerate(steps):
            expected.append(VersionSpace.of([*log, *steps[:i]]).answer(step.schema, step.situation))
        explained += learned.why(trace)
    assert [one.reply.answer for one in explained] == expected
    assert {"works", "refused", "open"} == set(expected)
    found = answer_all(learned.summary, test, naming)
    without = [Answer(x).name.lower() for x in found[found != Answer.NOT_ASKED].tolist()]
    assert all(one in ("open", other) for one, other in zip(without, expected, strict=True))
    assert without != expected
    marks = [ok for trace in test for ok in trace.ok]
    assert [one.happened for one in explained] == ["works" if ok else "refused" for ok in marks]
    assert all(one.reply.answer in ("open", one.happened) for one in explained)
    if start == StartLevel.SAME:  # the guess is what the small model says
        right = [one.reply.guess == one.happened for one in explained]
        assert (sum(right) == len(right)) == (learned.errors(test) == 0)


def test_next_lists_all_actions_over_the_objects(blocks: Learned) -> None:
    """Of blocks that training never saw; and they are what the world says."""
    replies = {reply.action: reply for reply in blocks.next(f"{TABLE} | pick-up_a")}
    assert len(replies) == 8
    assert {name: reply.guess for name, reply in replies.items()} == {
        "put-down_a": "works",
        "stack_a_b": "works",
        "pick-up_a": "refused",
        "pick-up_b": "refused",
        "put-down_b": "refused",
        "stack_b_a": "refused",
        "unstack_a_b": "refused",
        "unstack_b_a": "refused",
    }
    assert all(reply.answer in ("open", reply.guess) for reply in replies.values())
    assert replies["put-down_a"].certain
    assert blocks.ask(f"{TABLE} | pick-up_a", "put-down_a") == replies["put-down_a"]
    assert next(iter(replies)) == "put-down_a"  # what works comes first


def test_objects_keep_to_their_types() -> None:
    """A car is never sailed to; what training never saw has its type from what is told of it."""
    domain = get_domain("ferry:2x3")
    learned = t2s.learn(sample(domain, SampleSettings(30, 30, suffix="none")), "windows")
    trace = sample(domain, SampleSettings(1, 5, "test", suffix="none", seed=5))[0]
    hidden = {action.name for action in domain.model.actions}
    actions = {reply.action for reply in learned.next(trace)}
    assert actions <= hidden
    assert len(actions) == 18
    renamed = Trace((), (), frozenset(atom.replace("c1", "lorry").replace("p1", "quay") for atom in trace.init or ()))
    found = {reply.action.replace("lorry", "c1").replace("quay", "p1") for reply in learned.next(renamed)}
    assert found == actions


def test_proofs_point_to_the_log(blocks: Learned) -> None:
    train = sample(get_domain("blocksworld-5b"), SampleSettings(20, 50, suffix="none"))
    (one,) = blocks.why(f"{TABLE} | pick-up_a", "put-down_a")
    assert one.reply.answer == "works"
    assert len(one.because) == one.reply.ruled_out
    assert one.because[0].startswith("not because of pick-up(_), with nothing since: it worked so at trace ")
    for line in one.because:
        trace, attempt = (int(part.split()[-1]) for part in line.split(" at ")[1].split(","))
        assert train[trace - 1].actions[attempt - 1].startswith("put-down_")
        assert train[trace - 1].ok[attempt - 1]
    (refused,) = blocks.why(f"{TABLE} | pick-up_a", "pick-up_a")
    assert str(refused).splitlines()[0] == "pick-up_a: refused, for certain"
    place = refused.because[0].removeprefix("it was refused at ").partition(", and only one")[0]
    trace, attempt = (int(part.split()[-1]) for part in place.split(","))
    assert train[trace - 1].actions[attempt - 1].startswith("pick-up_")
    assert not train[trace - 1].ok[attempt - 1]


def test_what_contradicts_all_models_is_said() -> None:
    door = [[("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 3
    learned = t2s.learn(door, "windows")
    found = learned.why("open open")
    assert str(found[1]).splitlines()[0] == "open: refused, for certain; it worked, against all models that fit the log"
    (after,) = learned.why("open open", "close")
    assert after.because == ("nothing is certain: no model explains the label at this trace, attempt 2",)
    tested = learned.tested_on([[("open", True), ("open", True), ("close", True)]])
    assert (tested.figures.certain_share, tested.figures.inexplicable) == (1.0, 1)
    noisy = t2s.learn([[("a", True), ("a", True)], [("a", True), ("a", False)]], "windows")
    (one,) = noisy.why("a", "a")
    assert isinstance(one, Explanation)
    assert (one.reply.answer, one.because) == (
        "open",
        ("nothing is certain: no model explains the label at trace 2, attempt 2",),
    )
    assert (noisy.figures.certain_share, noisy.figures.inexplicable) == (0.0, 1)


def test_a_suggested_attempt_decides_what_it_promises(blocks: Learned) -> None:
    """Whatever the answer is: learn from it, and see."""
    before = sample(get_domain("blocksworld:6"), SampleSettings(1, 20, "test", suffix="none", seed=8))[0]
    suggestions = blocks.suggest(before, count=4)
    assert len(suggestions) == 4
    assert suggestions[0].worth >= suggestions[-1].worth
    opened = {reply.action for reply in blocks.next(before) if not reply.certain}
    for one in suggestions:
        action = one.reply.action
        assert action in opened
        for worked, promised in ((True, one.decided_if_works), (False, one.decided_if_refused)):
            longer = Trace((*before.actions, action), (*before.ok, worked), before.init)
            try:
                updated = blocks.update([longer])
            except TraceError:
                continue
            assert isinstance(updated.questions, Questions)
            decided = {reply.action for reply in updated.next(before) if reply.certain or reply.apart} & opened
            assert action in decided
            assert len(decided) >= promised + 1
    kept = blocks.suggest(count=3)
    assert all(one.after is not None and one.after.startswith("trace ") for one in kept)


def test_what_was_never_tried_together_is_not_certain() -> None:
    """A maze whose streets nobody told: no log tries to move between far cells, so nothing that happened says that it
    would fail, and nobody knows."""
    learned = t2s.learn(sample(get_domain("maze-5x5"), SampleSettings(20, 50, suffix="none")), "windows")
    hidden = {action.name for action in get_domain("maze-5x5").model.actions}
    trace = sample(get_domain("maze-5x5"), SampleSettings(1, 20, "test", suffix="none", seed=2))[0]
    replies = learned.next(trace)
    apart = [reply for reply in replies if reply.apart]
    assert {reply.action for reply in replies if not reply.apart} <= hidden
    assert len(apart) > 100
    assert not any(reply.answer == "works" for reply in apart)
    unknown = next(reply for reply in apart if not reply.live)
    assert str(unknown).startswith(
        f"{unknown.action}: open ({' and '.join(unknown.apart)} were never tried together there); "
    )
    assert learned.why(trace, unknown.action)[0].because[-1] == (
        f"perhaps because of something that nobody told: {' and '.join(unknown.apart)} were never tried together there"
    )
    again = Trace((*trace.actions, unknown.action), (*trace.ok, False), trace.init)
    assert learned.ask(again, unknown.action) == unknown  # a wall, perhaps: that says nothing of what was told
    assert learned.judge([again]).counts["impossible"] == 0
    through = Trace((*trace.actions, unknown.action), (*trace.ok, True), trace.init)
    assert not learned.ask(through, unknown.action).apart  # it has worked now


def test_other_learners_say_that_they_do_not_know() -> None:
    learned = t2s.learn([[("a", True), ("a", False)]], "completion")
    for ask in (lambda: learned.next([]), lambda: learned.ask("a", "a"), lambda: learned.why("a"), learned.suggest):
        with pytest.raises(UserError, match="learner 'completion' does not know what is certain"):
            ask()


@pytest.mark.parametrize(
    ("text", "trace"),
    [
        ("open !open", Trace(("open", "open"), (True, False))),
        ("pick-up(a); stack(a, b)!", Trace(("pick-up(a)", "stack(a, b)"), (True, False))),
        ("!go(a)", Trace(("go(a)",), (False,))),
        ("at(a); free | go(a)", Trace(("go(a)",), (True,), frozenset({"at(a)", "free"}))),
        ("@s1 | go(a)", Trace(("go(a)",), (True,), state="s1")),
        ("| go(a)", Trace(("go(a)",), (True,), frozenset())),
        ("", Trace((), ())),
    ],
)
def test_a_trace_as_it_is_written(text: str, trace: Trace) -> None:
    assert read_trace(text) == trace


def test_commands(run: Run, tmp_path: Path) -> None:
    (tmp_path / "door.txt").write_text("open !open close !close open\n!close open close\n")
    (tmp_path / "one.txt").write_text("open\n")
    made = run("learn", "door.txt", "--out", "run", "--learner", "windows")
    assert "% of positions of one half of the traces by the other, open: " in made.stdout
    shown = run("next", "run", "one.txt")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[:2] == ["close: works, for certain", "open: refused, for certain"]
    assert lines[2].startswith("certain if told atoms say all of a start")
    assert run("next", "run", "open", "--works").stdout.splitlines()[0] == "close: works, for certain"
    told = json.loads(run("next", "run", "open", "--json").stdout)
    told_of_close = {"action": "close", "answer": "works", "guess": "works", "live": 0, "ruled_out": 2, "apart": []}
    assert told["actions"][0] == told_of_close
    assert Reply(**{**told_of_close, "apart": ()}).certain
    assert told["assumptions"][-1] == "the labels are right"
    why = run("why", "run", "one.txt", "open").stdout.splitlines()
    assert why[:3] == [
        "open: refused, for certain",
        "  it was refused at door.txt:1, attempt 2, and only one of these can be why:",
        "    because of open, with nothing since",
    ]
    assert json.loads(run("why", "run", "door.txt:2", "--json").stdout)["attempts"][0]["happened"] == "refused"
    nothing = run("suggest", "run", "open")
    assert nothing.stdout.splitlines()[0] == "nothing is open there"
    (one,) = json.loads(run("suggest", "run", "--json").stdout)["suggestions"]  # it never closed for a second time
    assert (one["after"], one["reply"]["action"], one["reply"]["guess"]) == ("door.txt:1", "close", "works")
    for words, message in (
        (
            ("next", "run", "door.txt"),
            "door.txt: there are 2 traces where one is asked for (hint: name one by its line",
        ),
        (("next", "run", "door.txt:7"), "door.txt:7: no trace begins on this line"),
        (("next", "run", "none.txt"), "none.txt: no such file"),
        (("next", "run", "opne"), "unknown action 'opne' (hint: did you mean 'open'?)"),
        (("why", "run", "open", "shut"), "unknown action 'shut'"),
        (("next", "run", "a | b(c) | d"), "is no trace: more than one '|'"),
        (("suggest", "run", "--count", 0), "0 suggestions"),
        (("next", "nowhere", "open"), "nowhere: no run of trace2strips"),
    ):
        result = run(*words)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), words
        assert message in result.stderr
    write_traces(t2s.Dataset.of([Trace(("open", "close"), (True, True))]), tmp_path / "test.jsonl")
    figures = json.loads(run("evaluate", "run", "--test", "test.jsonl", "--json").stdout)
    assert (figures["certain_share"], figures["open_share"], figures["inexplicable"]) == (1.0, 0.0, 0)
