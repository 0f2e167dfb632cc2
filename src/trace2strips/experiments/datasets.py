"""Sampled datasets kept on disk: sampled once, used by every run that wants the same ones, also after a kill.

    blocksworld-5b-atoms-goal-train-100000x50-s0-3f0c9a81d2b4.t2s          the dataset
    blocksworld-5b-atoms-goal-train-100000x50-s0-3f0c9a81d2b4.t2s.sha256   its checksum, as `sha256sum -c` reads it

The hash in the name stands for all that the bytes depend on: the settings, the hidden model, the vocabulary of the
training set, and the code that samples. The checksum is written last and compared at each reading, so a file that was
cut off or has changed is never used but made anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path

from trace2strips.errors import FileError, TraceError
from trace2strips.experiments.code import sampling_code
from trace2strips.experiments.performing import curve_set, has_curve
from trace2strips.experiments.runs import Run
from trace2strips.files import locked, writing_text
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain
from trace2strips.worlds.sampling import SampleSettings, hash_model, sample

ENDING = ".t2s"
CHECKSUM = ".sha256"


@dataclass(frozen=True)
class DatasetCache:
    """A sampler as `perform` takes it, with a folder behind it."""

    folder: Path

    def __call__(self, domain: Domain, settings: SampleSettings, like: Dataset | None = None) -> Dataset:
        """Always the dataset as it is read, never as it was sampled, so that both ways give one and the same."""
        path = self.folder / f"{stem(domain.name, settings)}-{key(domain, settings, like)}{ENDING}"
        with self.locked():
            found = read(path)
            if found is None:
                for part in self.folder.glob(f".{escape(path.name[:40])}.*.part"):  # what a kill left of this one
                    part.unlink()
                sample(domain, settings, like).save(path, force=True)
                with writing_text(Path(f"{path}{CHECKSUM}"), force=True) as stream:
                    stream.write(f"{checksum(path)}  {path.name}\n")
                found = Dataset.load(path)
            return found

    def discard(self, run: Run, left: Iterable[Run]) -> None:
        """Remove the datasets of a run that no run of those left will read."""
        with self.locked():
            for name in stems(run) - {name for other in left for name in stems(other)}:
                for path in self.folder.glob(f"{escape(name)}-{'[0-9a-f]' * 12}{ENDING}*"):
                    path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One samples or removes, others wait for it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / ".lock").open("wb")
        except OSError as error:
            raise FileError(error.strerror or str(error), file=self.folder) from None
        with lock, locked(lock):
            yield


def read(path: Path) -> Dataset | None:
    """The dataset if it is there and whole; of one that is broken the user is told."""
    if not path.exists():
        return None
    try:
        told = Path(f"{path}{CHECKSUM}").read_text().split()
        if told == [checksum(path), path.name]:
            return Dataset.load(path)
    except (OSError, ValueError, FileError, TraceError):
        pass
    print(f"trace2strips: {path}: broken dataset, sampled anew", file=sys.stderr)
    return None


def checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stem(domain: str, settings: SampleSettings) -> str:
    """The part of a name that people read."""
    size = f"{settings.traces}x{settings.max_length}"
    parts = (domain, settings.init, settings.suffix, settings.split, size, f"s{settings.seed}")
    return "-".join(parts).replace(":", "")


def stems(run: Run) -> set[str]:
    return {stem(run.domain, settings) for settings in samples(run)}


def samples(run: Run) -> tuple[SampleSettings, ...]:
    """Of all datasets that a run reads."""
    curve = (curve_set(run),) if has_curve(run) else ()
    return (run.training_set, run.test_set, *curve)


def key(domain: Domain, settings: SampleSettings, like: Dataset | None) -> str:
    parts = {
        "settings": asdict(settings),
        "domain": domain.name,
        "model": hash_model(domain.model),
        "vocabulary": None if like is None else like.vocabulary.names,
        "code": sampling_code(),
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
