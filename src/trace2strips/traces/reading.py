"""Traces as a user may give them: a path, a dataset, a frame, a list of traces, or lists of (action, ok)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from trace2strips.errors import TraceError, shorten
from trace2strips.traces.columns import Columns
from trace2strips.traces.dataset import Dataset
from trace2strips.traces.formats import Frame, is_frame, read_traces
from trace2strips.traces.names import join_list
from trace2strips.traces.trace import Trace

Action = str | Sequence[str]  # a name, or a name and its arguments
Traces = str | PathLike[str] | Dataset | Frame | Iterable[Trace | Sequence[tuple[Action, bool]]]
HINT = (
    "a path, a Dataset, a pandas or polars frame, a list of Trace, "
    "or lists such as [('open', True), (('stack', 'a', 'b'), False)]"
)


def as_dataset(traces: Traces, kept: Columns | None = None) -> Dataset:
    """One dataset, whatever was given. `kept`: the columns of a log that was read before, if these are the same."""
    if isinstance(traces, Dataset):
        return traces
    if isinstance(traces, str | PathLike):
        return read_traces(Path(traces), kept=kept)
    if is_frame(traces):
        return read_traces(traces, kept=kept)
    if not isinstance(traces, Iterable):
        raise TraceError(f"{shorten(repr(traces))} are no traces", hint=HINT)
    return Dataset.of([as_trace(number, item) for number, item in enumerate(traces, 1)])


def as_trace(number: int, item: Any) -> Trace:
    if isinstance(item, Trace):
        return item
    try:
        pairs = [(action, ok) for action, ok in item]
    except (TypeError, ValueError):
        raise TraceError(f"trace {number} is no list of (action, ok)", hint=HINT) from None
    for action, ok in pairs:
        listed = isinstance(action, list | tuple) and action and all(isinstance(x, str) and x for x in action)
        if not (isinstance(action, str) or listed) or ok not in (True, False):
            raise TraceError(f"trace {number}: {shorten(repr((action, ok)))} is no (action, ok)", hint=HINT)
    names = (action if isinstance(action, str) else join_list(action) for action, _ in pairs)
    return Trace(tuple(names), tuple(bool(ok) for _, ok in pairs))
