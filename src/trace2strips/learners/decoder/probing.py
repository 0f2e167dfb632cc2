"""From a trained decoder to a STRIPS model: ask for the truth of every atom along the traces, then count.

State probing: the state after a prefix τ_{≤t} is s_t = {p ∈ F | y(⟨τ_{≤t}, test-p⟩) < 0.5}. No one attends to `test-p`,
so all probes of a trace run in one pass: those of a prefix see its keys and no others, in every layer (`probe`).
`probe_slowly` runs every prefix again for every atom, word for word. A refused action changes nothing, so states are
asked for after the setup actions and after each action that worked.

The model M' = ⟨F, A⟩ by counting the transitions (s_{t−1}, a, s_t) of each action a that worked:

    p ∈ pre(a)  iff p ∈ s_{t−1} in at least 95 % of them
    p ∈ add(a)  iff "p came" is more frequent than "p went" and than "p stayed as it was"; del(a) likewise

From the training traces this is the paper's M_S, from longer ones its M_L. An action that never worked gets every atom
as precondition. Needs the extra `networks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int64

from trace2strips.compilation import compiled
from trace2strips.errors import TraceError
from trace2strips.learners.decoder.batches import Batch, make_batch
from trace2strips.learners.decoder.inference import portions
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.packing import Packing
from trace2strips.learners.decoder.threads import in_threads
from trace2strips.model.strips import Atom, StripsAction, StripsModel
from trace2strips.model.vocabulary import ACTION, Kind, Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset

ALMOST_ALWAYS = 0.95
POSITIONS = 4096  # positions, most of them probes, that go through the network at a time


@dataclass(frozen=True)
class States:
    """The states along some traces: `true[offsets[t]]` is that after trace t's setup actions, then one per action that
    worked; `actions` are the tokens of these, −1 in the place of the first state."""

    true: Bool[np.ndarray, "states atoms"]
    offsets: Int64[np.ndarray, " boundaries"]
    actions: Int64[np.ndarray, " states"]


def probe(
    decoder: Decoder,
    dataset: Dataset,
    traces: Int64[np.ndarray, " traces"],
    masked: Bool[np.ndarray, " positions"] | None = None,
) -> States:
    """All states along these traces. Which actions worked is told by the labels, or by `masked`."""
    masked = dataset.inapplicable if masked is None else masked
    first, atoms = dataset.vocabulary.first[Kind.TEST_ATOM], len(dataset.vocabulary.test_atoms)
    arrays = probe_kernel(dataset.tokens, masked, dataset.offsets, traces, dataset.vocabulary.kinds, first, atoms)
    tokens, positions, keys, visible, query_offsets, key_offsets, offsets, actions = arrays
    batch = Batch(tokens, positions, keys, Packing(query_offsets, key_offsets, visible))
    torch.set_num_threads(1)
    with torch.inference_mode():
        logits = decoder(batch).float().cpu().numpy()
    true = logits[tokens >= first] < 0  # y < 0.5
    return States(true.reshape(len(actions), atoms), offsets, actions)


@compiled(vector=True)
def probe_kernel(tokens, masked, offsets, chosen, kinds, first, atoms):  # type: ignore[no-untyped-def]
    """A batch in which each trace is what was applied, then every `test-p` for every state: a probe of the state after
    c keys sees the first c."""
    applied, states = 0, 0
    for t in chosen:
        states += 1
        for i in range(offsets[t], offsets[t + 1]):
            kind = kinds[tokens[i]]
            if kind < ACTION or (kind == ACTION and not masked[i]):
                applied += 1
                states += kind == ACTION
    total = applied + states * atoms
    out_tokens, positions, visible = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int32)
    keys, actions = np.empty(applied, np.int64), np.empty(states, np.int64)
    boundaries = len(chosen) + 1
    query_offsets, key_offsets = np.zeros(boundaries, np.int64), np.zeros(boundaries, np.int64)
    state_offsets = np.zeros(boundaries, np.int64)
    at, found, state = 0, 0, 0
    for n, t in enumerate(chosen):
        setup, after_setup = 0, 0
        for i in range(offsets[t], offsets[t + 1]):
            kind = kinds[tokens[i]]
            if kind < ACTION or (kind == ACTION and not masked[i]):
                out_tokens[at], positions[at] = tokens[i], i - offsets[t]
                visible[at] = found - key_offsets[n]
                keys[found] = at
                at, found = at + 1, found + 1
                if kind < ACTION:
                    setup, after_setup = found - key_offsets[n], i - offsets[t] + 1
        key_offsets[n + 1] = found
        begin = at - (found - key_offsets[n])  # where the trace's keys stand
        for c in range(setup, found - key_offsets[n] + 1):
            actions[state] = -1 if c == setup else out_tokens[begin + c - 1]
            position = after_setup if c == setup else positions[begin + c - 1] + 1
            for p in range(atoms):
                out_tokens[at], positions[at], visible[at] = first + p, position, c
                at += 1
            state += 1
        query_offsets[n + 1], state_offsets[n + 1] = at, state
    return out_tokens, positions, keys, visible, query_offsets, key_offsets, state_offsets, actions


def with_actions(dataset: Dataset, actions: int) -> Int64[np.ndarray, " traces"]:
    """The first traces, so many that they have that many actions together, or all."""
    return np.arange(min(len(dataset), int(np.searchsorted(dataset.actions_before(), actions))))


def probe_slowly(decoder: Decoder, dataset: Dataset, trace: int) -> Bool[np.ndarray, "states atoms"]:
    """The states along one trace by their definition: each prefix with each `test-p` at its end goes through the
    network as a trace of its own."""
    begin, end = int(dataset.offsets[trace]), int(dataset.offsets[trace + 1])
    tokens, refused = dataset.tokens[begin:end], dataset.inapplicable[begin:end]
    kinds = dataset.vocabulary.kinds[tokens]
    first, atoms = dataset.vocabulary.first[Kind.TEST_ATOM], len(dataset.vocabulary.test_atoms)
    setup = int((kinds < Kind.ACTION).sum())
    torch.set_num_threads(1)
    ends = [setup, *(i + 1 for i in range(len(tokens)) if kinds[i] == Kind.ACTION and not refused[i])]
    rows = []
    for stop in ends:
        row = []
        for p in range(atoms):
            alone = Dataset(
                dataset.vocabulary,
                np.append(tokens[:stop], first + p).astype(dataset.tokens.dtype),
                np.append(refused[:stop], False),
                np.array([0, stop + 1]),
            )
            with torch.inference_mode():
                row.append(float(decoder(make_batch(alone, np.array([0])))[-1]) < 0)
        rows.append(row)
    return np.array(rows, dtype=bool).reshape(len(ends), atoms)


@dataclass(frozen=True)
class Counts:
    """What the decisions rest on: transitions of each action, in how many of them each atom held before, came, went;
    traces that start in each named state, and in how many of them each atom held."""

    transitions: Int64[np.ndarray, " actions"]
    held: Int64[np.ndarray, "actions atoms"]
    came: Int64[np.ndarray, "actions atoms"]
    went: Int64[np.ndarray, "actions atoms"]
    starts: Int64[np.ndarray, " states"]
    held_at_start: Int64[np.ndarray, "states atoms"]

    @property
    def held_share(self) -> Float64[np.ndarray, "actions atoms"]:
        """Confidence in each precondition; 1 for an action that never worked."""
        return np.where(self.transitions[:, None] > 0, self.held / np.maximum(1, self.transitions)[:, None], 1.0)

    @property
    def effect_share(self) -> Float64[np.ndarray, "actions atoms"]:
        """The share of the most frequent of "came", "went", "stayed": confidence in what is said of each effect."""
        stayed = self.transitions[:, None] - self.came - self.went
        most = np.maximum(np.maximum(self.came, self.went), stayed)
        return np.where(self.transitions[:, None] > 0, most / np.maximum(1, self.transitions)[:, None], 0.0)

    def summary(self) -> dict[str, float]:
        """How sure the least sure decision is: 0.5 would be a coin. Actions that never worked are not asked."""
        seen = self.transitions > 0
        sure = np.maximum(self.held_share, 1 - self.held_share)[seen]
        return {
            "least_sure_precondition": float(sure.min(initial=1.0)),
            "least_sure_effect": float(self.effect_share[seen].min(initial=1.0)),
        }


def count(decoder: Decoder, dataset: Dataset, traces: Int64[np.ndarray, " traces"] | None = None) -> Counts:
    """Probe these traces (default: all) and count."""
    vocabulary = dataset.vocabulary
    traces = np.arange(len(dataset)) if traces is None else traces
    atoms, kinds = len(vocabulary.test_atoms), vocabulary.kinds
    worked = np.append(0, np.cumsum((kinds[dataset.tokens] == Kind.ACTION) & ~dataset.inapplicable))
    states = worked[dataset.offsets[traces + 1]] - worked[dataset.offsets[traces]] + 1
    actions, named = len(vocabulary.actions), len(vocabulary.init_states)

    def run(part: Int64[np.ndarray, " some"]) -> tuple[np.ndarray, ...]:
        found = probe(decoder, dataset, traces[part])
        begins = dataset.tokens[np.minimum(dataset.offsets[traces[part]], len(dataset.tokens) - 1)].astype(np.int64)
        first = vocabulary.first
        rows = found.actions - first[Kind.ACTION]
        return tuple(count_kernel(found.true, found.offsets, rows, begins - first[Kind.INIT_STATE], actions, named))

    sums = [np.zeros(shape, dtype=np.int64) for shape in (
        (actions,), (actions, atoms), (actions, atoms), (actions, atoms), (named,), (named, atoms)
    )]  # fmt: skip
    for found in in_threads(run, portions(states * atoms, POSITIONS)):
        for total, new in zip(sums, found, strict=True):
            total += new
    return Counts(*sums)


@compiled(vector=True)
def count_kernel(true, offsets, rows, starts, actions, named):  # type: ignore[no-untyped-def]
    atoms = true.shape[1]
    transitions, begun = np.zeros(actions, np.int64), np.zeros(named, np.int64)
    held, came = np.zeros((actions, atoms), np.int64), np.zeros((actions, atoms), np.int64)
    went, held_at_start = np.zeros((actions, atoms), np.int64), np.zeros((named, atoms), np.int64)
    for t in range(len(offsets) - 1):
        if 0 <= starts[t] < named:
            begun[starts[t]] += 1
            held_at_start[starts[t]] += true[offsets[t]]
        for s in range(offsets[t] + 1, offsets[t + 1]):
            a = rows[s]
            transitions[a] += 1
            for p in range(atoms):
                before, after = true[s - 1, p], true[s, p]
                held[a, p] += before
                came[a, p] += after and not before
                went[a, p] += before and not after
    return transitions, held, came, went, begun, held_at_start


@dataclass(frozen=True)
class Probed:
    """The extracted model and the counts behind it, in the order of the vocabulary's actions and `test-p` atoms."""

    world: WorldModel
    counts: Counts


def extract_by_probing(
    decoder: Decoder, dataset: Dataset, traces: Int64[np.ndarray, " traces"] | None = None
) -> Probed:
    """M' from the states along these traces: M_S of training traces, M_L of longer ones."""
    if not dataset.vocabulary.test_atoms:
        raise TraceError("the traces tell no final values", hint="'trace2strips sample --suffix all' writes test-p")
    counts = count(decoder, dataset, traces)
    return Probed(world_of(counts, dataset.vocabulary), counts)


def world_of(counts: Counts, vocabulary: Vocabulary) -> WorldModel:
    """The rule of 95 % and the majority."""
    atoms = vocabulary.test_atoms
    stayed = counts.transitions[:, None] - counts.came - counts.went
    pre = counts.held_share >= ALMOST_ALWAYS
    add = (counts.came > counts.went) & (counts.came > stayed)
    delete = (counts.went > counts.came) & (counts.went > stayed)

    def named(row: Bool[np.ndarray, " atoms"]) -> frozenset[Atom]:
        return frozenset(atoms[i] for i in np.flatnonzero(row))

    actions = tuple(
        StripsAction(name, named(pre[a]), named(add[a]), named(delete[a])) for a, name in enumerate(vocabulary.actions)
    )
    start = 2 * counts.held_at_start > counts.starts[:, None]
    states = {name: named(start[s]) for s, name in enumerate(vocabulary.init_states)}
    return WorldModel(StripsModel(atoms, actions, name="learned"), vocabulary, states)
