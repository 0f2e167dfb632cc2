"""The model card in every run folder, and what is said of atoms: `explain`."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import Run
from markdown_it import MarkdownIt

import trace2strips as t2s
from trace2strips.errors import ModelError
from trace2strips.learners.card import percent
from trace2strips.learners.registry import LEARNERS, make_learner, settings_of
from trace2strips.learners.rules import AtomInfo, Rule, meaning
from trace2strips.pages.markdown import code_block, literal
from trace2strips.traces import Dataset, Trace, write_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOOR = [[("close", False), ("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 3
HOSTILE = (
    "<script>alert(1)</script>",
    "![x](http://evil.example/a.png)",
    '"><img src=x onerror=alert(1)>',
    "[link](javascript:alert(1))",
    "`code` | cell\n# heading\n```\n<b>",
    "# not a heading",
    "&lt;b&gt; $(touch x) 'quote'",
    "\x1b[31mred\u202e",
    "https://evil.example www.evil.example me@evil.example",
    "1. list",
    "*bold* _it_ ~~no~~ \\",
)
PARTS = ("The data", "How it was understood", "How well it predicts", "The model", "What the words mean",
         "What is certain, and what is not", "Labels that look wrong", "How to use it")  # fmt: skip


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_log() -> list[Trace]:
    """A door for each pair of names: the first opens, the second closes; told and named by strangers as well."""
    pairs = [(HOSTILE[i], HOSTILE[i + 1]) for i in range(0, len(HOSTILE) - 1, 2)]
    steps = [(first, True, first, False, second, True, second, False) for first, second in pairs]
    return [Trace(row[::2], row[1::2], frozenset({HOSTILE[-1]})) for row in steps for _ in range(3)]  # type: ignore[arg-type]


def test_a_card_in_every_run_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "door.txt").write_text("!close open !open close !close open\n" * 3)
    assert run("learn", "door.txt", "--learner", "windows", "--test", "door.txt", "--out", "run", "-q").returncode == 0
    text, page = ((tmp_path / "run" / f"card.{ending}").read_text() for ending in ("md", "html"))
    for part in PARTS:
        assert f"\n## {part}\n" in text
        assert f">{part}</h2>" in page
    assert "| close | after-open | before-open | after-open | open |" in text
    assert "| after-open | open has happened, and close has not since; close needs it | false | invented |" in text
    assert "learned from 3 traces of door.txt by the learner windows." in text
    assert "- test traces predicted without an error: 100%\n" in text
    assert "| of these refused | 9 |" in text
    assert "| assumption 3 | a refused attempt changed nothing |" in text
    assert "No label of the log looks wrong." in text
    shown = Tags(page)
    assert "open has happened, and close has not since; close needs it" in shown.text
    assert [
        (tag, attributes) for tag, attributes in shown.tags if "src" in attributes or tag in ("script", "img")
    ] == []
    assert [attributes["href"] for _, attributes in shown.tags if "href" in attributes][:2] == ["data:,", "#data"]
    assert t2s.load(tmp_path / "run").card().markdown() == text
    assert str(t2s.load(tmp_path / "run").card()) == text


@pytest.mark.parametrize("name", LEARNERS)
def test_a_card_of_every_learner(name: str) -> None:
    traces = [Trace(("a", "b", "b"), (True, True, False), frozenset({"p"}), final={"p": True, "q": False})] * 4
    learned = t2s.learn(traces, make_learner(name, {"steps": 2} if "steps" in settings_of(name) else {}))
    text = learned.card().markdown()
    assert f"by the learner {name}." in text.replace("\\", "")
    assert all(f"\n## {part}\n" in text for part in PARTS)
    assert ("This learner does not know what is certain" in text) == (name != "windows")
    assert Tags(learned.card().html()).text.count("by the learner") == 1


def test_a_network_alone_has_a_card() -> None:
    learned = t2s.learn(DOOR, make_learner("sb", {"steps": 2, "network_only": True}))
    text = learned.card().markdown()
    assert "A network, learned from 3 traces" in text
    assert "## The model" not in text


@pytest.mark.parametrize("name", ["windows", "completion"])
def test_names_of_strangers_stay_text(name: str, tmp_path: Path) -> None:
    write_traces(Dataset.of(hostile_log()), tmp_path / "a<b>`c`.jsonl")
    plain = {"separator": ""} if name == "windows" else {}
    learned = t2s.learn(tmp_path / "a<b>`c`.jsonl", make_learner(name, plain))
    learned.save(tmp_path / "run")
    page = (tmp_path / "run" / "card.html").read_text()
    found = Tags(page)
    known = {"html", "head", "meta", "link", "title", "style", "body", "a", "header", "p", "h1", "dl", "div", "dt", "dd",
             "nav", "ol", "li", "main", "section", "h2", "table", "caption", "span", "thead", "tbody", "tr", "th", "td",
             "pre", "code", "footer"}  # fmt: skip
    assert {tag for tag, _ in found.tags} <= known
    assert not [a for _, attributes in found.tags for a in attributes if a.startswith("on") or a == "src"]
    assert all(str(a["href"]).startswith(("#", "data:,")) for _, a in found.tags if "href" in a)
    assert HOSTILE[0] in found.text
    assert "\x1b" not in page
    text = (tmp_path / "run" / "card.md").read_text()
    rendered = MarkdownIt("commonmark").enable("table").render(text)
    shown = Tags(rendered)
    assert {tag for tag, _ in shown.tags} <= {
        "h1", "h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "pre", "code",
    }  # fmt: skip
    for hostile in HOSTILE[:-1]:  # the last one is an atom, which a model may do without
        if "\n" not in hostile and hostile.isprintable():
            assert hostile in shown.text, hostile
    assert [tag for tag, _ in shown.tags].count("h2") == len(PARTS)
    assert not re.search(r"(?<!\\)://|www(?!\\)\.", text)


@pytest.mark.parametrize("text", [*HOSTILE, "plain-name", "a_b|c", "- item", "--- ", "+1", "=== ", "", "12) x"])
def test_literal_markdown_is_shown_as_it_is(text: str) -> None:
    shown = Tags(MarkdownIt("commonmark").enable("table").render(literal(text)))
    assert {tag for tag, _ in shown.tags} <= {"p"}
    if text.isprintable():
        assert shown.text.strip() == text.strip()
    (block,) = MarkdownIt("commonmark").parse(code_block(text))
    assert block.type == "fence"


def test_suspects_and_doubts_are_listed() -> None:
    log = [list(trace) for trace in DOOR * 40]
    log[7][2] = ("open", True)
    learned = t2s.learn(log, "windows")
    text = learned.card().markdown()
    assert learned.suspects
    assert "| trace 8, attempt 3 | open | worked | refused |" in text
    assert f"{len(learned.suspects)} labels are probably wrong; all of them are in suspects.csv." in text
    assert "labels that are probably wrong: 1" in text
    blocks = t2s.learn(sample(get_domain("blocksworld:3"), SampleSettings(20, 30, suffix="none")), "windows")
    doubted = [one for one in blocks.support if one.level != "certain"]
    assert doubted
    rows = blocks.card().certainty(blocks.rules).tables[0].rows
    assert len(rows) == len(doubted)


@pytest.mark.parametrize(
    ("share", "shown"), [(1.0, "100%"), (0, "0%"), (0.5, "50.0%"), (0.99999, "99.999%"), (1e-6, "0.0001%")]
)
def test_an_error_stays_visible(share: int | float, shown: str) -> None:
    assert percent(share) == shown


def test_a_large_model_is_cut() -> None:
    learned = t2s.learn(sample(get_domain("blocksworld:11"), SampleSettings(60, 60)), "completion")
    assert len(learned.model.actions) > 200
    text = learned.card().markdown()
    assert f"{len(learned.model.actions) - 200:,} more actions are in model.pddl." in text


def test_explain_with_proofs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "door.txt").write_text("!close open !open close !close open\n" * 3)
    assert run("learn", "door.txt", "--learner", "windows", "--out", "run", "-q").returncode == 0
    result = run("explain", "run", "after-open")
    assert result.stdout.splitlines()[:5] == [
        "after-open: open has happened, and close has not since; close needs it",
        "  invented: the log does not name it; at the start: false",
        "  made true by open  (certain; door.txt:1, attempt 1; door.txt:1, attempt 4)",
        "  made false by close  (certain; door.txt:1, attempt 5)",
        "  needed by close  (certain; door.txt:1, attempt 1)",
    ]
    assert result.stdout.splitlines()[-1].startswith("certain if ")
    every = run("explain", "run").stdout
    assert "before-open: open has not happened, or close has since; open needs it" in every
    (record,) = json.loads(run("explain", "run", "after-open", "--json").stdout)
    assert [(rule["part"], rule["action"]) for rule in record["rules"]] == [
        ("needs", "close"), ("deletes", "close"), ("adds", "open"),
    ]  # fmt: skip
    for words, message in (
        (("run", "after-opn"), "unknown atom 'after-opn' (hint: did you mean 'after-open'?)"),
        (("run", "open"), "unknown atom 'open' (hint: this is an action"),
        (("nowhere",), "no run of trace2strips"),
    ):
        refused = run("explain", *words)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert message in refused.stderr


def test_explain_is_about_variables() -> None:
    train = sample(get_domain("blocksworld-5b"), SampleSettings(100, 50, suffix="none"))
    learned = t2s.learn(train, "windows")
    found = learned.explain("on_b1_b2")
    assert (found.atom, found.told, found.starts) == ("on(x, y)", True, "as the log tells")
    assert [rule.seen for rule in found.rules] == ["stack(x, y)", "unstack(x, y)", "unstack(x, y)"]
    assert [rule.seen for rule in learned.explain("clear(x)").rules if rule.part == "adds"] == ["unstack(_, x)"]
    ground = t2s.learn(DOOR, "completion")
    assert ground.explain("p0").meaning == "open has happened, and close has not since; close needs it"
    with pytest.raises(ModelError, match="unknown atom"):
        ground.explain("p0(x, y)")


@pytest.mark.parametrize(
    ("starts", "parts", "said"),
    [
        ("false", {"adds": ["pay"], "needs": ["ship"]}, "pay has happened; ship needs it"),
        ("false", {"adds": ["pay"], "deletes": ["refund"]}, "pay has happened, and refund has not since; no action needs it"),
        ("true", {"deletes": ["cancel"], "needs": ["pay", "ship"]}, "cancel has not happened; pay and ship need it"),
        ("true", {"adds": ["a", "b"], "deletes": ["c"]}, "c has not happened, or a or b has since; no action needs it"),
        ("as the log tells", {"adds": ["a"]}, "a has happened; or it holds since the start; no action needs it"),
        ("as the log tells", {"needs": ["go"]}, "it never changes; go needs it"),
        ("false", {"needs": ["go"]}, "it is never true; go needs it"),
        ("false", {"deletes": ["a"], "needs": ["go"]}, "it is never true; go needs it"),
        ("true", {"adds": ["a"], "needs": ["go"]}, "it is always true; go needs it"),
        ("false", {"adds": list("abcdefgh")}, "a, b, c, d, e or 3 more has happened; no action needs it"),
    ],
)  # fmt: skip
def test_what_an_atom_seems_to_mean(starts: str, parts: dict[str, list[str]], said: str) -> None:
    rules = [Rule(name, part, "p", "p", name) for part, names in parts.items() for name in names]
    assert meaning(AtomInfo("p", "p", starts, False), rules) == said


def test_invented_names_follow_a_rule() -> None:
    """After who makes it true, before who makes it false, else after who needs it; never the name of a told atom."""
    learned = t2s.learn(DOOR, "windows")
    assert [p.name for p in learned.lifted.predicates] == ["after-open", "before-open"]  # type: ignore[union-attr]
    told = [Trace(*zip(*trace, strict=True), frozenset({"after-open"})) for trace in DOOR]
    found = {p.name: p.start for p in t2s.learn(told, "windows").lifted.predicates}  # type: ignore[union-attr]
    assert found == {"after-open": "told", "can-close": "false"}
    once = [[("sign", True), ("sign", False)], [("go", True), ("sign", True), ("go", True), ("sign", False)]]
    assert [p.name for p in t2s.learn(once, "windows").lifted.predicates] == ["before-sign"]  # type: ignore[union-attr]
