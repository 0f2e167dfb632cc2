"""Traces: the vocabulary with its setup actions, sampling, and trace files.

May import `errors`, `files`, `compilation`, `strips`, `pddl` and `domains`.
"""

from trace2strips.traces.checking import compare_with, describe, find_contradictions, unknown_starts
from trace2strips.traces.dataset import Dataset, Trace
from trace2strips.traces.formats import read_traces, write_traces
from trace2strips.traces.sampling import SampleSettings, sample
from trace2strips.traces.vocabulary import Kind, Vocabulary

__all__ = [
    "Dataset",
    "Kind",
    "SampleSettings",
    "Trace",
    "Vocabulary",
    "compare_with",
    "describe",
    "find_contradictions",
    "read_traces",
    "sample",
    "unknown_starts",
    "write_traces",
]
