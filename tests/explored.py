"""Learned worlds for the tests of the explorer, and the page's own code run in Node."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn, load
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.everyday import everyday_log
from trace2strips.worlds.sampling import SampleSettings, sample

ROOT = Path(__file__).parent.parent
BUNDLE = ROOT / "src" / "trace2strips" / "explorer" / "bundle.js"
FAMILIES = {"blocksworld-5b": 12, "ferry-5c": 12, "npuzzle-5t": 5, "maze-5x5": 6, "logistics-3c": 20}  # and traces


def need_node() -> str:
    """Node, without which there is nothing to compare with."""
    program = shutil.which("node")
    if program is None:
        message = "no node: the page's script cannot be run outside a browser"
        if os.environ.get("TRACE2STRIPS_NEED_NODE"):
            pytest.fail(message)
        pytest.skip(message)
    return program


def ask_page(*calls: list[Any]) -> list[Any]:
    """What functions of the page's script return, all of them in one process."""
    words = [need_node(), str(ROOT / "web" / "ask.mjs"), str(BUNDLE)]
    done = subprocess.run(words, input=json.dumps(calls), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout))


def as_page(trace: Trace) -> dict[str, Any]:
    """A trace as the page has it."""
    init = None if trace.init is None else sorted(trace.init)
    return {"init": init, "state": trace.state, "steps": [list(s) for s in zip(trace.actions, trace.ok, strict=True)]}


def learn_family(name: str, traces: int, folder: Path, learner: str = "windows") -> Learned:
    learned = learn(sample(get_domain(name), SampleSettings(traces, seed=0, suffix="none")), learner)
    learned.save(folder)
    return load(folder)


def learn_door(folder: Path, traces: int = 6, wrong: float = 0.0) -> Learned:
    """A log without arguments."""
    learned = learn(everyday_log("door", traces, 0, wrong))
    learned.save(folder)
    return load(folder)


def write_office(path: Path, traces: int = 12, seed: int = 0) -> Path:
    """A CSV log with arguments: documents are opened and closed, printers switched on, and open documents printed."""
    rng = random.Random(seed)
    documents, printers = [f"doc{i}" for i in range(3)], ["laser", "inkjet"]
    lines = ["session,action,document,printer,ok"]
    for session in range(traces):
        is_open, is_on = set[str](), set[str]()
        for _ in range(rng.randrange(4, 18)):
            document, printer = rng.choice(documents), rng.choice(printers)
            action = rng.choice(("open", "close", "switch-on", "switch-off", "print"))
            match action:
                case "open":
                    ok = document not in is_open
                case "close":
                    ok = document in is_open
                case "switch-on":
                    ok = printer not in is_on
                case "switch-off":
                    ok = printer in is_on
                case _:
                    ok = document in is_open and printer in is_on
            if ok:
                {"open": is_open.add, "close": is_open.discard}.get(action, lambda _: None)(document)
                {"switch-on": is_on.add, "switch-off": is_on.discard}.get(action, lambda _: None)(printer)
            named = {"open": (document, ""), "close": (document, ""), "print": (document, printer)}
            first, second = named.get(action, ("", printer))
            lines.append(f"{session},{action},{first},{second},{str(ok).lower()}")
    path.write_text("\n".join(lines) + "\n")
    return path
