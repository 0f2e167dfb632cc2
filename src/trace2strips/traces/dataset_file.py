"""The `.t2s` file of a dataset, in the safetensors layout: a JSON header, then arrays that are mapped into memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from trace2strips.errors import TraceError
from trace2strips.files import check_readable, reading, writing
from trace2strips.model.vocabulary import Vocabulary

FORMAT = "trace2strips-dataset-1"
ARRAYS: dict[str, dict[str, type[np.generic]]] = {  # name → types in the file
    "tokens": {"U8": np.uint8, "U16": np.uint16, "U32": np.uint32},
    "inapplicable": {"BOOL": np.bool_},
    "offsets": {"I64": np.int64},
}


def write_fields(fields: Mapping[str, Any], path: Path, force: bool) -> None:
    """Write the fields of a dataset: vocabulary, settings and states into the header, then the arrays."""
    header = {
        "vocabulary": asdict(fields["vocabulary"]),
        "settings": dict(fields["settings"]),
        "states": {name: sorted(state) for name, state in fields["states"].items()},
    }
    arrays = {name: np.ascontiguousarray(fields[name]) for name in ARRAYS}
    with writing(path, force) as stream:
        stream.write(save(arrays, {FORMAT: json.dumps(header)}))  # several keys would come in random order


def read_fields(path: Path) -> dict[str, Any]:
    """The inverse of `write_fields`; pages of the arrays are read when they are used."""
    check_readable(path)
    with reading(path), path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        size = path.stat().st_size
        raw = stream.read(length) if length <= size - 8 else b""
    try:
        header = json.loads(raw)
        meta = json.loads(header["__metadata__"][FORMAT])
        vocabulary = read_vocabulary(meta["vocabulary"])
        states = {name: frozenset(check_names(state)) for name, state in meta["states"].items()}
        settings = dict(meta["settings"])
        arrays: dict[str, Any] = {}
        for name, types in ARRAYS.items():
            start, end = header[name]["data_offsets"]
            kind = np.dtype(types[header[name]["dtype"]])
            if 8 + length + end > size:
                raise TraceError("the dataset file is cut off", hint="copy or sample it again")
            shape = (end - start) // kind.itemsize
            arrays[name] = (
                np.memmap(path, mode="r", dtype=kind, offset=8 + length + start, shape=(shape,)).view(np.ndarray)
                if shape
                else np.empty(0, dtype=kind)
            )
        check_arrays(**arrays, tokens_known=len(vocabulary))
    except TraceError as error:
        error.file = str(path)
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise TraceError("not a trace2strips dataset", file=path, hint="'trace2strips sample' writes one") from None
    return {"vocabulary": vocabulary, "settings": settings, "states": states, **arrays}


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


def read_vocabulary(fields: Mapping[str, Any]) -> Vocabulary:
    """From the header of a file; whatever is of the wrong type is a TypeError."""
    has_init_false = fields["has_init_false"]
    if not isinstance(has_init_false, bool):
        raise TypeError
    groups = {key: check_names(value) for key, value in fields.items() if key != "has_init_false"}
    return Vocabulary(**groups, has_init_false=has_init_false)


def check_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise TypeError
    return tuple(value)
