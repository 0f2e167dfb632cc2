"""Worlds that no STRIPS model explains: `check --strips` proves it, and with the objects named they are learned."""

import sys
from pathlib import Path

import pytest
from conftest import Run

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from not_strips import WORLDS, Boxes, Empty, FlipFlop, Swap, World

import trace2strips as t2s
from trace2strips.traces.names import understand


@pytest.mark.parametrize("kind", WORLDS)
def test_a_proof_after_few_traces(kind: type[World], run: Run, tmp_path: Path) -> None:
    t2s.write_traces(kind(named=False).log(10, 20, 0), tmp_path / "log.jsonl")
    result = run("check", "log.jsonl", "--strips")
    assert result.returncode == 3
    assert "no STRIPS model explains this log" in result.stdout
    assert result.stdout.count("not because of") >= 2


@pytest.mark.parametrize("kind", WORLDS)
def test_with_objects_named_it_is_learned(kind: type[World], run: Run, tmp_path: Path) -> None:
    world = kind(named=True)
    t2s.write_traces(world.log(100, 20, 0), tmp_path / "log.jsonl")
    assert run("check", "log.jsonl", "--strips").returncode == 0
    learned = t2s.learn(tmp_path / "log.jsonl", "windows")
    assert learned.figures.train_errors == 0
    assert learned.accuracy(world.log(200, 100, 1)) == 1.0


def test_the_smallest_proof(run: Run, tmp_path: Path) -> None:
    """After two presses nothing came since the last one, as after one; and the start is behind both."""
    (tmp_path / "flip.txt").write_text("press read\npress press !read\n")
    result = run("check", "flip.txt", "--strips")
    assert result.returncode == 3
    assert result.stdout.splitlines()[1:5] == [
        "no STRIPS model explains this log. The shortest proof:",
        "  read was refused at flip.txt:2, attempt 3",
        "  not because of press: it worked at flip.txt:1, attempt 2, with nothing since",
        "  not because of the start: it worked at flip.txt:1, attempt 2, with no more than press since",
    ]


def test_the_worlds_do_what_they_say() -> None:
    lamp = FlipFlop(named=False)
    assert lamp.after("off", ("press",)) == "on"
    assert lamp.after("on", ("press",)) == "off"
    assert lamp.after("off", ("read", "on")) is None
    assert FlipFlop(named=True).after("off", ("press", "on", "off")) is None
    swap: Boxes = Swap(named=True)
    assert swap.after(swap.start, ("swap", "box1", "box2", "red", "blue")) == ("blue", "red", "green")
    assert swap.after(swap.start, ("swap", "box1", "box2", "blue", "red")) is None
    pour: Boxes = Empty(named=False)
    assert pour.after(pour.start, ("pour", "box1", "box3")) == ("", "blue", "red")
    assert pour.after(pour.start, ("pour", "box1", "box2")) is None
    assert pour.after(pour.start, ("see", "box2", "blue")) == pour.start
    assert understand(["pour(box1, box2)"]).form == "call"
