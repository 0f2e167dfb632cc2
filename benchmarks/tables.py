"""Writes the measured figures into README and docs, from results/ only.

python benchmarks/tables.py           rewrite every block between <!-- table NAME --> and <!-- end -->, and the plot
python benchmarks/tables.py --check   exit with 1 if one is not what results/ say
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from trace2strips.experiments import EXPERIMENTS, Run, read_results
from trace2strips.experiments.estimates import cost, estimate
from trace2strips.experiments.results import Row
from trace2strips.report import format_table, load_results, summary_table
from trace2strips.worlds import BENCHMARKS, get_domain

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "accuracy-against-length.svg"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
ENCODINGS = {"atoms": "STRIPS atoms", "states:50": "STRIPS 50 states", "states:100": "STRIPS 100 states"}
Rows = list[dict[str, Any]]


def load(name: str) -> dict[str, Any]:
    path = ROOT / "results" / name
    return (
        json.loads(path.read_text()) if path.exists() else {"rows": [], "commit": "missing", "settings": {"batch": 64}}
    )


def runs(experiment: str, networks: Sequence[str] = ("strips",)) -> Rows:
    """The rows of these networks, in the order of the experiment's list."""
    measured = read_results(ROOT / "results" / "runs.jsonl")
    return [measured[run] for run in EXPERIMENTS[experiment] if run in measured and run.network in networks]


def table(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    rule = ["---"] * left + ["--:"] * (len(header) - left)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *rows])


def commits(rows: Rows) -> str:
    return ", ".join(sorted({str(row["commit"]) for row in rows}))


def accuracy(value: float) -> str:
    """Never rounded up to 1: an error stays visible."""
    if value == 1:
        return "1"
    text = f"{value:.6f}"
    return text if text != "1.000000" else "0.999999"


def domains() -> str:
    rows = []
    for name in BENCHMARKS:
        domain = get_domain(name)
        numbers = (len(domain.model.atoms), len(domain.model.actions), len(domain.reachable_actions),
                   domain.family.count_states(), len(domain.initial_atoms), len(domain.goal_atoms))  # fmt: skip
        rows.append([name, *(f"{number:,}" for number in numbers)])
    return table(
        ["domain", "atoms", "actions", "ever applicable", "reachable states", "`init-p`", "`test-p` (goal)"], rows
    )


def sampling() -> str:
    record = load("sampling.json")
    rows = [
        [row["domain"], f"{row['train_traces_per_second']:,.0f}", f"{row['test_traces_per_second']:,.0f}",
         f"{row['steps_per_second']:,.0f}", f"{row['mimir_steps_per_second']:,.0f}", f"{row['ratio']:.0f}×",
         f"{row['peak_memory_mb']:.0f} MB"]
        for row in record["rows"]
    ]  # fmt: skip
    header = ["domain", "training traces/s", "test traces/s", "steps/s", "pymimir steps/s", "ratio", "peak memory"]
    return table(header, rows) + f"\n\n(`results/sampling.json`, commit {record['commit']}.)"


def difficulty() -> str:
    record = load("problem_difficulty.json")
    rows = [
        [row["domain"], f"{row['mean_length']:.1f}", f"{row['paper_mean_length']:.0f}", f"{row['ratio']:.2f}",
         str(row["max_length"]), f"{row['mean_states']:.0f}", f"{row['paper_mean_states']:.0f}"]
        for row in record["rows"]
    ]  # fmt: skip
    header = ["domain", "mean plan length", "paper", "ratio", "longest", "mean generated states", "paper"]
    return table(header, rows)


def main_rows() -> str:
    """Our mean over seeds beside the paper's mean, every row; missing ones are shown as missing."""
    paper = load("paper.json")["main"]
    measured = runs("main")
    lines = []
    for domain in BENCHMARKS:
        for encoding, label in ENCODINGS.items():
            mine = [row for row in measured if (row["domain"], row["encoding"]) == (domain, encoding)]
            theirs = paper[domain][label]
            cells = [domain, encoding]
            for split in ("train", "test"):
                values = [row[f"{split}_accuracy"] for row in mine]
                cells += [f"{accuracy(mean(values))} ({accuracy(min(values))})" if values else "missing"]
                cells += [f"{theirs[split]['mean']:g}"]
            times = [row["train_seconds"] for row in mine]
            cells += [str(sum(row["train_errors"] for row in mine)), str(sum(row["test_errors"] for row in mine))]
            alone = [row["network_train_accuracy"] for row in mine]
            cells += [f"{int(1000 * mean(alone)) / 1000:.3f}" if alone else "missing"]  # rounded down
            cells += [f"{max(times):.0f} s" if times else "missing", str(len(mine))]
            lines.append(cells)
    header = ["domain", "encoding", "train mean (worst)", "paper", "test mean (worst)", "paper", "train errors",
              "test errors", "network alone, train", "longest run", "seeds"]  # fmt: skip
    return table(header, lines, 2) + f"\n\n(commit {commits(measured)})"


def sizes() -> str:
    """Pruned models of the init-atoms rows beside the hidden ones; the largest over seeds."""
    measured = [row for row in runs("main") if row["encoding"] == "atoms"]
    lines = []
    for domain in BENCHMARKS:
        mine = [row for row in measured if row["domain"] == domain]
        if mine:
            parts = ("atoms", "preconditions", "effects")
            lines.append([domain] + [f"{max(row[p] for row in mine)} / {mine[0][f'hidden_{p}']}" for p in parts])
    return table(["domain", "atoms: learned / hidden", "preconditions", "effects"], lines)


def told(value: float | None, form: str = "{:g}") -> str:
    """A figure of the paper; it gives none where nothing was solved."""
    return "-" if value is None else form.format(value)


def planning() -> str:
    """Planning accuracy and the paper's extended columns, mean over seeds."""
    paper = load("paper.json")["extended_planning"]
    measured = [row for row in runs("main") if "plan_accuracy" in row]
    lines = []
    for domain in BENCHMARKS:
        for encoding, label in ENCODINGS.items():
            mine = [row for row in measured if (row["domain"], row["encoding"]) == (domain, encoding)]
            theirs = {name: None if pair is None else pair["mean"] for name, pair in paper[domain][label].items()}
            if not mine:
                lines.append([domain, encoding, *["missing"] * 10])
                continue
            correct = [row["plan_accuracy"] for row in mine]
            wrong = (sum(row[f"plans_{kind}"] for row in mine) for kind in ("inapplicable", "bad_goal", "unsolved"))
            unseen = "/".join(str(row["problems_with_unseen_actions"]) for row in mine)
            length, seconds, states = (
                mean(row[name] for row in mine) for name in ("plan_mean_length", "plan_seconds", "plan_states")
            )
            lines.append([
                domain, encoding, f"{accuracy(mean(correct))} ({accuracy(min(correct))})", told(theirs["correct"]),
                " / ".join(map(str, wrong)), unseen, f"{length:.1f}", told(theirs["mean_length"]),
                f"{1000 * seconds:.0f} ms", told(theirs["time_s"], "{:.4f} s"), f"{states:,.0f}",
                told(theirs["generated_states"], "{:,.0f}"),
            ])  # fmt: skip
    header = ["domain", "encoding", "plans correct, mean (worst)", "paper", "inapplicable / bad goal / unsolved",
              "problems that need an unseen action, by seed", "mean length", "paper", "time", "paper", "states",
              "paper"]  # fmt: skip
    return table(header, lines, 2) + f"\n\n(commit {commits(measured)})"


def listed(experiment: str, columns: dict[str, str]) -> str:
    """One line per run, of the columns named."""

    def cell(value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) else str(value)

    forms: dict[str, Callable[[Any], str]] = {"noise": "{:.0%}".format, "train_seconds": "{:.1f}".format}
    forms |= {"train_accuracy": accuracy, "test_accuracy": accuracy}
    measured = runs(experiment)
    lines = [[forms.get(key, cell)(row.get(key)) for key in columns] for row in measured]
    return table(list(columns.values()), lines) + f"\n\n(commit {commits(measured)})"


def dataset_size() -> str:
    return listed("dataset-size", {"traces": "training traces", "seed": "seed", "train_accuracy": "train",
                                   "test_accuracy": "test", "train_seconds": "seconds", "atoms": "atoms"})  # fmt: skip


def heads() -> str:
    return listed("heads", {"heads": "heads", "train_accuracy": "train", "test_accuracy": "test", "atoms": "atoms",
                            "preconditions": "preconditions", "effects": "effects",
                            "train_seconds": "seconds"})  # fmt: skip


def noise() -> str:
    return listed("noise", {"domain": "domain", "noise": "labels flipped", "train_accuracy": "noisy training set",
                            "test_accuracy": "clean test traces", "atoms": "atoms", "preconditions": "preconditions",
                            "effects": "effects", "train_seconds": "seconds"})  # fmt: skip


def untrained() -> str:
    return listed("untrained", {"domain": "domain", "encoding": "encoding", "train_accuracy": "train",
                                "test_accuracy": "test", "train_seconds": "seconds"})  # fmt: skip


def paper_preset() -> str:
    paper = load("paper.json")["main"]
    lines = []
    measured = runs("paper-preset")
    for row in measured:
        theirs = paper[row["domain"]]["STRIPS atoms"]
        lines.append([
            row["domain"], f"{row['steps']:,}", accuracy(row["train_accuracy"]), f"{theirs['train']['mean']:g}",
            accuracy(row["test_accuracy"]), f"{theirs['test']['mean']:g}", f"{row['train_seconds']:.0f} s",
        ])  # fmt: skip
    header = ["domain", "steps", "train, ours", "paper's mean", "test, ours", "paper's mean", "time"]
    return table(header, lines) + f"\n\n(commit {commits(measured)})"


def kernels() -> str:
    record = load("kernels.json")
    steps = [row for row in record["rows"] if "length" not in row]
    scans = [row for row in record["rows"] if "length" in row]
    first = table(
        [f"one step, blocksworld-8b, 100 heads, batch {record['settings']['batch']}", "time", "faster"],
        [[row["what"], f"{1000 * row['seconds']:,.2f} ms", f"{row['ratio']:,.0f}×"] for row in steps],
    )
    second = table(
        ["actions a trace", "factored step", "per action"],
        [[f"{r['length']:,}", f"{1000 * r['seconds']:.2f} ms", f"{1e6 * r['seconds'] / r['length']:.1f} µs"]
         for r in scans],
    )  # fmt: skip
    return f"{first}\n\n{second}\n\n(`results/kernels.json`, commit {record['commit']})"


def planners() -> str:
    record = load("planners.json")
    rows = [
        [row["planner"], row["search"], f"{row['solved']} of {row['problems']}", f"{row['mean_length']:.1f}",
         f"{row['mean_states']:,.0f}", f"{row['ms_per_problem']:.0f} ms", f"{row['start_ms']:.0f} ms"]
        for row in record["rows"] if "search" in row
    ]  # fmt: skip
    header = ["planner", "search", "solved", "mean plan length", "generated states", "per problem", "start"]
    memory = [
        f"{row['in_a_row']:,} problems in a row in one {row['planner']} worker: {row['early_mb']:.0f} MB after"
        f" {row['in_a_row'] // 10:,}, {row['late_mb']:.0f} MB at the end."
        for row in record["rows"]
        if "in_a_row" in row
    ]
    return "\n\n".join([table(header, rows, 2), *memory, f"(`results/planners.json`, commit {record['commit']})"])


def world_metrics() -> str:
    """Means over seeds; a figure that no pair stands behind is a dash."""
    record = load("world_metrics.json")
    columns: dict[str, Callable[[dict[str, Any]], float | None]] = {
        "trace accuracy": lambda row: row["test_accuracy"],
        "legality: precision": lambda row: row["legality_precision"],
        "recall": lambda row: row["legality_recall"],
        "whole sets": lambda row: row["whole_sets"],
        "compression": lambda row: row["compression"],
        "distinction: precision": lambda row: row["distinction_precision"],
        "recall ": lambda row: row["distinction_recall"],
        "near pairs: precision": lambda row: row["near"]["distinction_precision"],
        "recall  ": lambda row: row["near"]["distinction_recall"],
    }
    lines = []
    for domain, model in dict.fromkeys((row["domain"], row["model"]) for row in record["rows"]):
        mine = [row for row in record["rows"] if (row["domain"], row["model"]) == (domain, model)]
        found = [[value for row in mine if (value := column(row)) is not None] for column in columns.values()]
        # rounded down: an error stays visible
        lines.append([domain, model, *(f"{int(1000 * mean(values)) / 1000:g}" if values else "–" for values in found)])
    header = ["domain", "model", *map(str.strip, columns)]
    return table(header, lines, 2) + f"\n\n(`results/world_metrics.json`, commit {record['commit']})"


def equivalence() -> str:
    """Each learned model beside its hidden one; how it was shown, and the counterexample where they differ."""
    record = load("equivalence.json")
    lines = []
    for row in record["rows"]:
        searched = row.get("searched_pairs", row["pairs"])
        exhausted = "exhausted" in row.get("searched_how", row["how"])
        trace = f": {len(row['trace'])} actions, refused by {row['refused_by']}" if row["trace"] else ""
        lines.append([
            row["domain"], row["encoding"], str(row["seed"]), row["verdict"] + trace,
            "yes" if "invariants" in row["how"] else "no",
            f"{searched:,}" + (" (all)" if exhausted else ""), f"{row['reachable_states']:,}", f"{row['starts']:,}",
            f"{row['further']:,}", f"{row['seconds']:.1f} s",
        ])  # fmt: skip
    header = ["domain", "encoding", "seed", "answer", "by invariants", "pairs looked at", "reachable hidden states",
              "starts", "others covered", "time"]  # fmt: skip
    return table(header, lines, 4) + f"\n\n(`results/equivalence.json`, commit {commits(record['rows'])}.)"


def decoders() -> str:
    """Each decoder's row of seed 0 and up: the network, and the model extracted from it."""
    names = {"sb": "SB", "sinusoidal": "Sinusoidal", "rope": "RoPE"}
    paper = load("paper.json")
    lines = []
    measured = [*runs("main", ("sb",)), *runs("baselines", tuple(names))]
    unique = {tuple(row[key] for key in ("network", "encoding", "domain", "seed")): row for row in measured}
    order = sorted(unique, key=lambda k: (list(names).index(k[0]), k[1] != "atoms", BENCHMARKS.index(k[2]), k[1], k[3]))
    for key in order:
        row = unique[key]
        label = {"atoms": "atoms"}.get(row["encoding"], row["encoding"].replace("states:", "") + " states")
        table_of = paper["main"] if row["network"] == "sb" else paper["baselines"]
        named = f"SB {label}" if row["network"] == "sb" else names[row["network"]]
        theirs = table_of[row["domain"]][named]
        wrong = " / ".join(str(row[f"{kind}_{part}"]) for kind, part in
                           (("missing", "preconditions"), ("extra", "preconditions"), ("missing", "effects"),
                            ("extra", "effects")))  # fmt: skip
        long = row.get("long_plan_accuracy")
        lines.append([
            row["domain"], row["encoding"], row["network"], str(row["seed"]), accuracy(row["train_accuracy"]),
            accuracy(row["test_accuracy"]), f"{theirs['test']['mean']:g}", wrong, row["equivalence"],
            f"{row['plan_accuracy']:g}", "–" if long is None else f"{long:g}",
            f"{row['steps']:,}", f"{row['train_seconds'] / 60:.1f} min", row["commit"],
        ])  # fmt: skip
    header = ["domain", "encoding", "network", "seed", "train", "test", "paper's mean",
              "M_S: preconditions missing / extra, effects missing / extra", "M_S and the hidden model", "plans, M_S",
              "plans, M_L", "steps", "training", "commit"]  # fmt: skip
    return table(header, lines, 4)


def decoder_trials() -> str:
    record = load("decoder_trials.json")
    rows = [
        [row["trial"], accuracy(row["train"]), accuracy(row["test"]), f"{row['seconds']:.0f} s"]
        for row in record["rows"]
    ]
    return table(["changed", "train", "test", "training"], rows) + (
        f"\n\n(`results/decoder_trials.json`, seed 0, commit {record['commit']})"
    )


def attention() -> str:
    record = load("attention.json")
    rows = [
        [row["what"], f"{1000 * row['reference_seconds']:,.1f} ms", f"{1000 * row['seconds']:,.2f} ms",
         f"{row['ratio']:.1f}×", "–" if row["bar"] is None else f"{row['bar']}×"]
        for row in record["rows"]
    ]  # fmt: skip
    return table(["what", "reference", "ours", "faster", "wanted"], rows) + (
        f"\n\n(`results/attention.json`, seed 0, commit {record['commit']})"
    )


def in_hours(runs: Sequence[Run], rows: Mapping[Run, Row]) -> float:
    return sum((cost(rows[run]) if run in rows else estimate(run, rows)).seconds for run in runs) / 3600


def estimates() -> str:
    """Measured where it was, estimated from the nearest measured run elsewhere."""
    rows = read_results(ROOT / "results" / "runs.jsonl")
    lines = []
    names = ("main", "baselines", "alignment", "dataset-size")
    together = dict.fromkeys(run for name in names for run in EXPERIMENTS[name])
    for name, listed_runs in (*((n, EXPERIMENTS[n]) for n in names), ("all of them, each run once", tuple(together))):
        for network in dict.fromkeys(run.network for run in listed_runs):
            mine = [run for run in listed_runs if run.network == network]
            done = [cost(rows[run]).seconds for run in mine if run in rows]
            left = [estimate(run, rows).seconds for run in mine if run not in rows]
            hours = (sum(done) + sum(left)) / 3600
            lines.append([name, network, str(len(mine)), str(len(done)), f"{sum(done) / 3600:.1f} h", f"{hours:.1f} h"])
    total = sum(float(line[-1].removesuffix(" h")) for line in lines if line[0].startswith("all"))
    header = ["experiment", "network", "runs", "measured", "took", "whole, with the estimate of the rest"]
    first = in_hours([run for run in together if run.seed == 0], rows)
    maze = in_hours([run for run in together if run.domain == "maze-7x7" and run.network != "strips"], rows)
    return (
        f"{table(header, lines, 2)}\n\n"
        f"All of it: about {total:.0f} hours on two cores; seed 0 alone {first:.1f} hours. "
        f"The decoders on maze-7x7 take {maze:.1f} hours of it."
    )


def picture() -> str:
    from trace2strips.report.plots import draw_lengths

    return draw_lengths(load_results(ROOT / "results" / "runs.jsonl"))[0].file()


def summary() -> str:
    return format_table(summary_table(load_results(ROOT / "results" / "runs.jsonl")))


def one_state() -> str:
    record = load("one_state.json")
    rows = [
        [row["network"], "`alignment`" if row["state"] == 0 else f"{row['state']}", f"{row['towers']}",
         f"{row['rare']:.0%}", accuracy(row["train_accuracy"]), accuracy(row["test_accuracy"]),
         f"{row['train_seconds']:.0f} s"]
        for row in record["rows"]
    ]  # fmt: skip
    header = ["network", "state", "towers", "test traces with rare actions", "train", "test", "time"]
    return f"{table(header, rows)}\n\n(`results/one_state.json`, seed 0, commit {record['commit']})"


TABLES: dict[str, Callable[[], str]] = {
    "domains": domains, "sampling": sampling, "difficulty": difficulty, "main": main_rows, "sizes": sizes,
    "dataset-size": dataset_size, "heads": heads, "noise": noise,
    "untrained": untrained, "planning": planning, "paper-preset": paper_preset, "kernels": kernels,
    "planners": planners, "world-metrics": world_metrics,
    "equivalence": equivalence, "summary": summary, "decoders": decoders, "estimates": estimates,
    "decoder-trials": decoder_trials, "attention": attention, "one-state": one_state,
}  # fmt: skip


def fill(text: str) -> str:
    def block(match: re.Match[str]) -> str:
        return f"<!-- table {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- table ([a-z-]+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


def main() -> None:
    stale = []
    for page in (*PAGES, PICTURE):
        text = page.read_text() if page.exists() else ""
        new = picture() if page == PICTURE else fill(text)
        if new != text:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(new)
    print(
        f"{'stale' if '--check' in sys.argv else 'written'}: {', '.join(stale)}" if stale else "all tables are current"
    )
    sys.exit(1 if stale and "--check" in sys.argv else 0)


if __name__ == "__main__":
    main()
