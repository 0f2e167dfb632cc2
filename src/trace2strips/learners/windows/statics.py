"""Relations that never change and that nobody told: which floor is above which, which street leads where.

At level `objects` starts are told apart by their very objects, as such relations ask for. The small model needs them as
predicates: for each two places of an action those pairs of objects with which it ever worked. They are told to the
search as if the log had told them. What it takes up becomes a predicate that holds of the listed objects at every
start. All of this comes from the summary and its sample, so an updated run gives what learning at once gives.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations

from trace2strips.learners.windows.fitting import Fit, fit_clean, label_nats
from trace2strips.learners.windows.lifted import EVERYWHERE, FALSE, LiftedPredicate
from trace2strips.learners.windows.memory import summarise_log
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import Summary
from trace2strips.traces import Dataset

Pairs = dict[str, set[tuple[str, str]]]


def fit_with_statics(dataset: Dataset, summary: Summary) -> tuple[Fit, int]:
    """The small model with untold relations, and how many refusals of the sample it leaves unexplained."""
    pairs, tried = pairs_that_worked(summary)
    told = frozenset(summary.naming.join((name, *pair)) for name, found in pairs.items() for pair in found)
    traces = [sampled.trace for sampled in summary.sample]
    sample = Dataset.of([trace if trace.init is None else replace(trace, init=trace.init | told) for trace in traces])
    known = summarise_log(sample, summary.naming, summary.projection.arity, StartLevel.SAME)
    found, _ = fit_clean(sample, known)

    def listed(predicate: LiftedPredicate) -> LiftedPredicate:
        if predicate.told not in pairs:
            return predicate
        objects = tuple((EVERYWHERE, *pair) for pair in sorted(pairs[predicate.told]))
        return replace(predicate, start=FALSE, told="", true_at=objects)

    lifted = replace(found.lifted, predicates=tuple(map(listed, found.lifted.predicates)))
    taken = {predicate.told for predicate in found.lifted.predicates} & set(pairs)
    said = sum(label_nats(len(pairs[name]), tried[name]) for name in taken)  # which of the pairs that were tried
    nats = found.model_nats + said
    return replace(found, lifted=lifted, refused=dataset.inapplicable, model_nats=nats), len(known.inexplicable)


def pairs_that_worked(summary: Summary) -> tuple[Pairs, dict[str, int]]:
    """For each two places of an action the objects with which it worked, if it was tried with others too, and with how
    many it was tried."""
    worked: Pairs = defaultdict(set)
    tried: Pairs = defaultdict(set)
    taken = {summary.naming.words(atom)[0] for atom in summary.told}
    for action, times in summary.worked.items():
        schema, *objects = summary.naming.words(action)
        for i, j in combinations(range(len(objects)), 2):
            name = f"may-{schema}-{i + 1}-{j + 1}"
            if objects[i] != objects[j] and name not in taken:
                tried[name].add((objects[i], objects[j]))
                if times:
                    worked[name].add((objects[i], objects[j]))
    pairs = {name: found for name, found in sorted(worked.items()) if found < tried[name]}
    return pairs, {name: len(tried[name]) for name in pairs}
