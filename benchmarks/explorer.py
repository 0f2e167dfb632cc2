"""How soon the world explorer's page can be used, and its picture for the README.

    python benchmarks/explorer.py [--out results/explorer.json] [--quick]
    python benchmarks/explorer.py --picture docs/explorer.png

A log without arguments of 200 actions and a link with a trace of 400 steps, and the five families with a trace of 100:
headless Chromium opens the page from disk several times. First paint and the time until the World tab is there are what
the browser itself reports, since the beginning of the navigation; the median of the runs. `click`: from a click on an
action to the page drawn anew.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from measuring import options, write_results
from playwright.sync_api import Browser, sync_playwright

from trace2strips.explorer.contents import Surroundings
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.model.strips import StripsAction, StripsModel
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

ACTIONS, STEPS, TRACES = 200, 400, 60
FAMILIES = ("blocksworld-5b", "ferry-5c", "npuzzle-5t", "maze-5x5", "logistics-3c")
REPEATS = 5
TIMES = """() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  done({ first_paint: paint ? paint.startTime : performance.now(), usable: performance.now() });
})))"""
CLICK = """() => { const begin = performance.now(); document.querySelector('button.action').click();
  document.body.getBoundingClientRect(); return performance.now() - begin; }"""


def chain(actions: int) -> StripsModel:
    """Pairs of actions that undo each other, each pair after the one before it was done once."""
    atoms, found = [], []
    for i in range(actions // 2):
        atoms += [f"p{i}", f"q{i}"]
        needs = {f"q{i}"} | ({f"p{i - 1}"} if i % 10 else set())
        found.append(StripsAction(f"do {i}", frozenset(needs), frozenset({f"p{i}"}), frozenset({f"q{i}"})))
        found.append(StripsAction(f"undo {i}", frozenset({f"p{i}"}), frozenset({f"q{i}"}), frozenset({f"p{i}"})))
    return StripsModel(tuple(atoms), tuple(found))


def walk(model: StripsModel, state: frozenset[str], length: int, rng: random.Random) -> Trace:
    """Half of its attempts are refused, where that can be."""
    steps: list[tuple[str, bool]] = []
    while len(steps) < length:
        usable = [action for action in model.actions if action.pre <= state]
        action = rng.choice(usable if usable and rng.random() < 0.5 else model.actions)
        steps.append((action.name, action.pre <= state))
        state = action.progress(state) if steps[-1][1] else state
    return Trace(tuple(name for name, _ in steps), tuple(ok for _, ok in steps))


def large(quick: bool) -> tuple[Learned, Trace]:
    rng = random.Random(0)
    model = chain(20 if quick else ACTIONS)
    start = frozenset(atom for atom in model.atoms if atom.startswith("q"))
    traces = [walk(model, start, 40 if quick else STEPS, rng) for _ in range(5 if quick else TRACES)]
    return learn(traces, "windows"), traces[0]


def family(name: str) -> tuple[Learned, Trace]:
    data = sample(get_domain(name), SampleSettings(20, 100, seed=0, suffix="none"))
    return learn(data, "windows"), max((data[i] for i in range(len(data))), key=lambda trace: len(trace.actions))


def fragment(trace: Trace) -> str:
    """A link's part that holds a trace."""
    init = None if trace.init is None else sorted(trace.init)
    steps = [[name, int(ok)] for name, ok in zip(trace.actions, trace.ok, strict=True)]
    return f"#world/{quote(json.dumps([init, trace.state, steps], separators=(',', ':')))}"


def measure(browser: Browser, learned: Learned, trace: Trace, folder: Path, repeats: int) -> dict[str, Any]:
    path = folder / "explore.html"
    learned.explore(Surroundings("measured")).save(path, force=True)
    found: list[dict[str, float]] = []
    for _ in range(repeats):
        page = browser.new_page()
        page.goto(path.as_uri() + fragment(trace))
        page.wait_for_selector(".step")
        found.append({**page.evaluate(TIMES), "click": page.evaluate(CLICK)})
        page.close()
    times = {f"{name}_ms": round(median(one[name] for one in found)) for name in found[0]}
    return {"bytes": path.stat().st_size, "steps": len(trace.actions), **times}


def take_picture(browser: Browser, out: Path) -> None:
    """Five blocks, in light, after a few steps, with one that is refused."""
    learned, _ = family("blocksworld-5b")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explore.html"
        learned.explore(Surroundings("blocksworld-5b")).save(path)
        page = browser.new_page(viewport={"width": 1360, "height": 830})
        page.goto(path.as_uri())
        for _ in range(3):
            page.locator("button.action.works").last.click()
        page.locator("button.action.refused").first.click()
        page.screenshot(path=str(out))
    print(f"wrote {out}, {out.stat().st_size:,} bytes")


def main() -> None:
    picture = Path(sys.argv[sys.argv.index("--picture") + 1]) if "--picture" in sys.argv else None
    arguments = options(__doc__) if picture is None else None
    program = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        if arguments is None:
            assert picture is not None
            take_picture(browser, picture)
            return
        worlds = [("200 actions", large(arguments.quick))]
        worlds += [(name, family(name)) for name in FAMILIES[: 1 if arguments.quick else None]]
        rows = []
        for name, (learned, trace) in worlds:
            row = measure(browser, learned, trace, Path(folder), 1 if arguments.quick else REPEATS)
            rows.append({"world": name, "certain": learned.summary is not None, **row})
            print(rows[-1])
        browser.close()
    command = "python benchmarks/explorer.py --out results/explorer.json"
    write_results(arguments.out, command, {"actions": ACTIONS, "steps": STEPS, "traces": TRACES}, rows)


if __name__ == "__main__":
    main()
