"""The paper's reading of trained parameters: binarise at 0.5, merge equal heads, drop what no training label needs."""

from __future__ import annotations

import numpy as np

from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Guess, Heads, world_model
from trace2strips.learners.transformer.alone import Alone
from trace2strips.learners.transformer.merging import merge_heads
from trace2strips.learners.transformer.parameters import Layout, Theta
from trace2strips.learners.transformer.sharing import share_heads
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces

SHARING_ROUNDS = 3  # what is merged can be asked by further actions; seldom more than once


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


def extract(
    heads: Heads, layout: Layout, completion: Completion, dataset: Dataset, alone: Alone | None = None
) -> WorldModel:
    """What no training label needs is gone. With `alone`, heads that can be one are, and rare heads give way to those
    that many actions ask. The smaller model is taken unless it gets more training traces wrong.
    """

    def errors(world: WorldModel) -> int:
        return int(wrong_traces(world.over_tokens(), dataset).sum())

    plain = world_model(heads, layout)
    completion.prune(heads)
    if alone is not None:
        merge_heads(completion.histories, heads)
        completion.prune(heads)
        for _ in range(SHARING_ROUNDS):
            if not share_heads(alone):
                break
            completion.prune(heads)
            merge_heads(completion.histories, heads)
            completion.prune(heads)
    pruned = world_model(heads, layout)
    return plain if errors(pruned) > errors(plain) else pruned
