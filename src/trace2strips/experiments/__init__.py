"""The paper's results as named experiments: lists of runs, how they are done, where their figures go.

    runs         Run: domain, encoding, suffix, network, preset, traces, seed … ; EXPERIMENTS: name → list of runs
    performing   perform: one run from sampling to planning, and its row of figures
    datasets     DatasetCache: sampled once, used by every run that wants the same traces
    results      the file of results: a line for each finished run
    execution    what an executor is; execute_missing: what is not in the file of results yet
    local        LocalExecutor: on this machine, one after the other, each in a process of its own (worker)
    cluster      RayExecutor: spread over a Ray cluster
    estimates    how long runs will take and how much disk they need

May import up to `equivalence`.
"""

from trace2strips.experiments.performing import perform
from trace2strips.experiments.results import read_results
from trace2strips.experiments.runs import EXPERIMENTS, Run, planned

__all__ = ["EXPERIMENTS", "Run", "perform", "planned", "read_results"]
