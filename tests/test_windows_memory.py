"""What is kept of a log: saved and read again, and merged, to the byte; runs that are updated."""

import gzip
import json
import random
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given, settings
from hypothesis import strategies as st

import trace2strips as t2s
from test_windows import roads_log
from trace2strips.errors import FileError, TraceError, UserError
from trace2strips.learners.windows import origins
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.memory import merge, summarise_log
from trace2strips.learners.windows.saving import from_text, to_text
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import Summary
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.traces.names import Naming
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

CALL = Naming("call")
SCHEMAS = {"go": 0, "take": 1, "put": 1, "join": 2}


def random_log(seed: int, traces: int, told_nothing: bool = False) -> list[Trace]:
    """Of a hidden world with one predicate over no, one and two objects: some starts are told, some named, some not. Or
    nothing is told, and each trace starts in its own way."""
    rng = random.Random(seed)
    tokens = {
        r: [(name, places) for name, size in SCHEMAS.items() for places in permutations(range(size), r)]
        for r in range(3)
    }
    signs = {(r, token): rng.choice((-1, 0, 1)) for r in tokens for token in tokens[r]}
    asked = {token: rng.random() < 0.4 for r in tokens for token in tokens[r]}
    words = {s: {"p": rng.random() < 0.5} | {f"p{o}": rng.random() < 0.5 for o in "xyz"} for s in ("s1", "s2", "start")}
    found = []
    for _ in range(traces):
        objects = "xyz" if rng.random() < 0.5 else "vwx"
        atoms = [about for r in range(3) for about in permutations(objects, r)]
        kind = rng.choice(("told", "s1", "s2", "start")) if not told_nothing else "told"
        value = {about: rng.random() < 0.5 for about in atoms}
        if kind != "told":
            value = {about: words[kind].get("p" + "".join(about), False) for about in atoms}
        init = frozenset(f"p({', '.join(about)})" if about else "p" for about in atoms if value[about])
        actions, ok = [], []
        for _ in range(rng.randint(1, 9)):
            name = rng.choice(sorted(SCHEMAS))
            args = rng.sample(objects, SCHEMAS[name])
            touched = [
                (r, (name, places), tuple(args[i] for i in places))
                for r in range(SCHEMAS[name] + 1)
                for places in permutations(range(SCHEMAS[name]), r)
            ]
            actions.append(f"{name}({', '.join(args)})" if args else name)
            ok.append(all(value[about] for _, token, about in touched if asked[token]))
            for r, token, about in touched if ok[-1] else ():
                value[about] = value[about] if signs[r, token] == 0 else signs[r, token] > 0
        final = {f"p({objects[0]})": value[objects[0],]} if rng.random() < 0.3 else {}
        if told_nothing:
            found.append(Trace(tuple(actions), tuple(ok)))
            continue
        told = init if kind == "told" else None
        found.append(Trace(tuple(actions), tuple(ok), told, kind if kind in ("s1", "s2") else None, final))
    return found


def kept(traces: list[Trace], arity: int, start: StartLevel) -> Summary:
    return summarise_log(Dataset.of(traces), CALL, arity, start)


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(0, 3), st.sampled_from(StartLevel), st.data())
def test_merged_is_as_of_both_at_once(seed: int, arity: int, start: StartLevel, data: st.DataObject) -> None:
    log = random_log(seed, data.draw(st.integers(3, 12)))
    i, j = sorted(data.draw(st.lists(st.integers(0, len(log)), min_size=2, max_size=2)))
    parts = data.draw(st.permutations([log[:i], log[i:j], log[j:]]))
    a, b, c = (kept(part, arity, start) for part in parts)
    whole = kept([trace for part in parts for trace in part], arity, start)
    merged = merge(merge(a, b), c)
    assert bool(merged.inexplicable) == bool(whole.inexplicable)
    if not whole.inexplicable:
        assert to_text(merged) == to_text(merge(a, merge(b, c))) == to_text(whole)
    assert (merged.types, merged.objects, merged.sample) == (whole.types, whole.objects, whole.sample)


def test_random_logs_are_explained_in_part() -> None:
    """What the test above compares is there: explainable logs and others, refusals, all kinds of starts."""
    found = [kept(random_log(seed, 10), 2, StartLevel.SAME) for seed in range(40)]
    assert sum(not summary.inexplicable for summary in found) > 20
    assert sum(bool(kept(random_log(seed, 10), 0, StartLevel.SAME).inexplicable) for seed in range(40)) > 10
    assert {by[0] for summary in found for _, by in summary.smallest if not isinstance(by, int)} == {"told", "start"}
    assert sum(len(summary.refusals) for summary in found) > 400


@given(st.integers(0, 10**6), st.sampled_from(StartLevel))
def test_saved_and_read_again(seed: int, start: StartLevel) -> None:
    summary = kept(random_log(seed, 5), 2, start)
    assert from_text(to_text(summary)) == summary.without_own_starts()


@settings(max_examples=60)
@given(st.integers(0, 40), st.integers(0, 10**9), st.sampled_from(["0", "-1", "[]", '"x"', "null", "99999999", "{}"]))
def test_a_broken_summary_is_a_value_error_or_a_summary(seed: int, where: int, junk: str) -> None:
    """One value anywhere is replaced: the reader says so, or what it gives can be used."""
    record = json.loads(to_text(kept(random_log(seed, 4), 2, StartLevel.OBJECTS)))
    spots: list[tuple[list | dict, int | str]] = []  # type: ignore[type-arg]
    waiting: list[list | dict] = [record]  # type: ignore[type-arg]
    while waiting:
        part = waiting.pop()
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            spots.append((part, key))
            if isinstance(value, list | dict):
                waiting.append(value)
    part, key = spots[where % len(spots)]
    part[key] = json.loads(junk)  # type: ignore[index]
    try:
        summary = from_text(json.dumps(record))
    except ValueError:
        return
    assert from_text(to_text(summary)) == summary
    assert all(summary.where(refusal.place) for refusal in summary.refusals)


def test_a_sample_is_cut_where_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "LARGEST_SAMPLE", 60)
    monkeypatch.setattr(origins, "LONGEST_SAMPLED", 8)
    log = random_log(5, 30)
    a, b, whole = (kept(part, 2, StartLevel.SAME) for part in (log[:11], log[11:], log))
    assert 0 < len(whole.sample) < 20
    assert merge(a, b).sample == whole.sample
    assert max(len(sampled.trace.actions) for sampled in whole.sample) <= 7
    assert any(len(sampled.trace.actions) < len(log[sampled.number].actions) for sampled in whole.sample)


def test_an_updated_run_is_as_of_both_logs_at_once() -> None:
    log = list(sample(get_domain("blocksworld:4"), SampleSettings(60, 30, suffix="none")))
    one, both = t2s.learn(log[:25], "windows"), t2s.learn(log, "windows")
    updated = one.update(log[25:])
    assert to_text(updated.summary) == to_text(both.summary)
    assert to_text(one.summary) != to_text(both.summary)
    assert isinstance(updated.lifted, LiftedWorld)
    assert isinstance(both.lifted, LiftedWorld)
    assert updated.lifted.pddl() == both.lifted.pddl()
    assert updated.pddl() == both.pddl()
    assert updated.vocabulary == both.vocabulary
    assert (updated.figures.traces, updated.figures.earlier_traces) == (35, 25)


def test_an_updated_run_where_only_the_same_objects_start_alike() -> None:
    log = roads_log()
    one, both = t2s.learn(log[:30], "windows"), t2s.learn(log, "windows")
    assert one.figures.start == both.figures.start == "objects"
    updated = one.update(log[30:])
    assert to_text(updated.summary) == to_text(both.summary)
    assert isinstance(updated.lifted, LiftedWorld)
    assert isinstance(both.lifted, LiftedWorld)
    assert updated.lifted.pddl() == both.lifted.pddl()


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_no_certificate_is_wrong_where_every_trace_starts_in_its_own_way(seed: int) -> None:
    log = random_log(seed, 60, told_nothing=True)
    summary, test = kept(log[:30], 2, StartLevel.OWN), Dataset.of(log[30:])
    assert not summary.inexplicable
    answers = answer_all(summary, test, CALL)
    assert not ((answers == Answer.WORKS) & test.inapplicable).any()
    assert not ((answers == Answer.REFUSED) & ~test.inapplicable).any()


def test_what_a_trace_says_itself_counts_where_every_trace_starts_in_its_own_way() -> None:
    """Without it nothing works for certain: any start may lack what is asked for. What worked before works again."""
    log = random_log(3, 60, told_nothing=True)
    learned = t2s.learn(log[:40], t2s.Windows(start="own"))
    answers = answer_all(learned.summary, Dataset.of(log[40:]), CALL)
    assert not (answers == Answer.WORKS).any()
    found = [one for trace in log[40:] for one in learned.why(trace)]
    assert sum(one.reply.answer == "works" for one in found) > 5
    assert all(one.reply.answer in ("open", one.happened) for one in found)


DOOR = [[("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 3


def test_when_the_log_must_be_read_again() -> None:
    learned = t2s.learn(DOOR, "windows")
    with pytest.raises(TraceError, match="no model explains the refusal at trace 4, attempt 1, if told atoms say all"):
        learned.update([[("open", False)]])
    own = t2s.learn([*DOOR, [("open", False)]], "windows")
    assert own.figures.start == "own"
    with pytest.raises(UserError, match="only starts of their own explain the log of the run"):
        own.update(DOOR)
    broken = t2s.learn([[("a", True), ("a", True)], [("a", True), ("a", False)]], "windows")
    with pytest.raises(UserError, match="no model explains the log of the run"):
        broken.update(DOOR)
    with pytest.raises(TraceError, match="names are read in another way: name"):
        learned.update([[("knock(door)", True)]])
    with pytest.raises(UserError, match="run is of an earlier version"):
        replace(learned, summary=None).update(DOOR)
    with pytest.raises(UserError, match="'completion' keeps nothing of its log"):
        t2s.learn(DOOR, "completion").update(DOOR)
    with pytest.raises(UserError, match="different arities: 2 and 1"):
        merge(kept([], 2, StartLevel.SAME), kept([], 1, StartLevel.SAME))


def test_learn_update_and_what_a_run_folder_keeps(run: Run, tmp_path: Path) -> None:
    log = list(sample(get_domain("blocksworld:3"), SampleSettings(40, 20, suffix="none")))
    for name, part in (("a", log[:15]), ("b", log[15:]), ("all", log)):
        write_traces(Dataset.of(part), tmp_path / f"{name}.jsonl")
    for name in ("a", "all"):
        made = run("learn", f"{name}.jsonl", "--out", name, "--learner", "windows")
        assert made.returncode == 0, made.stderr
        assert "certain if told atoms say all of a start, " in made.stdout
    size = (tmp_path / "all" / "summary.json.gz").stat().st_size
    assert size < 20_000
    first = t2s.load(tmp_path / "a").summary
    assert first.where(first.refusals[0].place).startswith("a.jsonl:")
    updated = run("learn", "b.jsonl", "--update", "a")
    assert updated.returncode == 0, updated.stderr
    assert "15 traces were known before" in updated.stdout
    for name in ("domain.pddl", "problem.pddl", "model.pddl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "all" / name).read_bytes()
    mine, whole = (t2s.load(tmp_path / name).summary for name in ("a", "all"))
    assert [(source.file, source.first) for source in mine.sources] == [("a.jsonl", 0), ("b.jsonl", 15)]
    same = replace(mine, sources=whole.sources, lines=whole.lines)
    assert to_text(same) == to_text(whole)
    assert {mine.where_is(trace) for trace in mine.witnesses()} <= {
        *(f"a.jsonl:{i}" for i in range(1, 16)),
        *(f"b.jsonl:{i}" for i in range(1, 26)),
    }
    metrics = json.loads((tmp_path / "a" / "metrics.json").read_text())
    assert (metrics["start"], metrics["arity"], metrics["earlier_traces"]) == ("same", 2, 15)
    assert metrics["assumptions"][-1] == "the labels are right"
    refused = run("learn", "b.jsonl", "--update", "a", "--arity", 3)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--update keeps the settings of the run" in refused.stderr
    assert "where shall the run go? (hint: --out FOLDER)" in run("learn", "b.jsonl").stderr


def test_a_broken_summary_file(tmp_path: Path) -> None:
    t2s.learn(DOOR, "windows").save(tmp_path / "run")
    file = tmp_path / "run" / "summary.json.gz"
    text = gzip.decompress(file.read_bytes()).decode()
    for broken in (text[:-20], text.replace('"arity": 2', '"arity": "2"'), "[]"):
        file.write_bytes(gzip.compress(broken.encode()))
        with pytest.raises(FileError, match="a file of the run is broken"):
            t2s.load(tmp_path / "run")
    file.write_bytes(gzip.compress(b" " * 2**29))
    with pytest.raises(FileError, match="unpacks to more than 100 times its size"):
        t2s.load(tmp_path / "run")


def test_types_that_only_both_logs_show_to_be_one() -> None:
    one = [Trace(("go(a)", "load(b)", "wait(c)"), (True, True, True))]
    other = [Trace(("go(b)", "stop(c)"), (True, True))]
    a, b, both = (kept(log, 2, StartLevel.SAME) for log in (one, other, one + other))
    assert (a.types, a.objects) == (((0,), (1,), (2,)), (("a",), ("b",), ("c",)))
    assert (both.types, both.objects) == (((0,), (0,), (1,), (1,)), (("a", "b"), ("c",)))
    assert to_text(merge(a, b)) == to_text(both)
