"""What the explorer's page is told of a learned world: one JSON.

The page has its own simulator and its own Theorem 2 (`web/src/engine`), so that it answers without a server. It is told
the model and the summary of the log; tests compare its answers with `Learned.ask`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from trace2strips.errors import TraceError
from trace2strips.model.goals import START
from trace2strips.model.strips import StripsModel
from trace2strips.model.world import world_to_json
from trace2strips.traces import Dataset
from trace2strips.traces.names import PLAIN, Naming, understand
from trace2strips.traces.trace import Trace

FORMAT = "explorer-1"
MOST_SUMMARY = 500_000  # characters: most of what a page has room for
MOST_RECORD = 750_000  # characters of all: with the script and the style, 1.22 MB, under 2 MB
FEW_RULES = 200  # of the table, where there is no room
MOST_STEPS = 12_000  # of kept traces that the page shows
MOST_PDDL = 60_000  # characters of a file
MOST_RULES = 1_500  # rows of the model's table
MOST_STARTS = 12  # that the page offers to begin with
MOST_WORLD = 300_000  # characters of the model
MOST_LISTED = 200  # suspects, suggestions, log rows and the like
MOST_TRIED = 5_000  # names of actions
BINS = 12  # of trace lengths
LEFT_OUT = ("format", "names", "worked", "told", "example", "sample")  # of a summary: the page does without
NO_SUMMARY = (
    "What is certain is left out: it would take {size:,} characters, at most {most:,} keep the page under 2 MB. All"
    " answers here are the model's guess; `trace2strips why` gives proofs."
)


@dataclass(frozen=True)
class KeptTrace:
    """A trace of the log that the page shows; `place` is where it stands, for people."""

    number: int
    place: str
    trace: Trace


@dataclass(frozen=True)
class LogView:
    """What is kept of the log, and what is odd in it."""

    traces: tuple[KeptTrace, ...] = ()
    of: int = 0
    inexplicable: tuple[Mapping[str, Any], ...] = ()
    suggestions: tuple[Mapping[str, Any], ...] = ()
    more: str = ""  # a sentence


@dataclass(frozen=True)
class Known:
    """What a learner keeps of its log, for the page. `summary` is JSON text. `objects` are those of each type;
    `places` say which types stand where in told atoms: predicate, place, types."""

    summary: str | None = None
    nothing_certain: bool = False
    objects: tuple[tuple[str, ...], ...] = ()
    places: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    log: LogView = LogView()


@dataclass(frozen=True)
class Head:
    """One attention head: of each position the earlier ones that it reads, with weights; as trained (`soft`), and as
    the model that is read out of it has it (`hard`)."""

    name: str
    note: str
    soft: list[list[tuple[int, float]]]
    hard: list[list[tuple[int, float]]]


@dataclass(frozen=True)
class AttentionTrace:
    title: str
    tokens: tuple[str, ...]
    refused: tuple[bool, ...]
    said: tuple[bool, ...]
    heads: tuple[Head, ...]


@dataclass(frozen=True)
class HeadWeights:
    """A STRIPS Transformer small enough for the page, which then says what it reads in any trace. `tokens` are kinds
    and what they are about; `heads` names and notes; `rows` of each token the heads that it touches, with query, key
    and value in thousandths."""

    tokens: tuple[tuple[int, str], ...]
    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[tuple[int, int, int, int], ...], ...]


@dataclass(frozen=True)
class Attention:
    """What a transformer reads, on some traces."""

    form: str
    about: str
    traces: tuple[AttentionTrace, ...]
    weights: HeadWeights | None = None


@dataclass(frozen=True)
class HiddenModel:
    """The model that traces were sampled from, a row for each action or schema."""

    name: str
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Surroundings:
    """What the page shows beside the learned world itself."""

    title: str = "A learned world"
    log: Dataset | None = None  # traces to look at, where the learner keeps none
    log_name: str = "kept traces"
    training: tuple[Mapping[str, Any], ...] = ()  # rows of log.jsonl
    hidden: HiddenModel | None = None
    links: tuple[tuple[str, str], ...] = ()  # title and address
    planners: tuple[str, ...] | None = None  # that a server offers


def make_record(learned: Any, known: Known, attention: Attention | None, around: Surroundings) -> dict[str, Any]:
    """Of a `Learned`; `known` and `attention` are what its learner says."""
    figures = learned.figures
    limits: list[str] = []
    empty: dict[str, str] = {}
    world = world_record(learned)
    if world is not None and (size := len(json.dumps(world))) > MOST_WORLD:
        limits.append(f"The model is left out: it would take {size:,} characters, at most {MOST_WORLD:,} are shown.")
        world = None
    summary = None if known.summary is None else summary_record(known)
    if known.summary is not None and summary is None:
        limits.append(NO_SUMMARY.format(size=len(known.summary), most=MOST_SUMMARY))
    if world is None:
        said = limits[0] if limits else "Only a network was learned; no model was read out of it."
        empty |= dict.fromkeys(("world", "model", "plan"), said)
        summary = None
    if not known.log.traces and around.log is not None:
        known = replace(known, log=log_of(around.log))
    log = log_record(known.log, learned)
    if not log["traces"] and not log["suspects"]:
        empty["log"] = f"The learner {learned.learner.name} keeps nothing of its log; windows does."
    if attention is None:
        why = "left no trace here to look at"
        if learned.weights is None:
            why = "is no transformer; strips and sb are"
        elif learned.lifted is not None:
            why = "has heads that are predicates; what they read is not shown here"
        empty["attention"] = f"The learner {learned.learner.name} {why}."
    lengths = lengths_record(learned, known, around)
    if not around.training and not lengths["rows"]:
        empty["training"] = "No training was recorded in this run, and no trace is kept to test on."
    rules = None
    if learned.world is not None and world is not None:
        rules = rules_record(learned.rules)
        if len(learned.rules.rules) > MOST_RULES:
            limits.append(f"The table shows {MOST_RULES:,} of {len(learned.rules.rules):,} rules.")
    actions = learned.vocabulary.actions
    return fitted({
        "format": FORMAT,
        "title": around.title,
        "learner": learned.learner.name,
        "lead": learned.card().lead,
        "key_figures": list(learned.card().key_figures()),
        "warnings": list(figures.warnings),
        "assumptions": list(figures.assumptions),
        "domain": figures.domain,
        "world": world,
        "tried": list(actions) if learned.lifted is not None and len(actions) <= MOST_TRIED else None,
        "init_states": list(learned.vocabulary.init_states),
        "tells_atoms": learned.vocabulary.has_init_false,
        "starts": starts_record(learned, known, around.log),
        "summary": summary,
        "typing": {"objects": known.objects, "places": known.places},
        "support": [asdict(one) for one in learned.support] if summary is not None or world is not None else [],
        "rules": rules,
        "hidden": None if around.hidden is None else asdict(around.hidden),
        "pddl": pddl_record(learned),
        "log": log,
        "suggestions": list(known.log.suggestions[:MOST_LISTED]),
        "training": {"rows": training_rows(around.training)},
        "lengths": lengths,
        "attention": None if attention is None else asdict(attention),
        "empty": empty,
        "limits": limits,
        "links": list(around.links),
        "serve": None if around.planners is None else {"planners": list(around.planners)},
    })  # fmt: skip


def fitted(record: dict[str, Any]) -> dict[str, Any]:
    """With so much of it that the page stays small. What can be missed most easily goes first, and is said to."""
    fewer = record["attention"] and {**record["attention"], "weights": None}
    no_traces = {**record["log"], "traces": [], "names": []}
    rules = record["rules"] and {**record["rules"], "rules": record["rules"]["rules"][:FEW_RULES]}
    size = 0 if record["summary"] is None else len(json.dumps(record["summary"]))
    cuts: tuple[tuple[str, Any, str], ...] = (
        ("pddl", record["pddl"][:1], "Of the PDDL files only the first is here; the others are in the run folder."),
        ("attention", fewer, "What attention reads in a trace of your own is left out: the page would be too large."),
        ("log", no_traces, "The traces of the log are left out: the page would be too large."),
        ("attention", None, "What attention reads is left out: the page would be too large."),
        ("rules", rules, f"The table shows {FEW_RULES} rules: the page would be too large."),
        ("pddl", [], "The PDDL is left out: it is in the run folder."),
        ("summary", None, NO_SUMMARY.format(size=size, most=MOST_SUMMARY)),
    )
    for name, less, said in cuts:
        if len(json.dumps(record)) <= MOST_RECORD:
            break
        if record[name] != less:
            empty = {**record["empty"], name: said} if name == "attention" and less is None else record["empty"]
            limits = [said, *record["limits"]] if name == "summary" else [*record["limits"], said]
            record = {**record, name: less, "limits": limits, "empty": empty}
    return record


def world_record(learned: Any) -> dict[str, Any] | None:
    if learned.world is None:
        return None
    if learned.lifted is not None:
        return {"kind": "lifted", **learned.lifted.to_json()}
    found = world_to_json(learned.world)
    kept = ("atoms", "actions", "states")
    naming = naming_of(learned.vocabulary.actions)
    return {"kind": "ground", "naming": asdict(naming), **{name: found[name] for name in kept},
            "always": found.get("always", []), "meaning": found.get("meaning", {})}  # fmt: skip


def naming_of(actions: Sequence[str]) -> Naming:
    """How names look; a learner of ground models reads nothing into them."""
    try:
        return understand(actions)
    except TraceError:
        return PLAIN


def summary_record(known: Known) -> dict[str, Any] | None:
    """None where it is too large for a page."""
    assert known.summary is not None
    found = {name: part for name, part in json.loads(known.summary).items() if name not in LEFT_OUT}
    if len(json.dumps(found, separators=(",", ":"))) > MOST_SUMMARY:
        return None
    return {**found, "nothing_certain": known.nothing_certain}


def starts_record(learned: Any, known: Known, log: Dataset | None) -> list[dict[str, Any]]:
    """Where a trace can begin: as kept traces do, and at named starts."""
    found: dict[Any, dict[str, Any]] = {}

    def offer(label: str, init: Iterable[str] | None, state: str | None) -> None:
        told = None if init is None else sorted(init)
        key = (state or START) if told is None else tuple(told)
        if len(found) < MOST_STARTS:
            found.setdefault(key, {"label": label, "init": told, "state": state})

    states = learned.vocabulary.init_states
    if START in states:
        offer("where traces begin that tell nothing", None, None)
    for name in states:
        if name != START:
            offer(f"the start {name}", None, name)
    kept = [(one.place, one.trace) for one in sorted(known.log.traces, key=lambda kept: kept.number)]
    kept += [(f"trace {i + 1}", log[i]) for i in range(min(len(log), 2 * MOST_STARTS))] if log is not None else []
    for place, trace in kept:
        if trace.init is not None:
            offer(f"as {place}", trace.init, None)
    return list(found.values()) or [{"label": "nothing is told", "init": [], "state": None}]


def rules_record(rules: Any) -> dict[str, Any]:
    shown = rules.rules[:MOST_RULES]
    named = {rule.predicate for rule in shown}
    atoms = [atom for atom in rules.atoms if atom.name in named or len(rules.atoms) <= MOST_LISTED]
    return {
        "actions": list(rules.actions[:MOST_RULES]),
        "atoms": [{**asdict(atom), "meaning": rules.explain(atom.name).meaning} for atom in atoms],
        "rules": [{one.name: getattr(rule, one.name) for one in fields(rule)} for rule in shown],
    }


def pddl_record(learned: Any) -> list[tuple[str, str]]:
    if learned.world is None:
        return []
    files = {name: text for name, text in learned.learner.pddl_files(learned).items() if name.endswith(".pddl")}
    first = {"domain.pddl": files.pop("domain.pddl")} if "domain.pddl" in files else {"model.pddl": learned.pddl()}
    more = dict(sorted(files.items())[:1]) if len(files) <= 1 else {}
    found = {**first, **more}
    return [(name, text) for name, text in found.items() if len(text) <= MOST_PDDL]


def log_of(dataset: Dataset) -> LogView:
    """Of a log that is there, where the learner keeps nothing of it."""
    name = dataset.file
    places = (f"{name}:{line}" for line in dataset.lines) if name and dataset.lines else None
    kept = []
    for number in range(min(len(dataset), MOST_LISTED)):
        trace = dataset[number]
        kept.append(KeptTrace(number, next(places) if places else f"trace {number + 1}", trace))
    return LogView(tuple(kept), len(dataset))


def log_record(log: LogView, learned: Any) -> dict[str, Any]:
    """Names are written once; a step is a number from 1 on, below zero where it was refused."""
    numbers: dict[str, int] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers) + 1)

    suspects = learned.suspects[:MOST_LISTED]
    odd = {suspect.trace - 1 for suspect in suspects}
    shown: list[dict[str, Any]] = []
    steps = 0
    for one in sorted(log.traces, key=lambda kept: (kept.number not in odd, kept.number)):
        steps += len(one.trace.actions) + len(one.trace.init or ())
        if steps > MOST_STEPS and shown:
            break
        pairs = zip(one.trace.actions, one.trace.ok, strict=True)
        shown.append({
            "number": one.number, "place": one.place, "state": one.trace.state,
            "init": None if one.trace.init is None else [number(atom) for atom in sorted(one.trace.init)],
            "steps": [number(name) if ok else -number(name) for name, ok in pairs],
        })  # fmt: skip
    return {
        "names": list(numbers), "traces": sorted(shown, key=lambda row: row["number"]), "of": log.of,
        "suspects": [{**asdict(suspect), "place": suspect.place} for suspect in suspects],
        "all_suspects": len(learned.suspects),
        "inexplicable": list(log.inexplicable), "more": log.more,
    }  # fmt: skip


def training_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """At most so many, evenly spread; the last one is always there."""
    wanted = ("stage", "attempt", "step", "loss", "accuracy", "best")
    if not rows:
        return []
    chosen = sorted({*np.linspace(0, len(rows) - 1, min(len(rows), 2 * MOST_LISTED)).astype(int).tolist()})
    return [{name: rows[i][name] for name in wanted if name in rows[i]} for i in chosen]


def lengths_record(learned: Any, known: Known, around: Surroundings) -> dict[str, Any]:
    """How many traces of each length are predicted without an error."""
    kept = [one.trace for one in known.log.traces]
    dataset = around.log if around.log is not None else Dataset.of(kept) if kept else None
    if dataset is None or not len(dataset):
        return {"of": "", "rows": []}
    wrong = learned.predictor.wrong_traces(dataset)
    counts = np.array([len(dataset[i].actions) for i in range(len(dataset))])
    edges = np.unique(np.linspace(counts.min(), counts.max() + 1, BINS + 1).astype(int))
    rows = []
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        mine = (counts >= low) & (counts < high)
        if mine.any():
            rows.append({"from": low, "to": high - 1, "right": int((~wrong[mine]).sum()), "traces": int(mine.sum())})
    return {"of": around.log_name, "rows": rows}


def rows_of_model(model: StripsModel) -> tuple[dict[str, Any], ...]:
    """Of a ground model, in words."""
    order = model.atom_index.__getitem__
    return tuple(
        {"action": a.name, **{name: sorted(part, key=order) for name, part in
         (("needs", a.pre), ("adds", a.add), ("deletes", a.delete))}}
        for a in model.actions
    )  # fmt: skip
