"""Measured rows joined with the lists of runs and with the paper.

A run is looked up by all its settings but the number of test traces; of several rows the one with most of them counts.
Runs that differ in the seed only are one `Line` of a table, beside one line of the paper.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field

from trace2strips.errors import FileError, suggest
from trace2strips.experiments import EXPERIMENTS, Row, Run, read_results
from trace2strips.experiments.rows import RUN_FIELDS
from trace2strips.files import check_readable
from trace2strips.peers.cases import read_rows
from trace2strips.schemas import Schema, record
from trace2strips.worlds import BENCHMARKS

PAPER_NAMES = {  # beside whose figures in the paper a learner's stand
    "windows": "STRIPS", "completion": "STRIPS", "strips": "STRIPS", "strips+completion": "STRIPS", "sb": "SB",
    "lifted-strips": "STRIPS",    "sinusoidal": "Sinusoidal", "rope": "RoPE",
}  # fmt: skip
ENCODINGS = {"atoms": "atoms", "states:1": "1 state", "states:50": "50 states", "states:100": "100 states"}
TOLERANCE = 0.005  # an SB row may be so much below the paper's mean
NOTE = '{"runs": {"domain": "maze-5x5"}, "note": "why"}'
ROUNDING = 1e-9  # of sums of floats; far below one trace

# what the paper's tables call a figure, and where it is in a row of ours
FIGURES = {
    "train": "train_accuracy", "test": "test_accuracy",
    "plan": "plan_accuracy", "plan_short": "plan_accuracy", "plan_long": "long_plan_accuracy",
    "correct": "plan_accuracy", "mean_length": "plan_mean_length", "max_length": "plan_max_length",
    "time_s": "plan_seconds", "generated_states": "plan_states",
}  # fmt: skip
SHARES = {"inapplicable": "plans_inapplicable", "bad_goal": "plans_bad_goal", "unsolved": "plans_unsolved"}

PaperFigure = Mapping[str, float]  # mean, best_seed

# --- files that stand beside the rows

Share = float | None
THEIRS: Any = record("PaperFigure", {"mean": float, "best_seed": float}, {})
BY_NETWORK: Any = dict[str, dict[str, dict[str, THEIRS | None]]]  # domain → network and encoding → figure
PAPER = Schema(
    record(
        "Paper",
        {},
        {"source": str, "baselines": BY_NETWORK, "main": BY_NETWORK, "extended_planning": BY_NETWORK,
         "symbolic_alignment": dict[str, BY_NETWORK]},
    )
)  # fmt: skip
NOTES = Schema(list[record("Note", {"runs": dict[str, Any], "note": str}, {})])  # type: ignore[misc]
ORIGIN = {"command": str, "commit": str | None, "date": str}
COUNT = Annotated[int, Field(ge=1, lt=2**63)]
DISTINCTION = {"distinction_precision": Share, "distinction_recall": Share}
ANY_BENCHMARK = Schema(record("Benchmark", {}, {}, "allow"))  # for the tables in docs/, which are made from our own
OUTSIDE = {  # benchmarks that the report shows
    "traces_needed": Schema(
        record(
            "TracesNeeded",
            ORIGIN | {
                "settings": record("Sizes", {"traces": list[int], "test_traces": int}, {}, "allow"),
                "rows": list[record(  # type: ignore[misc]
                    "Needed",
                    {"learner": Literal["windows", "completion", "strips", "sb"], "domain": str, "traces": int,
                     "test_errors": int, "test_traces": COUNT}, {}, "allow",
                )],
            },
            {}, "allow",
        )
    ),
    "world_metrics": Schema(
        record(
            "WorldMetrics",
            ORIGIN | {
                "settings": record(
                    "Asked", {"histories": int, "pairs": int, "length": int, "test_traces": COUNT}, {}, "allow"
                ),
                "rows": list[record(  # type: ignore[misc]
                    "Metrics",
                    {"domain": str, "learner": str, "traces": int | None, "test_accuracy": float, "whole_sets": Share,
                     "legality_precision": Share, "legality_recall": Share, "compression": Share,
                     "near": record("Near", DISTINCTION, {}, "allow"), **DISTINCTION},
                    {"steps": int | None, "model_test_errors": int | None}, "allow",
                )],
            },
            {}, "allow",
        )
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One figure of a line: ours by seed, that of our best seed, the paper's, and what ours has to reach."""

    values: tuple[float, ...]
    best: float | None
    paper: float | None
    paper_best: float | None
    bar: float | None

    @property
    def mean(self) -> float | None:
        return fmean(self.values) if self.values else None

    @property
    def difference(self) -> float | None:
        return None if self.mean is None or self.paper is None else self.mean - self.paper

    @property
    def gap(self) -> float | None:
        """How far the mean is below the bar; 0 where it reaches it."""
        return None if self.mean is None or self.bar is None else max(0.0, self.bar - self.mean)

    @property
    def missed(self) -> bool:
        return self.gap is not None and self.gap > ROUNDING


@dataclass(frozen=True)
class Line:
    """The runs of an experiment that differ in the seed only, the rows that are there, and the paper's figures."""

    experiment: str
    runs: tuple[Run, ...]
    rows: tuple[Row, ...]
    paper: Mapping[str, PaperFigure | None]
    note: str | None = None

    @property
    def run(self) -> Run:
        return self.runs[0]

    @property
    def name(self) -> str:
        return f"{self.run.domain}, {encoding_name(self.run.encoding)}"

    @property
    def paper_name(self) -> str:
        """What the paper calls the network that stands beside."""
        return PAPER_NAMES[self.run.learner]

    @property
    def best(self) -> Row | None:
        """The seed with the highest training accuracy, as in the paper; of equal ones the first."""
        return max(self.rows, key=lambda row: row.train_accuracy, default=None)

    @property
    def missing_seeds(self) -> tuple[int, ...]:
        there = {row.run.seed for row in self.rows}
        return tuple(run.seed for run in self.runs if run.seed not in there)

    @property
    def test_traces(self) -> tuple[int, ...]:
        return tuple(sorted({row.run.test_traces for row in self.rows}))

    def values(self, name: str) -> tuple[float, ...]:
        return tuple(value for row in self.rows if (value := value_of(row, name)) is not None)

    @cached_property
    def length_curve(self) -> dict[int, float]:
        """Longest of the bin → share of traces that are right, mean over the seeds."""
        shares: dict[int, list[float]] = defaultdict(list)
        for row in self.rows:
            for longest, share, _ in row.accuracy_by_length or ():
                shares[longest].append(share)
        return {longest: fmean(values) for longest, values in sorted(shares.items())}

    def figure(self, name: str) -> Figure:
        paper = self.paper.get(name) or {}
        mean, best = paper.get("mean"), paper.get("best_seed")
        bars = {"STRIPS": best, "SB": None if mean is None else mean - TOLERANCE}
        ours = None if self.best is None else value_of(self.best, name)
        return Figure(self.values(name), ours, mean, best, bars.get(self.paper_name))

    def missed(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if self.figure(name).missed)

    def verdict(self, names: tuple[str, ...]) -> str:
        """missing, missed or met; "so far" while a seed or a figure is not there; nothing where there is no bar."""
        figures = [self.figure(name) for name in names]
        barred = [figure for figure in figures if figure.bar is not None]
        if not any(figure.values for figure in figures):
            return "missing"
        if not barred:
            return ""
        whole = all(len(figure.values) == len(self.runs) for figure in barred)
        return ("missed" if self.missed(names) else "met") + ("" if whole else " so far")


@dataclass(frozen=True)
class Results:
    """All that a report needs: what was measured, what the paper says, and how exceptions are explained."""

    rows: tuple[Row, ...]
    paper: Mapping[str, Any]
    notes: tuple[tuple[Mapping[str, Any], str], ...] = ()
    source: str = "runs.jsonl"
    outside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # files of benchmarks, by name

    @cached_property
    def measured(self) -> dict[Run, Row]:
        """The row that counts, by its run without the number of test traces."""
        return {settings_of(row.run): row for row in sorted(self.rows, key=lambda row: row.run.test_traces)}

    @cached_property
    def lines(self) -> dict[str, tuple[Line, ...]]:
        return {name: tuple(self.join(name, runs)) for name, runs in EXPERIMENTS.items()}

    @cached_property
    def planned(self) -> tuple[Run, ...]:
        """Every run that some experiment lists, once."""
        return tuple(dict.fromkeys(settings_of(run) for runs in EXPERIMENTS.values() for run in runs))

    @cached_property
    def missing(self) -> tuple[Run, ...]:
        return tuple(run for run in self.planned if run not in self.measured)

    @cached_property
    def unlisted(self) -> tuple[Run, ...]:
        """What was measured and belongs to no experiment."""
        return tuple(run for run in self.measured if run not in set(self.planned))

    def join(self, experiment: str, runs: tuple[Run, ...]) -> list[Line]:
        groups: dict[Run, list[Run]] = defaultdict(list)
        for run in runs:
            groups[replace(run, seed=0)].append(run)
        return [
            Line(
                experiment,
                tuple(group),
                tuple(self.measured[key] for run in group if (key := settings_of(run)) in self.measured),
                self.paper_figures(experiment, first),
                self.note(group),
            )
            for first, group in groups.items()
        ]

    def learners(self, experiment: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.run.learner for line in self.lines[experiment]))

    def of_learner(self, experiment: str, learner: str) -> list[Line]:
        """Domain by domain."""
        lines = [line for line in self.lines[experiment] if line.run.learner == learner]
        return sorted(lines, key=lambda line: BENCHMARKS.index(line.run.domain))

    def paper_figures(self, experiment: str, run: Run) -> Mapping[str, PaperFigure | None]:
        """The paper's line for these runs; empty where it has none."""
        network = PAPER_NAMES[run.learner]
        label = f"{network} {encoding_name(run.encoding)}"
        within = {"baselines": ("baselines", run.domain, network), "main": ("main", run.domain, label),
                  "paper-preset": ("main", run.domain, label),
                  "planning": ("extended_planning", run.domain, label),
                  "alignment": ("symbolic_alignment", run.domain, label, told_final_values(run))}  # fmt: skip
        found: Any = self.paper
        for key in within.get(experiment, ("none",)):
            found = found.get(key, {})
        return found

    def note(self, runs: list[Run]) -> str | None:
        """What is said of the first selection that holds one of the runs."""
        for selection, text in self.notes:
            if any(all(getattr(run, key) == value for key, value in selection.items()) for run in runs):
                return text
        return None


def settings_of(run: Run) -> Run:
    """What two rows of the same run agree in: all but the number of test traces."""
    return replace(run, test_traces=Run.test_traces)


def encoding_name(encoding: str) -> str:
    return ENCODINGS.get(encoding, encoding)


def told_final_values(run: Run) -> str:
    return "without_test_p" if run.suffix == "none" else "with_test_p"


def value_of(row: Row, name: str) -> float | None:
    """A figure by the paper's name for it, or by the name of a field of ours; None where the row has none."""
    if name in SHARES:
        count = getattr(row, SHARES[name])
        return None if count is None or not row.problems else count / row.problems
    found = getattr(row, FIGURES.get(name, name))
    return None if found is None else float(found)


def load_results(path: Path) -> Results:
    """The rows of `path`; `paper.json` stands beside it or comes with the package, and beside it may stand `notes.json`
    and files of benchmarks."""
    check_readable(path)
    rows = read_results(path)
    if not rows:
        raise FileError("holds no run", file=path, hint="'trace2strips reproduce' writes a row for each run")
    theirs, ours = path.with_name("paper.json"), Path(__file__).with_name("paper.json")
    paper = PAPER.read(ours if ours.exists() and not theirs.exists() else theirs, hint="it holds the paper's figures")
    notes = path.with_name("notes.json")
    files = {name: path.with_name(f"{name}.json") for name in OUTSIDE}
    beside = {name: OUTSIDE[name].read(file) for name, file in files.items() if file.exists()}
    if path.with_name("outside.jsonl").exists():
        beside["outside"] = amlgym_record(path.parent)
    return Results(tuple(rows.values()), paper, read_notes(notes) if notes.exists() else (), path.name, beside)


def amlgym_record(folder: Path) -> dict[str, Any]:
    return {"rows": list(read_rows(folder / "outside.jsonl").values())}


def read_notes(path: Path) -> tuple[tuple[Mapping[str, Any], str], ...]:
    """[{"runs": {setting: value, …}, "note": text}, …]"""
    found = NOTES.read(path, hint=f"[{NOTE}, …]")
    for number, item in enumerate(found, start=1):
        for name in sorted(item["runs"].keys() - set(RUN_FIELDS)):
            hint = suggest(name, RUN_FIELDS, "settings")
            raise FileError(f"note {number}: a run has no {name!r}", file=path, hint=hint)
    return tuple((item["runs"], item["note"]) for item in found)
