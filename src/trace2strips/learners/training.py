"""One training loop for every network: batches, validation on the whole training set, best checkpoint, resume.

The loop knows a network only as `Network`. Batches depend on the seed and the step alone, and a checkpoint holds all
that the next step depends on, so a run that is killed and started again ends as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any, Protocol, get_type_hints, runtime_checkable

import numpy as np
from jaxtyping import Int64
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack_arrays

from trace2strips.errors import FileError
from trace2strips.files import check_readable, reading, writing
from trace2strips.schemas import Schema, dump, record
from trace2strips.traces import Dataset

LARGE = 90  # the paper's large domains have more actions than this, its small ones fewer: presets differ
BLOCK = 500  # steps whose batches are drawn together; a checkpoint stands at the end of a block
CHECKPOINT_SECONDS = 20  # a kill loses at most about so much


@runtime_checkable  # the type checker of the tests asks
class Network(Protocol):
    """What can be trained: anything that takes a step on chosen traces and tells its accuracy."""

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """Update on these traces of the training set; returns the loss before the update."""

    def evaluate(self, dataset: Dataset) -> float:
        """Trace accuracy."""

    def save(self) -> dict[str, np.ndarray]:
        """All that the next step depends on."""

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `save`."""


@dataclass(frozen=True)
class TrainingSettings:
    steps: int
    batch: int
    validate_every: int  # a multiple of BLOCK
    seed: int = 0
    validation: int | None = None  # so many training traces are looked at on the way, the whole set at the end
    certify: bool = True  # stop when every training trace is right
    patience: int | None = None  # stop when within so many steps the share of wrong traces has not fallen by a tenth


@dataclass
class Report:
    """Where training stands; what the progress bar and the log show."""

    step: int = 0
    steps: int = 0  # how many there will be
    loss: float = float("nan")
    accuracy: float = 0.0  # of the last validation
    best: float = -1.0  # the best validation so far, and its step
    best_step: int = 0
    seconds: float = 0.0  # over all sessions of a resumed run
    carried: float = 0.0  # of these, from earlier sessions
    attempt: int = 1
    mark: float = 0.0  # the accuracy from which the next progress is counted, and its step
    mark_step: int = 0


HEADER = Schema(
    record(
        "Checkpoint",
        {
            "settings": dict[str, Any],
            "report": record(  # without its step, trained parameters would be taken for those of the beginning
                "Report",
                {name: kind | None if name == "loss" else kind for name, kind in get_type_hints(Report).items()},
                {},
            ),
        },
        {},
    )
)


def train(
    network: Network,
    dataset: Dataset,
    settings: TrainingSettings,
    checkpoint: Path | None = None,
    watch: Callable[[Report], None] | None = None,
) -> Report:
    """Train until the steps are done or the training set is certified; ends with the best parameters."""
    report, best = resume(network, settings, checkpoint)
    report.steps = settings.steps
    looked_at = dataset if settings.validation is None else dataset.first(settings.validation)
    clock = saved = time.perf_counter()
    while report.step < settings.steps and not is_done(report, settings):
        for chosen in draw_batches(len(dataset), settings, report.step):
            report.loss = network.step(chosen)
            report.step += 1
        validate = report.step % settings.validate_every == 0 or report.step == settings.steps
        if validate:
            report.accuracy = network.evaluate(looked_at)
            if report.accuracy >= report.best:
                report.best, report.best_step = report.accuracy, report.step
                best = {name: array.copy() for name, array in network.save().items()}
            if 1 - report.accuracy <= 0.9 * (1 - report.mark):
                report.mark, report.mark_step = report.accuracy, report.step
        now = time.perf_counter()
        report.seconds, clock = report.seconds + now - clock, now
        if checkpoint is not None and (validate or now - saved > CHECKPOINT_SECONDS):
            write_checkpoint(checkpoint, network.save(), best, settings, report)
            saved = now
        if watch is not None:
            watch(report)
    network.load(best)
    if looked_at is not dataset:
        report.best = network.evaluate(dataset)
        report.seconds += time.perf_counter() - clock
    return report


def is_done(report: Report, settings: TrainingSettings) -> bool:
    """Before all steps are: nothing is wrong any more, or it gets no better."""
    stuck = settings.patience is not None and report.step - report.mark_step >= settings.patience
    return stuck or (settings.certify and report.best == 1.0)


def draw_batches(traces: int, settings: TrainingSettings, step: int) -> Int64[np.ndarray, "steps batch"]:
    """The batches from `step` to the end of its block; the same ones whenever they are asked for."""
    rng = np.random.default_rng([settings.seed, 2, step // BLOCK])
    block = rng.integers(traces, size=(BLOCK, settings.batch))
    return block[step % BLOCK : min(BLOCK, step % BLOCK + settings.steps - step)]


def write_checkpoint(
    path: Path, now: dict[str, np.ndarray], best: dict[str, np.ndarray], settings: TrainingSettings, report: Report
) -> None:
    arrays = {f"now.{name}": array for name, array in now.items()} | {f"best.{k}": v for k, v in best.items()}
    told = asdict(report) | {"loss": report.loss if isfinite(report.loss) else None}  # JSON knows no other
    header = {"checkpoint": dump({"settings": asdict(settings), "report": told})}
    with writing(path, force=True, follow=False) as stream:
        stream.write(pack_arrays({k: np.ascontiguousarray(v) for k, v in arrays.items()}, header))


def resume(
    network: Network, settings: TrainingSettings, checkpoint: Path | None
) -> tuple[Report, dict[str, np.ndarray]]:
    """Continue where a checkpoint of the same settings stands, else at the beginning."""
    if checkpoint is None or not checkpoint.exists():
        return Report(), network.save()
    check_readable(checkpoint)
    try:
        with reading(checkpoint), safe_open(checkpoint, framework="numpy") as file:
            header = HEADER.parse((file.metadata() or {}).get("checkpoint", ""))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError):
        raise FileError("not a checkpoint of trace2strips", file=checkpoint, hint="remove it to start anew") from None
    if header["settings"] != asdict(settings):
        raise FileError(
            "the checkpoint was made with other settings", file=checkpoint, hint="use them again, or another folder"
        )
    try:
        network.load({name.removeprefix("now."): a for name, a in arrays.items() if name.startswith("now.")})
    except (KeyError, ValueError, RuntimeError):
        raise FileError("a checkpoint of another version", file=checkpoint, hint="remove it to start anew") from None
    best = {name.removeprefix("best."): a for name, a in arrays.items() if name.startswith("best.")}
    told: dict[str, Any] = {name: nan if value is None else value for name, value in header["report"].items()}
    report = Report(**told)
    if not 0 <= report.step <= settings.steps:
        raise FileError("the checkpoint's step is out of range", file=checkpoint, hint="remove it to start anew")
    report.carried = report.seconds
    return report, best
