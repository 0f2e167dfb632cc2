"""Accuracy, time and size of learned models, and how they plan: the measurements behind results/runs.jsonl.

    python benchmarks/learning.py main [--domain D ...] [--encoding E ...] [--seeds 0,1,2]
    python benchmarks/learning.py dataset-size | heads | noise | untrained | paper

main          ten domains × (atoms, states:50, states:100) × seeds, preset fast, factored form
dataset-size  blocksworld-8b with 300 to 10^5 traces
heads         blocksworld-8b with 100, 200, 400 heads
noise         blocksworld-5b and -8b with 0, 1 and 5 % of the training labels flipped; tested on clean traces
untrained     completion alone, from random parameters: no training step, one attempt; atoms and states:50, seed 0
paper         the paper's preset in the attention form, 5·10^5 steps, blocksworld-5b and ferry-5c

The seed draws the traces and starts the network. 10^5 training traces (D=50; maze-7x7 200) and 2·10^5 test traces
(D=200; maze-7x7 400) unless said, then 100 planning problems with Mimir (GBFS, FF, 10^6 states), and
in `main` the comparison with the hidden model. A run that is in the file already is skipped; one line is added per
finished run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from measuring import commit

from trace2strips.domains import BENCHMARKS, get_domain
from trace2strips.equivalence import compare, find_starts, with_final_values
from trace2strips.evaluation import evaluate_planning, need_unseen, unseen_actions
from trace2strips.extraction import count_parts
from trace2strips.learning import LearnSettings, learn, open_run, save_run
from trace2strips.sources import Source
from trace2strips.strips import StripsModel
from trace2strips.traces import Dataset, Kind, SampleSettings, sample
from trace2strips.training import Report

RUNS = Path(__file__).parent.parent / "results" / "runs.jsonl"
KEY = ("experiment", "domain", "network", "form", "encoding", "preset", "traces", "seed", "heads", "noise")
TEST_TRACES = 200_000


@dataclass(frozen=True)
class Run:
    experiment: str
    domain: str
    encoding: str = "atoms"
    seed: int = 0
    traces: int = 100_000
    form: str = "factored"
    preset: str = "fast"
    heads: int | None = None
    noise: float = 0.0
    network: str = "strips"
    steps: int | None = None

    def key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in KEY)


def planned(experiment: str, arguments: argparse.Namespace) -> Iterator[Run]:
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    if experiment == "main":
        for encoding in arguments.encoding or ("atoms", "states:50", "states:100"):
            for domain in arguments.domain or BENCHMARKS:
                yield from (Run("main", domain, encoding, seed) for seed in seeds)
    elif experiment == "dataset-size":
        for traces in (300, 1_000, 3_000, 10_000, 30_000, 100_000):
            yield from (Run("dataset-size", "blocksworld-8b", seed=seed, traces=traces) for seed in seeds)
    elif experiment == "heads":
        yield from (Run("heads", "blocksworld-8b", heads=heads) for heads in (100, 200, 400))
    elif experiment == "untrained":
        for encoding in ("atoms", "states:50"):
            yield from (Run("untrained", domain, encoding, steps=0) for domain in BENCHMARKS)
    elif experiment == "noise":
        for domain in ("blocksworld-5b", "blocksworld-8b"):
            yield from (Run("noise", domain, noise=noise) for noise in (0.0, 0.01, 0.05))
    else:
        for domain in ("blocksworld-5b", "ferry-5c"):
            yield Run("paper", domain, form="attention", preset="paper")


def flip(dataset: Dataset, share: float, seed: int) -> Dataset:
    """Each label of an action or a final value is turned round with this chance."""
    rng = np.random.default_rng([seed, 3])
    scored = dataset.vocabulary.kinds[dataset.tokens] >= Kind.ACTION
    return replace(dataset, inapplicable=dataset.inapplicable ^ (scored & (rng.random(len(scored)) < share)))


def perform(run: Run, scratch: Path) -> dict[str, Any]:
    domain = get_domain(run.domain)
    length = 200 if run.domain == "maze-7x7" else 50
    train = sample(domain, SampleSettings(run.traces, length, "train", run.encoding, "goal", run.seed))
    longer = 400 if run.domain == "maze-7x7" else 200
    test = sample(domain, SampleSettings(TEST_TRACES, longer, "test", run.encoding, "goal", run.seed), like=train)
    noisy = flip(train, run.noise, run.seed) if run.noise else train
    settings = LearnSettings(run.network, run.form, run.heads, run.preset, run.seed, run.steps)
    folder = scratch / "-".join(str(part).replace(":", "") for part in run.key() if part is not None)
    open_run(folder, noisy, settings, force=(folder / "metrics.json").exists())  # cut off while planning

    def watch(stage: str, report: Report) -> None:
        if run.preset == "paper" and report.step % 20_000 == 0:
            print(f"  {stage} step {report.step:,} accuracy {report.accuracy:.4f} {report.seconds:.0f} s", flush=True)

    learned = learn(noisy, settings, test, folder, watch)
    save_run(learned, folder)
    metrics = learned.metrics
    hidden = count_parts(
        StripsModel(domain.model.atoms, tuple(domain.model.action(a) for a in train.vocabulary.actions))
    )
    row: dict[str, Any] = {name: getattr(run, name) for name in KEY}
    names = ("train_accuracy", "train_errors", "test_accuracy", "test_errors", "train_seconds", "steps", "attempts",
             "network_train_accuracy", "atoms", "preconditions", "effects", "invented_atoms", "warnings")  # fmt: skip
    row |= {name: metrics[name] for name in names}
    row |= {f"hidden_{name}": count for name, count in hidden.items()}
    if run.noise:
        row["clean_train_accuracy"] = learned.accuracy(train)
    problems = domain.problems(100, run.encoding)
    row |= evaluate_planning(learned.world, domain, run.encoding, problems).row()
    row["unseen_actions"] = len(unseen_actions(learned.world, domain))
    row["problems_with_unseen_actions"] = len(need_unseen(learned.world, domain, problems))
    if run.experiment == "main":
        a, b = Source("hidden", domain.model, domain=domain), Source("learned", learned.model, learned.world)
        starts, further = find_starts(a, b, seed=run.seed)
        compared = compare(*with_final_values(a, b), starts, seed=run.seed, further=further)
        row |= {"equivalence": compared.verdict, "equivalence_how": compared.how, "counterexample": compared.trace,
                "counterexample_start": compared.start, "refused_by": compared.refused_by}  # fmt: skip
    return row | {"test_traces": len(test), "commit": commit()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=("main", "dataset-size", "heads", "noise", "untrained", "paper"))
    parser.add_argument("--domain", nargs="+", choices=BENCHMARKS)
    parser.add_argument("--encoding", nargs="+")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--runs", type=Path, default=RUNS, help="the file of results")
    parser.add_argument("--scratch", type=Path, help="where run folders go; an unfinished one goes on")
    arguments = parser.parse_args()
    lines = arguments.runs.read_text().splitlines() if arguments.runs.exists() else []
    done = {tuple(json.loads(line).get(name) for name in KEY) for line in lines}
    learn(sample(get_domain("blocksworld:3"), SampleSettings(200, 10, init="states:2")))  # load the compiled code
    learn(sample(get_domain("blocksworld:3"), SampleSettings(200, 10)))
    with tempfile.TemporaryDirectory() as temporary:
        scratch = arguments.scratch or Path(temporary)
        for run in planned(arguments.experiment, arguments):
            if run.key() in done:
                continue
            row = perform(run, scratch)
            with arguments.runs.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(
                f"{run.domain:15} {run.encoding:10} seed {run.seed} traces {run.traces:6} heads {run.heads} noise "
                f"{run.noise}: train {row['train_accuracy']:.5f} test {row['test_accuracy']:.5f} "
                f"plan {row['plan_accuracy']:.2f} {row['train_seconds']:.1f} s, {row['attempts']} attempts, "
                f"atoms {row['atoms']}/{row['hidden_atoms']}, "
                f"pre {row['preconditions']}/{row['hidden_preconditions']}, "
                f"effects {row['effects']}/{row['hidden_effects']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
