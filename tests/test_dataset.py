"""Datasets: every trace in them begins somewhere, also where the file tells nothing of it."""

import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trace2strips.errors import TraceError
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces import Dataset, Trace, read_traces
from trace2strips.traces.dataset import encode, vocabulary_of
from trace2strips.traces.dataset_file import read_fields

MIXED = [
    Trace(("a",), (False,), final={"p": True}),
    Trace(("a", "b"), (True, True), frozenset("p")),
    Trace((), ()),
    Trace(("b",), (True,), state="start"),
    Trace(("b",), (True,), state="zoo"),
]


def test_traces_that_tell_no_start_begin_in_one() -> None:
    dataset = Dataset.of(MIXED)
    assert dataset.vocabulary.init_states == ("start", "zoo")
    assert [dataset.names(i)[0] for i in range(5)] == [
        "init-start",
        "init-false",
        "init-start",
        "init-start",
        "init-zoo",
    ]
    assert dataset.untold.tolist() == [True, False, True, False, False]
    assert dataset.told_names(0) == ["a", "test-p"]
    assert dataset.told_names(3) == ["init-start", "b"]
    assert list(dataset) == MIXED
    assert list(dataset.first(3)) == MIXED[:3]
    words = Vocabulary(("b", "a"), ("p",), ("zoo", "start"), ("p",), has_init_false=True)
    assert list(dataset.in_words_of(words)) == MIXED
    assert replace(dataset, settings={"seed": 1}).untold.tolist() == dataset.untold.tolist()


def test_the_name_of_the_start_comes_last_among_states() -> None:
    """Token numbers, and with them every learned model, hang on it."""
    dataset = Dataset.of([MIXED[0], MIXED[4]])
    assert dataset.vocabulary.names == ("init-zoo", "init-start", "a", "b", "test-p")
    assert dataset.tokens.tolist() == [1, 2, 4, 0, 3]
    assert dataset.inapplicable.tolist() == [False, True, False, False, False]
    assert dataset.offsets.tolist() == [0, 3, 5]


def test_traces_are_encoded_one_at_a_time() -> None:
    """A log of two million lines took a gigabyte of traces, and the collector walked them again and again."""
    gone: list[int] = []

    def some() -> Iterator[Trace]:
        for i in range(3):
            trace = Trace(
                (f"a{9 - i}", "b"), (True, False), frozenset({"q", "p", f"r{i}"}), final={"y": True, "x": False}
            )
            weakref.finalize(trace, gone.append, i)
            yield trace
            del trace
            assert gone == list(range(i))  # but the one that `of` still holds

    dataset = Dataset.of(some())
    names = ["init-false", "init-p", "init-q", "init-r1", "a8", "b", "test-x", "test-y"]
    assert dataset.names(1) == names
    assert dataset.inapplicable.tolist() == [False, False, False, False, False, True, True, False] * 3
    assert list(Dataset.of(list(dataset), dataset.vocabulary)) == list(dataset)


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3, 4], [0, 4], [2], [0, 3]])
def test_files_say_nothing_of_a_start_that_nobody_told(tmp_path: Path, chosen: list[int]) -> None:
    """The arrays in the file are those of before a dataset held a start by construction, and are read as such."""
    traces = [MIXED[i] for i in chosen]
    Dataset.of(traces).save(tmp_path / "d.t2s")
    fields = read_fields(tmp_path / "d.t2s")
    words = vocabulary_of(traces)
    assert fields["vocabulary"] == words
    codes = [list(encode(trace, words.number)) for trace in traces]
    assert fields["tokens"].tolist() == [token for code in codes for token, _ in code]
    assert fields["inapplicable"].tolist() == [label for code in codes for _, label in code]
    assert np.diff(fields["offsets"]).tolist() == [len(code) for code in codes]
    again = Dataset.load(tmp_path / "d.t2s")
    assert list(again) == traces
    again.save(tmp_path / "e.t2s")
    assert (tmp_path / "e.t2s").read_bytes() == (tmp_path / "d.t2s").read_bytes()


def test_a_name_that_the_start_would_take_is_refused_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("init-start\n")
    with pytest.raises(TraceError, match=r"a\.txt: the action name 'init-start' is also that of a setup action"):
        read_traces(path)
    path.write_text("@home | init-start |\n")
    assert [trace.state for trace in read_traces(path)] == ["home"]
