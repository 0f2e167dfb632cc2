"""What the report says, section by section: sentences and tables, from joined rows. The plots are in `plots`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from trace2strips.experiments import EXPERIMENTS, Row, Run
from trace2strips.experiments.rows import Machine
from trace2strips.pages.tables import NONE, Cell, Column, Section, Table, accuracy, number, table, words
from trace2strips.report.outside import mean_of, outside
from trace2strips.report.rows import PAPER_NAMES, Line, Results, encoding_name, settings_of
from trace2strips.report.tables import (
    Cells,
    Columns,
    difference,
    duration,
    milliseconds,
    missing,
    slug,
    told,
    verdict,
    with_best,
)
from trace2strips.worlds import BENCHMARKS

BARRED = {  # what is compared with a bar, by experiment
    "main": ("train", "test", "plan"),
    "baselines": ("train", "test", "plan_short", "plan_long"),
    "alignment": ("train", "test"),
}
TITLES = {"train": "train", "test": "test", "plan": "plan", "plan_short": "plan, M_S", "plan_long": "plan, M_L"}
BITS = ("missing", "extra")
PARTS = ("atoms", "preconditions", "effects")
STAGES = ("sampling", "learning", "testing", "planning", "comparing", "long traces")
LENGTHS = (10, *range(40, 401, 40))
ORIGIN: Columns = ["seeds", "steps", "test traces", "longest run", words("commit")]
BAR = (
    "A row of strips or strips+completion meets its bar if our mean is at least the best seed of the paper's STRIPS"
    " Transformer, a row of sb if our mean is at least the mean of the paper's SB − 0.005; in every figure of the row."
)
WHO = (
    "Rows are named after the learner that made them: `strips+completion` is a short training of the STRIPS Transformer"
    " and then completion, which settles every bit exactly; `completion` is that without a network; `strips` is the"
    " STRIPS Transformer by gradients alone, as in the paper; `sb`, `sinusoidal` and `rope` are decoders."
)
READING = "Mean over the seeds, in brackets the seed with the highest training accuracy; difference of the means."


def make_sections(results: Results) -> tuple[Section, ...]:
    make: tuple[Callable[[Results], Section | None], ...] = (
        summary,
        main,
        models,
        baselines,
        against_length,
        alignment,
        dataset_size,
        planning,
        own,
        outside,
        exceptions,
        times,
        coverage,
    )
    return tuple(found for section in make if (found := section(results)) is not None)


# ---- summary


def summary(results: Results) -> Section:
    return Section("summary", "Summary", tuple(summary_sentences(results)), (summary_table(results),))


def summary_sentences(results: Results) -> Iterator[str]:
    planned, gone = len(results.planned), len(results.missing)
    traces = sum(row.run.test_traces for row in results.measured.values())
    yield (
        f"The paper's results and our own experiments call for {planned:,} runs; {planned - gone:,} of them are here,"
        f" {gone:,} are missing. Each run samples traces of a hidden world, learns from them, is tested on longer"
        f" traces ({traces:,} in all) and plans with what it has learned."
    )
    yield WHO
    for learner in results.learners("main"):
        yield summary_of(learner, results.of_learner("main", learner))
    below = list(missed_figures(results))
    explained = sum(line.note is not None for line, _ in below)
    yield (
        f"{len(below)} of the figures that were measured are below their bar; {explained} of them are explained."
        if below
        else "No figure that was measured is below its bar."
    )


def summary_of(learner: str, lines: Sequence[Line]) -> str:
    there = [line for line in lines if line.rows]
    if not there:
        return f"`{learner}`: none of the {len(lines)} rows of the main results was measured yet."
    means = []
    for title, figure in (("training", "train"), ("test", "test"), ("planning", "plan")):
        ours, paper = both_means(there, figure)
        means.append(f"{title} {accuracy(ours)} (the paper's {lines[0].paper_name}: {told(paper, '{:.3f}')})")
    return (
        f"`{learner}`: of the {len(lines)} rows of the main results {len(there)} were measured, and"
        f" {count_met(there)} of these meet their bar. Mean accuracy over them: {', '.join(means)}."
    )


def key_figures(results: Results) -> Iterator[tuple[str, str]]:
    """What stands in large type on top of the page."""
    planned = len(results.planned)
    yield "runs are here", f"{planned - len(results.missing):,} of {planned:,}"
    for learner in results.learners("main"):
        lines = results.of_learner("main", learner)
        yield f"{learner} rows of the main results meet their bar", f"{count_met(lines)} of {len(lines)}"
    yield "measured figures are below their bar", f"{len(list(missed_figures(results))):,}"


def count_met(lines: Iterable[Line]) -> int:
    return sum(line.verdict(BARRED[line.experiment]).startswith("met") for line in lines)


def both_means(lines: Sequence[Line], name: str) -> tuple[float | None, float | None]:
    """Ours and the paper's, over the lines that were measured and that the paper has."""
    figures = [line.figure(name) for line in lines]
    pairs = [(f.mean, f.paper) for f in figures if f.mean is not None and f.paper is not None]
    return mean_of(ours for ours, _ in pairs), mean_of(paper for _, paper in pairs)


def summary_table(results: Results) -> Table:
    """One row per result and learner; means over the rows that were measured."""
    rows = []
    for experiment, names in BARRED.items():
        for learner in results.learners(experiment):
            lines = results.of_learner(experiment, learner)
            there = [line for line in lines if line.rows]
            cells: Cells = [f"{experiment}: {learner}", PAPER_NAMES[learner], f"{len(there)}/{len(lines)}"]
            cells.append(f"{sum(len(line.rows) for line in lines)}/{sum(len(line.runs) for line in lines)}")
            for ours, paper in (both_means(there, name) for name in names[:3]):
                cells.append(NONE if ours is None else f"{accuracy(ours)} ({told(paper, '{:.3f}')})")
            cells += [NONE] * (3 - len(names))
            barred, met = sum(line.verdict(names) != "" for line in there), count_met(there)
            if barred:
                cells.append(verdict("met" if met == barred else "missed", f"{met}/{barred}"))
            else:
                cells.append(NONE if there else missing())
            rows.append(cells)
    caption = (
        "Our mean accuracy over the rows that were measured, in brackets the paper's over the same rows; rows that meet"
        " their bar, of those measured that have one."
    )
    columns: Columns = [words("result"), words("paper's"), "rows", "runs"]
    columns += ["train (paper)", "test (paper)", "plan (paper)", words("bar met")]
    return table("summary-table", caption, columns, rows)


# ---- results beside the paper


def measured_by(*experiments: str) -> str:
    return f"Measured by `trace2strips reproduce {' '.join(experiments)}`; the commits stand at the end of each row."


def compared(name: str, caption: str, lines: Sequence[Line], label: Callable[[Line], str]) -> Table:
    """The bar; ours, the paper's and the difference for every figure; where the row comes from."""
    names = BARRED[lines[0].experiment]
    pairs = {(line.run.learner, line.paper_name) for line in lines}
    ours, theirs = pairs.pop() if len(pairs) == 1 else ("ours", "")  # else each row says who stands beside whom
    columns: Columns = [words("row"), words("bar")] if theirs else [words("row"), words("paper's"), words("bar")]
    for title in names:
        parts = (f"{ours} (best)", f"paper's {theirs} (best)" if theirs else "paper (best)", "difference")
        columns += [Column(part, TITLES[title]) for part in parts]
    rows = []
    for line in lines:
        cells: Cells = [label(line)] if theirs else [label(line), line.paper_name]
        cells.append(verdict(line.verdict(names)))
        for figure in map(line.figure, names):
            paper = f"{told(figure.paper)} ({told(figure.paper_best)})" if figure.paper is not None else NONE
            cells += [ours_or_missing(line, figure.values, with_best(figure.mean, figure.best)), paper]
            cells.append(Cell(difference(figure.difference), "difference"))
        rows.append([*cells, *origin(line)])
    return table(name, f"{caption} {READING}", [*columns, *ORIGIN], rows)


def ours_or_missing(line: Line, values: Sequence[float], text: str) -> Cell | str:
    """A figure of fewer seeds than the row has says so."""
    if not values:
        return missing()
    return text if len(values) == len(line.rows) else f"{text}, {len(values)} of {len(line.rows)} seeds"


def origin(line: Line) -> list[str]:
    traces = ", ".join(f"{count:,}" for count in line.test_traces) or NONE
    seeds = f"{len(line.rows)} of {len(line.runs)}"
    return [seeds, steps_of(line.rows), traces, duration(longest(line.rows)), commits(line.rows)]


def steps_of(rows: Iterable[Row]) -> str:
    """The fewest and the most: what a preset wants may have changed between two measurements."""
    counts = sorted({row.steps for row in rows if row.steps is not None})
    return " to ".join(f"{count:,}" for count in dict.fromkeys(counts[:1] + counts[-1:])) or NONE


def run_seconds(row: Row) -> float:
    """The whole run; of older rows only training is known."""
    return sum(row.seconds.values()) if row.seconds else row.train_seconds


def longest(rows: Iterable[Row]) -> float | None:
    return max(map(run_seconds, rows), default=None)


def commits(rows: Iterable[Row]) -> str:
    return ", ".join(sorted({row.commit[:7] for row in rows if row.commit})) or NONE


def main(results: Results) -> Section:
    sentences = (
        "Ten domains, initial states told by atoms or by name (50 or 100 states), 100,000 training traces, 3 seeds.",
        BAR,
        measured_by("main"),
    )
    shown = tuple(
        compared(f"main-{slug(learner)}", main_caption(lines[0]), lines, name_of)
        for learner in results.learners("main")
        if (lines := results.of_learner("main", learner))
    )
    return Section("main", "Main results", sentences, (strips_beside(results), *shown))


def strips_beside(results: Results) -> Table:
    """The STRIPS Transformer three times: the paper's, ours by gradients alone, and ours with completion after it."""
    pair = [{line.name: line for line in results.of_learner("main", name)} for name in ("strips", "strips+completion")]
    columns: list[Column | str] = [words("row")]
    for figure in BARRED["main"]:
        columns += [Column(who, TITLES[figure]) for who in ("paper", "gradients alone", "then completion")]
    rows: list[Cells] = []
    for name, line in pair[0].items():
        cells: Cells = [name]
        for figure in BARRED["main"]:
            paper = line.figure(figure)
            cells.append(f"{told(paper.paper)} ({told(paper.paper_best)})")
            for mine in (lines[name] for lines in pair):
                found = mine.figure(figure)
                cells.append(ours_or_missing(mine, found.values, with_best(found.mean, found.best)))
        rows.append(cells)
    caption = (
        "The STRIPS Transformer: the paper's; `strips`, ours by gradients alone; `strips+completion`, a short training"
        f" and then completion, which is no gradient descent. {READING.split(';')[0]}."
    )
    return table("strips-beside", caption, columns, rows)


def main_caption(line: Line) -> str:
    return f"{line.run.learner} beside the paper's {line.paper_name}, main results."


def name_of(line: Line) -> str:
    return line.name


def learner_of(line: Line) -> str:
    return f"{line.run.domain}, {line.run.learner}"


def models(results: Results) -> Section:
    """What the figures do not show: the size of the models, and whether they are the hidden ones."""
    sentences = (
        "Largest over the seeds: atoms, preconditions and effects of the learned model, and of the hidden one over the"
        " same actions. Fewer can say the same: in the mazes pillars are never free and rooms always are, so no label"
        " needs either. A model that a decoder was asked for also has what always holds where an action can be done.",
        "Equivalent: both accept the same traces, which is proven (`trace2strips compare`). Wrong traces, those of"
        " the network where it is a decoder, are summed over the seeds, and so are preconditions and effects that a"
        " decoder's model lacks or has too many. Before completion: training accuracy of the network alone.",
        measured_by("main", "baselines"),
    )
    listed = [*results.lines["main"], *results.lines["baselines"]]
    unique = {settings_of(line.run): line for line in listed if line.rows}  # some are in both
    shown = []
    for learner in dict.fromkeys(line.run.learner for line in unique.values()):
        lines = [line for line in unique.values() if line.run.learner == learner]
        lines.sort(key=lambda line: BENCHMARKS.index(line.run.domain))
        alone = any(line.values("network_train_accuracy") for line in lines)
        counted = any(line.values("missing_effects") for line in lines)
        columns: Columns = [words("row"), *(Column(part, "learned / hidden") for part in PARTS)]
        columns += ["equivalent", Column("train", "wrong traces"), Column("test", "wrong traces")]
        columns += ["missing / extra"] * counted + ["before completion"] * alone
        rows = [model_row(line, counted, alone) for line in lines]
        caption = f"Models learned by {learner}."
        shown.append(table(f"models-{slug(learner)}", caption, [*columns, words("commit")], rows))
    return Section("models", "The learned models", sentences, tuple(shown))


def model_row(line: Line, counted: bool, alone: bool) -> Cells:
    cells: Cells = [line.name]
    for part in PARTS:
        learned, hidden = line.values(part), line.values(f"hidden_{part}")
        cells.append(f"{max(learned):,.0f} / {max(hidden):,.0f}" if learned and hidden else NONE)
    verdicts = [row.equivalence for row in line.rows if row.equivalence is not None]
    cells.append(f"{verdicts.count('equivalent')} of {len(verdicts)}" if verdicts else NONE)
    cells += [number(sum(line.values(name))) for name in ("train_errors", "test_errors")]
    if counted:
        bits = [sum(line.values(f"{kind}_preconditions")) + sum(line.values(f"{kind}_effects")) for kind in BITS]
        cells.append(" / ".join(map(number, bits)) if line.values("missing_effects") else NONE)
    if alone:
        cells.append(accuracy(mean_of(line.values("network_train_accuracy")), 3))
    return [*cells, commits(line.rows)]


def baselines(results: Results) -> Section:
    sentences = (
        "`sb` beside decoders with sinusoidal and rotary positions, initial states told by atoms. M_S is the model"
        " extracted from training traces, M_L the one from the longer test traces.",
        "Only `sb` has a bar here: that the others fail on long traces is the paper's point.",
        measured_by("baselines"),
    )
    lines = sorted(results.lines["baselines"], key=lambda line: BENCHMARKS.index(line.run.domain))
    shown = compared("baselines-table", "Baselines on the five large domains.", lines, learner_of)
    return Section("baselines", "Baselines", sentences, (shown,))


def against_length(results: Results) -> Section:
    rows = [
        [learner_of(line), *(accuracy(line.length_curve.get(length), 3) for length in LENGTHS), str(len(line.rows))]
        for line in results.lines["baselines"]
        if line.length_curve
    ]
    sentences = (
        "Share of traces that are classified without a mistake, by the number of their actions, up to 400. The upright"
        " line marks the longest traces of training: 50 actions, 200 in maze-7x7.",
        "Mean over the seeds." if rows else "Not measured yet: no run of a decoder is here.",
        "Measured by `trace2strips reproduce baselines`, at the commits of the table above.",
    )
    caption = "Accuracy by the number of actions, in bins of 10 or 20; a column names the longest of its bin."
    columns: Columns = [words("row"), *map(str, LENGTHS), "seeds"]
    shown = table("length-table", caption, columns, rows)
    return Section("length", "Accuracy against length", sentences, (shown,) if rows else ())


def alignment(results: Results) -> Section:
    sentences = (
        "blocksworld-8b with and without `test-p`, the actions that tell final values of atoms. Without them nothing"
        " ties the atoms of a network to names.",
        "The rows of 100 states and atoms with `test-p` are those of the main results.",
        measured_by("alignment"),
    )
    lines = results.lines["alignment"]
    return Section("alignment", "Symbolic alignment", sentences,
                   (compared("alignment-table", "Symbolic alignment.", lines, alignment_name),))  # fmt: skip


def alignment_name(line: Line) -> str:
    final = "without test-p" if line.run.suffix == "none" else "with test-p"
    return f"{line.run.learner}, {encoding_name(line.run.encoding)}, {final}"


def dataset_size(results: Results) -> Section:
    names = ("train", "test", "plan")
    rows = []
    for line in results.lines["dataset-size"]:
        cells: Cells = [f"{line.run.learner}, {line.run.traces:,} traces"]
        cells += [ours_or_missing(line, f.values, with_best(f.mean, f.best)) for f in map(line.figure, names)]
        rows.append([*cells, *origin(line)])
    sentences = (
        "How accuracy on blocksworld-8b depends on the number of training traces: means, and a dash for each seed.",
        "The paper shows its curves as a picture without numbers, so only ours stand here. Of its own it says that SB"
        " plans perfectly from 1,000 traces on and passes 90 % in test at 5,000, and that the STRIPS Transformer is"
        " weak below 50,000.",
        measured_by("dataset-size"),
    )
    caption = "Fewer training traces, blocksworld-8b, atoms: mean over the seeds, in brackets the best seed."
    columns: Columns = [words("row"), *names, *ORIGIN]
    return Section("dataset-size", "Dataset size", sentences, (table("size-table", caption, columns, rows),))


def one_digit(value: float | None) -> str:
    return number(value, 1)


# title, how ours is written, how the paper's
EXTENDED: dict[str, tuple[str, Callable[..., str], Callable[..., str]]] = {
    "correct": ("correct", accuracy, told), "inapplicable": ("inapplicable", accuracy, told),
    "bad_goal": ("bad goal", accuracy, told), "unsolved": ("unsolved", accuracy, told),
    "mean_length": ("mean length", one_digit, number), "max_length": ("longest", one_digit, number),
    "time_s": ("time", milliseconds, milliseconds), "generated_states": ("states", number, number),
}  # fmt: skip


def planning(results: Results) -> Section:
    sentences = (
        "Each learned model plans 100 problems; each plan is tried out in the hidden world. A plan is inapplicable if"
        " an action of it is refused there; it has a bad goal if all of it works and leads elsewhere.",
        "Our problems are not the paper's, and times come from another machine: lengths, times and states are there"
        " for orientation.",
        "A problem needs an unseen action if even the hidden model cannot solve it with the actions that worked in"
        " training; these are counted over the seeds.",
        measured_by("planning"),
    )
    shown = tuple(extended(results, learner) for learner in results.learners("planning"))
    return Section("planning", "Extended planning", sentences, shown)


def extended(results: Results, learner: str) -> Table:
    rows = []
    for line in results.of_learner("planning", learner):
        cells: Cells = [line.name]
        for name, (_, ours, paper) in EXTENDED.items():
            figure = line.figure(name)
            cells += [ours(figure.mean) if figure.values else missing(), paper(figure.paper)]
        unseen = line.values("problems_with_unseen_actions")
        cells.append(number(sum(unseen)) if unseen else NONE)
        rows.append([*cells, f"{len(line.values('correct'))} of {len(line.runs)}", commits(line.rows)])
    caption = (
        f"{learner} beside the paper's {PAPER_NAMES[learner]}, extended planning: shares of 100 problems; plan length,"
        " search time and generated states; means over the seeds."
    )
    columns: Columns = [Column(part, group) for group, _, _ in EXTENDED.values() for part in (learner, "paper")]
    return table(
        f"planning-{slug(learner)}",
        caption,
        [words("row"), *columns, "need an unseen action", "seeds", words("commit")],
        rows,
    )


# ---- what the paper does not have


def own(results: Results) -> Section:
    names = ("heads", "noise", "untrained", "paper-preset")
    lines = [line for name in names for line in results.lines[name]]
    rows = [own_row(f"{exact_name(line)}{particular(line.run)}", line) for line in lines]
    for run in results.unlisted:
        rows.append(own_row(f"other: {run.name}", Line("other", (run,), (results.measured[run],), {})))
    sentences = (
        "strips+completion with more heads than needed, and with labels flipped at random; completion alone; strips"
        " with the paper's settings in the attention form. With flipped labels the training set itself is wrong in"
        " part, so its accuracy cannot be 1.",
        "Training `strips` in the attention form is chaotic: on blocksworld-5b a change of rounding alone once turned"
        " 0.457 in training and 0.556 in test into 0.821 and 0.992.",
        measured_by(*names),
    )
    columns: Columns = [words("row"), "train", "test", "plan", "atoms", "preconditions", "effects", *ORIGIN]
    shown = (
        table("own-table", "Our own experiments: mean over the seeds.", columns, rows),
        alone_beside_paper(results.lines["paper-preset"]),
    )
    return Section("own", "Our own experiments", sentences, shown)


def alone_beside_paper(lines: Sequence[Line]) -> Table:
    """The STRIPS Transformer by gradients alone with the paper's values: the like of what the paper measured."""
    columns: Columns = [words("row")]
    columns += [
        Column(part, TITLES[name]) for name in ("train", "test") for part in ("strips", "paper's STRIPS (best)")
    ]
    rows = []
    for line in lines:
        cells: Cells = [line.name]
        for figure in map(line.figure, ("train", "test")):
            cells += [accuracy(figure.mean) if figure.values else missing()]
            cells += [f"{told(figure.paper)} ({told(figure.paper_best)})"]
        rows.append([*cells, *origin(line)])
    return table(
        "alone-table", "strips with the paper's settings beside the paper's STRIPS.", [*columns, *ORIGIN], rows
    )


def own_row(label: str, line: Line) -> Cells:
    cells: Cells = [label]
    cells += [accuracy(line.figure(name).mean) if line.rows else missing() for name in ("train", "test", "plan")]
    cells += [number(line.figure(name).mean) for name in ("atoms", "preconditions", "effects")]
    return [*cells, *origin(line)]


def particular(run: Run) -> str:
    """What sets the run apart within its experiment."""
    heads = f", {run.settings['heads']} heads" if "heads" in run.settings else ""
    return heads + (f", {run.noise:.0%} flipped" if run.noise else "")


# ---- exceptions, time, what is missing


def missed_figures(results: Results) -> Iterator[tuple[Line, str]]:
    for experiment, names in BARRED.items():
        for line in results.lines[experiment]:
            yield from ((line, name) for name in line.missed(names))


def exceptions(results: Results) -> Section:
    rows: list[Cells] = []
    for line, name in missed_figures(results):
        figure = line.figure(name)
        note = Cell(line.note) if line.note else Cell("not explained yet", "missing")
        rows.append([
            exact_name(line), TITLES[name], accuracy(figure.mean), " / ".join(map(accuracy, figure.values)),
            accuracy(figure.bar, 3), accuracy(figure.gap), f"{len(figure.values)} of {len(line.runs)}", note,
        ])  # fmt: skip
    remarks: list[Cells] = [
        [exact_name(line), verdict(line.verdict(names)), line.note]
        for experiment, names in BARRED.items()
        for line in results.lines[experiment]
        if line.note and line.rows and not line.missed(names)
    ]
    found = "Every figure below its bar, and why." if rows else "No figure that was measured is below its bar."
    columns: Columns = [words("row"), words("figure"), "ours", "by seed", "bar", "short of it by", "seeds"]
    shown = (
        table("exceptions-table", "Figures below their bar.", [*columns, words("explanation")], rows),
        table("remarks-table", "Rows that are not below their bar and still have something to explain.",
              [words("row"), words("bar"), words("remark")], remarks),
    )  # fmt: skip
    return Section("exceptions", "Exceptions and remarks", (BAR, found), tuple(item for item in shown if item.rows))


def exact_name(line: Line) -> str:
    end = ", without test-p" if line.run.suffix == "none" else ""
    return f"{line.experiment}: {line.run.learner}, {line.name}{end}"


def times(results: Results) -> Section:
    """By learner and domain."""
    listed = {settings_of(run) for name in ("main", "baselines") for run in EXPERIMENTS[name]}
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for run, row in results.measured.items():
        if run in listed:
            groups[run.learner, run.domain].append(row)
    rows = [
        [f"{learner}, {domain}", *time_cells(groups[learner, domain])]
        for learner in PAPER_NAMES
        for domain in BENCHMARKS
        if (learner, domain) in groups
    ]
    known = [run_seconds(row) for row in results.measured.values()]
    most = duration(max(known, default=None))
    sentences = (
        f"{len(known):,} runs took {duration(math.fsum(known))} in all, the longest {most}.",
        "Learning is training and what follows it up to the finished model. Of older runs only the time of training is"
        " known; the other columns are means over the runs that have them.",
        machines(results),
    )
    stages = [Column(title, "mean time") for title in ("training alone", *STAGES, "all")]
    columns: Columns = [words("row"), "runs", *stages, "longest run"]
    caption = "Time per run and where it goes: main results and baselines."
    return Section("time", "Time per run", sentences, (table("time-table", caption, columns, rows),) if rows else ())


def time_cells(rows: Sequence[Row]) -> list[str]:
    staged = [row.seconds for row in rows if row.seconds]
    means = [mean_of(row.train_seconds for row in rows)]
    means += [mean_of(seconds.get(stage) for seconds in staged) for stage in STAGES]
    means.append(mean_of(sum(seconds.values()) for seconds in staged))
    return [str(len(rows)), *map(duration, means), duration(longest(rows))]


def machines(results: Results) -> str:
    found = {
        f"{machine.cores} cores{threads_of(machine)} ({machine.system}, Python {machine.python})"
        for row in results.measured.values()
        if (machine := row.machine) is not None
    }
    dates = sorted({row.date for row in results.measured.values() if row.date})
    when = f" Measured from {dates[0]} to {dates[-1]}." if dates else ""
    return f"Machine: {'; '.join(sorted(found)) or 'not recorded in these rows'}.{when}"


def threads_of(machine: Machine) -> str:
    """What a run was given of the cores, if that is not all of them."""
    return "" if machine.threads in (None, machine.cores) else f", {machine.threads} of them for a run"


def coverage(results: Results) -> Section:
    groups: dict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for line in (line for name, lines in results.lines.items() if name != "planning" for line in lines):
        groups[line.experiment, line.run.learner, line.run.encoding].append(line)  # those of `planning` are in `main`
    rows: list[Cells] = []
    for (experiment, learner, encoding), mine in groups.items():
        planned, there = sum(len(line.runs) for line in mine), sum(len(line.rows) for line in mine)
        gone = "all" if not there else "; ".join(absent(line) for line in mine if line.missing_seeds) or "none"
        label = f"{experiment}: {learner}, {encoding_name(encoding)}"
        rows.append([label, f"{there} of {planned}", Cell(gone, "missing" if there < planned else "")])
    planned, gone_in_all = len(results.planned), len(results.missing)
    sentences = (
        f"{planned - gone_in_all:,} of {planned:,} runs are here, {gone_in_all:,} are missing. A run that several"
        " results need is counted once in this sentence, and in every line below that needs it.",
    )
    columns: Columns = [words("row"), "runs", words("missing")]
    shown = table("missing-table", "Runs that are here, and those that are missing.", columns, rows)
    return Section("missing", "What is missing", sentences, (shown,))


def absent(line: Line) -> str:
    run = line.run
    size = f", {run.traces:,} traces" if line.experiment == "dataset-size" else ""
    final = ", without test-p" if run.suffix == "none" else ""
    seeds = f" (seed {', '.join(map(str, line.missing_seeds))})" if len(line.runs) > 1 else ""
    return f"{run.domain}{size}{final}{particular(run)}{seeds}"
