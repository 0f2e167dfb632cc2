"""Traces longer than those of training, without a hidden world: random walks in a model that was learned.

Nobody knows how a training trace would go on. A STRIPS model that explains the training traces says something of it,
and a network that says the same of long walks has learned what it could not learn by heart: two hypotheses of different
kinds agree where neither was fitted.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from trace2strips.bits import pack, unpack
from trace2strips.model.strips import StripsModel, membership
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.worlds.walks import NOTHING, Balance, walk_many

LONGER = 4  # times the actions of the longest training trace: as much longer as the paper's test traces are


def longer_traces(world: WorldModel, dataset: Dataset, count: int, rng: np.random.Generator) -> Dataset:
    """Walks that start where training traces start. All actions work but, in half of them, the last, which one
    precondition refuses where that can be; then come all final values. Labels are the model's."""
    words, model = dataset.vocabulary, world.model
    actions = StripsModel(model.atoms, tuple(model.action(name) for name in words.actions))
    chosen = rng.integers(len(dataset), size=count)
    prefixes = [prefix_of(dataset, trace) for trace in chosen.tolist()]
    starts = []
    for prefix in prefixes:
        kinds = words.kinds[prefix]
        named = [words.subjects[token] for token in prefix[kinds == Kind.INIT_STATE]]
        told = [words.subjects[token] for token in prefix[kinds == Kind.INIT_ATOM]]
        starts.append(world.start(named[0]) if named else world.told(told))
    longest = int(np.diff(dataset.actions_before()).max(initial=0))
    lengths = rng.integers(LONGER * longest + 1, size=count)
    refusals = rng.random(count) < 0.5
    streams = rng.integers(2**64, size=count, dtype=np.uint64)
    bits, balance = pack(membership(model, starts)), each_precondition(actions)
    tokens, labels, final = walk_many(actions, bits, False, streams, refusals, lengths, np.uint32, balance)
    values = unpack(final, len(model.atoms))[:, [model.atom_index[atom] for atom in words.test_atoms]]
    tests = words.first[Kind.TEST_ATOM] + np.arange(len(words.test_atoms))
    parts, refused = [], []
    for prefix, walked, wrong, true, length in zip(prefixes, tokens, labels, values, lengths.tolist(), strict=True):
        parts += [prefix, words.first[Kind.ACTION] + walked[:length].astype(np.int64), tests]
        refused += [np.zeros(len(prefix), dtype=bool), wrong[:length], ~true]
    ends = np.cumsum([len(prefix) + length + len(tests) for prefix, length in zip(prefixes, lengths, strict=True)])
    return Dataset(
        words, np.concatenate(parts).astype(dataset.tokens.dtype), np.concatenate(refused), np.append(0, ends)
    )


def prefix_of(dataset: Dataset, trace: int) -> Int64[np.ndarray, " setup"]:
    """The setup actions of a trace."""
    tokens = dataset.tokens[dataset.offsets[trace] : dataset.offsets[trace + 1]].astype(np.int64)
    return tokens[dataset.vocabulary.kinds[tokens] < Kind.ACTION]


def each_precondition(model: StripsModel) -> Balance:
    """Each precondition of each action is as likely to be what refuses."""
    pairs = [
        (number, model.atom_index[atom]) for number, action in enumerate(model.actions) for atom in sorted(action.pre)
    ]
    members = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Balance(NOTHING, np.arange(len(pairs) + 1), members[:, 0].copy(), members[:, 1].copy())
