"""The explorer without a browser: the page's own answers beside Python's, what it is told, who may ask the server."""

import http.client
import json
import random
import re
import shutil
import socket
import struct
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run
from explored import (
    FAMILIES,
    ROOT,
    as_page,
    ask_page,
    learn_door,
    learn_family,
    need_node,
    write_office,
)

from trace2strips.commands.explore import LARGEST, find_plan, surroundings
from trace2strips.explorer import contents
from trace2strips.explorer.contents import Surroundings
from trace2strips.explorer.page import as_data, format_explorer, hash_of
from trace2strips.explorer.reading import break_stick, hardest, sparse
from trace2strips.explorer.serving import Server
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn, load
from trace2strips.learners.registry import make_learner
from trace2strips.learners.windows.questions import Questions, Standing
from trace2strips.model.strips import StripsModel
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

# ---- the bundle


def test_the_bundle_is_what_the_source_builds(tmp_path: Path) -> None:
    node = need_node()
    web = ROOT / "web"
    if not (web / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=web, check=True, capture_output=True)
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=web, check=True, capture_output=True)
    for name in ("bundle.js", "bundle.css", "LICENSES.txt"):
        theirs = (ROOT / "src" / "trace2strips" / "explorer" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == theirs, f"{name}: run `npm run build` in web/"
    checked = subprocess.run(
        [shutil.which("npx") or "npx", "tsc", "--noEmit"], cwd=web, check=False, capture_output=True
    )
    assert checked.returncode == 0, checked.stdout.decode()


def test_licences_of_what_is_in_the_bundle_are_kept() -> None:
    text = (ROOT / "src" / "trace2strips" / "explorer" / "LICENSES.txt").read_text()
    for name in ("cytoscape", "cytoscape-dagre", "@observablehq/plot", "@codemirror/view", "d3-array"):
        assert re.search(rf"^{re.escape(name)} [0-9.]+ \((MIT|ISC|BSD-3-Clause)\)$", text, flags=re.MULTILINE), name
    lock = (ROOT / "web" / "package-lock.json").read_text()
    assert "resolved" not in lock


# ---- what is certain


def some_traces(traces: list[Trace], rng: random.Random, count: int) -> Iterator[Trace]:
    """Beginnings of traces; in some a label is turned, so that no model fits, or the history is another."""
    for _ in range(count):
        trace = rng.choice(traces)
        end = rng.randrange(len(trace.actions) + 1)
        ok = list(trace.ok[:end])
        if ok and rng.random() < 0.3:
            turned = rng.randrange(end)
            ok[turned] = not ok[turned]
        yield Trace(trace.actions[:end], tuple(ok), trace.init, trace.state)


def compare_answers(learned: Learned, traces: list[Trace], names: list[str], count: int, seed: int = 0) -> Counter[str]:
    """Asserts that page and Python say the same, word for word; returns how often each answer came."""
    rng = random.Random(seed)
    questions, asked, expected = learned.questions, [], []
    assert isinstance(questions, Questions)
    for trace in some_traces(traces, rng, count):
        chosen = rng.sample(names, min(len(names), 20))
        asked.append({"trace": as_page(trace), "ask": chosen})
        standing = Standing(questions, trace)
        guesses = standing.guess(chosen)
        found = [standing.explain(name, guesses[name]) for name in chosen]
        expected.append(
            [
                [e.reply.answer, e.reply.guess == "works", e.reply.live, e.reply.ruled_out, list(e.because)]
                for e in found
            ]
        )
    (answers,) = ask_page(["answerAll", learned.explore().record, asked])
    counts: Counter[str] = Counter()
    for question, ours, theirs in zip(asked, expected, answers, strict=True):
        for name, mine, (answer, guess, live, out, level, because) in zip(question["ask"], ours, theirs, strict=True):
            assert [answer, guess, live, out, because] == mine, (question["trace"], name)
            assert level == answer if answer != "open" else level in ("likely", "open", "unlikely")
            counts[answer] += 1
    return counts


@pytest.mark.parametrize("name", FAMILIES)
def test_the_page_is_certain_of_what_python_is_certain_of(name: str, tmp_path: Path) -> None:
    learned = learn_family(name, FAMILIES[name], tmp_path / "run")
    domain = get_domain(name)
    test = sample(domain, SampleSettings(30, 60, "test", seed=1, suffix="none"))
    names = [action.name for action in domain.model.actions]
    counts = compare_answers(learned, [test[i] for i in range(len(test))], names, 60)
    assert min(counts["works"], counts["refused"], counts["open"]) > 5


def test_the_page_is_certain_of_objects_that_nobody_saw(tmp_path: Path) -> None:
    learned = learn_family("blocksworld-5b", 20, tmp_path / "run")
    larger = get_domain("blocksworld:7")
    test = sample(larger, SampleSettings(20, 60, seed=3, suffix="none"))
    names = [action.name for action in larger.model.actions]
    counts = compare_answers(learned, [test[i] for i in range(len(test))], names, 40)
    assert min(counts["works"], counts["refused"]) > 5


@pytest.mark.parametrize("start", ["same", "objects", "own"])
def test_every_level_of_starts(start: str, tmp_path: Path) -> None:
    domain = get_domain("ferry-5c")
    train = sample(domain, SampleSettings(15, seed=0, suffix="none"))
    learn(train, make_learner("windows", {"start": start})).save(tmp_path / "run")
    learned = load(tmp_path / "run")
    assert learned.summary.start == start
    names = [action.name for action in domain.model.actions]
    counts = compare_answers(learned, [train[i] for i in range(len(train))], names, 30)
    assert counts["works"] > 5


def test_logs_without_and_with_arguments_and_with_wrong_labels(tmp_path: Path, run: Run) -> None:
    door = learn_door(tmp_path / "door")
    traces = [sampled.trace for sampled in door.summary.sample]
    counts = compare_answers(door, traces, list(door.vocabulary.actions), 60)
    assert min(counts.values()) > 5
    wrong = learn_door(tmp_path / "wrong", 60, wrong=0.02)
    assert wrong.summary.nothing_certain
    assert compare_answers(wrong, traces, list(door.vocabulary.actions), 10).keys() == {"open"}
    write_office(tmp_path / "office.csv")
    made = run("learn", "office.csv", "--arg", "document", "--arg", "printer", "--out", "office")
    assert made.returncode == 0, made.stderr
    office = load(tmp_path / "office")
    assert office.summary.naming.form == "json"
    kept = [sampled.trace for sampled in office.summary.sample]
    counts = compare_answers(office, kept, list(office.vocabulary.actions), 60)
    assert min(counts.values()) > 5
    assert "office.csv:" in " ".join(office.why(kept[0])[0].because)


def test_the_page_lists_the_actions_that_python_lists(tmp_path: Path) -> None:
    learned = learn_family("maze-5x5", 20, tmp_path / "run")
    cells = [name for group in learned.summary.objects for name in group]
    trace = Trace((), (), frozenset(f"free_{cell}" for cell in cells) | {"at_c1-1"})
    record = learned.explore().record
    every, tried = ask_page(
        ["listActions", record, as_page(trace), False], ["listActions", record, as_page(trace), True]
    )
    assert sorted(every) == sorted(reply.action for reply in learned.next(trace))
    assert set(tried) == set(every) & set(learned.vocabulary.actions)


NAMES = ["a", "a(b)", "a (b, c)", " a ( b ,c ) ", "a b(c)", "(a b)", "( a  b )", "a_b_c", '["a", "b"]', '["a", 12, "x\\"y"]',
         '["a", 1.5]', '[1e3, "a"]', "[]", "a(b", "a((b))", "a\u3000b", "a\u00a0(b)", "\ufeffa(b)", "a\x1c(b)", "a,b", "", "()",
         '["a", -0, 10000000000000000000000]', "a\n(b)", "a(b\n,c)", '["\\ud83d\\ude00", "b"]']  # fmt: skip


def test_names_are_read_alike() -> None:
    """Forms of names, also strange ones: the page's words are Python's."""
    forms = [Naming("call"), Naming("lisp"), Naming("json"), Naming("words"), Naming("separator", "_"), Naming("plain")]
    records = [{"form": n.form, "separator": n.separator, "constants": []} for n in forms]
    found = ask_page(*(["readNames", record, NAMES] for record in records))
    for naming, theirs in zip(forms, found, strict=True):
        for name, (words, joined) in zip(NAMES, theirs, strict=True):
            ours = naming.words(name)
            assert (list(ours), naming.join(ours)) == (words, joined), (naming, name)


# ---- the simulator


def random_attempts(model: StripsModel, start: frozenset[str], rng: random.Random, length: int) -> list[str]:
    """Half of them applicable, where there are such."""
    state, names = start, []
    for _ in range(length):
        usable = [action for action in model.actions if action.pre <= state]
        action = rng.choice(usable if usable and rng.random() < 0.5 else model.actions)
        names.append(action.name)
        if action.pre <= state:
            state = action.progress(state)
    return names


@pytest.mark.parametrize("name", FAMILIES)
def test_the_page_simulates_as_python_does(name: str, tmp_path: Path) -> None:
    """10,000 random steps: each is refused or works in both, and the same atoms are true at the end of each trace."""
    learned = learn_family(name, FAMILIES[name], tmp_path / "run")
    rng = random.Random(1)
    starts = [sampled.trace.init for sampled in learned.summary.sample]
    world = learned.need_world()
    traces, ours = [], []
    for i in range(100):
        init = starts[i % len(starts)]
        names = random_attempts(world.model, world.told(init or ()), rng, 100)
        state, worked = world.told(init or ()), []
        for action in map(world.model.action, names):
            worked.append(action.pre <= state)
            state = action.progress(state) if worked[-1] else state
        traces.append(as_page(Trace(tuple(names), (True,) * len(names), init)))
        ours.append({"worked": worked, "holds": sorted(state)})
    (found,) = ask_page(["simulateAll", learned.explore().record, traces, sorted(world.model.atoms)])
    assert found == ours
    assert 0.2 < np.mean([ok for one in ours for ok in one["worked"]]) < 0.9


def test_ground_models_are_simulated_too(tmp_path: Path) -> None:
    learned = learn_family("ferry-5c", 100, tmp_path / "run", "completion")
    test = sample(get_domain("ferry-5c"), SampleSettings(20, 50, seed=2, suffix="none"))
    model = learned.need_world().over_tokens(test.vocabulary)
    traces = [test[i] for i in range(len(test))]
    ours = []
    for trace in traces:
        state, worked = learned.need_world().told(trace.init or ()), []
        for name in trace.actions:
            action = model.action(name)
            worked.append(action.pre <= state)
            state = action.progress(state) if worked[-1] else state
        ours.append(worked)
    record = learned.explore(Surroundings(log=test)).record
    (found,) = ask_page(["simulateAll", record, [as_page(trace) for trace in traces], []])
    assert [one["worked"] for one in found] == ours
    assert record["summary"] is None
    assert [trace["place"] for trace in record["log"]["traces"][:2]] == ["trace 1", "trace 2"]


def test_the_pages_search_finds_plans_that_work(tmp_path: Path) -> None:
    learned = learn_family("blocksworld-5b", 20, tmp_path / "run")
    world, init = learned.need_world(), learned.summary.sample[0].trace.init
    start = as_page(Trace((), (), init))
    record = learned.explore().record
    goal = ["on_b1_b2", "on_b2_b3"]
    none = {"true": ["on_b1_b2", "on_b2_b1"], "false": []}
    found, nothing, so_already = ask_page(
        ["findPlan", record, start, {"true": goal, "false": ["clear_b2"]}],
        ["findPlan", record, start, none],
        ["findPlan", record, start, {"true": [], "false": []}],
    )
    state = world.told(init or ())
    for action in map(world.model.action, found["plan"]):
        assert action.pre <= state
        state = action.progress(state)
    assert set(goal) <= state
    best = learned.plan(goal, sorted(init or ())).plan
    assert best is not None
    assert found["shortest"]
    assert len(found["plan"]) <= len(best)
    assert (nothing["plan"], so_already["plan"]) == (None, [])


# ---- what the page is told


def test_a_page_is_small_and_a_run_keeps_it(tmp_path: Path, run: Run) -> None:
    learn_family("blocksworld-5b", 20, tmp_path / "run")
    result = run("explore", "run", "--no-open")
    assert (result.returncode, result.stdout, result.stderr) == (0, "run/explore.html\n", "")
    page = (tmp_path / "run" / "explore.html").read_bytes()
    assert len(page) < LARGEST
    assert not re.search(rb"(?:src|href)=[\"']?(?:https?:)?//", page[: page.index(b"<script")])
    card = (tmp_path / "run" / "card.html").read_text()
    assert '<a href="explore.html">' in card
    record = json.loads(re.search(rb'id="data">(.*?)</script>', page, flags=re.DOTALL)[1])  # type: ignore[index]
    assert record["hidden"] is None or record["hidden"]["name"] == "blocksworld-5b"
    assert [row["action"] for row in record["hidden"]["rows"]] == [
        "pick-up(x)",
        "put-down(x)",
        "stack(x, y)",
        "unstack(x, y)",
    ]
    assert record["hidden"]["rows"][2]["needs"] == ["holding(x)", "clear(y)"]


def test_errors_are_one_line(tmp_path: Path, run: Run) -> None:
    learn_door(tmp_path / "run")
    for arguments, said in (
        (("nowhere",), "trace2strips: nowhere: no run of trace2strips"),
        (("run", "--planner", "oracle", "--no-open"), "trace2strips: unknown planner 'oracle'"),
        (("run", "--no-open", "--serve", "--port", 70_000), "trace2strips: port 70000"),
    ):
        result = run("explore", *arguments)
        assert result.returncode == 2
        assert result.stderr.startswith(said)
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "nowhere").exists()


def test_too_much_for_a_page_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned = learn_door(tmp_path / "run")
    monkeypatch.setattr(contents, "MOST_SUMMARY", 100)
    record = learned.explore().record
    assert record["summary"] is None
    assert re.search(r"it would take [\d,]+ characters, at most 100", record["limits"][0])
    trace = as_page(learned.summary.sample[0].trace)
    (answers,) = ask_page(["answerAll", record, [{"trace": trace, "ask": list(learned.vocabulary.actions)}]])
    assert {(answer, level) for answer, _, _, _, level, _ in answers[0]} <= {
        (None, "likely"), (None, "unlikely"), (None, "open"),
    }  # fmt: skip


def test_a_page_that_would_be_too_large_says_what_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned = learn_family("ferry-5c", 12, tmp_path / "run")
    whole = learned.explore().record
    assert whole["limits"] == []
    sizes = {name: len(json.dumps(part)) for name, part in whole.items()}
    monkeypatch.setattr(contents, "MOST_RECORD", sum(sizes.values()) - sizes["pddl"])
    less = learned.explore().record
    assert (len(less["log"]["traces"]), less["summary"]) == (0, whole["summary"])
    assert [text.split(":")[0] for text in less["limits"]] == [
        "Of the PDDL files only the first is here; the others are in the run folder.",
        "The traces of the log are left out",
    ]
    monkeypatch.setattr(contents, "MOST_RECORD", 0)
    least = learned.explore().record
    assert least["summary"] is None
    assert least["limits"][0].startswith("What is certain is left out")
    old = replace(learned, summary=None).explore().record  # of an earlier version
    assert old["typing"]["objects"] == whole["typing"]["objects"]


def test_suspects_and_inexplicable_refusals_are_in_the_log(tmp_path: Path) -> None:
    wrong = learn_door(tmp_path / "wrong", 60, wrong=0.02)
    log = wrong.explore().record["log"]
    assert log["all_suspects"] == len(wrong.suspects) > 0
    suspect = log["suspects"][0]
    trace = next(one for one in log["traces"] if one["number"] == suspect["trace"] - 1)
    step = trace["steps"][suspect["attempt"] - 1]
    assert (log["names"][abs(step) - 1], step > 0) == (suspect["action"], suspect["worked"])
    odd = [[("a", True), ("b", True)], [("a", True), ("b", False)]]
    learned = learn(odd, make_learner("windows", {"start": "same", "noise": 0}))
    (proof,) = learned.explore().record["log"]["inexplicable"]
    assert (proof["action"], proof["place"]) == ("b", "trace 2, attempt 2")
    assert {out["worked"] for out in proof["ruled_out"]} == {"trace 1, attempt 2"}


def test_a_network_alone_says_what_is_not_there(tmp_path: Path) -> None:
    learned = learn_door(tmp_path / "run")
    alone = replace(learned, world=None, lifted=None, summary=None, suspects=(), weights=None)
    record = replace(alone, learner=make_learner("completion")).explore().record
    assert record["empty"].keys() == {"world", "model", "plan", "log", "attention", "training"}
    assert all(text.endswith(".") for text in record["empty"].values())


def test_notebooks_show_page_and_model(tmp_path: Path) -> None:
    learned = learn_door(tmp_path / "run")
    frame = learned.explore()._repr_html_()
    assert frame.startswith('<iframe title="world explorer" sandbox="allow-scripts')
    assert "<script>" not in frame
    table = learned._repr_html_()
    assert "<table" in table
    assert "unlock" in table


HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"'`&<>", "\u202eevil", "nul\x00\x1b[31m",
           "\u2028\u2029", "]]>--><!--", "constructor", "__proto__"]  # fmt: skip


def test_data_cannot_end_their_block() -> None:
    text = as_data({"names": [*HOSTILE, "\ud800"]})
    assert not re.search(r"[<>&\u0080-\uffff]", text)
    assert json.loads(text)["names"] == [*HOSTILE, "\ud800"]
    page = format_explorer({"title": HOSTILE[0], "names": HOSTILE, "serve": None})
    assert page.count("<script>") == 1
    assert page.count("</script>") == 2
    script = re.search(r"<script>(.*)</script>", page, flags=re.DOTALL)
    assert script
    assert hash_of(script[1]) in page
    assert "connect-src 'none'" in page
    assert "unsafe" not in page[: page.index("<style")]


# ---- attention


def test_weights_of_the_page_are_those_of_the_equations() -> None:
    from trace2strips.learners.transformer.exploring import weights_of
    from trace2strips.learners.transformer.references import TokenTheta, head_steps

    rng = np.random.default_rng(0)
    at = TokenTheta(*(rng.random((12, 3)) for _ in range(3)))
    masked = rng.random(12) < 0.3
    for head in range(3):
        steps = head_steps(at, head, masked)
        np.testing.assert_allclose(weights_of("attention", at, head, masked), steps.weights, atol=1e-12)
        state, said = 0.0, []
        for i in range(12):
            said.append(at.query[i, head] * state)
            state += 0 if masked[i] else at.key[i, head] * (at.value[i, head] - state)
        found = weights_of("factored", at, head, masked) @ at.value[:, head]
        np.testing.assert_allclose(found, said, atol=1e-12)


@pytest.mark.parametrize("form", ["attention", "factored"])
def test_the_page_reads_any_trace_as_the_network_does(form: str) -> None:
    """Of a network with random weights, in traces with refused steps: the same steps, weights and words."""
    from trace2strips.learners.transformer.exploring import attention_of

    log = sample(get_domain("blocksworld:2"), SampleSettings(12, 40, seed=0, suffix="none"))
    learned = learn(log, make_learner("strips", {"form": form, "steps": 20}))
    assert learned.weights is not None
    rng = np.random.default_rng(0)
    learned = replace(
        learned, weights={name: np.round(rng.random(part.shape) ** 3, 3) for name, part in learned.weights.items()}
    )
    record = learned.explore(Surroundings(log=log)).record
    read = 0
    for number in range(len(log)):
        ours = attention_of(
            form, learned.weights or {}, learned.vocabulary, Dataset.of([log[number]], learned.vocabulary)
        )
        if not ours.traces:  # of one step
            continue
        (mine,) = ours.traces
        (theirs,) = ask_page(["readHeads", record, as_page(log[number])])
        assert theirs["tokens"] == list(mine.tokens)
        assert theirs["refused"] == list(mine.refused)
        found = {head["name"]: head for head in theirs["heads"]}
        assert found.keys() >= {head.name for head in mine.heads}
        for head in mine.heads:
            for hard in ("soft", "hard"):
                for row, other in zip(getattr(head, hard), found[head.name][hard], strict=True):
                    weights, others = dict(row), dict(map(tuple, other))
                    assert len(weights) == len(others) or min((weights | others).values()) <= 0.06
                    for j in weights.keys() & others.keys():
                        assert abs(weights[j] - others[j]) <= 0.011
                    for j in (
                        weights.keys() ^ others.keys()
                    ):  # at the edge of what is seen, or equal to the least that is
                        found_at = (weights | others)[j]
                        assert found_at <= 0.011 + max(
                            0.05, min(weights.values(), default=0), min(others.values(), default=0)
                        )
                    read += len(weights)
        assert np.mean(np.array(theirs["said"]) == np.array(mine.said)) > 0.95
    assert read > 1_000
    (unknown,) = ask_page(["readHeads", record, {"init": None, "state": None, "steps": [["no such action", True]]}])
    assert unknown is None


def test_only_what_can_be_seen_is_told() -> None:
    weights = break_stick(np.tril(np.full((5, 5), 0.5), -1))
    np.testing.assert_allclose(weights[4], [0.0625, 0.125, 0.25, 0.5, 0])
    assert sparse(weights, np.array([0, 2, 4, 6, 8]))[4] == [(0, 0.06), (2, 0.12), (4, 0.25), (6, 0.5)]
    assert sparse(hardest(weights), np.arange(5))[0] == []
    assert sparse(hardest(weights), np.arange(5))[4] == [(3, 1.0)]


@pytest.mark.parametrize("variant", ["sb", "sinusoidal", "rope"])
def test_weights_of_decoders_are_what_they_attend_by(variant: str) -> None:
    import torch

    from trace2strips.learners.decoder.batches import make_batch
    from trace2strips.learners.decoder.exploring import attention_of, layer_weights
    from trace2strips.learners.decoder.network import Decoder
    from trace2strips.learners.decoder.settings import DecoderSettings

    data = sample(get_domain("blocksworld:2"), SampleSettings(3, 20, seed=0, suffix="none"))
    torch.manual_seed(0)
    decoder = Decoder(len(data.vocabulary), DecoderSettings(variant=variant, d_model=16, heads=2, layers=2))
    batch = make_batch(data, np.array([1]))
    seen: list[torch.Tensor] = []
    attend = decoder.attend

    def watch(q: Any, k: Any, v: Any, *rest: Any) -> Any:
        seen.append(v)
        seen.append(attend(q, k, v, *rest))
        return seen[-1]

    decoder.attend = watch  # type: ignore[method-assign]
    with torch.inference_mode():
        layers = list(layer_weights(decoder, batch))
        for number, weights in enumerate(layers):
            v, attended = seen[2 * number : 2 * number + 2]
            found = torch.einsum("hqk,khs->qhs", torch.from_numpy(weights).float(), v)
            np.testing.assert_allclose(found, attended, atol=1e-5)
        ours = list(seen)
        seen.clear()
        decoder(batch)
    assert len(layers) == 2
    for mine, theirs in zip(ours, seen, strict=True):  # what is shown is what the network itself computes
        np.testing.assert_allclose(mine, theirs, atol=1e-5)
    view = attention_of(decoder, data)
    assert view.form == variant
    assert len(view.traces[0].heads) == 4


# ---- the server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Server, Learned]]:
    learned = learn_family("blocksworld-5b", 20, tmp_path / "run")
    page = learned.explore(surroundings(learned, tmp_path / "run", ("mimir",))).html()
    with Server(page, lambda question: find_plan(learned, "mimir", question)) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found, learned
        found.shutdown()
        thread.join()


def request(server: Server, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    text = None if body is None else json.dumps(body)
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request(method, path, text, sent)
    reply = connection.getresponse()
    found = reply.status, reply.read()
    connection.close()
    return found


def test_the_server_gives_the_page_and_plans_to_those_who_know_the_token(server: tuple[Server, Learned]) -> None:
    serving, learned = server
    token = serving.token
    status, page = request(serving, "GET", f"/{token}/")
    assert status == 200
    assert b"connect-src 'self'" in page
    init = learned.summary.sample[0].trace.init
    question = {"trace": as_page(Trace((), (), init)), "true": ["on_b1_b2"], "false": ["clear_b1"]}
    origin = f"http://127.0.0.1:{serving.server_port}"
    status, text = request(serving, "POST", f"/{token}/plan", question, Origin=origin)
    plan = json.loads(text)["plan"]
    state = learned.need_world().told(init or ())
    for action in map(learned.model.action, plan):
        assert action.pre <= state
        state = action.progress(state)
    assert "on_b1_b2" in state
    assert "clear_b1" not in state
    begun = {**question, "trace": {**question["trace"], "steps": [[plan[0], True]]}}
    _, text = request(serving, "POST", f"/{token}/plan", begun)
    assert json.loads(text)["plan"] == plan[1:]
    _, text = request(serving, "POST", f"/{token}/plan", {**question, "true": ["on_b9"]})
    assert "on_b9" in json.loads(text)["error"]


def test_the_server_refuses_all_others(server: tuple[Server, Learned]) -> None:
    serving, _ = server
    token, port = serving.token, serving.server_port
    assert serving.server_address[0] == "127.0.0.1"
    question = {"trace": {"init": [], "state": None, "steps": []}, "true": [], "false": []}
    for method, path, body, headers, status in (
        ("GET", "/", None, {}, 404),
        ("GET", "/wrong-token/", None, {}, 404),
        ("GET", f"/{token}/../../etc/passwd", None, {}, 404),
        ("GET", f"/{token}/bundle.js", None, {}, 404),
        ("GET", f"/{token}/", None, {"Host": f"evil.example:{port}"}, 403),
        ("GET", f"/{token}/", None, {"Host": "127.0.0.1"}, 403),
        ("POST", f"/{token}/", question, {}, 404),
        ("POST", "/plan", question, {}, 404),
        ("POST", f"/{token}/plan", question, {"Origin": "http://evil.example"}, 403),
        ("POST", f"/{token}/plan", question, {"Origin": "null"}, 403),
        ("POST", f"/{token}/plan", question, {"Content_Type": "text/plain"}, 415),
        ("POST", f"/{token}/plan", [1], {}, 400),
        ("POST", f"/{token}/plan", {"trace": 1}, {}, 400),
        ("POST", f"/{token}/plan", {**question, "true": [10**400]}, {}, 400),
        ("POST", f"/{token}/plan", {**question, "trace": {**question["trace"], "steps": [["a", "no"]]}}, {}, 400),
        ("PUT", f"/{token}/plan", question, {}, 501),
    ):
        found, _ = request(serving, method, path, body, **headers)
        assert found == status, (method, path, headers)


def test_the_server_says_nothing_on_the_terminal(
    server: tuple[Server, Learned], capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever hangs up, sends nonsense or sends too much: no traceback, no address with the token."""
    serving, _ = server
    here = f"Host: 127.0.0.1:{serving.server_port}\r\n"
    post = f"POST /{serving.token}/plan HTTP/1.1\r\n{here}Content-Type: application/json\r\n"
    deep = "[" * 100_000
    refused = (
        (f"{post}Content-Length: {'9' * 5000}\r\n\r\n", 413),
        (f"{post}Content-Length: -1\r\n\r\n", 413),
        (f"{post}\r\n", 413),
        (f"{post}Content-Length: {len(deep)}\r\n\r\n{deep}", 400),
        (f"{post}Content-Length: 2\r\n\r\n\udcff\udcff", 400),
        ("\x1b[31m\r\n\r\n", 400),
        (f"GET /{'é' * 100}/ HTTP/1.1\r\n{here}\r\n", 404),
        (f"GET /{'a' * 70_000}/ HTTP/1.1\r\n{here}\r\n", 414),
        ("GET / HTTP/1.1\r\n" + "a: b\r\n" * 200 + "\r\n", 431),
    )
    for text, status in refused:
        with socket.create_connection(("127.0.0.1", serving.server_port), timeout=60) as connection:
            connection.sendall(text.encode("utf-8", "surrogateescape"))
            connection.shutdown(socket.SHUT_WR)
            assert str(status) in connection.makefile("rb").read().decode("latin-1"), text[:200]
    for text in ("GET", f"{post}Content-Length: 1000\r\n\r\n[", f"GET /{serving.token}/ HTTP/1.1\r\n{here}\r\n"):
        with socket.create_connection(("127.0.0.1", serving.server_port), timeout=60) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # hangs up at once
            connection.sendall(text.encode())
    assert request(serving, "GET", f"/{serving.token}/")[0] == 200  # and it still answers
    serving.shutdown()
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")


def test_a_browser_is_started_without_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Every user of a machine can see what its processes were started with."""
    (tmp_path / "x.txt").write_text("open !open close\n" * 3)
    assert run("learn", "x.txt", "--out", "run").returncode == 0
    opened = []

    def look(address: str) -> bool:
        path = Path(address.removeprefix("file://"))
        opened.append((address, path.read_text(), path.stat().st_mode & 0o777))
        return True

    def end(_: Server) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", look)
    monkeypatch.setattr(Server, "serve_forever", end)
    said = run("explore", "run", "--serve")
    assert said.returncode == 130
    token = said.stdout.splitlines()[1].split("/")[3]
    ((address, text, mode),) = opened
    assert (token in address, text.count(f"/{token}/"), mode) == (False, 2, 0o600)
    assert not list((tmp_path / "run").glob("explore-*"))


def test_the_report_leads_to_a_page_that_is_there(tmp_path: Path) -> None:
    from trace2strips.commands.report import find_explorer

    out = tmp_path / "report"
    out.mkdir()
    assert find_explorer(out) is None
    (tmp_path / "demo.html").write_text("the demo's")
    assert find_explorer(out) == "../demo.html"
    (out / "explore.html").write_text("its own")
    assert find_explorer(out) == "explore.html"
