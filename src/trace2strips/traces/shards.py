"""A log as shards: files, or parts of large ones, each read by itself, so that no more than one is in memory.

A `.t2s` dataset is cut between traces, a text file with a trace a line between lines. What is packed, and a log of
events, whose traces may be anywhere in it, is one shard; packed lines are still read block by block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from trace2strips.errors import TraceError, UserError
from trace2strips.files import Stretch, check_readable, opened
from trace2strips.model.goals import START
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.dataset import SEPARATOR, Dataset
from trace2strips.traces.dataset_file import map_array, read_header, read_some_fields
from trace2strips.traces.formats import format_of, is_event_log, read_traces
from trace2strips.traces.joining import origin_of
from trace2strips.traces.jsonl import read_jsonl
from trace2strips.traces.plain_text import read_plain
from trace2strips.traces.text_files import Stated
from trace2strips.traces.trace import Trace

SHARD_TOKENS = 1_000_000  # of a dataset: actions with what is told of starts
SHARD_BYTES = 32 * 2**20  # of a text file
BLOCK_TOKENS = 250_000  # of a text file that are looked at together
STEP = 2**22  # bytes read at a time where only lines or hashes are wanted

Read = Callable[[Path], Dataset]


@dataclass(frozen=True)
class Shard:
    """A file, or the traces from `begin` to `end` of a dataset, or a stretch of a text file. `file` is its name as it
    was given, seen from `folder`; `number` is the file's among those of the log, `alone`: there is no other."""

    file: str
    number: int
    alone: bool
    folder: str
    begin: int = 0
    end: int | None = None
    lines_before: int = 0

    @property
    def path(self) -> Path:
        """The same in all processes."""
        return Path(self.folder) / self.file

    @property
    def stretch(self) -> Stretch | None:
        return None if self.end is None else Stretch(self.begin, self.end, self.lines_before)


@dataclass(frozen=True)
class Block:
    """Some traces of a shard. `names` are told in the file: without the start that a dataset gives those traces which
    tell none."""

    traces: Dataset
    names: Vocabulary


def find_shards(files: Sequence[Path]) -> list[Shard]:
    """All shards of a log, in order."""
    alone = len(files) == 1
    return [replace(shard, alone=alone) for number, file in enumerate(files) for shard in shards_of(file, number)]


def shards_of(path: Path, number: int) -> Iterator[Shard]:
    check_readable(path)
    folder = str(Path.cwd())
    if is_dataset(path):
        header = read_header(path)
        offsets = map_array(path, header.arrays["offsets"])
        count = header.arrays["tokens"][2]
        ends = np.searchsorted(offsets, np.arange(SHARD_TOKENS, count, SHARD_TOKENS))
        bounds = sorted({0, *ends.tolist(), len(offsets) - 1})
        for begin, end in pairwise(bounds):
            yield Shard(str(path), number, True, folder, begin, end)
        if len(bounds) < 2:
            yield Shard(str(path), number, True, folder)  # whoever reads it says what is wrong
    elif is_by_line(path) and not is_packed(path) and path.stat().st_size > SHARD_BYTES:
        yield from stretches_of(path, number, folder)
    else:
        yield Shard(str(path), number, True, folder)


def stretches_of(path: Path, number: int, folder: str) -> Iterator[Shard]:
    """Cut at the ends of lines; lines are counted on the way."""
    size, begin, before = path.stat().st_size, 0, 0
    with opened(path) as stream:
        while begin < size:
            stream.seek(min(begin + SHARD_BYTES, size))
            stream.readline()
            end = stream.tell()
            yield Shard(str(path), number, True, folder, begin, end, before)
            stream.seek(begin)
            while begin < end:
                part = stream.read(min(STEP, end - begin))
                before += part.count(b"\n")
                begin += len(part)


def is_dataset(path: Path) -> bool:
    return not is_event_log(path) and format_of(path) is None


def is_by_line(path: Path) -> bool:
    """Whether a line is a trace."""
    form = None if is_event_log(path) else format_of(path)
    return form is not None and form.read in (read_jsonl, read_plain)


def is_packed(path: Path) -> bool:
    with opened(path) as stream:
        return stream.read(2) == b"\x1f\x8b"


def read_blocks(shard: Shard, read: Read = read_traces) -> Iterator[Block]:
    """The traces of a shard; `read` reads a file that is taken as a whole."""
    try:
        for block in blocks_of(shard, shard.path, read):
            yield block if shard.alone else replace(block, traces=as_one_of_several(block.traces, shard))
    except UserError as error:
        if error.file == str(shard.path):
            error.file = shard.file
        raise


def blocks_of(shard: Shard, path: Path, read: Read) -> Iterator[Block]:
    if is_dataset(path):
        end = read_header(path).arrays["offsets"][2] - 1 if shard.end is None else shard.end
        fields = read_some_fields(path, shard.begin, end)
        yield Block(Dataset(**fields, file=shard.file), fields["vocabulary"])
    elif is_by_line(path):
        yield from read_by_block(path, shard.stretch, shard.file)
    else:
        found = replace(read(path), file=shard.file)
        if found.origin is not None:
            found = replace(found, origin=replace(found.origin, files=(shard.file,)))
        yield Block(found, told_names(found))


def as_one_of_several(traces: Dataset, shard: Shard) -> Dataset:
    """Each attempt with its file, as where several files are read at once."""
    if not len(traces.lines):
        first = shard.begin + 1  # of a dataset: traces are counted
        traces = replace(traces, lines=tuple(range(first, first + len(traces))))
    origin = origin_of([traces])
    cases = () if traces.origin is None else traces.origin.cases
    origin = replace(origin, files=tuple(shard.file for _ in origin.files), cases=cases)
    return replace(traces, lines=(), file=None, origin=origin)


def read_by_block(path: Path, stretch: Stretch | None, name: str) -> Iterator[Block]:
    form, stated = format_of(path), Stated()
    assert form is not None
    reader = read_jsonl if form.read is read_jsonl else read_plain
    traces: list[Trace] = []
    lines: list[int] = []
    tokens = blocks = 0
    for line, trace in reader(path, None, stated, stretch):
        traces.append(trace)
        lines.append(line)
        tokens += 1 + len(trace.actions) + len(trace.init or ()) + len(trace.final)
        if tokens >= BLOCK_TOKENS:
            yield block_of(traces, lines, name, stated.separator)
            traces, lines, tokens, blocks = [], [], 0, blocks + 1
    if traces:
        yield block_of(traces, lines, name, stated.separator)
    elif not blocks and stretch is None:
        read_traces(path)  # says what is missing


def block_of(traces: list[Trace], lines: list[int], name: str, separator: str | None) -> Block:
    try:
        found = replace(Dataset.of(traces, lines=tuple(lines)), file=name)
    except TraceError as error:
        error.file = name
        raise
    if separator is not None:
        found = replace(found, settings={SEPARATOR: separator})
    return Block(found, told_names(found))


def told_names(dataset: Dataset) -> Vocabulary:
    """Without the name of a start that no trace tells."""
    vocabulary = dataset.vocabulary
    if START not in vocabulary.init_states or not dataset.untold.any():
        return vocabulary
    begins = dataset.tokens[dataset.offsets[:-1][~dataset.untold]]
    if (begins == vocabulary.number(Kind.INIT_STATE, START)).any():
        return vocabulary
    return replace(vocabulary, init_states=tuple(name for name in vocabulary.init_states if name != START))


def hash_shard(shard: Shard) -> str:
    """Of the bytes that are read for it."""
    path = shard.path
    digest = hashlib.sha256()
    if is_dataset(path) and shard.end is not None:
        header, fields = read_header(path), read_some_fields(path, shard.begin, shard.end)
        digest.update(header.raw)
        for name in ("tokens", "inapplicable", "offsets"):
            digest.update(np.ascontiguousarray(fields[name]).tobytes())
        return digest.hexdigest()
    with opened(path) as stream:
        stream.seek(shard.begin)
        left = path.stat().st_size - shard.begin if shard.end is None else shard.end - shard.begin
        while left > 0 and (part := stream.read(min(STEP, left))):
            digest.update(part)
            left -= len(part)
    return digest.hexdigest()
