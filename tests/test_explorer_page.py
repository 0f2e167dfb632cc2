"""The explorer in a browser, with real clicks: seven worlds, a transformer, hostile names, a phone, paper, a server."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run
from explored import FAMILIES, ROOT, learn_door, learn_family, write_office
from playwright.sync_api import Browser, BrowserContext, Page, expect

from trace2strips.commands.explore import find_plan, surroundings
from trace2strips.explorer.contents import Surroundings
from trace2strips.explorer.serving import Server
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn, load
from trace2strips.learners.registry import make_learner
from trace2strips.learners.windows.questions import Questions, Standing
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

STEPS = 10


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport={"width": 1400, "height": 900})
    found.set_default_timeout(20_000)
    yield found
    found.close()


class Watched:
    """A page that may say nothing on its console and ask nobody for anything."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("#panel > *")

    def check(self) -> None:
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def write_page(learned: Learned, folder: Path, around: Surroundings | None = None) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / "explore.html"
    learned.explore(around or Surroundings(title=folder.name)).save(path, force=True)
    return path.as_uri()


def office(folder: Path, run: Run) -> Learned:
    write_office(folder / "office.csv")
    assert run("learn", "office.csv", "--arg", "document", "--arg", "printer", "--out", "office").returncode == 0
    return load(folder / "office")


def make_world(name: str, folder: Path, run: Run) -> Learned:
    if name == "door":
        return learn_door(folder / "door")
    return office(folder, run) if name == "office" else learn_family(name, FAMILIES[name], folder / name)


def trace_of(page: Page) -> dict[str, Any]:
    """The trace that the address holds."""
    text = page.evaluate("decodeURIComponent(location.hash.split('/')[1])")
    init, state, steps = json.loads(text)
    return {"init": init, "state": state, "steps": [(name, bool(ok)) for name, ok in steps]}


def as_trace(found: dict[str, Any]) -> Trace:
    names, ok = tuple(n for n, _ in found["steps"]), tuple(ok for _, ok in found["steps"])
    return Trace(names, ok, None if found["init"] is None else frozenset(found["init"]), found["state"])


def levels(page: Page) -> dict[str, str]:
    rows = page.locator("button.action[data-action]")
    return dict(rows.evaluate_all("rows => rows.map(row => [row.dataset.action, row.dataset.level])"))


def click_action(page: Page, name: str) -> None:
    page.locator(f"button[data-action={json.dumps(name)}]").click()


def check_levels(learned: Learned, trace: Trace, found: dict[str, str]) -> None:
    """The page never calls certain what Python does not."""
    assert isinstance(learned.questions, Questions)
    for reply in Standing(learned.questions, trace).replies(list(found)):
        level = found[reply.action]
        assert (level if level in ("works", "refused") else "open") == reply.answer, reply.action


def read_open(page: Page, action: str) -> None:
    page.locator(f"button[data-why={json.dumps(action)}]").click()
    expect(page.locator(".proof h3")).to_contain_text("Open:")
    expect(page.locator(".proof li").first).to_contain_text("perhaps because of")  # what is ruled out comes after


def read_refusal(page: Page, learned: Learned, trace: Trace, refused: list[str]) -> None:
    """The precondition that is false, since when, and the lines of the log that prove it."""
    for action in refused:
        click_action(page, action)
        if page.locator(".needs .fails").count():
            break
    expect(page.locator(".reason")).to_have_attribute("data-why-level", "refused")
    assert re.search(r"is false, since (step \d+: .+|the start)", page.locator(".needs .fails").first.inner_text())
    (ours,) = learned.why(trace, action)
    assert page.locator(".proof li").all_inner_texts() == [line.strip() for line in ours.because]
    assert re.search(r"refused at .+, and only", ours.because[0])
    expect(page.locator(".steps .step")).to_have_count(len(trace.actions))  # asking changes nothing
    place = page.locator(".lines button.place").first
    if place.count():
        place.click()
        expect(page.locator("#tab-log")).to_have_attribute("aria-selected", "true")
        expect(page.locator("tr.here td").nth(1)).to_contain_text("refused")
        page.locator("#tab-world").click()


@pytest.mark.parametrize("name", [*FAMILIES, "door", "office"])
def test_a_world_is_tried_and_questioned(name: str, tmp_path: Path, run: Run, context: BrowserContext) -> None:
    learned = make_world(name, tmp_path, run)
    watched = Watched(context, write_page(learned, tmp_path / name))
    page = watched.page
    if name in FAMILIES:
        assert page.locator("svg.picture").get_attribute("aria-label")
    else:
        assert page.locator("svg.picture").count() == 0
    if name == "logistics-3c":
        expect(page.locator("svg.picture .city")).to_have_count(3)  # each place in its own

    # ten actions that work; on the way one that is open and one that is refused for certain
    met_open = False
    refused: list[str] = []
    start = json.loads(page.locator("#data").text_content() or "")["starts"][0]
    for step in range(STEPS):
        here = trace_of(page) if step else {**start, "steps": []}
        found = levels(page)
        if step % 5 == 0:
            check_levels(learned, as_trace(here), found)
        is_open = [action for action, level in found.items() if level in ("open", "likely", "unlikely")]
        if is_open and not met_open:
            read_open(page, is_open[0])
            met_open = True
        if not refused:
            refused = [action for action, level in found.items() if level == "refused"]
            if refused:
                read_refusal(page, learned, as_trace(here), refused)
        working = [action for action, level in found.items() if level in ("works", "likely")]
        click_action(page, working[step % len(working)])
        expect(page.locator(".steps .step")).to_have_count(step + 1)
    assert all(ok for _, ok in trace_of(page)["steps"])
    assert refused
    if not met_open:  # nothing that the log tries is open, but other objects together are
        page.locator("[data-key=tried]").uncheck()
        found = levels(page)
        check_levels(learned, as_trace(trace_of(page)), found)
        read_open(page, next(action for action, level in found.items() if level in ("open", "likely", "unlikely")))
        page.locator("[data-key=tried]").check()

    # the trace is edited, undone, and shared
    page.get_by_role("button", name="Edit or paste").click()
    text = page.locator("#trace-text").input_value()
    page.locator("#trace-text").fill("no such action(x)")
    page.get_by_role("button", name="Take this trace").click()
    expect(page.locator(".editor .warning")).to_contain_text("is no action that is known here")
    page.locator("#trace-text").fill("\n".join(text.splitlines()[:4]))
    page.get_by_role("button", name="Take this trace").click()
    expect(page.locator(".steps .step")).to_have_count(4)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".steps .step")).to_have_count(STEPS)
    page.keyboard.press("Control+z")
    expect(page.locator(".steps .step")).to_have_count(STEPS - 1)
    shared = page.url
    page.goto("about:blank")
    page.goto(shared)
    expect(page.locator(".steps .step")).to_have_count(STEPS - 1)

    # a plan: make possible what is refused now
    impossible = [action for action, level in levels(page).items() if level in ("refused", "unlikely")]
    page.locator("#tab-plan").click()
    for action in impossible[:: max(1, len(impossible) // 12)]:
        page.locator("#enable").select_option(action)
        page.get_by_role("button", name="Find a plan").click()
        if page.locator(".plan-steps li").count():
            break
    count = page.locator(".plan-steps li").count()
    assert count > 0, "no plan"
    for _ in range(count):
        page.locator("[data-key=plan-next]").click()
    page.get_by_role("button", name="See it in the world").click()
    expect(page.locator(".steps .step")).to_have_count(STEPS - 1 + count)
    assert levels(page)[action] in ("works", "likely", "open")
    done = trace_of(page)
    assert learned.ask(as_trace(done), action).guess == "works"

    if name == "blocksworld-5b":
        page.locator("#tab-plan").click()
        page.locator("#enable").select_option("")
        page.locator("#goal-atom").fill("on_b1_b2")
        page.get_by_role("button", name="must be true").click()
        page.locator("#goal-atom").fill("no atom")
        page.get_by_role("button", name="must be false").click()
        expect(page.locator(".plan .warning")).to_contain_text("is no atom here")
        page.get_by_role("button", name="Find a plan").click()
        for _ in range(page.locator(".plan-steps li").count()):
            page.locator("[data-key=plan-next]").click()
        page.get_by_role("button", name="See it in the world").click()
        expect(page.locator(".atom", has_text="on_b1_b2").first).not_to_have_class(re.compile("false"))

    for tab in ("model", "attention", "training"):
        page.locator(f"#tab-{tab}").click()
    expect(page.locator("#panel svg.plot, #panel .plot svg").first).to_be_visible()
    page.locator("#tab-attention").click()
    expect(page.locator("#panel")).to_have_text("The learner windows is no transformer; strips and sb are.")
    watched.check()


@pytest.fixture(scope="module")
def transformers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Trained for a moment only: what is looked at is the page, not what they learned."""
    folder = tmp_path_factory.mktemp("transformers")
    log = sample(get_domain("blocksworld:2"), SampleSettings(60, 60, seed=0, suffix="none"))
    found = {}
    for name, settings in (("strips", {"form": "attention", "steps": 500}), ("strips+completion", {"steps": 500}),
                           ("sb", {"steps": 20, "network_only": True})):  # fmt: skip
        rows = [
            {"stage": "training", "attempt": 1, "step": s, "loss": 1 / s, "accuracy": s / 500} for s in (100, 300, 500)
        ]
        learned = learn(log, make_learner(name, settings))
        path = folder / name
        found[name] = write_page(learned, path, Surroundings(title=name, log=log, training=tuple(rows)))
    return found


@pytest.mark.parametrize("name", ["strips", "strips+completion", "sb"])
def test_attention_is_shown(name: str, transformers: dict[str, str], context: BrowserContext, tmp_path: Path) -> None:
    watched = Watched(context, transformers[name])
    page = watched.page
    page.locator("#tab-attention").click()
    record = json.loads(page.locator("#data").text_content() or "")["attention"]
    longest = int(np.argmax([len(trace["tokens"]) for trace in record["traces"]]))
    page.locator("#trace-choice").select_option(str(longest))
    trace = record["traces"][longest]
    assert len(trace["tokens"]) > 30
    drawn = page.locator("figure.matrix svg title")
    first = drawn.all_text_contents()
    page.locator("#from").fill("5")  # the window moves on
    expect(page.locator("label[for=from]")).to_contain_text("Positions 6 to 35")
    assert drawn.all_text_contents() != first
    page.get_by_role("button", name="hard").click()
    head = trace["heads"][0]
    inside = [(i, j) for i, row in enumerate(head["hard"]) if 5 <= i < 35 for j, _ in row if j >= 5]
    expect(drawn).to_have_count(len(inside))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    saved.value.save_as(tmp_path / "attention.svg")
    svg = (tmp_path / "attention.svg").read_text()
    assert svg.startswith("<svg")
    assert "var(" not in svg
    check_own_trace(page, name, len(record["traces"]))
    page.locator("#tab-training").click()
    expect(page.locator("figcaption").first).to_have_text("Loss")
    page.locator("#tab-world").click()
    if name == "sb":
        expect(page.locator("#panel")).to_have_text("Only a network was learned; no model was read out of it.")
    else:
        expect(page.locator(".level")).to_have_count(2)  # likely works, likely refused: nothing is certain here
    watched.check()


def check_own_trace(page: Page, name: str, kept: int) -> None:
    """What a STRIPS Transformer reads in the trace of the World tab; a decoder is too large for that, and the page says so."""
    if name == "sb":
        expect(page.locator(".attention > .hint").first).to_contain_text("this network is too large to be in the page")
        return
    page.locator("#tab-world").click()
    page.locator("button.action.likely").first.click()
    expect(page.locator(".steps .step")).to_have_count(1)
    ((step, _),) = trace_of(page)["steps"]
    page.locator("#tab-attention").click()
    page.locator("#trace-choice").select_option(str(kept))
    page.locator(".attention summary").click()
    expect(page.locator(".attention tbody tr").last.locator("th")).to_have_text(step)


def test_what_nobody_tried_together_is_not_called_certain(context: BrowserContext, tmp_path: Path) -> None:
    """In a maze whose streets nobody told, nobody knows of moves between far cells."""
    watched = Watched(context, write_page(learn_family("maze-5x5", 20, tmp_path / "run"), tmp_path / "run"))
    page = watched.page
    assert page.locator("button.apart").count() == 0
    page.locator("[data-key=tried]").uncheck()
    far = page.locator("button.apart.open").first
    assert page.locator("button.apart.works").count() == 0
    expect(far).to_contain_text("open")
    expect(far).to_contain_text("if it can be tried at all")
    expect(far).to_have_attribute("aria-label", re.compile("if it can be tried at all$"))
    far.click()
    expect(page.locator(".steps .step")).to_have_count(0)  # it is explained, not applied
    expect(page.locator(".apart-note")).to_contain_text("So nothing is certain here")
    expect(page.locator(".proof h3")).to_have_text("Open: never tried with these objects")
    page.locator("#tab-model").click()
    expect(page.locator("#model-table .together")).to_have_text("only as the log has them: (x, y)")
    watched.check()


def test_invented_names_say_what_they_mean(context: BrowserContext, tmp_path: Path) -> None:
    learned = learn_family("ferry-5c", 12, tmp_path / "run")
    watched = Watched(context, write_page(learned, tmp_path / "run"))
    page = watched.page
    page.locator("button.ask[data-why^=debark]").first.click()
    expect(page.locator(".needs")).to_contain_text("board(x, _) has happened, and debark(x, _) has not since")
    page.locator("button.action.works[data-action^=board]").first.click()
    expect(page.locator(".atom.invented").first).to_have_attribute("title", re.compile(r"board\(x, _\) has happened"))
    page.locator("[data-key=meanings]").click()
    expect(page.locator("#tab-model")).to_have_attribute("aria-selected", "true")
    watched.check()


EVIL = ["</script><img src=x onerror=alert(1)>", "\"><svg onload=alert(2)>", "a\u202eb\u2066", "nul\u0001\u001b[31m",
        "'; alert(3); //", "constructor", "__proto__", "{{7*7}}", "&lt;b&gt;", "<!--"]  # fmt: skip


def test_hostile_names_are_text(context: BrowserContext, tmp_path: Path) -> None:
    log = [[(name, i % 2 == j % 2) for j, name in enumerate(EVIL)] * 2 for i in range(4)]
    learned = learn(log, make_learner("windows", {"separator": ""}))
    address = write_page(learned, tmp_path / "run", Surroundings(title=EVIL[0], links=((EVIL[1], "card.html"),)))
    watched = Watched(context, address)
    page = watched.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    assert page.locator("h1").inner_text() == EVIL[0]
    shown = page.locator(".action .name").all_inner_texts()
    assert "a\\u202eb\\u2066" in shown
    assert "nul\\x01\\x1b[31m" in shown
    assert EVIL[0] in shown
    for name in EVIL[:4]:
        page.evaluate(
            "name => [...document.querySelectorAll('[data-why]')].find(e => e.dataset.why === name).click()", name
        )
        expect(page.locator(".verdict b")).to_have_text(shown_name(name))
    for tab in ("model", "log", "plan", "training"):
        page.locator(f"#tab-{tab}").click()
    page.goto(f"{address}#world/%5Bnull%2Cnull%2C%5B%5B%22%3Cimg%20src%3Dx%20onerror%3Dalert(9)%3E%22%2C1%5D%5D%5D")
    page.reload()
    expect(page.locator("[role=status]").last).to_contain_text("not known here")
    assert page.locator("img, svg[onload], #explorer script").count() == 0
    assert dialogs == []
    assert page.evaluate("({}).polluted") is None
    watched.check()


def shown_name(name: str) -> str:
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in name)


def test_keyboard_labels_phone_paper_and_both_schemes(browser: Browser, tmp_path: Path) -> None:
    learned = learn_family("blocksworld-5b", 12, tmp_path / "run")
    address = write_page(learned, tmp_path / "run")
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 390, "height": 800})  # type: ignore[arg-type]
        watched = Watched(context, address)
        page = watched.page
        for tab in ("world", "model", "log", "plan", "training"):
            page.locator(f"#tab-{tab}").click()
            if tab == "model":
                page.locator(".graph canvas").first.wait_for()
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, tab
        page.locator("#tab-world").click()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#tab-model")).to_be_focused()
        page.keyboard.press("Home")
        expect(page.locator("#tab-world")).to_be_focused()
        first = page.locator("button.action").first
        first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("button.action").nth(1)).to_be_focused()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(page.locator(".steps .step")).to_have_count(1)
        expect(page.locator("main > [role=status]")).to_contain_text("applied: step 1")
        unnamed = page.evaluate("""[...document.querySelectorAll('button, select, input, textarea, [role=img]')].filter(e =>
            !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)""")
        assert unnamed == []
        assert contrast_failures(page) == []
        watched.check()
        context.close()
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.emulate_media(media="print")
    assert page.locator(".tabs").is_hidden()
    assert page.locator("svg.picture").is_visible()
    assert len(page.pdf()) > 1_000
    context.close()


def contrast_failures(page: Page) -> list[str]:
    """Texts whose contrast with what is behind them is less than 4.5."""
    return list(
        page.evaluate("""() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
      const luminance = ([r, g, b]) => { const f = (x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
      const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return rgb('white'); };
      const found = [];
      for (const e of document.querySelectorAll('#explorer *')) {
        if (e.namespaceURI.endsWith('svg') || !e.checkVisibility() || e.closest('.sr, :disabled, [aria-pressed=false].level, .skip, .tabs .empty, .ask')) continue;
        if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
        const [a, b] = [luminance(rgb(getComputedStyle(e).color)), luminance(behind(e))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) found.push(e.className + ': ' + e.textContent.slice(0, 40));
      }
      return found;
    }""")
    )


def test_notebooks_show_the_page_in_a_frame(context: BrowserContext, tmp_path: Path) -> None:
    learned = learn_door(tmp_path / "run")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(f"<body>{learned.explore()._repr_html_()}</body>")
    frame = page.frame_locator("iframe")
    frame.locator("button.action.works").first.click()
    expect(frame.locator(".steps .step")).to_have_count(1)
    frame.get_by_role("button", name="Copy link").click()
    expect(frame.locator("[data-key=share]")).to_have_text("Cannot be copied here")
    assert errors == []


def test_a_plan_by_a_real_planner(context: BrowserContext, tmp_path: Path) -> None:
    learned = learn_family("ferry-5c", 12, tmp_path / "run")
    html = learned.explore(surroundings(learned, tmp_path / "run", ("mimir",))).html()
    with Server(html, lambda question: find_plan(learned, "mimir", question)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        watched = Watched(context, server.address)
        page = watched.page
        page.locator("#tab-plan").click()
        names = page.locator("#enable option").evaluate_all("options => options.map(option => option.value)")
        page.locator("#enable").select_option(next(name for name in names if name.startswith("debark")))
        page.get_by_role("button", name="Ask mimir").click()
        expect(page.locator("section:has(#plan-title)")).to_contain_text(re.compile("A plan by mimir|so already"))
        assert watched.complaints == []
        assert {url.split("/")[2] for url in watched.requests if url.startswith("http")} == {
            f"127.0.0.1:{server.server_port}"
        }
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("browser")
def test_first_paint_is_measured(tmp_path: Path) -> None:
    """The benchmark runs; what it measures is for people to read."""
    script = ROOT / "benchmarks" / "explorer.py"
    subprocess.run([sys.executable, script, "--quick", "--out", tmp_path / "x.json"], check=True, capture_output=True)
    rows = json.loads((tmp_path / "x.json").read_text())["rows"]
    assert [row["world"] for row in rows] == ["200 actions", "blocksworld-5b"]
    assert all(row["bytes"] < 2_000_000 and row["first_paint_ms"] > 0 for row in rows)
