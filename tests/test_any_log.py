"""Logs as others write them: columns by their usual names, outcomes by words and codes, order by time, many formats."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Run

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from any_log import STARTS, WRITERS, log_with_starts, names_of_starts

from trace2strips.errors import FileError, TraceError, UserError
from trace2strips.learners.holding_out import measure
from trace2strips.learners.learning import learn, load
from trace2strips.learners.windows.learner import Windows
from trace2strips.traces import Dataset, read_traces, tables
from trace2strips.traces.columns import Columns
from trace2strips.traces.outcomes import Words
from trace2strips.traces.splitting import hash_trace_slowly, hash_traces, held_back
from trace2strips.traces.times import TimeError, as_numbers
from trace2strips.traces.trace import Trace
from trace2strips.worlds.everyday import WORLDS, everyday_log


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("world", WORLDS)
def test_the_same_model_from_every_format(world: str, tmp_path: Path) -> None:
    log = everyday_log(world, 40)
    expected = learn(log, Windows())
    assert expected.lifted is not None
    for ending, writer in WRITERS.items():
        writer(log, tmp_path / f"log.{ending}")
        dataset = read_traces(tmp_path / f"log.{ending}")
        found = {(trace.actions, trace.ok) for trace in dataset}
        assert found == {(trace.actions, trace.ok) for trace in log}
        learned = learn(dataset, Windows())
        assert learned.lifted is not None
        assert learned.lifted.pddl() == expected.lifted.pddl()


ROWS = "id;Activity;Status\n" + "a;open;ok\nb;open;ok\na;open;denied\nb;close;ok\na;close;ok\n"


def test_separators_gzip_folders_and_globs(tmp_path: Path) -> None:
    expected = [Trace(("open", "open", "close"), (True, False, True)), Trace(("open", "close"), (True, True))]
    told = Columns(case="id")
    assert list(read_traces(write(tmp_path / "a.csv", ROWS), columns=told)) == expected
    assert list(read_traces(write(tmp_path / "a.tsv", ROWS.replace(";", "\t")), columns=told)) == expected
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(ROWS.encode()))
    assert list(read_traces(packed, columns=told)) == expected
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("one.csv", "two.csv", "notes.md"):
        write(folder / name, ROWS)
    both = read_traces(folder, columns=told)
    assert list(both) == expected * 2  # without times each file has its own cases
    assert list(read_traces(folder / "*.csv", columns=told)) == expected * 2
    assert both.origin is not None
    assert [Path(both.place(trace)[0] or "").name for trace in range(4)] == ["one.csv"] * 2 + ["two.csv"] * 2
    lines = [both.place(2, attempt)[1] for attempt in range(3)]
    assert lines == [2, 4, 6]
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    write(mixed / "a.csv", ROWS.replace("id", "case"))
    write(mixed / "b.txt", "open !open\n")
    assert list(read_traces(mixed)) == [*expected, Trace(("open", "open"), (True, False))]


def test_one_case_in_two_files_is_one_trace_if_times_order_it(tmp_path: Path) -> None:
    header = "case,action,ok,time\n"
    write(tmp_path / "2.csv", header + "1,a,true,2026-01-01 10:00\n")
    write(tmp_path / "1.csv", header + "1,b,true,2026-01-01 11:00\n")
    assert [trace.actions for trace in read_traces(tmp_path)] == [("a", "b")]


@pytest.mark.parametrize(
    ("column", "words", "expected"),
    [
        ("status", "200 403 500 302", "1001"),
        ("status", "Success FAILED ok Denied", "1010"),
        ("ok", "true False 1 0", "1010"),
        ("exit_code", "0 1 127 0", "1001"),
        ("result", "5xx 2xx 4xx 200", "0101"),
        ("error", "no true FALSE E42", "1010"),
    ],
)
def test_outcomes(column: str, words: str, expected: str, tmp_path: Path) -> None:
    rows = "".join(f"1,a,{word}\n" for word in words.split())
    (trace,) = read_traces(write(tmp_path / "x.csv", f"case,activity,{column}\n{rows}"))
    assert trace.ok == tuple(mark == "1" for mark in expected)


def test_an_error_is_a_refusal_and_an_empty_one_is_none(tmp_path: Path) -> None:
    """An agent's tool calls: nested arguments, and an error where a call failed."""
    calls = [
        {"session": "s1", "tool": "open", "args": {"file": "a.txt"}, "error": None},
        {"session": "s1", "tool": "open", "args": {"file": "a.txt"}, "error": "already open"},
        {"session": "s2", "tool": "close", "args": {"file": "b.txt"}, "error": "not open"},
        {"session": "s1", "tool": "wait", "args": {}, "error": None},
    ]
    path = write(tmp_path / "calls.jsonl", "".join(json.dumps(call) + "\n" for call in calls))
    found = list(read_traces(path, columns=Columns(arguments=("args.file",))))
    assert found == [
        Trace(('["open", "a.txt"]', '["open", "a.txt"]', '["wait"]'), (True, False, True)),
        Trace(('["close", "b.txt"]',), (False,)),
    ]


@pytest.mark.parametrize(
    ("column", "words", "expected"),
    [
        ("decision", "allowed denied", "10"),  # a name that says it
        ("Antwort", "accepted rejected", "10"),  # words that say it, whatever the name
        ("granted", "true false", "10"),  # yes and no to a name that asks for it
    ],
)
def test_outcomes_are_known_by_their_words(column: str, words: str, expected: str, tmp_path: Path) -> None:
    """An outcome that is overlooked makes everything work, and what is then called certain would be wrong."""
    rows = "".join(f"1,a,{'yes' if i else 'no'},{word}\n" for i, word in enumerate(words.split()))
    dataset = read_traces(write(tmp_path / "x.csv", f"case,activity,urgent,{column}\n{rows}"))
    assert dataset[0].ok == tuple(mark == "1" for mark in expected)
    assert dataset.origin is not None
    assert dataset.origin.columns.ok == column


def test_a_column_that_never_says_no_is_no_outcome_beside_one_that_does(tmp_path: Path) -> None:
    """The jobs of a pipeline: all are completed, and their conclusion says how."""
    rows = "7,build,completed,success\n7,deploy,completed,failure\n"
    assert read_traces(write(tmp_path / "x.csv", f"run,action,status,conclusion\n{rows}"))[0].ok == (True, False)


def test_two_columns_of_such_words_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "case,activity,first,second\n1,a,allowed,failed\n1,b,denied,passed\n")
    with pytest.raises(TraceError, match=r"'first' and 'second' may .*--ok first or --ok second"):
        read_traces(path)
    assert read_traces(path, columns=Columns(ok="none"))[0].ok == (True, True)


def test_fields_of_fields_are_known_by_their_last_words(tmp_path: Path) -> None:
    """The arguments of a call are its own: `error` there is no outcome."""
    calls = [
        {"session": {"id": "s"}, "call": {"function": {"name": "open", "arguments": {"error": "x"}}},
         "result": {"error": error}}
        for error in (None, "already open")
    ]  # fmt: skip
    path = write(tmp_path / "calls.jsonl", "".join(json.dumps(call) + "\n" for call in calls))
    found = read_traces(path, columns=Columns(arguments=("call.function.arguments.error",)))
    assert list(found) == [Trace(('["open", "x"]', '["open", "x"]'), (True, False))]


def test_words_beside_words_that_say_it_are_asked_for(tmp_path: Path) -> None:
    """Not everything worked where a column has failures, only because one of its words is not understood."""
    path = write(tmp_path / "x.csv", "case,activity,end\n1,a,passed\n1,b,failed\n1,c,cancelled\n")
    with pytest.raises(TraceError, match=r"x\.csv:4: the word 'cancelled' of the column 'end' is not understood"):
        read_traces(path)


def test_an_error_with_fields_is_an_error(tmp_path: Path) -> None:
    """A protocol of tools: the method is always the same, and what was called stands in its parameters."""
    calls = [
        {"session": 1, "method": "tools/call", "params": {"name": name}, "error": error}
        for name, error in (("open", None), ("close", None), ("close", {"code": 409, "message": "conflict"}))
    ]
    path = write(tmp_path / "calls.jsonl", "".join(json.dumps(call) + "\n" for call in calls))
    assert list(read_traces(path)) == [Trace(("open", "close", "close"), (True, True, False))]


@pytest.mark.parametrize("column", ["Zeitstempel", "at", "started_at"])
def test_times_are_known_by_their_form(column: str, tmp_path: Path) -> None:
    """A date that is said of the whole case, such as when it is due, is no time of its rows."""
    rows = "1,b,ok,01.03.2026 12:00,01.02.2026 08:30\n1,a,ok,01.03.2026 12:00,31.01.2026 17:00\n"
    dataset = read_traces(write(tmp_path / "x.csv", f"case,activity,status,due,{column}\n{rows}"))
    assert dataset[0].actions == ("a", "b")


def test_numbers_of_rows_put_them_into_order(tmp_path: Path) -> None:
    text = "case,activity,status,turn,cost\n1,b,ok,2,1\n2,c,ok,1,5\n1,a,ok,1,7\n"
    assert [trace.actions for trace in read_traces(write(tmp_path / "x.csv", text))] == [("a", "b"), ("c",)]


def test_words_that_are_mapped(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "case,activity,status\n1,a,green\n1,b,red\n1,c,grey\n")
    for words, expected in (
        (Words(("green",)), (True, False, False)),
        (Words((), ("red",)), (True, False, True)),
        (Words(("green", "grey"), ("red",)), (True, False, True)),
    ):
        assert read_traces(path, columns=Columns(words=words))[0].ok == expected
    with pytest.raises(TraceError, match=r"x\.csv:2: the word 'green' .*--worked WORD"):
        read_traces(path)
    with pytest.raises(TraceError, match=r":4: the word 'grey'"):
        read_traces(path, columns=Columns(words=Words(("green",), ("red",))))


def test_rows_are_ordered_by_time_and_ties_keep_their_order(tmp_path: Path) -> None:
    rows = "1,c,ok,2026-01-01T10:00:02Z\n1,a,ok,2026-01-01T10:00:00Z\n1,b,ok,2026-01-01T10:00:00Z\n"
    path = write(tmp_path / "x.csv", "case,activity,result,timestamp\n" + rows)
    dataset = read_traces(path)
    assert dataset[0].actions == ("a", "b", "c")
    assert dataset.origin is not None
    assert dataset.origin.line.tolist() == [3, 4, 2]
    assert "3 rows stood in another place" in dataset.origin.understood[3]
    assert read_traces(path, columns=Columns(time="none"))[0].actions == ("c", "a", "b")


def test_times_in_many_forms() -> None:
    for texts in (
        ["2026-01-02 03:04:05", "2026-01-02 03:04:06"],
        ["2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.25Z"],
        ["2026-01-02T03:04:05+02:00", "2026-01-02T03:04:05+01:00"],
        ["31.12.2025 10:11", "01.01.2026 09:00"],
        ["12/31/2025 10:11 PM", "01/13/2026 09:00 AM"],
        ["10/Oct/2000:13:55:36 -0700", "10/Oct/2000:13:55:37 -0700"],
        ["1700000000", "1700000000.5"],
        ["09:59", "10:00"],
    ):
        first, second = as_numbers(pl.Series(texts))
        assert first < second
    with pytest.raises(TimeError) as caught:
        as_numbers(pl.Series(["2026-01-02", "tomorrow"]))
    assert (caught.value.row, caught.value.text) == (1, "tomorrow")
    with pytest.raises(TimeError) as caught:
        as_numbers(pl.Series(["1/2/2026 10:00", "2/1/2026 10:00"]))
    assert caught.value.row is None


def test_lines_survive_quotes_and_empty_lines(tmp_path: Path) -> None:
    text = 'case,activity,result\n1,"a\nb",ok\n\n1,c,denied\n'
    dataset = read_traces(write(tmp_path / "x.csv", text))
    assert dataset.origin is not None
    assert dataset[0].actions == ("a\nb", "c")
    assert dataset.origin.line.tolist() == [2, 5]


def test_only_completed_activities_of_a_life_cycle_count(tmp_path: Path) -> None:
    rows = "1,a,start\n1,a,complete\n1,b,schedule\n1,b,complete\n"
    path = write(tmp_path / "x.csv", "case:concept:name,concept:name,lifecycle:transition\n" + rows)
    dataset = read_traces(path)
    assert dataset[0].actions == ("a", "b")
    assert dataset.origin is not None
    assert "2 more left out" in dataset.origin.understood[0]


def test_what_was_understood_is_five_lines(tmp_path: Path, run: Run) -> None:
    rows = "".join(f"{n // 4},{'open' if n % 2 else 'close'},host{n % 3},ok\n" for n in range(40))
    write(tmp_path / "x.csv", "case,activity,host,status\n" + rows)
    shown = run("check", "x.csv").stdout.splitlines()
    assert [line.partition(":")[0] for line in shown[:5]] == ["log", "actions", "outcomes", "order", "starts"]
    assert "--arg host (host0, host1, host2)" in shown[1]
    assert "the cautious model is learned; log refused attempts to learn more" in shown[2]


def test_named_starts_by_a_column(tmp_path: Path, run: Run) -> None:
    rows = "1,open,ok,shut\n1,open,denied,\n2,open,denied,wide\n2,close,ok,wide\n"
    path = write(tmp_path / "x.csv", "case,activity,status,begin\n" + rows)
    assert [trace.state for trace in read_traces(path, columns=Columns(start="begin"))] == ["shut", "wide"]
    result = run("learn", "x.csv", "--start", "begin", "--out", "r", "--learner", "windows")
    assert result.returncode == 0, result.stderr
    assert {"shut", "wide"} <= set(load(tmp_path / "r").vocabulary.init_states)


@pytest.mark.parametrize("world", STARTS)
def test_a_few_starts_that_nobody_tells_are_found(world: str) -> None:
    actions, starts = tuple(WORLDS[world].actions()), (WORLDS[world].start, *STARTS[world])
    log, which = log_with_starts(actions, starts, 400, 0)
    learned = learn(log, Windows())
    assert len(learned.figures.starts_found) == len(starts)
    assert (learned.figures.wrong_labels, learned.figures.train_errors) == (0, 0)
    names = names_of_starts(learned, log, which)
    assert len(set(names.values())) == len(starts)
    fresh, real = log_with_starts(actions, starts, 100, 1)
    told = [Trace(t.actions, t.ok, state=names[start]) for t, start in zip(fresh, real, strict=True)]
    assert learned.accuracy(told) > 0.9 > learned.accuracy(fresh)
    assert measure(Dataset.of(log), Windows(), 0.2, 0)["held_out_told_accuracy"] > 0.9


def test_starts_that_nobody_tells_are_found_beside_a_wrong_label() -> None:
    world = WORLDS["order"]
    log, _ = log_with_starts(tuple(world.actions()), (world.start, *STARTS["order"]), 300, 0)
    trace, attempt = 199, 10
    ok = tuple(label ^ (i == attempt) for i, label in enumerate(log[trace].ok))
    learned = learn([*log[:trace], replace(log[trace], ok=ok), *log[trace + 1 :]], Windows())
    assert len(learned.figures.starts_found) == 3
    assert [(suspect.trace - 1, suspect.attempt - 1) for suspect in learned.suspects] == [(trace, attempt)]


def test_lists_are_shown_and_asked_for_as_people_write_them(tmp_path: Path, run: Run) -> None:
    """Arguments in columns make names that are lists; nobody wants to read or to type these."""
    rows = ["1,open,a,ok", "1,open,a,denied", "1,read,a,ok", "1,read,b,denied", "2,read,a,denied", "2,open,b,ok"]
    write(tmp_path / "x.csv", "case,action,file,status\n" + "\n".join(rows) + "\n")
    assert run("learn", "x.csv", "--arg", "file", "--noise", 0, "--out", "r").returncode == 0
    shown = run("next", "r", "open(a)").stdout
    assert "read(a): works, for certain\n" in shown
    assert '["' not in shown.partition("certain if")[0]
    planned = run("plan", "r", "--enable", "read(a)")
    assert planned.stdout == '["open", "a"]\n', planned.stderr
    write(tmp_path / "y.csv", "case,action,file,status\n1,open,a,ok\n1,read,a,denied\n")
    assert "impossible: read(a) was refused at y.csv:3" in run("judge", "r", "y.csv").stdout


def test_suspects_and_proofs_name_the_row(tmp_path: Path) -> None:
    log = everyday_log("door", 150)
    WRITERS["csv"](log, tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    place = next(n for n in range(800, len(lines)) if lines[n].split(";")[2:4] == ["close", "DENIED"])
    lines[place] = lines[place].replace("DENIED", "Succeeded")
    write(tmp_path / "log.csv", "\n".join(lines) + "\n")
    learned = learn(tmp_path / "log.csv", Windows())
    assert (str(tmp_path / "log.csv"), place + 1, "close") in [(s.file, s.line, s.action) for s in learned.suspects]
    clean = learn(tmp_path / "log.csv", Windows(noise=0))
    assert clean.summary.rows
    assert all(file.endswith("log.csv") for file, _ in clean.summary.rows.values())


def test_proofs_survive_a_run_folder(tmp_path: Path) -> None:
    log = everyday_log("door", 30)
    WRITERS["xes.gz"](log, tmp_path / "log.xes.gz")
    learned = learn(tmp_path / "log.xes.gz", Windows())
    learned.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.summary == learned.summary
    place = next(iter(learned.summary.rows))
    assert learned.summary.where(place).startswith(f"{tmp_path / 'log.xes.gz'}:")


def test_entities_in_xml_are_refused(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><log>&b;</log>'
    with pytest.raises(TraceError, match=r"x\.xes:1: it declares XML entities"):
        read_traces(write(tmp_path / "x.xes", bomb))
    outside = '<?xml version="1.0"?><!DOCTYPE l SYSTEM "file:///etc/passwd"><log/>'
    with pytest.raises(TraceError, match="it declares XML entities"):
        read_traces(write(tmp_path / "x.xes", outside))
    with pytest.raises(TraceError, match="no XES file"):
        read_traces(write(tmp_path / "x.xes", "hello"))


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_UNPACKED", 2**20)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"case,action,ok\n" + b"1,a,true\n" * 2**20))
    with pytest.raises(FileError, match=r"more than 1,048,576 bytes when unpacked"):
        read_traces(path)


def test_the_test_part_is_always_the_same_and_never_learned_from() -> None:
    log = Dataset.of(everyday_log("door", 50) * 2)
    rest, test = held_back(log, 0.2)
    again = held_back(log, 0.2)
    assert np.array_equal(rest, again[0])
    assert np.array_equal(test, again[1])
    assert test.sum() == 10
    assert not {trace.actions for trace in log.chosen(rest)} & {trace.actions for trace in log.chosen(test)}


def test_hashes_are_what_plain_integers_give() -> None:
    log = Dataset.of([*everyday_log("door", 5), Trace((), (), frozenset({"p"}), final={"q": False})])
    assert hash_traces(log).tolist() == [hash_trace_slowly(log, trace) for trace in range(len(log))]


def test_hold_out_and_require(tmp_path: Path, run: Run) -> None:
    WRITERS["csv"](everyday_log("order", 150), tmp_path / "log.csv")
    words = ("learn", "log.csv", "--learner", "windows", "--out", "r", "--force")
    result = run(*words, "--require", "0.5")
    assert result.returncode == 0, result.stderr
    shown = result.stdout.splitlines()
    for beginning in (
        "explainable: yes",
        "starts: traces that tell the same",
        "held out: ",
        "labels that look wrong: none",
    ):
        assert any(line.startswith(beginning) for line in shown), beginning
    figures = load(tmp_path / "r").figures
    assert (figures.held_out_traces, figures.held_out_learned_from, figures.traces) == (30, 120, 150)
    assert figures.understood[0].startswith("log: log.csv, CSV with semicolons")
    assert "| traces held back, by a model of the other 120 | " in (tmp_path / "r" / "card.md").read_text()
    assert figures.held_out_sound is None
    assert run(*words, "--hold-out", "0.5", "--require", "1").returncode in (0, 3)
    few = run(
        "learn", "log.csv", "--learner", "windows", "--out", "r", "--force", "--hold-out", "0.97", "--require", "1"
    )
    assert few.returncode == 3
    assert "required 1.0" in few.stderr
    assert "learned worst: " in few.stdout
    assert load(tmp_path / "r").figures.held_out_learned_from == 4


def test_wrong_labels_are_no_mistakes_of_the_model(tmp_path: Path, run: Run) -> None:
    """Who predicts what really happened is wrong where the log is: the figure of traces without such labels is told
    too."""
    WRITERS["csv"](everyday_log("door", 200, wrong=0.01), tmp_path / "log.csv")
    result = run("learn", "log.csv", "--out", "r")
    figures = load(tmp_path / "r").figures
    assert figures.held_out_accuracy is not None
    assert figures.held_out_accuracy < 0.9
    assert figures.held_out_sound_accuracy == 1.0
    assert f"a label that looks wrong: 100.00% of {figures.held_out_sound}" in result.stdout
    assert (
        f"| of these without a label that looks wrong | 100% | 0 | {figures.held_out_sound} |"
        in (tmp_path / "r" / "card.md").read_text()
    )


def test_nothing_refused_gives_the_cautious_model(tmp_path: Path) -> None:
    worked = [Trace(t.actions, t.ok) for t in everyday_log("order", 100)]
    only = [Trace(tuple(a for a, ok in zip(t.actions, t.ok, strict=True) if ok), (True,) * sum(t.ok)) for t in worked]
    WRITERS["csv"](only, tmp_path / "log.csv")
    learned = learn(read_traces(tmp_path / "log.csv", columns=Columns(ok="none")), Windows())
    assert "no action was ever refused" in learned.figures.warnings[0]
    assert str(learned.ask((), "create")).startswith("create: works, for certain")
    assert "refused" not in str(learned.ask((), "ship")) or "open" in str(learned.ask((), "ship"))


@pytest.mark.parametrize("columns", [Columns(case="x"), Columns(arguments=("x",))])
def test_other_files_have_no_columns(columns: Columns, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only a log of events"):
        read_traces(write(tmp_path / "a.txt", "a !b\n"), columns=columns)


def test_a_column_that_was_not_used_is_named_before_labels_are_blamed(tmp_path: Path) -> None:
    """Who borrows which book stands in two columns; without them every second label looks wrong."""
    choice = np.random.default_rng(3)
    rows = ["trace,action,person,book,ok"]
    for trace in range(60):
        lent: dict[int, int] = {}
        for _ in range(25):
            action, person, book = ("borrow", "return")[choice.integers(2)], *choice.integers(3, size=2).tolist()
            fine = book not in lent if action == "borrow" else lent.get(book) == person
            if fine and action == "borrow":
                lent[book] = person
            elif fine:
                del lent[book]
            rows.append(f"{trace},{action},p{person},b{book},{'yes' if fine else 'no'}")
    path = tmp_path / "library.csv"
    path.write_text("\n".join(rows) + "\n")
    (warning,) = learn(read_traces(path), Windows()).figures.warnings
    assert "a column that was not used: --arg person (p" in warning
    assert "), --arg book (b" in warning
    learned = learn(read_traces(path, columns=Columns(arguments=("person", "book"))), Windows())
    assert not learned.figures.warnings


def test_a_column_that_only_numbers_rows_is_no_action(tmp_path: Path) -> None:
    """A robot's log: `step` is a usual name of actions, and here it counts; `skill` is what was done."""
    skills = ["goto", "pick", "goto", "place", "goto"]
    rows = [{"run": run, "step": n, "skill": skill, "target": f"t{(run + n) % 3}", "success": n % 2 == 0}
            for run in range(4) for n, skill in enumerate(skills)]  # fmt: skip
    path = write(tmp_path / "robot.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    dataset = read_traces(path)
    assert dataset[0].actions == tuple(skills)
    assert dataset.origin is not None
    assert "--arg target" in dataset.origin.understood[1]
    assert "--arg step" not in dataset.origin.understood[1]  # a number of a row is no argument either
    assert read_traces(path, columns=Columns(action="step"))[0].actions == tuple("01234")


@pytest.mark.parametrize("name", ["step", "event", "activity"])
def test_numbers_of_rows_alone_are_no_actions(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", f"case,{name},status\n" + "1,1,ok\n1,2,ok\n2,1,ok\n2,2,denied\n")
    with pytest.raises(TraceError, match=f"known to be the action: '{name}' only numbers the rows .*--action COLUMN"):
        read_traces(path)
    assert read_traces(path, columns=Columns(action=name))[1].actions == ("1", "2")


def test_actions_may_be_numbers_that_come_again(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "case,activity,status\n1,3,ok\n1,7,ok\n1,3,ok\n")
    assert read_traces(path)[0].actions == ("3", "7", "3")


def test_rows_that_are_there_twice_are_told(tmp_path: Path) -> None:
    """They are kept: only who wrote the log knows whether something was tried twice at once."""
    times = ["10:00", "10:00", "10:01", "10:01", "10:02"]
    said = [("open", "ok"), ("open", "ok"), ("close", "ok"), ("close", "denied"), ("open", "ok")]
    rows = [f"{case},{a},{o},2026-01-01T{t}\n" for case in (1, 2) for t, (a, o) in zip(times, said, strict=True)]
    for chosen in (rows, rows[::-1]):
        dataset = read_traces(write(tmp_path / "x.csv", "case,activity,status,time\n" + "".join(chosen)))
        assert dataset.origin is not None
        assert dataset.origin.understood[0].partition("; 2 traces (column case); ")[2].startswith("2 rows say the same")
        assert len(dataset[0].actions) == 5
    once = [row for i, row in enumerate(rows) if i % 5 != 1]
    for some, columns in ((once, Columns()), (rows, Columns(time="none"))):
        text = "case,activity,status,time\n" + "".join(some)
        found = read_traces(write(tmp_path / "x.csv", text), columns=columns).origin
        assert found is not None
        assert "say the same" not in found.understood[0]


def test_empty_outcomes_have_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "case,activity,status\n1,a,ok\n1,b,denied\n1,c,\n")
    with pytest.raises(TraceError, match=r'\(3: ok, denied, \(empty\), written ""\)'):
        read_traces(path)
    with pytest.raises(TraceError, match=r'\'denied\' .* understood as refused, but with --refused "" alone it worked'):
        read_traces(path, refused=[""])
    with pytest.raises(TraceError, match=r"'ok' .*understood as worked, but with --worked \"\" alone it was refused"):
        read_traces(path, worked=[""])
    assert read_traces(path, worked=["ok"], refused=[""])[0].ok == (True, False, False)
    assert read_traces(path, refused=["", "denied"])[0].ok == (True, False, False)


ORDERS = "customer,what,verdict\n" + "".join(f"{n},open,green\n{n},open,red\n{n},close,green\n" for n in range(6))
OTHER = ORDERS.replace("red", "amber")  # with a word that the first log did not have, and without one that it had
TOLD = ("--case", "customer", "--action", "what", "--ok", "verdict", "--worked", "green")


def test_a_run_knows_the_columns_of_its_log(tmp_path: Path, run: Run) -> None:
    for name, text in (("log.csv", ORDERS), ("other.csv", OTHER), ("plain.csv", "case,action,ok\n1,open,true\n")):
        write(tmp_path / name, text)
    result = run("learn", "log.csv", *TOLD, "--out", "r", "--hold-out", "0")
    assert result.returncode == 0, result.stderr
    assert load(tmp_path / "r").columns == Columns("customer", "what", "verdict", words=Words(("green",)))
    for line in ("judge r other.csv", "evaluate r --test other.csv", "next r other.csv:2", "why r other.csv:2",
                 "judge r plain.csv", "learn other.csv --update r --out r2"):  # fmt: skip
        result = run(*line.split())
        assert result.returncode == 0, (line, result.stderr)
    assert load(tmp_path / "r2").columns == load(tmp_path / "r").columns
    learned = load(tmp_path / "r")
    assert learned.judge(tmp_path / "other.csv").is_possible
    assert learned.accuracy(tmp_path / "other.csv") == 1.0
    (tmp_path / "r" / "columns.json").write_text('{"case": 3}')
    with pytest.raises(FileError, match="a file of the run is broken"):
        load(tmp_path / "r")
    (tmp_path / "r" / "columns.json").unlink()  # as in folders of before
    before = load(tmp_path / "r")
    assert before.columns is None
    with pytest.raises(TraceError, match="no column is known to be the action"):
        before.judge(tmp_path / "other.csv")


def test_what_is_said_now_wins_over_what_was_kept(tmp_path: Path) -> None:
    kept = Columns("customer", "what", "verdict", words=Words((), ("red",)))
    text = "customer,shop,what,verdict,ok\n1,7,a,red,yes\n1,8,b,green,no\n"
    path = write(tmp_path / "x.csv", text)
    assert [trace.ok for trace in read_traces(path, kept=kept)] == [(False, True)]
    assert [trace.ok for trace in read_traces(path, kept=kept, ok="ok")] == [(True, False)]
    assert [trace.actions for trace in read_traces(path, kept=kept, case="shop")] == [("a",), ("b",)]
    assert read_traces(path, kept=kept, refused=["green"], worked=["red"])[0].ok == (True, False)


def test_columns_are_plain_keywords_too(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", ORDERS)
    told = Columns("customer", "what", "verdict", words=Words((), ("red",)))
    found = read_traces(path, case="customer", action="what", ok="verdict", refused=["red"])
    assert list(found) == list(read_traces(path, columns=told))
    assert read_traces(path, columns=told, case="file")[0].actions[:2] == ("open", "open")
    with pytest.raises(UserError, match="no column 'customers' for --case"):
        read_traces(path, case="customers")


def test_frames_are_understood_as_files_are(tmp_path: Path) -> None:
    log = everyday_log("door", 20)
    WRITERS["csv"](log, tmp_path / "log.csv")
    frame = pl.read_csv(tmp_path / "log.csv", separator=";")
    expected = list(read_traces(tmp_path / "log.csv"))
    dataset = read_traces(frame)
    assert list(dataset) == expected
    assert list(read_traces(frame.lazy())) == expected
    assert dataset.origin is not None
    assert dataset.origin.understood[0].startswith("log: DataFrame, a frame of polars, ")
    learned = learn(frame, Windows())
    assert learned.pddl() == learn(tmp_path / "log.csv", Windows()).pddl()
    assert learned.judge(frame).is_possible
    odd = pl.DataFrame({"who": [1, 1, 2], "activity": ["a", None, "c"], "ok": [True, False, True]})
    with pytest.raises(TraceError, match="DataFrame:2: the action is empty"):
        read_traces(odd, case="who")


def test_pandas_frames_are_read_without_arrow() -> None:
    pandas = pytest.importorskip("pandas")
    when = pandas.to_datetime(["2026-01-01 10:01", "2026-01-01 10:00", "2026-01-01 10:00"])
    frame = pandas.DataFrame(
        {"case": [1, 1, None], "activity": pandas.Categorical(["b", "a", "c"]), "time": when, "ok": [True, False, True],
         "what": ["x", None, "y"]}
    )  # fmt: skip
    frame["case"] = frame["case"].fillna(2)
    found = list(read_traces(frame))
    assert found == [Trace(("a", "b"), (False, True)), Trace(("c",), (True,))]
    frame.columns = ["case", "activity", "time", "ok", "ok"]
    with pytest.raises(TraceError, match="the column 'ok' is there twice"):
        read_traces(frame)


NO_LOGS = """
import polars as pl, trace2strips as t2s
for value in (None, 5, object(), {"a": 1}, [1], [], b"x", pl.Series(["a"]), pl.DataFrame()):
    for read in (t2s.read_traces, t2s.learn):
        try:
            read(value)
        except t2s.UserError as error:
            print(error)
"""


def test_what_is_no_log_is_told() -> None:
    """In a process of its own, where nothing checks types."""
    done = subprocess.run([sys.executable, "-c", NO_LOGS], capture_output=True, text=True, check=True)
    told = done.stdout.splitlines()
    assert len(told) == 18
    assert told[0].startswith("None is no file of traces (hint: a path, a list of paths, or a pandas or polars frame")
    assert told[-1].startswith("DataFrame: no trace in the file")
