"""Where the traces of a log stand, and a sample of them that is kept.

The sample is what a random choice by a hash of each trace's content gives: traces in the order of their hashes, as many
as fit. Traces that say the same are one: a second one is no further evidence of anything. So the sample of two logs
together is that of their two samples, whatever their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from trace2strips.traces import Dataset
from trace2strips.traces.splitting import hash_traces
from trace2strips.traces.trace import Trace

LARGEST_SAMPLE = 50_000  # tokens in all
LONGEST_SAMPLED = 5_000  # tokens of one trace; what comes later is cut off


@dataclass(frozen=True)
class Source:
    """A file that traces were read from, None: they were not; `first` is the number of its first trace in the log."""

    file: str | None
    first: int


@dataclass(frozen=True)
class Sampled:
    hash: int
    number: int  # in the log
    trace: Trace

    @property
    def tokens(self) -> int:
        """How many tokens the trace is in a dataset, with its start."""
        t = self.trace
        return 1 + len(t.init or ()) + len(t.actions) + len(t.final)


def sample_of(dataset: Dataset) -> tuple[Sampled, ...]:
    hashes = hash_traces(dataset)
    lengths = np.minimum(np.diff(dataset.offsets), LONGEST_SAMPLED)
    _, order = np.unique(hashes, return_index=True)  # the first of each
    chosen = order[np.cumsum(lengths[order]) <= LARGEST_SAMPLE].tolist()
    return tuple(Sampled(int(hashes[i]), i, shortened(dataset, i)) for i in chosen)


def shortened(dataset: Dataset, index: int) -> Trace:
    """A trace, or its beginning."""
    trace = dataset[index]
    before = 1 + len(trace.init or ())
    if before + len(trace.actions) + len(trace.final) <= LONGEST_SAMPLED:
        return trace
    left = max(0, LONGEST_SAMPLED - before)
    final = dict(list(trace.final.items())[: max(0, left - len(trace.actions))])
    return Trace(trace.actions[:left], trace.ok[:left], trace.init, trace.state, final)


def merge_samples(one: Sequence[Sampled], other: Sequence[Sampled], moved: int) -> tuple[Sampled, ...]:
    """Of two logs, where the traces of the other are numbered on."""
    later = (Sampled(s.hash, s.number + moved, s.trace) for s in other)
    first: dict[int, Sampled] = {}
    for sampled in sorted((*one, *later), key=lambda s: (s.hash, s.number)):
        first.setdefault(sampled.hash, sampled)
    return fitting(list(first.values()))


def fitting(ordered: Sequence[Sampled]) -> tuple[Sampled, ...]:
    totals = accumulate(min(s.tokens, LONGEST_SAMPLED) for s in ordered)
    return tuple(s for s, total in zip(ordered, totals, strict=True) if total <= LARGEST_SAMPLE)


def merge_sources(one: Iterable[Source], other: Iterable[Source], moved: int) -> tuple[Source, ...]:
    """Of two logs, one after the other; what was read from no file needs no mark of its own."""
    found: list[Source] = []
    for source in (*one, *(Source(s.file, s.first + moved) for s in other)):
        if not (found and source.file is None and found[-1].file is None):
            found.append(source)
    return tuple(found)
