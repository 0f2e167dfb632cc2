"""Run folders: what `trace2strips learn` writes and others read.

settings.json         the learner, its settings and what they mean, the seed, a hash of the traces
metrics.json          the figures; written last, so that a folder with it is complete
model.pddl, model.json, weights.safetensors
card.md, card.html     the model card: what was learned from what, how sure it is, how to use it
explore.html          the world explorer, once `trace2strips explore` was asked for it
domain.pddl, problem….pddl of a lifted model: the domain, and the starts that are known
support.txt           of windows: how sure each precondition and effect is (also in model.json)
summary.json.gz       of windows: what is kept of the log
own-world.json        of a world of the user's own: what was learned against the hidden domain
columns.json          of a log of events: what its columns are, so that others are read alike
suspects.csv          labels that are probably wrong, where there are some
log.jsonl, events.…   how training went, for plain tools and for TensorBoard
checkpoint-….safetensors while training runs: a run that was killed goes on there
shards/               while windows learns shard by shard: what is ready, for the same purpose
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack_arrays

from trace2strips.errors import FileError, ModelError, TraceError
from trace2strips.files import alone_in, check_readable, make_folder_in, read_lines, read_text, writing, writing_text
from trace2strips.learners.training import Report
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel, vocabulary_from_json, world_from_json, world_to_json
from trace2strips.pddl import format_model
from trace2strips.schemas import Schema, dump, record, record_of
from trace2strips.traces import Dataset
from trace2strips.traces.columns import Columns
from trace2strips.traces.outcomes import Words

KEPT = "shards"  # what is ready of a log that is learned shard by shard
SUMMARY, SUSPECTS, COLUMNS = "summary.json.gz", "suspects.csv", "columns.json"
MOST_BYTES = 2**28  # of a summary, unpacked: more is no summary but a trap
BEFORE = (".log", ".part")  # what a run that was killed at its very beginning may leave in a folder
PREVIOUS = "previous"  # the results of the run before, while it is done anew
RESULT_FILES = (
    "metrics.json",
    "model.json",
    "model.pddl",
    "domain.pddl",
    "problem.pddl",
    "problem-*.pddl",
    "support.txt",
    "card.md",
    "card.html",
    "explore.html",
    "summary.json.gz",
    "suspects.csv",
    "columns.json",
    "own-world.json",
    "weights.safetensors",
    "log.jsonl",
)


NAMES = list[str]
SCHEMAS = {  # what is looked at of the files of a run; a later version may say more
    "settings": Schema(
        record(
            "Settings",
            {"trace2strips": Literal["run"], "settings": dict[str, Any], "data": str},
            {"learner": str, "seed": int, "meaning": Any, "code": str},
            "allow",
        )
    ),
    "metrics": Schema(record("Metrics", {}, {}, "allow")),  # what the learner measured: `Figures` has the schema
    "model": Schema(
        record(
            "Model",
            {"vocabulary": record_of(Vocabulary)},
            {
                "atoms": NAMES,
                "invented": NAMES,
                "actions": list[record("Action", {"name": str, "pre": NAMES, "add": NAMES, "delete": NAMES}, {})],  # type: ignore[misc]
                "states": dict[str, NAMES],
                "always": NAMES,
                "meaning": dict[str, NAMES],
                "lifted": dict[str, Any],
                "support": list[dict[str, Any]],
            },
            "allow",
        )
    ),
}
KEPT_COLUMNS = Schema(record_of(Columns, "ignore"))
LOGGED = Schema(
    record(
        "Logged",
        {"attempt": int, "step": int, "stage": str},
        {"loss": float | None, "accuracy": float, "best": float},
        "ignore",
    )
)
LOG = "log.jsonl"
MOST_ROWS = 100_000  # of the log, for those who show it


@dataclass(frozen=True)
class RunRecord:
    """What a run folder holds. `world` is None where only a network was trained."""

    settings: Mapping[str, Any]
    metrics: Mapping[str, Any]
    vocabulary: Vocabulary
    world: WorldModel | None
    weights: Mapping[str, np.ndarray] | None
    lifted: Mapping[str, Any] | None = None  # a lifted world, for any objects
    files: Mapping[str, str] = field(default_factory=dict)  # for planners and people: PDDL, the card
    summary: str | None = None  # what is kept of the log
    suspects: str | None = None  # labels that are probably wrong
    support: list[dict[str, Any]] = field(default_factory=list)  # how sure each precondition and effect is
    columns: Columns | None = None  # of the log of events that was learned from


@contextmanager
def open_run(folder: Path, settings: Mapping[str, Any], force: bool = False, held: bool = False) -> Iterator[None]:
    """Make the folder, or continue in one that the same command on the same traces has begun. Until it is left no other
    process gets in: two that write checkpoints and results beside each other would spoil both.

    With `force` a run of ours is done anew; its old results are kept in `previous` until the new ones are there.
    `held`: this process is alone in the folder already.
    """
    if folder.exists() and not folder.is_dir():
        raise FileError("is a file, not a folder", file=folder, hint="name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=folder) from None
    with nullcontext() if held else alone_in(folder):
        prepare(folder, settings, force)
        yield


def prepare(folder: Path, settings: Mapping[str, Any], force: bool) -> None:
    """Refuse a folder with something else in it; make room for a run that begins."""
    if any(path.suffix not in BEFORE for path in folder.iterdir()):
        theirs = read_settings(folder)
        if theirs is None:
            raise FileError("is not empty and no run of trace2strips", file=folder, hint="name another folder")
        if not force:
            if (folder / "metrics.json").exists():
                raise FileError("holds a finished run already", file=folder, hint="--force learns anew")
            if theirs != settings:
                raise FileError("holds another unfinished run", file=folder, hint="--force starts anew")
            return
    try:
        if (folder / "metrics.json").exists():
            make_folder_in(folder, PREVIOUS)
            for pattern in ("settings.json", *RESULT_FILES):
                for old in folder.glob(pattern):
                    old.replace(folder / PREVIOUS / old.name)
        for pattern in (*RESULT_FILES, "checkpoint-*.safetensors", "events.out.tfevents.*", ".*.part"):
            for old in folder.glob(pattern):
                old.unlink()
        shutil.rmtree(folder / KEPT, ignore_errors=True)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=folder) from None
    write_json(folder / "settings.json", settings)


def put_back(folder: Path) -> None:
    """After an update that was cut off: the results of before, which alone know the log of before. Nothing happens
    where the results are whole, and where it was no update but a run that goes on."""
    previous = folder / PREVIOUS
    is_begun = (folder / "settings.json").exists()  # else it was cut off while results were put aside
    is_whole = is_begun and (folder / "metrics.json").exists()
    goes_on = is_begun and any(next(folder.glob(name), None) for name in (LOG, KEPT, "checkpoint-*"))
    if is_whole or goes_on or previous.is_symlink() or not (previous / "settings.json").exists():
        return
    try:
        if is_begun:
            for pattern in (*RESULT_FILES, "settings.json"):
                for new in folder.glob(pattern):
                    new.unlink()
        for old in sorted(previous.iterdir(), key=lambda path: path.name == "settings.json"):  # which comes last
            old.replace(folder / old.name)
        previous.rmdir()
    except OSError as error:
        raise FileError(error.strerror or str(error), file=folder) from None


def run_settings(learner: str, settings: Mapping[str, Any], seed: int, meaning: Any, data: str) -> dict[str, Any]:
    """What settings.json says of a run: what tells whether a folder holds this one."""
    said = {"trace2strips": "run", "learner": learner, "settings": settings, "seed": seed, "meaning": meaning,
            "data": data}  # fmt: skip
    return dict(json.loads(json.dumps(said)))  # as it is read again: lists for tuples


def read_settings(folder: Path) -> dict[str, Any] | None:
    """What a run folder was begun with; None if it is none of ours."""
    try:
        return SCHEMAS["settings"].parse(read_text(folder / "settings.json"))
    except (FileError, ValueError):
        return None


def content_hash(dataset: Dataset) -> str:
    """Tells datasets apart."""
    digest = hashlib.sha256("\n".join(dataset.vocabulary.names).encode())
    for array in (dataset.tokens, dataset.inapplicable, dataset.offsets):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_run(run: RunRecord, folder: Path) -> None:
    """Write the results; metrics.json comes last, so that a folder with it is complete."""
    model: dict[str, Any] = {"vocabulary": asdict(run.vocabulary)}  # of a network without a model
    if run.world is not None:
        model = world_to_json(run.world)
        with writing_text(folder / "model.pddl", force=True, follow=False) as stream:
            stream.write(format_model(run.world.model))
    if run.lifted is not None:
        model["lifted"] = run.lifted
    if run.support:
        model["support"] = run.support
    write_json(folder / "model.json", model)
    for name, text in run.files.items():
        with writing_text(folder / name, force=True, follow=False) as stream:
            stream.write(text)
    if run.summary is not None:
        with writing_text(folder / SUMMARY, force=True, follow=False) as stream:
            stream.write(run.summary)
    if run.suspects is not None:
        with writing_text(folder / SUSPECTS, force=True, follow=False) as stream:
            stream.write(run.suspects)
    if run.columns is not None:
        write_json(folder / COLUMNS, asdict(run.columns))
    if run.weights is not None:
        with writing(folder / "weights.safetensors", force=True, follow=False) as raw:
            raw.write(pack_arrays(dict(run.weights), {"learner": str(run.settings["learner"])}))
    write_json(folder / "metrics.json", run.metrics)
    for checkpoint in folder.glob("checkpoint-*.safetensors"):
        checkpoint.unlink()
    for name in (PREVIOUS, KEPT):
        shutil.rmtree(folder / name, ignore_errors=True)


def read_run(folder: Path) -> RunRecord:
    """What a finished run left."""
    for name in ("metrics.json", "model.json", "settings.json"):
        if not (folder / name).exists():
            if (folder / "settings.json").exists():
                raise FileError("the run is not finished", file=folder, hint="run 'trace2strips learn' again to go on")
            raise FileError(
                "no run of trace2strips", file=folder, hint="'trace2strips learn TRACES --out RUN' makes one"
            )
        check_readable(folder / name)
    try:
        settings, metrics, model = (
            schema.parse(read_text(folder / f"{name}.json", MOST_BYTES)) for name, schema in SCHEMAS.items()
        )
        return RunRecord(
            with_learner(settings),
            metrics,
            vocabulary_from_json(model["vocabulary"]),
            world_from_json(model) if model.get("actions") else None,
            read_weights(folder / "weights.safetensors"),
            model.get("lifted"),
            summary=read_text(folder / SUMMARY, MOST_BYTES) if (folder / SUMMARY).exists() else None,
            suspects=read_text(folder / SUSPECTS, MOST_BYTES) if (folder / SUSPECTS).exists() else None,
            columns=read_columns(folder / COLUMNS),
        )
    except (ValueError, KeyError, TypeError, SafetensorError, ModelError, TraceError):
        raise broken(folder) from None


def read_columns(path: Path) -> Columns | None:
    """None in folders of before, and where no log of events was learned from."""
    if not path.exists():
        return None
    found = KEPT_COLUMNS.parse(read_text(path))
    return Columns(**found | {"words": Words(**found.get("words", {}))})


def broken(folder: Path) -> FileError:
    return FileError("a file of the run is broken", file=folder, hint="learn it again")


def with_learner(settings: dict[str, Any]) -> dict[str, Any]:
    """Folders of before learners had names of their own say `network`."""
    if "learner" in settings:
        return settings
    old = dict(settings["settings"])
    seed, network = int(old.pop("seed")), old.pop("network")
    if network != "strips":
        del old["form"]
        return settings | {"learner": network, "settings": old, "seed": seed}
    if old["preset"] == "paper":
        return settings | {"learner": "strips", "settings": old, "seed": seed}
    del old["preset"]
    if old["steps"] == 0:
        return settings | {"learner": "completion", "settings": {"heads": old["heads"]}, "seed": seed}
    return settings | {"learner": "strips+completion", "settings": old, "seed": seed}


def read_weights(path: Path) -> dict[str, np.ndarray] | None:
    if not path.exists():
        return None
    check_readable(path)
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def write_json(path: Path, value: Any) -> None:
    with writing_text(path, force=True, follow=False) as stream:
        stream.write(dump(value, indent=1) + "\n")


class RunLog:
    """log.jsonl for plain tools and events for TensorBoard, both in the run folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / LOG

    @cached_property
    def events(self) -> Any:
        from tensorboardX import SummaryWriter  # loads PyTorch where that is installed: only training shall wait for it

        return SummaryWriter(str(self.folder))

    def write(self, stage: str, report: Report) -> None:
        """Add a row. A run that was cut off and goes on may come by the same step again: the newer row stays."""
        row = {"stage": stage, **asdict(report)}
        row["loss"] = report.loss if isfinite(report.loss) else None
        if self.path.exists():
            check_readable(self.path)
        try:
            lines = self.path.read_bytes().decode(errors="replace").splitlines() if self.path.exists() else []
            earlier = [line for line in lines if is_before(line, row)]
            with writing_text(self.path, force=True, follow=False) as stream:
                stream.writelines(f"{line}\n" for line in (*earlier, json.dumps(row)))
            if stage == "training":
                step = (report.attempt - 1) * report.steps + report.step
                for name in ("loss", "accuracy"):
                    self.events.add_scalar(name, getattr(report, name), step)
                self.events.flush()
        except OSError as error:
            raise FileError(error.strerror or str(error), file=self.path, hint="is the disk full?") from None

    def close(self) -> None:
        if "events" in vars(self):
            self.events.close()


def training_rows(folder: Path) -> list[dict[str, Any]]:
    """How training went, as the log tells it. What training leaves behind is no reason to show nothing: what is no row,
    or no file, is left out."""
    rows: list[dict[str, Any]] = []
    try:
        for _, line in islice(read_lines(folder / LOG), MOST_ROWS):
            with suppress(ValueError):
                rows.append(LOGGED.parse(line))
    except FileError:
        pass
    return [row for row in rows if row["stage"] == "training"]


def is_before(line: str, row: dict[str, Any]) -> bool:
    """Also no row at all is none: a log that somebody changed must not end the training."""
    try:
        return place_in_log(LOGGED.parse(line)) < place_in_log(row)
    except ValueError:
        return False


def place_in_log(row: dict[str, Any]) -> tuple[int, int, bool]:
    """Where a row of the log belongs."""
    return row["attempt"], row["step"], row["stage"] != "training"
