"""What a learned model says of every attempt of a new log."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

import trace2strips as t2s
from trace2strips.errors import TraceError
from trace2strips.learners import verdicts
from trace2strips.learners.registry import LEARNERS, make_learner, settings_of
from trace2strips.learners.windows.answers import Answer
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOOR = [[("close", False), ("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 3
NEW = [
    [("open", True), ("open", True), ("close", False), ("close", True)],  # opened twice: against all models
    [("open", True), ("kick", True), ("close", True), ("close", True)],  # a kick may do anything, two closes cannot be
    [("close", False), ("open", False)],
]
NAMED = [Trace(("go",), (True,), state="home"), Trace(("go",), (False,), state="away")]


def verdicts_of(learned: t2s.Learned, log: object) -> list[str]:
    """One for each attempt."""
    found = learned.judge(log).verdicts  # type: ignore[arg-type]
    return [verdicts.VERDICTS[i].value for i in found[found != verdicts.SETUP].tolist()]


def test_every_attempt_has_a_verdict() -> None:
    learned = t2s.learn(DOOR, "windows")
    judged = learned.judge(NEW)
    assert verdicts_of(learned, NEW) == [
        *("expected", "impossible", "surprising", "expected"),  # behind what cannot be nothing is certain
        *("expected", "unknown", "expected", "impossible"),
        *("expected", "impossible"),
    ]
    assert judged.counts == {
        "traces": 3, "attempts": 10, "impossible": 3, "surprising": 1, "unknown": 1, "expected": 5, "certain": 3,
    }  # fmt: skip
    assert not judged.is_possible
    assert learned.judge(DOOR).counts["certain"] == 18
    assert learned.judge(DOOR).is_possible


def test_it_prints_itself_with_proofs() -> None:
    lines = str(t2s.learn(DOOR, "windows").judge(NEW)).splitlines()
    assert lines[0] == ("10 attempts in 3 traces: 5 as expected (3 for certain), 3 impossible, 1 surprising, 1 unknown")
    assert lines[1].startswith("impossible: open worked at trace 1, attempt 2: it is refused in every model")
    assert lines[2] == "  it was refused at trace 1, attempt 3, and whatever can be why is so here too"
    assert "impossible: open was refused at trace 3, attempt 2: it works in every model" in "\n".join(lines)
    assert "  not because of the start: it worked at trace 1, attempt 2, with nothing since" in lines
    assert "surprising: close was refused at trace 1, attempt 3: the model says works" in lines
    assert lines[-1] == (
        "unknown: kick worked at trace 2, attempt 2: nothing was learned of this action; it may have changed what follows"
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_judges(name: str) -> None:
    """Those that know nothing for certain: expected, surprising and unknown only. Their guesses are their errors."""
    traces = [Trace(("a", "b", "b"), (True, True, False), frozenset({"p"}), final={"p": True, "q": False})] * 4
    traces += [Trace(("b", "a"), (True, True), frozenset({"q"}), final={"p": False, "q": True})] * 4
    learned = t2s.learn(traces, make_learner(name, {"steps": 2} if "steps" in settings_of(name) else {}))
    judged = learned.judge(traces)
    wrong = (judged.verdicts == verdicts.VERDICTS.index(verdicts.Verdict.SURPRISING)).any()
    assert bool(wrong) == (learned.errors(traces) > 0)
    assert judged.counts["attempts"] == 4 * 5 + 4 * 4
    strange = learned.judge([Trace(("a", "fly"), (True, True), frozenset({"p", "elsewhere"}), final={"x": True})])
    assert strange.counts["unknown"] == 2  # an initial atom that nobody knows changes nothing
    assert (strange.counts["certain"] == 0) or name == "windows"


def test_guesses_follow_what_really_happened() -> None:
    """A surprise is said once: what follows is judged by the labels, not by what the model expected."""
    learned = t2s.learn(DOOR, "completion")
    assert verdicts_of(learned, [[("open", True), ("open", True), ("close", True), ("open", True)]]) == [
        "expected", "surprising", "expected", "expected",
    ]  # fmt: skip
    assert verdicts_of(learned, [[("open", False), ("open", True)]]) == ["surprising", "expected"]


def without_success_of(schema: str, domain: str, seed: int) -> list[Trace]:
    """Traces in which no action of the schema ever worked, and none is tried."""
    found = []
    for trace in sample(get_domain(domain), SampleSettings(400, 6, suffix="none", seed=seed)):
        steps = [(a, ok) for a, ok in zip(trace.actions, trace.ok, strict=True) if not a.startswith(schema)]
        if all(not ok for a, ok in zip(trace.actions, trace.ok, strict=True) if a.startswith(schema)) and steps:
            found.append(Trace(tuple(a for a, _ in steps), tuple(ok for _, ok in steps), trace.init))
    return found


@pytest.mark.parametrize("schema", ["stack_", "put-down_", "unstack_"])
def test_certificates_survive_unknown_actions(schema: str) -> None:
    """A world is learned without one of its actions; in logs with it whatever is called impossible would be wrong."""
    learned = t2s.learn(without_success_of(schema, "blocksworld:3", 1), "windows")
    log = sample(get_domain("blocksworld:3"), SampleSettings(300, 40, suffix="none", seed=2))
    counts = learned.judge(log).counts
    assert counts["unknown"] == sum(a.startswith(schema) for trace in log for a in trace.actions) > 1000
    assert counts["impossible"] == 0
    assert counts["certain"] > 100


def test_too_many_unknown_actions_leave_nothing_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = t2s.learn(DOOR, "windows")
    monkeypatch.setattr("trace2strips.learners.windows.learner.MOST_TOKENS", 2)
    assert verdicts_of(learned, NEW)[:8] == [
        *("expected", "surprising", "surprising", "expected"),
        *("expected", "unknown", "expected", "surprising"),
    ]


def test_unknown_starts() -> None:
    for name in ("windows", "completion"):
        learned = t2s.learn(NAMED, name)
        log = [NAMED[0], Trace(("go", "jump"), (True, True), state="school")]
        assert verdicts_of(learned, log) == ["expected", "unknown", "unknown"]
        assert "nothing is known of where this trace starts" in str(learned.judge(log))
        with pytest.raises(TraceError, match="unknown initial state 'school'"):
            learned.judge(log[1:])
        with pytest.raises(TraceError, match="the traces tell initial atoms, and none that was learned from does"):
            learned.judge([Trace(("go",), (True,), frozenset({"p"}))])
        with pytest.raises(TraceError, match="there is no trace to judge"):
            learned.judge([])


def test_new_objects_are_no_strangers() -> None:
    train = sample(get_domain("blocksworld:3"), SampleSettings(300, 30, suffix="none"))
    test = sample(get_domain("blocksworld:5"), SampleSettings(50, 60, suffix="none", seed=9))
    counts = t2s.learn(train, "windows").judge(test).counts
    assert (counts["unknown"], counts["impossible"]) == (0, 0)
    assert counts["certain"] > 0.8 * counts["attempts"]


def test_final_values_are_judged() -> None:
    train = sample(get_domain("blocksworld:2"), SampleSettings(200, 10, suffix="all"))
    learned = t2s.learn(train, "windows")
    flipped = train.inapplicable.copy()
    last = len(flipped) - 1
    flipped[last] = not flipped[last]
    wrong = Dataset(train.vocabulary, train.tokens, flipped, train.offsets)
    (remark,) = learned.judge(wrong).remarks(details=True)
    assert (remark.verdict, remark.trace) == ("impossible", 200)
    assert remark.action == train.vocabulary.subjects[train.tokens[last]]
    assert remark.details


def test_answers_have_one_meaning() -> None:
    assert (verdicts.OPEN, verdicts.WORKS, verdicts.REFUSED) == (Answer.OPEN, Answer.WORKS, Answer.REFUSED)


def test_command(run: Run, tmp_path: Path) -> None:
    write_traces(Dataset.of([Trace(*zip(*trace, strict=True)) for trace in DOOR]), tmp_path / "door.txt")
    (tmp_path / "new.txt").write_text("open open !close close\nopen kick\n")
    assert run("learn", "door.txt", "--learner", "windows", "--out", "run", "-q").returncode == 0
    result = run("judge", "run", "new.txt", "--csv", "found.csv")
    assert result.returncode == 3
    assert "impossible: open worked at new.txt:1, attempt 2: it is refused in every model" in result.stdout
    assert "  it was refused at door.txt:1, attempt 3, and" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("certain if told atoms say all of a start")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "found.csv").read_text())))
    assert [(row["file"], row["line"], row["attempt"], row["verdict"]) for row in rows] == [
        ("new.txt", "1", "2", "impossible"),
        ("new.txt", "1", "3", "surprising"),
        ("new.txt", "2", "2", "unknown"),
    ]
    record = json.loads(run("judge", "run", "new.txt", "--json", "--show", 1).stdout)
    assert (record["impossible"], record["surprising"], len(record["remarks"])) == (1, 1, 1)
    assert record["remarks"][0]["details"]
    short = run("judge", "run", "new.txt", "--show", 0).stdout.splitlines()
    assert short[1] == "… and 3 more"
    assert run("judge", "run", "door.txt").returncode == 0


def test_columns_of_a_new_log_may_be_named(run: Run, tmp_path: Path) -> None:
    t2s.learn(DOOR, "windows").save(tmp_path / "run")
    (tmp_path / "new.csv").write_text("visit,what,how\n7,open,fine\n8,open,fine\n7,open,stuck\n8,open,fine\n")
    named = ("--case", "visit", "--action", "what", "--ok", "how", "--worked", "fine", "--refused", "stuck")
    result = run("judge", "run", "new.csv", *named)
    assert result.returncode == 3, result.stderr
    assert result.stdout.startswith("4 attempts in 2 traces: 3 as expected (3 for certain), 1 impossible")
    assert "impossible: open worked at new.csv:5, attempt 2" in result.stdout


def test_mistakes(run: Run, tmp_path: Path) -> None:
    t2s.learn(DOOR, "windows").save(tmp_path / "run")
    (tmp_path / "log.txt").write_text("open\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "told.txt").write_text("p | open |\n")
    for arguments, message in (
        (("nowhere", "log.txt"), "no run of trace2strips"),
        (("run", "missing.txt"), "missing.txt"),
        (("run", "empty.txt"), "empty.txt"),
        (("run", "told.txt"), "told.txt: the traces tell initial atoms"),
        (("run", "log.txt", "--show", -1), "-1 attempts to show"),
        (("run", "log.txt", "--csv", "empty.txt"), "empty.txt"),
        (("run",), "LOG"),
    ):
        result = run("judge", *arguments)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result
        assert message in result.stderr


def test_large_logs_are_judged_as_small_ones() -> None:
    """The same verdicts, whether traces are judged at once or one by one."""
    train = sample(get_domain("ferry:2x2"), SampleSettings(8, 20, suffix="none"))
    learned = t2s.learn(train, "windows")
    log = sample(get_domain("ferry:2x2"), SampleSettings(40, 20, suffix="none", seed=5))
    flipped = log.inapplicable ^ (np.arange(len(log.tokens)) % 17 == 0) & (log.vocabulary.kinds[log.tokens] == 3)
    noisy = Dataset(log.vocabulary, log.tokens, flipped, log.offsets)
    assert verdicts_of(learned, noisy) == [v for trace in noisy for v in verdicts_of(learned, [trace])]
    assert {"impossible", "expected", "surprising"} <= set(verdicts_of(learned, noisy))
