"""The paper's results as named experiments: lists of runs, how they are done, where their figures go.

    runs         Run: domain, encoding, suffix, learner, settings, traces, seed …
    catalogue    EXPERIMENTS: name → list of runs
    performing   perform: one run from sampling to planning, and its row
    datasets     DatasetCache: sampled once, used by every run that wants the same traces
    records      JSON values as declared types
    rows         Row: every figure of a run, declared with its type; the one reader and writer
    results      the file of results: a row for each finished run
    provenance   on which machine and at which commit
    code         which code made a row: a hash of the modules that it depends on
    execution    what an executor is; which runs are left to do; the loop that notes each one
    local        LocalExecutor: on this machine, one after the other, each in a process of its own (worker)
    cluster      RayExecutor: spread over a Ray cluster
    estimates    how long runs will take and how much disk they need

Reports read the file of results and nothing else.
"""

from trace2strips.experiments.catalogue import EXPERIMENTS, planned
from trace2strips.experiments.performing import perform
from trace2strips.experiments.results import read_results
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run

__all__ = ["EXPERIMENTS", "Row", "Run", "perform", "planned", "read_results"]
