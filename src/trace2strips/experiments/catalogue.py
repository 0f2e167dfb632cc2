"""What there is to run: experiments as lists of runs. One run serves every experiment that lists it.

The paper's results:

    baselines     sb, sinusoidal, rope on the five large domains: train, test, planning with M_S and M_L
    main          strips, strips+completion and sb on ten domains × (50 states, 100 states, atoms)
    dataset-size  strips+completion and sb on blocksworld-8b with fewer training traces
    alignment     strips+completion and sb on blocksworld-8b × (1 state, 100 states, atoms), without `test-p`; with
                  them: `main`
    planning      the runs of `main`, whose rows hold the extended planning columns

and ours: heads (more than needed), noise (flipped labels), untrained (completion alone), paper-preset (strips with the
paper's values in the attention form).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from trace2strips.experiments.records import Value
from trace2strips.experiments.runs import DECODERS, LARGE, Run
from trace2strips.worlds import BENCHMARKS

ENCODINGS = ("atoms", "states:50", "states:100")
SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
SEEDS = (0, 1, 2)


def paper_settings(domain: str, encoding: str) -> dict[str, Value]:
    """The paper's values for `strips`, in the paper's form, with its rate for ferry-8c."""
    special: dict[str, Value] = {"rate": 0.005} if (domain, encoding) == ("ferry-8c", "atoms") else {}
    return {"preset": "paper", "form": "attention", **special}


def for_learner(learner: str, domain: str, encoding: str = "atoms", seed: int = 0, **more: Any) -> Run:
    """The STRIPS Transformer is told final values of goal atoms, the decoders of all atoms. Where they are told none,
    only the network of a decoder is learned.

    A decoder is tested on a tenth of the paper's test traces: its accuracy is known to about .001 then, and all of them
    would take as long as training.
    """
    if learner in DECODERS:
        more = {"suffix": "all", "test_traces": 20_000} | more
        more |= {"settings": {"network_only": True}} if more["suffix"] == "none" else {}
    return Run(domain, encoding, learner=learner, seed=seed, **more)


def baselines() -> Iterator[Run]:
    for domain in LARGE:
        for learner in DECODERS:
            yield from (for_learner(learner, domain, seed=seed) for seed in SEEDS)


def main() -> Iterator[Run]:
    for learner in ("strips", "strips+completion", "sb"):
        for encoding in ENCODINGS:
            for domain in BENCHMARKS:
                yield from (for_learner(learner, domain, encoding, seed) for seed in SEEDS)


def dataset_size() -> Iterator[Run]:
    for learner in ("strips+completion", "sb"):
        for traces in SIZES:
            yield from (for_learner(learner, "blocksworld-8b", seed=seed, traces=traces) for seed in SEEDS)


def alignment() -> Iterator[Run]:
    for learner in ("strips+completion", "sb"):
        for encoding in ("states:1", "states:100", "atoms"):
            for more in ({"suffix": "none"}, {}):
                yield from (for_learner(learner, "blocksworld-8b", encoding, seed, **more) for seed in SEEDS)


def heads() -> Iterator[Run]:
    yield from (Run("blocksworld-8b", settings={"heads": count}) for count in (100, 200, 400))


def noise() -> Iterator[Run]:
    for domain in ("blocksworld-5b", "blocksworld-8b"):
        yield from (Run(domain, noise=share) for share in (0.0, 0.01, 0.05))


def untrained() -> Iterator[Run]:
    for encoding in ("atoms", "states:50"):
        yield from (Run(domain, encoding, learner="completion") for domain in BENCHMARKS)


def paper_preset() -> Iterator[Run]:
    for domain in ("blocksworld-5b", "ferry-5c"):
        yield Run(domain, learner="strips", settings=paper_settings(domain, "atoms"))


EXPERIMENTS = {
    "baselines": tuple(baselines()),
    "main": tuple(main()),
    "dataset-size": tuple(dataset_size()),
    "alignment": tuple(alignment()),
    "planning": tuple(main()),
    "heads": tuple(heads()),
    "noise": tuple(noise()),
    "untrained": tuple(untrained()),
    "paper-preset": tuple(paper_preset()),
}


def planned(
    experiment: str,
    domains: Sequence[str] = (),
    learners: Sequence[str] = (),
    encodings: Sequence[str] = (),
    seeds: Sequence[int] = (),
) -> list[Run]:
    """The runs of an experiment, or those among them that are asked for, arranged. Seeds may be others than the listed
    ones. A domain that is none of the ten takes the place of all of them.
    """
    found = []
    for run in EXPERIMENTS[experiment]:
        if (learners and run.learner not in learners) or (encodings and run.encoding not in encodings):
            continue
        names = [name for name in domains if name == run.domain or name not in BENCHMARKS] if domains else [run.domain]
        found += [replace(run, domain=name, seed=seed) for name in names for seed in seeds or [run.seed]]
    return arranged(found)


def arranged(runs: Sequence[Run]) -> list[Run]:
    """Each run once; seed by seed, so that a row of each comes first; runs on the same traces one after the other, so
    that few datasets are needed at a time."""
    groups = list(dict.fromkeys((run.domain, run.encoding, run.suffix) for run in runs))
    return sorted(dict.fromkeys(runs), key=lambda run: (run.seed, groups.index((run.domain, run.encoding, run.suffix))))
