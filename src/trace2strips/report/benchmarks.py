"""Tables of what benchmarks/ measured: worlds, sampling, planners, equivalence, attention, and how long all runs take.

A benchmark's file holds its rows, the command that measures them again, the commit and the date.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trace2strips.experiments import EXPERIMENTS, Run
from trace2strips.experiments.estimates import cost, estimate
from trace2strips.pages.tables import NONE, Column, Section, Table, accuracy, number, table, words
from trace2strips.report.outside import Record, mean_of, origin
from trace2strips.report.rows import ANY_BENCHMARK, Results
from trace2strips.report.tables import Cells, Columns, duration, milliseconds
from trace2strips.worlds import BENCHMARKS, get_domain

TIMED = ("main", "baselines", "alignment", "dataset-size")


def benchmark_sections(folder: Path, results: Results) -> Iterator[Section]:
    """One for each benchmark that was measured."""
    yield worlds()
    yield all_runs(results)
    for file, title, sentence, make in BENCHMARK_TABLES:
        path = folder / f"{file}.json"
        if path.exists():
            record = ANY_BENCHMARK.read(path)
            yield Section(file, title, (sentence, origin(record)), (make(record),))


def worlds() -> Section:
    rows = []
    for name in BENCHMARKS:
        domain = get_domain(name)
        counts = (len(domain.model.atoms), len(domain.model.actions), len(domain.reachable_actions),
                  domain.family.count_states(), len(domain.initial_atoms), len(domain.goal_atoms))  # fmt: skip
        rows.append([name, *map(number, counts)])
    columns: Columns = [words("domain"), "atoms", "actions", "ever applicable", "reachable states", "init-p",
                        "test-p (goal)"]  # fmt: skip
    shown = table("worlds", "What the hidden worlds are made of.", columns, rows)
    sentence = "The paper's ten worlds, in its two sizes of each family. Counted by `trace2strips domains`."
    return Section("worlds", "The worlds", (sentence,), (shown,))


def all_runs(results: Results) -> Section:
    """Measured where it was, estimated from the nearest measured run elsewhere."""
    measured = {row.run: row for row in results.rows}

    def seconds(runs: Iterable[Run]) -> float:
        known = ((cost(measured[run]) if run in measured else estimate(run, measured)) for run in runs)
        return math.fsum(cost.seconds for cost in known)

    together = tuple(dict.fromkeys(run for name in TIMED for run in EXPERIMENTS[name]))
    lists = {**{name: EXPERIMENTS[name] for name in TIMED}, "all of them, each run once": together}
    rows = []
    for name, runs in lists.items():
        for learner in dict.fromkeys(run.learner for run in runs):
            mine = [run for run in runs if run.learner == learner]
            done = [run for run in mine if run in measured]
            rows.append([f"{name}: {learner}", number(len(mine)), number(len(done)), in_hours(seconds(done)),
                         in_hours(seconds(mine))])  # fmt: skip
    slow = [run for run in together if run.domain == "maze-7x7" and run.is_decoder]
    first = [run for run in together if run.seed == 0]
    sentences = (
        f"All of it takes about {in_hours(seconds(together))} on two cores, seed 0 alone {in_hours(seconds(first))};"
        f" the decoders on maze-7x7 take {in_hours(seconds(slow))} of it.",
        "`trace2strips reproduce all --dry-run` tells it run by run. What was measured before every stage was timed"
        " counts 20 seconds for all that is not learning.",
    )
    columns: Columns = [words("experiment"), "runs", "measured", "took", "whole, with the estimate of the rest"]
    caption = "Time of the runs, measured and estimated."
    return Section("all-runs", "How long all runs take", sentences, (table("all-runs-table", caption, columns, rows),))


def in_hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h"


def sampling(record: Record) -> Table:
    rows = [
        [row["domain"], number(row["train_traces_per_second"]), number(row["test_traces_per_second"]),
         number(row["steps_per_second"]), number(row["mimir_steps_per_second"]), times(row["ratio"]),
         f"{number(row['peak_memory_mb'])} MB"]
        for row in record["rows"]
    ]  # fmt: skip
    columns: Columns = [words("domain"), "training traces/s", "test traces/s", "steps/s", "pymimir steps/s", "ratio",
                        "peak memory"]  # fmt: skip
    return table("sampling-table", "Sampling speed; the time includes writing the files.", columns, rows)


def times(ratio: int | float) -> str:
    """12×, 5.9×."""
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def planners(record: Record) -> Table:
    rows = [
        [f"{row['planner']}, {row['search']}", f"{row['solved']} of {row['problems']}", number(row["mean_length"], 1),
         number(row["mean_states"]), f"{number(row['ms_per_problem'])} ms", f"{number(row['start_ms'])} ms"]
        for row in record["rows"] if "search" in row
    ]  # fmt: skip
    memory = [
        f" {row['in_a_row']:,} problems in a row in one {row['planner']} worker: {number(row['early_mb'])} MB after"
        f" {row['in_a_row'] // 10:,}, {number(row['late_mb'])} MB at the end."
        for row in record["rows"]
        if "in_a_row" in row
    ]
    columns: Columns = [words("planner"), "solved", "mean plan length", "generated states", "per problem", "start"]
    return table("planners-table", "Planners side by side." + "".join(memory), columns, rows)


def equivalence(record: Record) -> Table:
    """Each learned model beside its hidden one; how it was shown, and the counterexample where they differ."""
    rows = []
    for row in record["rows"]:
        searched = row.get("searched_pairs", row["pairs"])
        exhausted = "exhausted" in row.get("searched_how", row["how"])
        trace = f": {len(row['trace'])} actions, refused by {row['refused_by']}" if row["trace"] else ""
        rows.append([
            f"{row['domain']}, {row['encoding']}, seed {row['seed']}", row["verdict"] + trace,
            "yes" if "invariants" in row["how"] else "no", number(searched) + (" (all)" if exhausted else ""),
            number(row["reachable_states"]), number(row["starts"]), number(row["further"]), duration(row["seconds"]),
        ])  # fmt: skip
    columns: Columns = [words("row"), words("answer"), words("by invariants"), "pairs looked at",
                        "reachable hidden states", "starts", "others covered", "time"]  # fmt: skip
    return table("equivalence-table", "Learned models and their hidden ones.", columns, rows)


def attention(record: Record) -> Table:
    rows = [
        [row["what"], milliseconds(row["reference_seconds"]), milliseconds(row["seconds"]), times(row["ratio"]),
         NONE if row["bar"] is None else times(row["bar"])]
        for row in record["rows"]
    ]  # fmt: skip
    columns: Columns = [words("what"), "reference", "ours", "faster", "wanted"]
    return table("attention-table", "Kernel, training step and probing of SB against their references.", columns, rows)


BENCHMARK_TABLES = (
    ("sampling", "Sampling speed",
     "Two cores, beside random walks through pymimir's successor generator in the same run, on one core and called from"
     " a Python loop, as a user would. 100,000 training traces of up to 50 actions and 200,000 test traces of up to 200"
     " for each domain; in maze-7x7 up to 200 and 400.", sampling),
    ("planners", "Planners",
     "100 problems of blocksworld-8b, all planners in one run, one worker, every plan validated"
     " ([planning.md](planning.md)).", planners),
    ("equivalence", "Equivalence with the hidden models",
     "Models learned by strips+completion from 100,000 traces, beside their hidden ones"
     " ([equivalence.md](equivalence.md)). \"(all)\" stands where all pairs that the starts drawn can reach were looked"
     " at (in maze-7x7 these are not all of the domain's mazes); \"others covered\" are starts that only the second"
     " draw had.", equivalence),
    ("attention", "Speed of the decoders", "Reference and ours in one run, in turn ([decoders.md](decoders.md)).",
     attention),
)  # fmt: skip


# ---- tables that explain something in other pages; the caption says where they come from


def difficulty(record: Record) -> Table:
    rows = [
        [row["domain"], number(row["mean_length"], 1), number(row["paper_mean_length"]), f"{row['ratio']:.2f}",
         number(row["max_length"]), number(row["mean_states"]), number(row["paper_mean_states"])]
        for row in record["rows"]
    ]  # fmt: skip
    columns: Columns = [words("domain"), "mean plan length", "paper", "ratio", "longest", "mean generated states",
                        "paper"]  # fmt: skip
    return table("difficulty", origin(record), columns, rows)


def trials(record: Record) -> Table:
    rows = [
        [row["trial"], accuracy(row["train"]), accuracy(row["test"]), duration(row["seconds"])]
        for row in record["rows"]
    ]  # fmt: skip
    return table("decoder-trials", origin(record), [words("changed"), "train", "test", "training"], rows)


def one_state(record: Record) -> Table:
    """State by state, and below each learner the median of those of the set of 100."""
    columns: Columns = [
        words("learner"), "traces", "state", "towers", "test traces with rare actions", "train", "test", "time"
    ]  # fmt: skip
    rows: list[list[str]] = []
    measured = sorted(record["rows"], key=lambda row: row["state"])
    for learner, traces in dict.fromkeys((row["learner"], row["traces"]) for row in record["rows"]):
        mine = [row for row in measured if (row["learner"], row["traces"]) == (learner, traces)]
        rows += [
            [learner, number(traces), "alignment" if row["state"] == 0 else str(row["state"]), str(row["towers"]),
             f"{row['rare']:.0%}", accuracy(row["train_accuracy"]), accuracy(row["test_accuracy"]),
             duration(row["train_seconds"])]
            for row in mine
        ]  # fmt: skip
        if len(others := [row for row in mine if row["state"]]) > 2:
            middle = {
                name: statistics.median(row[name] for row in others)
                for name in ("rare", "train_accuracy", "test_accuracy", "train_seconds")
            }
            rows.append(
                [learner, number(traces), f"median of {len(others)}", "–", f"{middle['rare']:.0%}",
                 accuracy(middle["train_accuracy"]), accuracy(middle["test_accuracy"]),
                 duration(middle["train_seconds"])]
            )  # fmt: skip
    return table("one-state", origin(record), columns, rows)


def windows(record: Record) -> Table:
    """Over seeds: in how many nothing is wrong, the worst accuracy, the mean share of positions that are certain."""
    rows = []
    for domain, traces in dict.fromkeys((row["domain"], row["traces"]) for row in record["rows"]):
        mine = [row for row in record["rows"] if (row["domain"], row["traces"]) == (domain, traces)]
        cells = [domain, str(traces)]
        for size in ("same", "larger"):
            found = [row[f"{size}_accuracy"] for row in mine]
            certain = mean_of([row[f"{size}_certain"] for row in mine])
            cells += [f"{sum(x == 1 for x in found)} of {len(found)}", accuracy(min(found), 3), f"{certain:.1%}"]
        wrong = sum(row[f"{size}_wrong_certificates"] for row in mine for size in ("same", "larger"))
        positions = sum(row[f"{size}_positions"] for row in mine for size in ("same", "larger"))
        rows.append([*cells, f"{wrong} of {positions:,}", f"{max(row['seconds'] for row in mine):.2f} s"])
    columns: Columns = [
        words("domain"), "traces", "seeds exact", "worst", "certain", "larger: seeds exact", "larger: worst",
        "larger: certain", "wrong certificates", "longest",
    ]  # fmt: skip
    return table("windows", origin(record), columns, rows)


def windows_equivalence(record: Record) -> Table:
    """Seeds whose learned domain is proven equivalent on each size; plans that work on the large ones, all seeds."""
    rows = []
    for domain, traces in dict.fromkeys((row["domain"], row["traces"]) for row in record["rows"]):
        mine = [row for row in record["rows"] if (row["domain"], row["traces"]) == (domain, traces)]
        sizes, plans = [], []
        for size in dict.fromkeys(row["size"] for row in mine):
            here, name = [row for row in mine if row["size"] == size], size.partition(":")[2]
            if "verdict" in here[0]:
                sizes.append(f"{name}: {sum(row['proven'] for row in here)} of {len(here)}")
            else:
                solved, asked = (sum(row[key] for row in here) for key in ("plans_correct", "problems"))
                longest = max(row["plan_max_length"] or 0 for row in here)
                plans.append(f"{name}: {solved} of {asked}, up to {longest} actions")
        rows.append([domain, str(traces), "; ".join(sizes), "; ".join(plans)])
    columns: Columns = [words("domain"), "traces", words("seeds proven equivalent"), words("plans that work")]
    return table("windows-equivalence", origin(record), columns, rows)


def foreign(record: Record) -> Table:
    rows = []
    for domain in dict.fromkeys(row["domain"] for row in record["rows"]):
        mine = [row for row in record["rows"] if row["domain"] == domain]
        proven = sum(row["verdict"] == "equivalent" for row in mine)
        right, plans = (sum(row[key] for row in mine) for key in ("plans_right", "plans"))
        longest = max(row["seconds"] for row in mine)
        rows.append([
            domain, " and ".join(map(str, mine[0]["actions"])), accuracy(min(row["test_accuracy"] for row in mine), 3),
            f"{proven} of {len(mine)}", f"{right} of {plans}", f"{longest:.0f} s",
        ])  # fmt: skip
    columns: Columns = [words("domain"), "ground actions", "worst accuracy", "seeds proven equivalent", "plans right",
                        "longest"]  # fmt: skip
    return table("foreign", origin(record), columns, rows)


def windows_untold(record: Record) -> Table:
    rows = []
    found = [row for row in record["rows"] if row["what"] == "untold"]
    for domain, traces in dict.fromkeys((row["domain"], row["traces"]) for row in found):
        mine = [row for row in found if (row["domain"], row["traces"]) == (domain, traces)]
        exact = sum(row["accuracy"] == 1 for row in mine)
        certain = mean_of([row["certain"] for row in mine])
        rows.append([
            domain, str(traces), f"{exact} of {len(mine)}", accuracy(min(row["accuracy"] for row in mine), 3),
            f"{certain:.1%}", wrong_certificates(mine),
        ])  # fmt: skip
    columns: Columns = [words("domain"), "traces", "seeds exact", "worst", "certain", "wrong certificates"]
    return table("windows-untold", origin(record), columns, rows)


def lifted_strips(record: Record) -> Table:
    """Over seeds: in how many nothing is wrong, the worst accuracy, plans that work on a size never seen."""
    rows = []
    for domain, traces, learner in lifted_groups(record, "told"):
        mine = lifted_rows(record, "told", domain, traces, learner)
        cells = [domain, str(traces), learner]
        for size in ("same", "larger"):
            found = [row[f"{size}_accuracy"] for row in mine if f"{size}_accuracy" in row]
            exact = f"{sum(x == 1 for x in found)} of {len(found)}"
            cells += [exact, accuracy(min(found), 3)] if found else [NONE, NONE]
        asked = sum(row.get("problems", 0) for row in mine)
        cells.append(f"{sum(row.get('plans_correct', 0) for row in mine)} of {asked}" if asked else NONE)
        rows.append([*cells, str(sum(row["train_errors"] for row in mine)), longest(mine)])
    columns: Columns = [
        words("domain"), "traces", words("learner"), "seeds exact", "worst", "larger: seeds exact", "larger: worst",
        "plans that work", "training errors", "longest",
    ]  # fmt: skip
    return table("lifted-strips", origin(record), columns, rows)


def lifted_strips_untold(record: Record) -> Table:
    rows = []
    for domain, traces, learner in lifted_groups(record, "untold"):
        mine = lifted_rows(record, "untold", domain, traces, learner)
        found = [row["same_accuracy"] for row in mine]
        exact = f"{sum(x == 1 for x in found)} of {len(found)}"
        errors = str(sum(row["train_errors"] for row in mine))
        rows.append([domain, str(traces), learner, exact, accuracy(min(found), 3), errors, longest(mine)])
    columns: Columns = [
        words("domain"),
        "traces",
        words("learner"),
        "seeds exact",
        "worst",
        "training errors",
        "longest",
    ]
    return table("lifted-strips-untold", origin(record), columns, rows)


def listing_c(record: Record) -> Table:
    """What SB's ground models say when they are lifted."""
    rows = []
    for row in record["rows"]:
        outcome = "the textbook's" if row.get("textbook") else "others" if row["lifts"] else f"none: {row['why']}"
        errors = (row["network_test_errors"], row["model_test_errors"])
        rows.append(
            [row["domain"], number(row["steps"]), *(NONE if count is None else number(count) for count in errors),
             outcome, duration(row["seconds"])]
        )  # fmt: skip
    columns: Columns = [
        words("domain"), "steps", "network: test errors", "model: test errors", words("schemas"), "time"
    ]  # fmt: skip
    return table("listing-c", origin(record), columns, rows)


def lifted_groups(record: Record, what: str) -> list[tuple[str, int, str]]:
    """Domain, traces and learner, in the order of the settings, few traces first."""
    found = {(row["domain"], row["traces"], row["learner"]) for row in record["rows"] if row["what"] == what}
    domains = list(record["settings"]["sizes"])
    return sorted(found, key=lambda key: (domains.index(key[0]), *key[1:]))


def lifted_rows(record: Record, what: str, domain: str, traces: int, learner: str) -> list[Record]:
    key = {"what": what, "domain": domain, "traces": traces, "learner": learner}
    return [row for row in record["rows"] if all(row[name] == key[name] for name in key)]


def longest(rows: Sequence[Record]) -> str:
    return f"{max(row['seconds'] for row in rows):.1f} s"


def windows_everyday(record: Record) -> Table:
    rows = []
    for world, traces in dict.fromkeys((row["world"], row["traces"]) for row in record["rows"]):
        mine = {row["wrong"]: row for row in record["rows"] if (row["world"], row["traces"]) == (world, traces)}
        shares = [accuracy(row["accuracy"], 3) for row in mine.values()]
        listed = [f"{row['rightly_listed']} of {row['wrong_labels']}" for wrong, row in mine.items() if wrong]
        alarms = str(sum(row["listed"] - row["rightly_listed"] for row in mine.values()))
        rows.append([world, f"{traces:,}", *shares, *listed, alarms])
    columns: Columns = [words("world"), "traces", "no label wrong", "one", "1 %", "5 %", "listed: of one", "of 1 %",
                        "of 5 %", "wrongly listed"]  # fmt: skip
    return table("windows-everyday", origin(record), columns, rows)


def windows_worked(record: Record) -> Table:
    rows = []
    found = [row for row in record["rows"] if row["what"] == "worked"]
    for domain, told in dict.fromkeys((row["domain"], row["told"]) for row in found):
        mine = [row for row in found if (row["domain"], row["told"]) == (domain, told)]
        means = [mean_of([row[key] for row in mine]) for key in ("accepted", "accuracy", "whole_traces")]
        start = "initial atoms" if told else "nothing, one start"
        cells = [f"{value:.1%}" for value in means]
        rows.append([domain, f"5 of {mine[0]['length']} actions", start, *cells, wrong_certificates(mine)])
    columns: Columns = [words("domain"), words("traces"), words("told"), "accepted of what works", "attempts right",
                        "traces right", "wrong certificates"]  # fmt: skip
    return table("windows-worked", origin(record), columns, rows)


def wrong_certificates(rows: Sequence[Record]) -> str:
    wrong, positions = (sum(row[key] for row in rows) for key in ("wrong_certificates", "positions"))
    return f"{wrong} of {positions:,}"


def windows_not_strips(record: Record) -> Table:
    """Over seeds: the median and the most."""
    rows = []
    for world in dict.fromkeys(row["world"] for row in record["rows"]):
        mine = [row for row in record["rows"] if row["world"] == world]
        cells = [str(world)]
        for key in ("proven_after", "places", "exact_after"):
            known = [row[key] for row in mine if row[key] is not None]
            missing = "" if len(known) == len(mine) else f", {len(mine) - len(known)} seeds never"
            cells.append(f"{statistics.median_low(known)}, at most {max(known)}{missing}" if known else "never")
        rows.append(cells)
    columns: Columns = [words("world"), "proven not to be STRIPS: traces", "places that the proof names",
                        "with objects named exact: traces"]  # fmt: skip
    return table("windows-not-strips", origin(record), columns, rows)


def any_log_formats(record: Record) -> Table:
    """Worlds by format: whether the model is that of the traces themselves."""
    mine = [row for row in record["rows"] if row["what"] == "format"]
    formats = list(dict.fromkeys(row["format"] for row in mine))
    rows = [
        [world, *("the same" if row["same_model"] else "another" for row in mine if row["world"] == world)]
        for world in dict.fromkeys(row["world"] for row in mine)
    ]
    return table("any-log-formats", origin(record), [words("world"), *map(words, formats)], rows)


def any_log_starts(record: Record) -> Table:
    """Starts that nobody tells."""
    rows = [
        [row["world"], number(row["traces"]), str(row["starts"]), str(row["starts_found"]), str(row["wrong_labels"]),
         f"{row['accuracy_untold']:.3f}", f"{row['accuracy_told']:.3f}"]
        for row in record["rows"] if row["what"] == "starts"
    ]  # fmt: skip
    columns: Columns = [
        words("world"),
        "traces",
        "starts",
        "found",
        "labels called wrong",
        "start untold",
        "start told",
    ]
    return table("any-log-starts", origin(record), columns, rows)


def any_log_large(record: Record) -> Table:
    """From a large CSV to the run folder."""
    rows = [
        [number(row["rows"]), f"{row['megabytes']:.0f} MB",
         *(f"{row[part]:.1f} s" for part in ("polars_reads", "understand", "learn_command")),
         times(row["times_polars"]), str(row["train_errors"])]
        for row in record["rows"] if row["what"] == "large"
    ]  # fmt: skip
    columns: Columns = [
        "rows",
        "file",
        "polars reads it",
        "understood",
        "whole command",
        "against polars",
        "traces wrong",
    ]
    return table("any-log-large", origin(record), columns, rows)


def windows_speed(record: Record) -> Table:
    """How the time of collecting divides; beside plain Python on the first traces of the same log."""
    rows = [
        [row["domain"], number(row["attempts"]),
         *(milliseconds(row[part]) for part in ("encode", "collect", "summarise")),
         number(row["attempts_per_second"]), number(row["compared_attempts"]), milliseconds(row["python_seconds"]),
         milliseconds(row["seconds"]), times(row["ratio"])]
        for row in record["rows"] if row["part"] == "collecting"
    ]  # fmt: skip
    columns: Columns = [words("domain"), "attempts", "encode", "collect", "summarise", "attempts/s", "compared on",
                        "plain Python", "ours", "faster"]  # fmt: skip
    return table("windows-speed", origin(record), columns, rows)


def windows_learning(record: Record) -> Table:
    rows = [
        [row["domain"], number(row["attempts"]), number(row["ground_actions"]), duration(row["learn_seconds"]),
         f"{number(row['peak_memory_mb'])} MB", f"{row['test_errors']:,} of {row['test_traces']:,}"]
        for row in record["rows"] if row["part"] != "collecting"
    ]  # fmt: skip
    columns: Columns = [words("domain"), "attempts", "ground actions", "learning", "peak memory", "wrong test traces"]
    return table("windows-learning", origin(record), columns, rows)


def paper_form(record: Record) -> Table:
    """What the paper leaves open, varied one by one: training and test accuracy after few steps, by domain and seed."""
    few = [row for row in record["rows"] if row["stage"] == "screened"]
    kinds = sorted({(row["domain"], row["seed"]) for row in few})
    columns: list[Column | str] = [words("variant"), *(f"{domain}, seed {seed}" for domain, seed in kinds)]
    found = {(row["domain"], row["seed"], row["variant"]): row for row in few}
    rows: list[Cells] = []
    for variant in dict.fromkeys(row["variant"] for row in few):
        there = [found.get((*kind, variant)) for kind in kinds]
        rows.append([variant, *(NONE if row is None else train_and_test([row]) for row in there)])
    return table("paper-form", origin(record), columns, rows)


def paper_form_whole(record: Record) -> Table:
    """The paper's steps: the mean over seeds, in brackets the seed that was best in training, beside the paper's."""
    whole = [row for row in record["rows"] if row["stage"] == "whole"]
    rows: list[Cells] = []
    for domain, paper in record["settings"]["paper"].items():
        for variant in dict.fromkeys(row["variant"] for row in whole):
            if mine := [row for row in whole if (row["domain"], row["variant"]) == (domain, variant)]:
                rows.append([domain, variant, number(len(mine)), train_and_test(mine)])
        rows.append([domain, "the paper", "3", " / ".join(
            f"{accuracy(paper[f'{part}_mean'], 3)} ({accuracy(paper[f'{part}_best_seed'], 3)})"
            for part in ("train", "test"))])  # fmt: skip
    columns: Columns = [words("domain"), words("variant"), "seeds", "train / test"]
    return table("paper-form-whole", origin(record), columns, rows)


def train_and_test(rows: Sequence[Record]) -> str:
    """Mean over the rows; of several, in brackets the one that was best in training."""
    best = max(rows, key=lambda row: row["train_accuracy"])
    names = ("train_accuracy", "test_accuracy")
    return " / ".join(
        accuracy(mean_of(row[name] for row in rows), 3) + (f" ({accuracy(best[name], 3)})" if len(rows) > 1 else "")
        for name in names
    )


def windows_theorems(record: Record) -> Table:
    names = ("logs", "inexplicable", "works", "refused", "open", "differ")
    rows = [[row["world"], *(number(row[name]) for name in names)] for row in record["rows"]]
    rows.append(["together", *(number(sum(row[name] for row in record["rows"])) for name in names)])
    columns: Columns = [words("world"), "logs", "of these inexplicable", "works", "refused", "open", "differ"]
    return table("windows-theorems", origin(record), columns, rows)
