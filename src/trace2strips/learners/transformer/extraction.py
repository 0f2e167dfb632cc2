"""The paper's reading of trained parameters: binarise at 0.5, merge equal heads, drop what no training label needs."""

from __future__ import annotations

import numpy as np

from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Guess, Heads, world_model
from trace2strips.learners.transformer.merging import merge_heads
from trace2strips.learners.transformer.parameters import Layout, Theta
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces


def guess_of(theta: Theta, layout: Layout) -> Guess:
    """Binarised keys and values as effects; `init-s` always adds or deletes."""
    binary = theta.binarise()
    effects = np.where(binary.key > 0, np.where(binary.value > 0, DELETE, ADD), NONE).astype(np.uint8)
    effects[layout.actions :] = np.where(binary.value[layout.actions :] > 0, DELETE, ADD)
    return Guess(effects, layout.owner)


def heads_of(theta: Theta, layout: Layout) -> Heads:
    """The paper's reading of the parameters, θ̄ ≥ 0.5; heads with equal effects are one."""
    binary = theta.binarise()
    effects = guess_of(theta, layout).effects
    aligned = len(layout.aligned)
    start = np.minimum(np.arange(layout.heads), aligned)
    pre: list[set[int]] = [
        set(np.flatnonzero(binary.query[row] * layout.askable[row]).tolist()) for row in range(layout.actions)
    ]
    first: dict[bytes, int] = {}
    for head in range(aligned, layout.heads):
        same = first.setdefault(effects[:, head].tobytes(), head)
        if same != head:
            pre = [{same if h == head else h for h in asked} for asked in pre]
    return Heads(effects, start, [*pre, *({h} for h in range(aligned))])


def extract(heads: Heads, layout: Layout, completion: Completion, dataset: Dataset, merge: bool) -> WorldModel:
    """What no training label needs is gone, and with `merge` heads that can be one are. The smaller model is taken
    unless it gets more training traces wrong.
    """

    def errors(world: WorldModel) -> int:
        return int(wrong_traces(world.over_tokens(), dataset).sum())

    plain = world_model(heads, layout)
    completion.prune(heads)
    if merge:
        merge_heads(completion.histories, heads)
        completion.prune(heads)
    pruned = world_model(heads, layout)
    return plain if errors(pruned) > errors(plain) else pruned
