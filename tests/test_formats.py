"""The three trace formats: round trips, tolerance, errors with line numbers; checking."""

import contextlib
import gzip
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from strategies import ANY_NAME

from trace2strips.errors import FileError, TraceError
from trace2strips.model.strips import StripsAction, StripsModel
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces import Dataset, Trace, compare_with, describe, find_contradictions, read_traces, write_traces
from trace2strips.traces.checking import hash_histories, list_histories, unknown_starts
from trace2strips.traces.jsonl import SCHEMA, parse_json
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

NAME = ANY_NAME | st.sampled_from([" a", "a\r", "\ufeffa", "a%0D", "%41", "\0", "\x1b[1m", "a\u2028", "start"])


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    steps = draw(st.lists(st.tuples(NAME, st.booleans()), max_size=6))
    init = draw(st.none() | st.frozensets(NAME, max_size=4))
    state = draw(st.none() | NAME) if init is None else None
    return Trace(
        tuple(a for a, _ in steps),
        tuple(ok for _, ok in steps),
        init,
        state,
        draw(st.dictionaries(NAME, st.booleans(), max_size=4)),
    )


@pytest.mark.parametrize("ending", [".t2s", ".jsonl", ".csv", ".txt", ".jsonl.gz", ".csv.gz", ".txt.gz"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(traces(), min_size=1, max_size=4))
def test_round_trip(tmp_path: Path, ending: str, items: list[Trace]) -> None:
    try:
        dataset = Dataset.of(items)
    except TraceError as error:
        assert "setup action" in str(error)  # noqa: PT017
        return
    path = tmp_path / f"traces{ending}"
    write_traces(dataset, path, force=True)
    assert list(read_traces(path)) == items


def test_same_traces_same_bytes(tmp_path: Path) -> None:
    dataset = sample(get_domain("ferry-5c"), SampleSettings(20, 5))
    for ending in (".t2s", ".jsonl.gz", ".csv", ".txt"):
        paths = [tmp_path / f"{i}{ending}" for i in range(2)]
        for path in paths:
            write_traces(dataset, path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_plain_text_by_hand(tmp_path: Path) -> None:
    text = "# a comment\n\npick !drop\nat_home - | | \n".replace("at_home - |", "at_home |")
    text += "- | go | at_home !at_work\n@s3 | !go |\n"
    assert list(read_traces(write(tmp_path / "a.txt", text))) == [
        Trace(("pick", "drop"), (True, False)),
        Trace((), (), frozenset({"at_home"})),
        Trace(("go",), (True,), frozenset(), final={"at_home": True, "at_work": False}),
        Trace(("go",), (False,), state="s3"),
    ]


def test_csv_by_hand(tmp_path: Path) -> None:
    """Interleaved cases, columns in any order, several spellings of true and false, quoted commas."""
    text = 'ok,case,action\nyes,1,"put(a,b)"\n0,2,go\nrefused,1,go\n,3,\n'
    assert list(read_traces(write(tmp_path / "a.csv", text))) == [
        Trace(("put(a,b)", "go"), (True, False)),
        Trace(("go",), (False,)),
        Trace((), ()),
    ]


def test_csv_that_repeats_itself(tmp_path: Path) -> None:
    """Saying a thing twice is no contradiction, and a false initial atom may stand beside the row for none."""
    text = "case,action,ok,phase\n1,p,true,final\n1,p,true,final\n1,q,false,init\n1,,,init\n1,,,\n"
    assert list(read_traces(write(tmp_path / "a.csv", text))) == [Trace((), (), frozenset(), final={"p": True})]


def test_endings_in_capitals(tmp_path: Path) -> None:
    dataset = Dataset.of([Trace(("a",), (True,))])
    for name in ("A.JSONL.GZ", "a.csv.GZ", "A.TXT.Gz"):
        write_traces(dataset, tmp_path / name)
        assert (tmp_path / name).read_bytes()[:2] == b"\x1f\x8b"
        assert list(read_traces(tmp_path / name)) == list(dataset)


def test_traces_keep_their_lines(tmp_path: Path) -> None:
    assert read_traces(write(tmp_path / "a.txt", "# one\na\n\nb\n")).lines == (2, 4)
    assert read_traces(write(tmp_path / "a.csv", "case,action,ok\n1,a,1\n2,a,1\n1,a,1\n")).lines == (2, 3)


def test_progress_counts_bytes_and_traces(tmp_path: Path) -> None:
    dataset = sample(get_domain("ferry-5c"), SampleSettings(3000, 5))
    for ending in (".jsonl", ".csv", ".txt", ".txt.gz"):
        path, wrote, read = tmp_path / f"x{ending}", [0], [0]
        write_traces(dataset, path, progress=wrote.append)
        read_traces(path, progress=read.append)
        assert sum(wrote) == 3000
        assert path.stat().st_size * 0.8 < sum(read) <= path.stat().st_size


def test_windows_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfpick !drop\r\ngo\r\n")
    assert [t.actions for t in read_traces(path)] == [("pick", "drop"), ("go",)]


GOOD = '{"actions": ["a"], "ok": [true]}'
BROKEN = {
    ".jsonl": {
        "": "the file is empty",
        "\n\n": "no trace in the file",
        f"{GOOD}\nhello": ":2: not JSON",
        f"{GOOD}\n{GOOD[:-1]}": ":2: not JSON",
        "[1]": ":1: not a trace: a line must be a JSON object",
        '{"ok": []}': ":1: the field 'actions' is missing",
        '{"actions": []}': ":1: the field 'ok' is missing",
        '{"actions": ["a"], "ok": []}': ":1: 1 actions but 0 marks",
        '{"actions": "a", "ok": [true]}': ":1: 'actions' must be a list of names",
        '{"actions": [1], "ok": [true]}': ":1: 'actions' must be a list of names",
        '{"actions": [""], "ok": [true]}': ":1: 'actions' must be a list of names",
        '{"actions": ["a"], "ok": [1]}': ":1: 'ok' must be a list of true and false",
        '{"actions": [], "ok": [], "init": "p"}': ":1: 'init' must be a list of names",
        '{"actions": [], "ok": [], "state": 3}': ":1: 'state' must be the name",
        '{"actions": [], "ok": [], "state": "s", "init": []}': ":1: a trace has initial atoms or the name",
        '{"actions": [], "ok": [], "final": {"p": 1}}': ":1: 'final' must map atoms",
        '{"actions": [], "ok": [], "final": ["p"]}': ":1: 'final' must map atoms",
        '{"action": ["a"], "ok": [true]}': ":1: unknown field 'action' (hint: did you mean 'actions'?)",
        "[" * 100_000: ":1: not",
        '{"actions": [], "ok": [], "state": "s", "state": "t"}': ":1: the field 'state' is there twice",
        '{"actions": [], "ok": [], "final": {"p": true, "p": false}}': ":1: the field 'p' is there twice",
        '{"actions": ["\\ud800"], "ok": [true]}': ":1: '\\ud800' is no text: half of a surrogate pair",
        '{"actions": [], "ok": [], "final": {"a\\uDFFF": true}}': ":1: 'a\\udfff' is no text",
        f'{{"actions": [{"1" * 5000}], "ok": [true]}}': ":1: not a trace: a number with thousands of digits",
    },
    ".csv": {
        "": "the file is empty",
        "case,action,ok\n": "no trace in the file",
        "case,ok\n1,true\n": ":1: no column is known to be the action",
        "case,action,ok\n1,a\n": ":2: 2 columns where the header has 3",
        "case,action,ok\n1,a,maybe\n": ":2: 'maybe' is no mark",
        "case,action,ok\n,a,true\n": ":2: the case is empty",
        "case,action,ok\n1,,true\n": ":2: the action is empty",
        "case,action,ok,phase\n1,a,true,end\n": ":2: unknown phase 'end'",
        'case,action,ok\n1,"a,true\n': ": not CSV: unexpected end of data",
        "case,action,ok,action\n1,a,true,b\n": ":1: the column 'action' is there twice",
        "case,action,ok\n1,a,true\n1,,\n2,b,true\n": ":3: an empty action in a case with actions",
        "case,action,ok\n1,,\n1,a,true\n2,b,true\n": ":3: an empty action in a case with actions",
        "case,action,ok,phase\n1,s,,state\n1,t,,state\n2,b,true,\n": ":3: a second initial state in case '1'",
        "case,action,ok,phase\n1,s,,state\n1,p,true,init\n2,b,true,\n": ":3: a case has initial atoms or the name",
        "case,action,ok,phase\n1,p,true,final\n1,p,false,final\n2,b,true,\n": ":3: the final atom 'p' is true and false",
        "case,action,ok,phase\n1,p,true,init\n1,p,false,init\n2,b,true,\n": ":3: the initial atom 'p' is true and false",
        "case,action,ok,phase\n1,p,true,init\n1,,,init\n2,b,true,\n": ":3: an empty initial atom in a case with true ones",
        "case,action,ok\n1,a%FF,true\n": ":2: 'a%FF': the bytes after '%' are not UTF-8",
    },
    ".txt": {
        "": "the file is empty",
        "# nothing\n": "no trace in the file",
        "a | b\n": ":1: 1 '|' on the line",
        "a\nb !\n": ":2: '!' without a name",
        "@s p | a |": ":1: a line has the name of an initial state or initial atoms",
        "!p | a |": ":1: '!' before an initial atom",
        "a | b | p !p": ":1: the final atom 'p' is true and false",
        "pick !drop # note": ":1: '#' inside '#' (hint: write %23 for '#' in a name; a comment has a line of its own)",
        "a#1": ":1: '#' inside 'a#1'",
        "!!a": ":1: '!' inside '!a' (hint: write %21 for '!' in a name; what did not work has it in front: !name)",
        "a!": ":1: '!' inside 'a!' (hint: write %21 for '!' in a name; what did not work has it in front: !name)",
        "p @s | a |": ":1: '@' inside '@s' (hint: write %40 for '@' in a name)",
        "@ | a |": ":1: '@' without a name behind it",
        "@@s | a |": ":1: '@' inside '@s'",
        "- p | a |": ":1: '-' among initial atoms",
        "a%FF": ":1: 'a%FF': the bytes after '%' are not UTF-8",
    },
}  # fmt: skip


@pytest.mark.parametrize(("ending", "text"), [(ending, text) for ending, texts in BROKEN.items() for text in texts])
def test_broken_files_say_what_and_where(tmp_path: Path, ending: str, text: str) -> None:
    path = write(tmp_path / f"x{ending}", text)
    with pytest.raises(TraceError) as caught:
        read_traces(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert BROKEN[ending][text] in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=400)
@given(st.fixed_dictionaries({}, optional={
    "actions": st.lists(st.text(max_size=2), max_size=2) | JSON, "ok": st.lists(st.booleans(), max_size=2) | JSON,
    "init": JSON, "state": JSON, "final": JSON, "other": JSON}) | JSON)  # fmt: skip
def test_the_reader_accepts_what_the_schema_accepts(record: object) -> None:
    """But for what a schema cannot say: as many marks as actions, and initial atoms or a state, not both."""
    from trace2strips.traces.text_files import MalformedError

    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(record)
    try:
        parse_json(json.dumps(record))
        assert valid
    except MalformedError as error:
        assert not valid or "marks" in str(error) or "not both" in str(error)  # noqa: PT017


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".txt"])
def test_a_million_actions_in_one_trace_are_refused(tmp_path: Path, ending: str) -> None:
    n = 10**6
    text = {
        ".jsonl": '{"actions": [' + ",".join(['"a"'] * n) + '], "ok": [' + ",".join(["true"] * n) + "]}",
        ".csv": "case,action,ok\n" + "1,a,true\n" * n,
        ".txt": "a " * n,
    }[ending]
    with pytest.raises(TraceError, match=r"100000.*split it into several"):
        read_traces(write(tmp_path / f"x{ending}", text))


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress((GOOD + "\n").encode() * 5000)[:-20])
    with pytest.raises(FileError, match="broken gzip file"):
        read_traces(path)


def test_binary_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match=":1: not UTF-8 text"):
        read_traces(path)


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff" * 100, (20).to_bytes(8, "little") + b'{"tokens": {}}      '])
def test_files_that_are_no_dataset(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.t2s"
    path.write_bytes(data)
    with pytest.raises(TraceError, match="not a trace2strips dataset"):
        Dataset.load(path)


def broken_header(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """A dataset file with one thing in its header changed."""

    def apply(data: bytes) -> bytes:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        meta = json.loads(header["__metadata__"]["trace2strips-dataset-1"])
        change({"header": header, **meta, "meta": meta})
        header["__metadata__"]["trace2strips-dataset-1"] = json.dumps(meta)
        raw = json.dumps(header).encode()
        return len(raw).to_bytes(8, "little") + raw + data[8 + length :]

    return apply


def broken_arrays(**arrays: Any) -> Callable[[bytes], bytes]:
    def apply(_: bytes) -> bytes:
        good = {"tokens": np.zeros(3, np.uint16), "inapplicable": np.zeros(3, bool), "offsets": np.array([0, 1, 3])}
        meta = {"vocabulary": asdict(Vocabulary(("a",))), "settings": {}, "states": {}}
        return save(good | arrays, {"trace2strips-dataset-1": json.dumps(meta)})

    return apply


BROKEN_DATASETS = {
    "token out of range": (broken_arrays(tokens=np.array([0, 1, 0], np.uint16)), "a token is not in its vocabulary"),
    "offsets out of range": (broken_arrays(offsets=np.array([0, 1, 4])), "its offsets do not span its tokens"),
    "offsets start late": (broken_arrays(offsets=np.array([1, 3])), "its offsets do not span its tokens"),
    "offsets decrease": (broken_arrays(offsets=np.array([0, 2, 1, 3])), "its offsets decrease"),
    "no trace": (broken_arrays(offsets=np.zeros(1, np.int64), tokens=np.zeros(0, np.uint16)), "it has no trace"),
    "no offsets": (broken_arrays(offsets=np.zeros(0, np.int64)), "it has no trace"),
    "labels": (broken_arrays(inapplicable=np.zeros(2, bool)), "as many labels as tokens"),
    "type": (broken_arrays(tokens=np.zeros(3, np.int64)), "not a trace2strips dataset"),
    "no settings": (broken_header(lambda m: m["meta"].pop("settings")), "not a trace2strips dataset"),
    "no states": (broken_header(lambda m: m["meta"].pop("states")), "not a trace2strips dataset"),
    "no field": (broken_header(lambda m: m["vocabulary"].pop("has_init_false")), "not a trace2strips dataset"),
    "numbers as names": (broken_header(lambda m: m["vocabulary"].update(actions=[1, 2])), "not a trace2strips dataset"),
    "a word as names": (broken_header(lambda m: m["vocabulary"].update(actions="ab")), "not a trace2strips dataset"),
    "name twice": (broken_header(lambda m: m["vocabulary"].update(actions=["a", "a"])), "the name 'a' is there twice"),
    "surrogate": (broken_header(lambda m: m["vocabulary"].update(actions=["\ud800"])), "not a trace2strips dataset"),
    "negative place": (broken_header(lambda m: m["header"]["tokens"].update(data_offsets=[-400, 0])), "dataset"),
}


@pytest.mark.parametrize("case", BROKEN_DATASETS)
def test_broken_datasets(tmp_path: Path, case: str) -> None:
    change, message = BROKEN_DATASETS[case]
    path = tmp_path / "x.t2s"
    sample(get_domain("ferry-5c"), SampleSettings(20, 5)).save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(TraceError, match=message) as caught:
        Dataset.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_no_traces_have_statistics_too() -> None:
    assert describe(Dataset.of([])).mean_length == 0.0


def test_cut_off_dataset(tmp_path: Path) -> None:
    path = tmp_path / "x.t2s"
    sample(get_domain("ferry-5c"), SampleSettings(20, 5)).save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TraceError, match="cut off"):
        Dataset.load(path)


def test_unknown_names_with_a_vocabulary(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", "pick\npick drop\npick dorp\n")
    with pytest.raises(TraceError, match=r"x\.txt:3: unknown action 'dorp' \(hint: did you mean 'drop'\?\)"):
        read_traces(path, Vocabulary(("pick", "drop")))


def test_reserved_names(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", "- | init-false |\n")
    with pytest.raises(TraceError, match="'init-false' is also that of a setup action"):
        read_traces(path)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ({"actions": ("init-p",), "init_atoms": ("p",)}, "the action name 'init-p' is also that of a setup action"),
        (
            {"actions": (), "init_atoms": ("p",), "init_states": ("p",)},
            "'init-p' would stand for an initial atom and for an initial state",
        ),
        (
            {"actions": (), "init_atoms": ("false",), "has_init_false": True},
            "'init-false' would stand for no atom at all and for an initial atom",
        ),
        ({"actions": ("a", "a")}, "the name 'a' is there twice"),
    ],
)
def test_names_that_clash_are_named_for_what_they_are(vocabulary: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        Vocabulary(**vocabulary)


def test_statistics() -> None:
    dataset = Dataset.of(
        [
            Trace(("a", "b", "c"), (True, False, True), frozenset("p"), final={"p": False}),
            Trace(("a",), (True,), state="s0"),
            Trace((), ()),
        ]
    )
    found = describe(dataset)
    assert (found.traces, found.actions, found.positions, found.refused) == (3, 3, 4, 1)
    assert (found.shortest, found.longest) == (0, 3)
    assert found.mean_length == pytest.approx(4 / 3)
    assert (found.with_init, found.with_state, found.with_final) == (1, 1, 1)
    assert (found.never_worked, found.never_refused) == (("b",), ("a", "c"))


def test_contradictions_are_found_and_nothing_else() -> None:
    good = [Trace(("a", "b", "a"), (True, False, False)), Trace(("a", "a"), (True, False)), Trace(("b",), (True,))]
    assert find_contradictions(Dataset.of(good)) == []
    # after `a` (the refused b in between changes nothing) another `a` was refused; here it works
    bad = Dataset.of([*good, Trace(("a", "a"), (True, True))])
    (found,) = find_contradictions(bad)
    assert found.action == "a"
    assert found.worked == (3, 1)
    assert found.refused in ((0, 2), (1, 1))
    # the same final atom, true and false after one history
    ends = Dataset.of([Trace(("a",), (True,), final={"p": True}), Trace(("a",), (True,), final={"p": False})])
    assert [c.action for c in find_contradictions(ends)] == ["test-p"]


@given(st.lists(traces(), max_size=4))
def test_equal_hashes_are_equal_histories(items: list[Trace]) -> None:
    with contextlib.suppress(TraceError):  # names that clash
        dataset = Dataset.of([*items, *items])
        keys = np.empty(len(dataset.tokens), dtype=np.uint64)
        hash_histories(dataset.vocabulary.kinds, dataset.tokens, dataset.inapplicable, dataset.offsets, keys)
        histories = list_histories(dataset)
        assert len(set(zip(keys.tolist(), histories, strict=True))) == len(set(histories)) == len(set(keys.tolist()))


def test_sampled_traces_never_contradict_each_other() -> None:
    for init in ("atoms", "states:50"):
        assert find_contradictions(sample(get_domain("blocksworld-5b"), SampleSettings(5000, 10, init=init))) == []


def test_comparison_with_a_model() -> None:
    model = StripsModel(("p",), (StripsAction("use", frozenset("p"), delete=frozenset("p")),))
    assert compare_with(Dataset.of([Trace(("use", "use"), (True, False), frozenset("p"))]), model) is None
    found = compare_with(Dataset.of([Trace(("use", "use"), (True, True), frozenset("p"))]), model)
    assert found is not None
    assert (found.count, found.trace, found.position, found.action, found.says_worked) == (1, 0, 3, "use", True)
    with pytest.raises(TraceError, match="unknown action 'us'"):
        compare_with(Dataset.of([Trace(("us",), (True,))]), model)


def test_without_a_start_every_atom_is_true_for_a_model() -> None:
    """A state that is named, be it `start`, and of which nobody says what holds in it is not compared."""
    model = StripsModel(("p",), (StripsAction("use", frozenset("p"), delete=frozenset("p")),))
    good, bad, named = (
        Trace(("use", "use"), (True, ok), state=s) for ok, s in ((False, None), (True, None), (True, "start"))
    )
    assert compare_with(Dataset.of([good, named]), model) is None
    assert unknown_starts(Dataset.of([good, named])).tolist() == [False, True]
    assert describe(Dataset.of([good, named])).with_state == 1
    found = compare_with(Dataset.of([good, named, bad]), model)
    assert found is not None
    assert (found.count, found.trace, found.position) == (1, 2, 1)
