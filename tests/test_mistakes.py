"""Plausible mistakes of a new user: each is one line that says what to do, with exit code 2 and no traceback."""

import gzip
import shutil
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.learners.learning import learn
from trace2strips.learners.windows.learner import Windows
from trace2strips.worlds.everyday import everyday_log

GOOD = "case,activity,status\n1,open,ok\n1,open,denied\n2,close,denied\n"
LEARN = "learn x.csv --out r --learner windows"
FILES = {
    "x.csv": GOOD,
    "x.tsv": GOOD.replace(",", "\t"),
    "nocase.csv": "activity,status\nopen,ok\n",
    "noaction.csv": "case,status\n1,ok\n",
    "two.csv": "case,activity,action_name,ok\n1,a,b,true\n",
    "sessions.csv": "session,trace,activity,ok\n1,1,b,true\n",
    "status.csv": "case,activity,status\n1,a,open\n1,b,closed\n",
    "hole.csv": "case,activity,status\n1,a,ok\n1,b,\n",
    "nameless.csv": "case,activity,status\n1,,ok\n",
    "caseless.csv": "case,activity,status\n1,a,ok\n,b,ok\n",
    "wide.csv": "case,activity,status\n1,a,ok\n1,put a, b,ok\n",
    "when.csv": "case,activity,status,time\n1,a,ok,yesterday\n1,b,ok,2026-01-01\n",
    "dates.csv": "case,activity,status,time\n1,a,ok,1/2/2026 10:00\n1,b,ok,2/1/2026 10:00\n",
    "begin.csv": "case,activity,status,begin\n1,a,ok,x\n1,b,ok,y\n",
    "args.csv": "case,activity,status,what\n1,a,ok,x\n1,a,ok,\n",
    "headless.csv": "1,open,true\n1,close,true\n",
    "events.jsonl": '{"session": "1", "tool": "open", "error": null}\n{"session": "1", "tool": \n',
    "traces.jsonl": '{"actions": ["a"], "ok": ["yes"]}\n',
    "log.xes": "this is no XML",
    "log.parquet": "this is no table",
    "empty.csv": "",
    "log.xlsx": "PK",
    "notes/readme.md": "nothing",
    "bad.txt": "open ! close\n",
}  # fmt: skip
MISTAKES = [
    # the log
    ("learn missing.csv --out r", "missing.csv: no such file (hint: check the path)"),
    ("learn empty.csv --out r", "empty.csv: the file is empty"),
    ("learn log.xlsx --out r", "log.xlsx: unknown file ending (hint: use one of"),
    ("learn notes --out r", "notes: no log in the folder (hint: files with the endings"),
    ("learn nothing*.csv --out r", "nothing*.csv: no file has such a name"),
    ("learn nocase.csv --out r", "nocase.csv:1: no column is known to tell the traces apart (hint: --case COLUMN, or"),
    ("learn noaction.csv --out r", "noaction.csv:1: no column is known to be the action (hint: --action COLUMN; columns: c"),
    ("learn two.csv --out r", "two.csv:1: which column is the action? 'activity' and 'action_name' may (hint: --action"),
    ("learn sessions.csv --out r", "which column tells the traces apart? 'session' and 'trace' may (hint: --case"),
    ("learn status.csv --out r", "status.csv:2: the word 'open' of the column 'status' is not understood: did it work? (h"),
    ("learn hole.csv --out r", "hole.csv:3: the column 'status' is empty here: did it work? (hint: --worked WORD"),
    ("learn nameless.csv --out r", "nameless.csv:2: the action is empty (hint: every row needs one"),
    ("learn caseless.csv --out r", "caseless.csv:3: the case is empty (hint: every row needs one"),
    ("learn wide.csv --out r", "wide.csv:3: 4 columns where the header has 3 (hint: quote names with commas)"),
    ("learn when.csv --out r", "when.csv:2: 'yesterday' is no time that is understood (column time) (hint: --time COLUMN"),
    ("learn dates.csv --out r", "can be read with the day or the month first (hint: write 2026-12-31"),
    ("learn headless.csv --out r", "headless.csv:1: no column is known to be the action"),
    ("learn events.jsonl --out r", "events.jsonl:2: not JSON"),
    ("learn traces.jsonl --out r", "traces.jsonl:1: 'ok' must be a list of true and false"),
    ("learn log.xes --out r", "log.xes:1: no XES file: "),
    ("learn log.parquet --out r", "log.parquet: no Parquet file: "),
    ("learn latin.csv --out r", "latin.csv:3: not UTF-8 text (hint: iconv"),
    ("learn wide16.csv --out r", "wide16.csv:1: UTF-16 text (hint: save it as UTF-8"),
    ("learn cut.csv.gz --out r", "cut.csv.gz: broken gzip file"),
    ("learn bad.txt --out r", "bad.txt:1: '!' without a name behind it"),
    # options of columns
    (f"{LEARN} --case Kase", "x.csv:1: no column 'Kase' for --case (hint: did you mean 'case'?)"),
    (f"{LEARN} --arg host", "no column 'host' for --arg (hint: known columns: case, activity, status)"),
    (f"{LEARN} --action status --ok status", "the column 'status' is named for --action and --ok"),
    (f"{LEARN} --worked green", "'green' is no word of the column 'status' (hint: its words: 2: ok, denied)"),
    (f"{LEARN} --worked ok --refused ok", "'ok' is said to be both worked and refused"),
    (f"{LEARN} --ok none --worked ok", "--worked and --refused need a column of outcomes (hint: --ok COLUMN)"),
    (f"{LEARN} --start begin", "no column 'begin' for --start"),
    ("learn begin.csv --out r --start begin", "begin.csv:3: a second start of one trace: 'y', before 'x'"),
    ("learn args.csv --out r --arg what", "args.csv:3: 'a' has arguments in no column here, before in 'what'"),
    ("learn good.txt --out r --case x", "good.txt: only a log of events"),
    ("learn good.txt --out r --start begin", "unknown level of starts 'begin'"),
    # learning
    ("learn x.csv --learner windows", "where shall the run go? (hint: --out FOLDER)"),
    (f"{LEARN} --hold-out 1.5", "a test part of 1.5 (hint: --hold-out 0.2 is a fifth, 0 is none)"),
    (f"{LEARN} --hold-out 0.2 --test x.csv", "--test and --hold-out are two ways to test (hint: give one of them)"),
    (f"{LEARN} --require 99", "an accuracy of 99.0 is required (hint: --require 0.99 is 99 of 100 traces)"),
    (f"{LEARN} --hold-out 0 --require 0.9", "nothing was tested, so --require cannot be answered (hint: --test FILE"),
    ("learn x.csv none.tsv --out r", "none.tsv: no such file"),
    ("learn x.csv --out r --learner window", "unknown learner 'window' (hint: did you mean 'windows'?)"),
    ("learn x.csv --out r --noise 2", "a share of 2"),
    ("learn x.csv --out x.tsv", "x.tsv: is a file, not a folder"),
    ("learn x.csv --out run", "run: "),
    ("lern x.csv", "unknown command 'lern' (hint: did you mean 'learn'?)"),
    ("check", "Missing argument"),
    ("learn x.csv --output r", "No such option: --output"),
    # what comes next
    ("evaluate nowhere", "nowhere: "),
    ("next run jump", "unknown action 'jump'"),
    ("plan run --goal flying", "flying"),
    ("evaluate run --test two.csv", "two.csv:1: which column is the action?"),
]  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (found / name).parent.mkdir(exist_ok=True)
        (found / name).write_text(text, encoding="utf-8")
    (found / "good.txt").write_text("open !open close\n")
    (found / "latin.csv").write_bytes("case,activity,status\n1,a,ok\n1,öffnen,ok\n".encode("latin1"))
    (found / "wide16.csv").write_bytes(GOOD.encode("utf-16"))
    (found / "cut.csv.gz").write_bytes(gzip.compress(GOOD.encode() * 1000)[:-30])
    learn(everyday_log("door", 20), Windows()).save(found / "run")
    return found


@pytest.mark.parametrize(("command", "expected"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_one_line_that_helps(
    command: str, expected: str, prepared: Path, tmp_path: Path, run: Run
) -> None:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    result = run(*command.split())
    said = [line for line in result.stderr.splitlines() if line]
    assert result.returncode == 2, (result.stdout, result.stderr)
    assert len(said) == 1, said
    assert said[0].startswith("trace2strips: ")
    assert expected in said[0]
    assert {path.name for path in tmp_path.iterdir()} <= {"r", *(path.name for path in prepared.iterdir())}


def test_there_are_enough() -> None:
    assert len({command for command, _ in MISTAKES}) == len(MISTAKES) >= 30
