"""The `.t2s` file of a dataset, in the safetensors layout: a JSON header, then arrays that are mapped into memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from safetensors.numpy import save

from trace2strips.errors import TraceError
from trace2strips.files import opened, reading, writing
from trace2strips.model.strips import State
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.schemas import Schema, dump, record

FORMAT = "trace2strips-dataset-1"
ARRAYS: dict[str, dict[str, type[np.generic]]] = {  # name → types in the file
    "tokens": {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32},
    "inapplicable": {"BOOL": np.bool_},
    "offsets": {"I64": np.int64},
}

PLACE = record("Place", {"dtype": str, "data_offsets": tuple[int, int]}, {}, "ignore")
OUTER = Schema(record("Header", {"__metadata__": dict[str, str], **dict.fromkeys(ARRAYS, PLACE)}, {}, "ignore"))
NAME = Annotated[str, Field(min_length=1)]
NAMES = tuple[NAME, ...]
WORDS = record(
    "Vocabulary",
    {"actions": NAMES, "has_init_false": bool},
    {"init_atoms": NAMES, "init_states": NAMES, "test_atoms": NAMES},
)
SAID = {
    "domain": str,
    "init": str,
    "suffix": str,
    "split": str,
    "model": str,
    "files": list[str] | None,
    "separator": str | None,
}
INNER = Schema(
    record(
        "Dataset",
        {"vocabulary": WORDS, "states": dict[str, NAMES], "settings": record("Settings", {}, SAID, "allow")},
        {},
        "ignore",
    )
)


def write_fields(fields: Mapping[str, Any], path: Path, force: bool) -> None:
    """Write the fields of a dataset: vocabulary, settings and states into the header, then the arrays."""
    header = {
        "vocabulary": asdict(fields["vocabulary"]),
        "settings": dict(fields["settings"]),
        "states": {name: sorted(state) for name, state in fields["states"].items()},
    }
    arrays = {name: np.ascontiguousarray(fields[name]) for name in ARRAYS}
    with writing(path, force) as stream:
        stream.write(save(arrays, {FORMAT: dump(header, ascii_only=True)}))  # several keys would come in random order


@dataclass(frozen=True)
class Header:
    """What a file says before its arrays: who they are about, and the type, the first byte and the length of each."""

    raw: bytes
    vocabulary: Vocabulary
    settings: dict[str, Any]
    states: dict[str, State]
    arrays: dict[str, tuple[np.dtype[Any], int, int]]

    @property
    def words(self) -> dict[str, Any]:
        return {"vocabulary": self.vocabulary, "settings": self.settings, "states": self.states}


def read_header(path: Path) -> Header:
    with opened(path) as stream:
        length = int.from_bytes(stream.read(8), "little")
        size = path.stat().st_size
        raw = stream.read(length) if length <= size - 8 else b""
    try:
        header = OUTER.parse(raw)
        meta = INNER.parse(header["__metadata__"][FORMAT])
        vocabulary = Vocabulary(**meta["vocabulary"])
        states = {name: frozenset(state) for name, state in meta["states"].items()}
        arrays = {}
        for name, types in ARRAYS.items():
            start, end = header[name]["data_offsets"]
            kind = np.dtype(types[header[name]["dtype"]])
            if 8 + length + end > size:
                raise TraceError("the dataset file is cut off", hint="copy or sample it again")
            arrays[name] = kind, 8 + length + start, (end - start) // kind.itemsize
            if not 0 <= start <= end:
                raise ValueError
    except TraceError as error:
        error.file = str(path)
        raise
    except (ValueError, KeyError):
        raise TraceError("not a trace2strips dataset", file=path, hint="'trace2strips sample' writes one") from None
    return Header(raw, vocabulary, meta["settings"], states, arrays)


def map_array(path: Path, place: tuple[np.dtype[Any], int, int]) -> np.ndarray:
    """Pages are read when they are used."""
    kind, begin, length = place
    if not length:
        return np.empty(0, dtype=kind)
    return np.memmap(path, mode="r", dtype=kind, offset=begin, shape=(length,)).view(np.ndarray)


def read_fields(path: Path) -> dict[str, Any]:
    """The inverse of `write_fields`; pages of the arrays are read when they are used."""
    header = read_header(path)
    arrays = {name: map_array(path, place) for name, place in header.arrays.items()}
    check_file(path, header, arrays)
    return {**header.words, **arrays}


def read_some_fields(path: Path, begin: int, end: int) -> dict[str, Any]:
    """The same of some of the traces, read and not mapped: so much of the file is in memory and no more."""
    header = read_header(path)

    def part(name: str, first: int, last: int) -> np.ndarray:
        kind, place, length = header.arrays[name]
        if not 0 <= first <= last <= length:
            raise TraceError("broken dataset: its offsets do not span its tokens", file=path)
        return np.fromfile(path, kind, last - first, offset=place + first * kind.itemsize)

    with reading(path):
        offsets = part("offsets", begin, end + 1)
        first, last = int(offsets[0]), int(offsets[-1])
        arrays = {name: part(name, first, last) for name in ("tokens", "inapplicable")}
    arrays["offsets"] = offsets - first
    check_file(path, header, arrays)
    return {**header.words, **arrays}


def check_file(path: Path, header: Header, arrays: dict[str, np.ndarray]) -> None:
    try:
        check_arrays(**arrays, tokens_known=len(header.vocabulary))
    except TraceError as error:
        error.file = str(path)
        raise


def check_arrays(tokens: np.ndarray, inapplicable: np.ndarray, offsets: np.ndarray, tokens_known: int) -> None:
    """Compiled loops index with what a file says and look at no bounds, so it is looked at here, once."""
    for broken, what in (
        (len(offsets) < 2, "it has no trace"),
        (len(tokens) != len(inapplicable), "as many labels as tokens are needed"),
        (len(offsets) > 0 and (offsets[0], offsets[-1]) != (0, len(tokens)), "its offsets do not span its tokens"),
        ((offsets[1:] < offsets[:-1]).any(), "its offsets decrease"),
        (len(tokens) > 0 and tokens.max() >= tokens_known, "a token is not in its vocabulary"),
        (inapplicable.view(np.uint8).max(initial=0) > 1, "a label is neither true nor false"),
    ):
        if broken:
            raise TraceError(f"broken dataset: {what}", hint="copy or sample it again")
