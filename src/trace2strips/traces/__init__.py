"""Traces: one trace, many in a dataset, trace files, and what can be said of them before anything is learned."""

from trace2strips.traces.checking import compare_with, describe, find_contradictions, unknown_starts
from trace2strips.traces.dataset import Dataset
from trace2strips.traces.formats import read_traces, write_traces
from trace2strips.traces.trace import Trace

__all__ = [
    "Dataset",
    "Trace",
    "compare_with",
    "describe",
    "find_contradictions",
    "read_traces",
    "unknown_starts",
    "write_traces",
]
