"""The paper's results as named experiments: lists of runs, what one run does, where its figures go.

    runs         Run: domain, encoding, suffix, network, preset, traces, seed … ; EXPERIMENTS: name → list of runs
    performing   perform: one run from sampling to planning, and its row of figures

May import up to `equivalence`.
"""

from trace2strips.experiments.performing import perform
from trace2strips.experiments.runs import EXPERIMENTS, Run, planned

__all__ = ["EXPERIMENTS", "Run", "perform", "planned"]
