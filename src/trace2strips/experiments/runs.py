"""What there is to run. A run is its settings and nothing else, so one run serves every experiment that lists it.

The paper's results:

    baselines     sb, sinusoidal, rope on the five large domains: train, test, planning with M_S and M_L
    main          strips and sb on ten domains × (50 states, 100 states, atoms)
    dataset-size  strips and sb on blocksworld-8b with fewer training traces
    alignment     strips and sb on blocksworld-8b × (1 state, 100 states, atoms), without `test-p`; with them: `main`
    planning      the runs of `main`, whose rows hold the extended planning columns

and ours: heads (more than needed), noise (flipped labels), untrained (completion alone), paper-preset (the paper's
values in the attention form).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from trace2strips.learners.learner import Learner
from trace2strips.learners.registry import make_learner
from trace2strips.worlds import BENCHMARKS
from trace2strips.worlds.sampling import SampleSettings

LARGE = ("blocksworld-8b", "ferry-8c", "npuzzle-8t", "maze-7x7", "logistics-5c")
ENCODINGS = ("atoms", "states:50", "states:100")
SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000)
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Run:
    """The seed draws the traces and starts the network. None: as many as the preset says."""

    domain: str
    encoding: str = "atoms"
    suffix: str = "goal"
    network: str = "strips"
    form: str = "factored"
    preset: str = "fast"
    traces: int = 100_000
    seed: int = 0
    heads: int | None = None
    noise: float = 0.0
    max_steps: int | None = None
    test_traces: int = 200_000

    def __post_init__(self) -> None:
        _ = self.learner, self.training_set, self.test_set  # each refuses what it does not know

    @property
    def name(self) -> str:
        """Tells it from every other run; the name of its folder."""
        parts = [self.domain, self.encoding, self.suffix, self.network, self.preset, f"{self.traces}", f"s{self.seed}"]
        further = {"form": self.form, "heads": self.heads, "noise": self.noise, "max_steps": self.max_steps,
                   "test_traces": self.test_traces}  # fmt: skip
        parts += [f"{key}{value}" for key, value in further.items() if value != getattr(Run, key)]
        return "-".join(parts).replace(":", "")

    @property
    def learner(self) -> Learner:
        if self.network != "strips":
            settings = {"preset": self.preset, "heads": self.heads, "steps": self.max_steps}
            return make_learner(self.network, settings | {"network_only": self.suffix == "none"})
        if self.max_steps == 0 and self.preset == "fast":
            return make_learner("completion", {"heads": self.heads})
        settings = {"form": self.form, "heads": self.heads, "steps": self.max_steps}
        if self.preset == "fast":
            return make_learner("strips+completion", settings)
        rate = 5e-3 if self.domain == "ferry-8c" and self.encoding == "atoms" else None  # as in the paper
        return make_learner("strips", settings | {"preset": self.preset, "rate": rate})

    @property
    def training_set(self) -> SampleSettings:
        """D = 50; 200 for maze-7x7, as in the paper."""
        length = 200 if self.domain == "maze-7x7" else 50
        return SampleSettings(self.traces, length, "train", self.encoding, self.suffix, self.seed)

    @property
    def test_set(self) -> SampleSettings:
        """D = 200; 400 for maze-7x7."""
        length = 400 if self.domain == "maze-7x7" else 200
        return SampleSettings(self.test_traces, length, "test", self.encoding, self.suffix, self.seed)

    def record(self) -> dict[str, Any]:
        return asdict(self)


def for_network(network: str, domain: str, encoding: str = "atoms", seed: int = 0, **more: Any) -> Run:
    """The STRIPS Transformer is told final values of goal atoms, the decoders of all atoms.

    A decoder is tested on a tenth of the paper's test traces: its accuracy is known to about .001 then, and all of them
    would take as long as training.
    """
    usual = {"suffix": "goal"} if network == "strips" else {"suffix": "all", "test_traces": 20_000}
    settings = usual | more
    return Run(domain, encoding, network=network, seed=seed, **settings)


def baselines() -> Iterator[Run]:
    for domain in LARGE:
        for network in ("sb", "sinusoidal", "rope"):
            yield from (for_network(network, domain, seed=seed) for seed in SEEDS)


def main() -> Iterator[Run]:
    for network in ("strips", "sb"):
        for encoding in ENCODINGS:
            for domain in BENCHMARKS:
                yield from (for_network(network, domain, encoding, seed) for seed in SEEDS)


def dataset_size() -> Iterator[Run]:
    for network in ("strips", "sb"):
        for traces in SIZES:
            yield from (for_network(network, "blocksworld-8b", seed=seed, traces=traces) for seed in SEEDS)


def alignment() -> Iterator[Run]:
    for network in ("strips", "sb"):
        for encoding in ("states:1", "states:100", "atoms"):
            for more in ({"suffix": "none"}, {}):
                yield from (for_network(network, "blocksworld-8b", encoding, seed, **more) for seed in SEEDS)


def heads() -> Iterator[Run]:
    yield from (Run("blocksworld-8b", heads=count) for count in (100, 200, 400))


def noise() -> Iterator[Run]:
    for domain in ("blocksworld-5b", "blocksworld-8b"):
        yield from (Run(domain, noise=share) for share in (0.0, 0.01, 0.05))


def untrained() -> Iterator[Run]:
    for encoding in ("atoms", "states:50"):
        yield from (Run(domain, encoding, max_steps=0) for domain in BENCHMARKS)


def paper_preset() -> Iterator[Run]:
    yield from (Run(domain, form="attention", preset="paper") for domain in ("blocksworld-5b", "ferry-5c"))


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
    networks: Sequence[str] = (),
    encodings: Sequence[str] = (),
    seeds: Sequence[int] = (),
) -> list[Run]:
    """The runs of an experiment, or those among them that are asked for, arranged. Seeds may be others than the listed
    ones. A domain that is none of the ten takes the place of all of them.
    """
    found = []
    for run in EXPERIMENTS[experiment]:
        if (networks and run.network not in networks) or (encodings and run.encoding not in encodings):
            continue
        names = [name for name in domains if name == run.domain or name not in BENCHMARKS] if domains else [run.domain]
        found += [replace(run, domain=name, seed=seed) for name in names for seed in seeds or [run.seed]]
    return arranged(found)


def arranged(runs: Sequence[Run]) -> list[Run]:
    """Each run once; seed by seed, so that a row of each comes first; runs on the same traces one after the other, so
    that few datasets are needed at a time."""
    groups = list(dict.fromkeys((run.domain, run.encoding, run.suffix) for run in runs))
    return sorted(dict.fromkeys(runs), key=lambda run: (run.seed, groups.index((run.domain, run.encoding, run.suffix))))
