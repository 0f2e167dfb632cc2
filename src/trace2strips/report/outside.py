"""What the paper does not measure: traces needed for an exact model, world-model metrics, and AMLGym's benchmark. One
function per table.

Reads the files of benchmarks that stand beside the rows of runs (`Results.outside`). The plot is in `needed_plot`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from trace2strips.experiments import Run
from trace2strips.pages.tables import NONE, Column, Section, Table, accuracy, number, table, words
from trace2strips.report.rows import Results, settings_of
from trace2strips.report.tables import Cells, Columns
from trace2strips.worlds import BENCHMARKS

Record = Mapping[str, Any]  # of a benchmark: command, commit, date, machine, settings, rows
PAPER_TRACES = 100_000
READ_OUT = "sb, model read out"
PAPER = {"STRIPS": "paper's STRIPS", "SB": "paper's SB"}
SERIES = ("windows", "completion", "strips", "sb", READ_OUT, *PAPER.values())


def outside(results: Results) -> Section | None:
    """The section, if one of its benchmarks was measured."""
    found = [make(results) for make in (traces_needed, accuracy_by_traces, world_metrics_beside)]
    if (amlgym := results.outside.get("outside")) is not None:
        found += [make(amlgym) for make in (amlgym_domains, amlgym_peers, amlgym_solved)]
    shown = tuple(item for item in found if item is not None)
    sentences = (
        "How many traces a learner needs until its model is exact, and how much of the world it has understood before"
        " that. The test traces are longer than those of training, and a trace is right only if every label of it is.",
        "`windows` reads the objects in the names of actions and learns one model for all of them; the others see"
        " ground actions without any structure.",
        "AMLGym is a benchmark that others made, for learners that see states; docs/outside.md says who sees what, and"
        " why a domain is not exact.",
    )
    return Section("outside", "Outside the paper", sentences, shown) if shown else None


def origin(record: Record) -> str:
    command = str(record["command"]).partition(" --out")[0]
    return f"Measured by `{command}`, commit {record['commit']}, {record['date']}."


def mean_of(values: Iterable[int | float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


# ---- traces needed


@dataclass(frozen=True)
class Tried:
    """One learner on one domain: test accuracy of each run, by the number of training traces."""

    accuracies: Mapping[int, tuple[float, ...]]

    @property
    def most(self) -> int:
        return max(self.accuracies)

    @cached_property
    def failed(self) -> int | None:
        """The largest number of traces with which a run has an error."""
        return max((traces for traces, found in self.accuracies.items() if min(found) < 1), default=None)

    @cached_property
    def needed(self) -> int | None:
        """The smallest number of traces that was tried from which on no run has an error; None if there is none."""
        return min((traces for traces in self.accuracies if self.failed is None or traces > self.failed), default=None)

    @property
    def is_bound(self) -> bool:
        """Is it only known that so many are enough, since nothing smaller was tried?"""
        return self.needed is not None and self.failed is None


def tried(results: Results) -> dict[str, dict[str, Tried]]:
    """By series and domain, all that is known."""
    found: dict[str, dict[str, dict[int, list[float]]]] = {
        name: defaultdict(lambda: defaultdict(list)) for name in SERIES
    }
    for series, domain, traces, value in measured(results):
        found[series][domain][traces].append(value)
    return {
        series: {
            domain: Tried({traces: tuple(sizes[traces]) for traces in sorted(sizes)})
            for domain in BENCHMARKS
            if (sizes := domains.get(domain))
        }
        for series, domains in found.items()
    }


def measured(results: Results) -> Iterator[tuple[str, str, int, float]]:
    """Series, domain, number of traces, test accuracy. Of `strips` the rows of runs too, of `sb` these and those of the
    world metrics; the paper's figures are its mean and its best seed."""
    for row in results.outside["traces_needed"]["rows"]:
        yield row["learner"], row["domain"], row["traces"], 1 - row["test_errors"] / row["test_traces"]
    for run, row in results.measured.items():
        if settings_of(run) == Run(run.domain, learner="strips", traces=run.traces, seed=run.seed):
            yield "strips", run.domain, run.traces, row.test_accuracy
        if settings_of(run) == Run(run.domain, suffix="all", learner="sb", traces=run.traces, seed=run.seed):
            yield "sb", run.domain, run.traces, row.test_accuracy
            if row.model_test_accuracy is not None:
                yield READ_OUT, run.domain, run.traces, row.model_test_accuracy
    record = results.outside.get("world_metrics", {"rows": (), "settings": {}})
    for row in record["rows"]:
        if row["learner"] == "sb":
            yield "sb", row["domain"], row["traces"], row["test_accuracy"]
            if row.get("model_test_errors") is not None:
                share = 1 - row["model_test_errors"] / record["settings"]["test_traces"]
                yield READ_OUT, row["domain"], row["traces"], share
    for domain, lines in results.paper.get("main", {}).items():
        for name, series in PAPER.items():
            for value in (lines.get(f"{name} atoms", {}).get("test") or {}).values():
                yield series, domain, PAPER_TRACES, value


def traces_needed(results: Results) -> Table | None:
    record = results.outside.get("traces_needed")
    if record is None:
        return None
    everything, sizes = tried(results), record["settings"]["traces"]
    rows: list[Cells] = []
    for domain in BENCHMARKS:
        found = [everything[name].get(domain) for name in SERIES]
        rows.append([domain, *(needed_text(it, sizes, name) for it, name in zip(found, SERIES, strict=True))])
    caption = (
        "Traces needed: the smallest number of training traces that was tried from which on every run that was measured"
        f" is without an error on all {record['settings']['test_traces']:,} test traces; 3 seeds where nothing else is"
        " said. \"≤\": fewer were not tried. Where not even the most traces that were tried are enough, the mean"
        " accuracy. All actions that can ever work are asked about. `strips` is by gradients alone, preset fast, with"
        " the runs of the main results among them. Of"
        f" `sb` what other measurements have ({tried_numbers(everything['sb'])}; up to 20,000 test traces, among"
        " which an error is found sooner): its network, and the model that is read out of it. The paper's figures are"
        " its mean and its best seed with 100,000 traces, to three digits."
        f" {origin(record)}"
    )  # fmt: skip
    return table("traces-needed", caption, [words("domain"), *SERIES], rows)


def tried_numbers(domains: Mapping[str, Tried]) -> str:
    """With which numbers of traces which domains were tried."""
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for domain, it in domains.items():
        groups[tuple(it.accuracies)].append(domain)
    parts = []
    for numbers, names in sorted(groups.items(), key=lambda item: len(item[1])):
        who = " and ".join(names) if len(names) < 3 else "other domains"
        parts.append(f"{who}: {', '.join(map(number, numbers))} traces")
    return "; ".join(parts)


def needed_text(it: Tried | None, sizes: Sequence[int], series: str) -> str:
    if it is None:
        return NONE
    at = it.most if it.needed is None else it.needed
    seeds = "" if len(it.accuracies[at]) >= 3 else f" ({seeds_of(it.accuracies[at])})"
    if it.needed is None:
        if series in PAPER.values():
            mean, best = it.accuracies[at]
            return f"not with {at:,}: {mean:g} (best {best:g})"
        return f"not with {at:,}: {accuracy(mean_of(it.accuracies[at]), 3)}{seeds}"
    if it.failed is None:
        return f"≤ {at:,}{seeds}"
    between = any(it.failed < size < at for size in sizes)
    return f"{at:,}{f', more than {it.failed:,}' if between else ''}{seeds}"


def seeds_of(values: Sequence[float]) -> str:
    return f"{len(values)} seed{'s' * (len(values) != 1)}"


def accuracy_by_traces(results: Results) -> Table | None:
    record = results.outside.get("traces_needed")
    if record is None:
        return None
    everything, sizes = tried(results), record["settings"]["traces"]
    rows: list[Cells] = []
    for learner in dict.fromkeys(row["learner"] for row in record["rows"]):
        for domain, it in everything[learner].items():
            rows.append([learner, domain, *(accuracy(mean_of(it.accuracies.get(size, ())), 3) for size in sizes)])
    caption = f"Test accuracy by the number of training traces, mean over the seeds. {origin(record)}"
    columns: Columns = [words("learner"), words("domain"), *(number(size) for size in sizes)]
    return table("accuracy-by-traces", caption, columns, rows)


# ---- world-model metrics


def world_metrics_beside(results: Results) -> Table | None:
    record = results.outside.get("world_metrics")
    return None if record is None else world_metrics(record)


def world_metrics(record: Record) -> Table:
    """Means over seeds; a figure that no pair stands behind is a dash."""
    groups: dict[tuple[str, str, int | None], list[Record]] = defaultdict(list)
    for row in record["rows"]:
        groups[row["domain"], row["learner"], row["traces"]].append(row)
    domains, learners = (list(dict.fromkeys(row[name] for row in record["rows"])) for name in ("domain", "learner"))
    rows: list[Cells] = []
    for domain, learner, traces in sorted(
        groups, key=lambda key: (domains.index(key[0]), learners.index(key[1]), key[2] or 0)
    ):
        mine = groups[domain, learner, traces]
        figures = (accuracy(mean_of(pick(mine, path)), 3) for path in METRICS.values())
        rows.append([domain, learner, number(traces), number(mine[0].get("steps")), str(len(mine)), *figures])
    settings = record["settings"]
    caption = (
        f"World-model metrics: {settings['histories']:,} histories and {settings['pairs']:,} pairs of each kind for"
        f" each seed, suffixes of up to {settings['length']} actions. {origin(record)}"
    )
    columns: Columns = [words("domain"), words("learned by"), "traces", "steps", "seeds", *METRICS]
    return table("world-metrics", caption, columns, rows)


METRICS = {
    "trace accuracy": ("test_accuracy",),
    "legality: precision": ("legality_precision",),
    "legality: recall": ("legality_recall",),
    "whole sets": ("whole_sets",),
    "compression": ("compression",),
    "distinction: precision": ("distinction_precision",),
    "distinction: recall": ("distinction_recall",),
    "near pairs: precision": ("near", "distinction_precision"),
    "near pairs: recall": ("near", "distinction_recall"),
}


def pick(rows: Sequence[Record], path: tuple[str, ...]) -> Iterator[int | float | None]:
    for row in rows:
        found: Any = row
        for name in path:
            found = found[name]
        yield found


# ---- AMLGym's benchmark (`trace2strips reproduce outside`)


def amlgym_rows(record: Record, **wanted: Any) -> list[Record]:
    """Those of which all of this is so."""
    return [row for row in record["rows"] if all(row[name] == value for name, value in wanted.items())]


def amlgym_domains(record: Record) -> Table:
    """What `windows` makes of names and initial atoms, domain by domain."""
    ours = amlgym_rows(record, learner="windows")
    sizes = sorted({row["traces"] for row in ours})
    columns: list[Column | str] = [words("domain")]
    for size in sizes:
        columns += [Column(title, f"{size:,} traces") for title in ("exact", "worst accuracy", "certain", "plans")]
    columns += [Column("plans", "100, final values told"), "seconds", "MB"]
    lines: list[Cells] = []
    for domain in sorted({row["domain"] for row in ours}):
        line: list[str] = [domain]
        here = [row for row in ours if row["domain"] == domain]
        for size in sizes:
            line += amlgym_cells([row for row in here if row["traces"] == size and not row["final"]])
        line.append(amlgym_cells([row for row in here if row["final"]])[-1])
        longest, largest = (max((row.get(name) or 0 for row in here), default=0) for name in ("seconds", "memory_mb"))
        lines.append([*line, number(longest, 1), number(largest)])
    caption = (
        "AMLGym's domains, learned by `windows` from the names of actions, what worked, and the initial atoms of traces"
        " of up to 50 attempts on the three smallest problems; seeds 0, 1, 2. Exact: seeds in which the model is proven"
        " equivalent to the hidden domain in all three problems. Worst accuracy: of the seeds, on 1,000 traces of up to"
        " 200 attempts in three larger problems. Certain: the mean share of positions there that is proven; one of"
        f" them was wrong in {sum(bool(row.get('wrong_certificates')) for row in ours)} of"
        f" {sum('test_accuracy' in row for row in ours)} runs. A STRIPS model explains"
        f" {sum(bool(row.get('explainable')) for row in ours)} of these logs; in"
        f" {sum(bool(row.get('labels_taken_for_wrong')) for row in ours)} runs rare refusals were taken for wrong"
        " labels all the same. Plans: those that work, of five larger problems a seed."
        " Without final values nothing can be known of goals that no action asks for. Longest time of learning and most"
        f" memory of any run. {amlgym_origin(ours)}"
    )
    return table("amlgym-domains", caption, columns, lines)


def amlgym_cells(rows: Sequence[Record]) -> list[str]:
    """Seeds that are exact, worst accuracy, mean share of what is certain, plans."""
    done = [row for row in rows if all(row.get(name) is not None for name in TESTED)]
    if not rows:
        return [NONE] * 4
    if not done:
        return [rows[0].get("failed", NONE), NONE, NONE, NONE]
    exact = f"{sum(row['equivalent'] for row in done)} of {len(rows)}"
    plans = f"{sum(row['plans_right'] for row in done)} of {sum(row['plans'] for row in done)}"
    worst = accuracy(min(row["test_accuracy"] for row in done), 3)
    return [exact, worst, accuracy(mean_of(row["certain_share"] for row in done), 2), plans]


TESTED = ("test_accuracy", "equivalent", "plans_right", "plans", "certain_share")  # what a finished row of ours has

SCORES = {  # AMLGym's metrics: precision and recall, and the share of problems
    "text": ("syntax_precision", "syntax_recall"),
    "what works": ("applicable_precision", "applicable_recall"),
    "what changes": ("effects_precision", "effects_recall"),
    "problems": ("solved", "false_plans"),
}
SEES = {"windows": "names, what worked, initial atoms"}


def amlgym_peers(record: Record) -> Table:
    """Who sees what, and AMLGym's metrics, as means over the domains that everybody could be scored on."""
    rows = amlgym_rows(record, seed=0, final=False)
    columns: list[Column | str] = [words("learner"), words("sees"), "traces", "domains"]
    for group in SCORES:
        titles = ("solved", "false plans") if group == "problems" else ("precision", "recall")
        columns += [Column(title, group) for title in titles]
    columns.append("seconds")
    lines: list[Cells] = []
    for traces in sorted({row["traces"] for row in rows}):
        some = [row for row in rows if row["traces"] == traces]
        for learner in dict.fromkeys(row["learner"] for row in rows):
            here = [row for row in some if row["learner"] == learner]
            scored = [row for row in here if row.get("solved") is not None]
            if not here:
                continue
            values = [
                accuracy(mean_of(row.get(name) for row in scored), 2) for pair in SCORES.values() for name in pair
            ]
            seconds = mean_of(row.get("seconds") for row in here)
            sees = SEES.get(learner, "actions that worked, every state")
            lines.append([learner, sees, number(traces), f"{len(scored)} of {len(here)}", *values, number(seconds, 1)])
    caption = (
        "The same traces, scored by AMLGym's own metrics; means over the domains on which a learner finished within 300"
        " s and could be scored; one that would take longer, by its time with fewer traces, was"
        " not tried. `windows` never sees a state after the first; the others never see a refusal,"
        " but all states. Text: the literals of the PDDL. What works and what changes: asked in AMLGym's states of"
        " larger problems. Problems: the share with a plan that works, and with one that does not (Fast Downward, 20"
        " s), among the five largest. Of `windows`, static facts that held whenever an action worked are written as"
        f" preconditions. Seed 0. {amlgym_origin(rows)}"
    )
    return table("amlgym-peers", caption, columns, lines)


def amlgym_solved(record: Record) -> Table:
    """Domain by domain: text and problems of everybody, with 100 traces."""
    rows = amlgym_rows(record, seed=0, final=False, traces=100)
    learners = list(dict.fromkeys(row["learner"] for row in rows))
    columns: list[Column | str] = [words("domain")]
    for learner in learners:
        columns += [Column("text", learner), Column("solved", learner)]
    lines: list[Cells] = []
    for domain in sorted({row["domain"] for row in rows}):
        by_learner = {row["learner"]: row for row in rows if row["domain"] == domain}
        line = [domain]
        for learner in learners:
            row = by_learner.get(learner, {})
            found = [row.get(name) for name in SCORES["text"]]
            line.append(NONE if None in found else " / ".join(accuracy(value, 2) for value in found))
            line.append(accuracy(row.get("solved"), 2))
        lines.append(line)
    caption = (
        "With 100 traces, domain by domain: precision / recall of the text, and the share of the five largest problems"
        " with a plan that works. –: not finished in 300 s, not tried for that, or AMLGym could not score it. Seed 0."
        f" {amlgym_origin(rows)}"
    )
    return table("amlgym-solved", caption, columns, lines)


def amlgym_origin(rows: Sequence[Record]) -> str:
    commits, versions = (", ".join(sorted({str(row[name]) for row in rows})) for name in ("commit", "amlgym"))
    last = max((row["date"] for row in rows), default=NONE)
    return f"Measured by `trace2strips reproduce outside`, AMLGym {versions}, commit {commits}, {last}."
