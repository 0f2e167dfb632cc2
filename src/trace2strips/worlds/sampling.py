"""Random traces of a hidden model, in compiled code on all cores.

The same seed gives the same bytes whatever the number of cores: every trace has its own random stream, and initial
states are drawn chunk by chunk, each chunk with a seed of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numba
import numpy as np
from jaxtyping import Bool, Int64, UInt, UInt64

from trace2strips.bits import (
    extend_hash,
    hash_words,
    next_random,
    pack,
    random_below,
    random_below_slowly,
    stable_seed,
    unpack,
)
from trace2strips.compilation import compiled
from trace2strips.errors import DomainError, shorten
from trace2strips.model.strips import State, StripsAction, StripsModel, state_of
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.pddl import format_model
from trace2strips.traces.dataset import Dataset, token_type
from trace2strips.worlds import Domain

MAX_STATES = 100_000
TRIES = 8  # blind draws of an inapplicable action before those not tried yet are listed
CHUNK = 4096  # traces made at a time: bounds the memory and moves the progress bar
CHUNK_POSITIONS = 4096 * 1024  # domain actions made at a time; fewer traces where they are very long


@dataclass(frozen=True)
class SampleSettings:
    """What `trace2strips sample` can be told. `init` is "atoms" or "states:N", `suffix` "all", "goal" or "none"."""

    traces: int = 100_000
    max_length: int = 50
    split: str = "train"
    init: str = "atoms"
    suffix: str = "goal"
    seed: int = 0

    def __post_init__(self) -> None:
        def refuse(message: str, hint: str) -> None:
            raise DomainError(message, hint=hint)

        if self.traces < 1:
            refuse(f"cannot sample {self.traces} traces", "at least 1")
        if not 0 <= self.max_length <= 100_000:
            refuse(f"the maximum length {self.max_length} is out of range", "0 to 100000")
        if self.split not in ("train", "test"):
            refuse(f"unknown split {self.split!r}", "train or test")
        if self.suffix not in ("all", "goal", "none"):
            refuse(f"unknown suffix {self.suffix!r}", "all, goal or none")
        if not 0 <= self.seed < 2**63:
            refuse(f"the seed {self.seed} is out of range", "0 to 2^63 - 1")
        if self.init != "atoms" and self.states < 1:
            hint = f"atoms or states:N with N from 1 to {MAX_STATES}, for example states:50"
            refuse(f"unknown encoding of initial states {shorten(self.init)!r}", hint)

    @property
    def states(self) -> int:
        """N of the init-state encoding, 0 for init-atoms."""
        kind, _, number = self.init.partition(":")
        valid = kind == "states" and number.isdecimal() and len(number) < 10 and int(number) <= MAX_STATES
        return int(number) if valid else 0


def build_vocabulary(domain: Domain, settings: SampleSettings) -> Vocabulary:
    """The tokens that traces with these settings may hold, before partial grounding."""
    atoms = settings.init == "atoms"
    suffix = {"all": domain.model.atoms, "goal": domain.goal_atoms, "none": ()}[settings.suffix]
    return Vocabulary(
        actions=domain.reachable_actions,
        init_atoms=domain.initial_atoms if atoms else (),
        init_states=() if atoms else tuple(f"s{i}" for i in range(settings.states)),
        test_atoms=suffix,
        has_init_false=atoms,
    )


def sample(
    domain: Domain,
    settings: SampleSettings,
    like: Dataset | None = None,
    progress: Callable[[int], None] | None = None,
) -> Dataset:
    """Draw traces. Training sets lose the actions that were never applicable in them (partial grounding);
    a test set takes the vocabulary of its training set through `like`. `progress` is told how many traces are new.
    """
    states = domain.state_set(settings.states) if settings.states else None
    names = {} if states is None else {f"s{i}": state_of(domain.model, row) for i, row in enumerate(states)}
    record = {"domain": domain.name, "model": hash_model(domain.model), **asdict(settings)}
    if like is not None:
        check_like(like, record, names)
    vocabulary = like.vocabulary if like is not None else build_vocabulary(domain, settings)
    parts = []
    chunk = chunk_size(settings.max_length)
    for start in range(0, settings.traces, chunk):
        count = min(chunk, settings.traces - start)
        parts.append(sample_chunk(domain, settings, vocabulary, states, start // chunk, count))
        if progress:
            progress(count)
    tokens, inapplicable, lengths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    del parts
    offsets = np.zeros(settings.traces + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    dataset = Dataset(vocabulary, tokens, inapplicable, offsets, record, names)
    return dataset if like is not None or settings.split == "test" else ground_partially(dataset)


def chunk_size(max_length: int) -> int:
    """Depends on nothing else, so that a longer sample starts with the shorter one."""
    return min(CHUNK, CHUNK_POSITIONS // max(max_length, 1))


def hash_model(model: StripsModel) -> str:
    """A short hash of ⟨F, A⟩: two files of one name need not hold one model."""
    return hashlib.sha256(format_model(model).encode()).hexdigest()[:16]


def check_like(like: Dataset, record: Mapping[str, Any], states: Mapping[str, State]) -> None:
    for key in ("domain", "init", "suffix", "model"):
        theirs, ours = like.settings.get(key), record[key]
        if theirs != ours:
            raise DomainError(
                f"the training set has {key} {theirs!r}, not {ours!r}",
                hint="sample both with the same options and files",
            )
    if like.states != states:
        raise DomainError(
            "the training set's initial states are others", hint="sample both with the same problem files"
        )


def refuse_unsaid_atoms(initial: Bool[np.ndarray, "traces atoms"], domain: Domain, vocabulary: Vocabulary) -> None:
    """An atom without an `init-p` would be true, but the trace could not say so."""
    unsaid = set(np.flatnonzero(initial.any(axis=0)).tolist())
    for number in sorted(unsaid - set(column_numbers(domain, vocabulary.init_atoms).tolist())):
        raise DomainError(
            f"the training set cannot tell that {domain.model.atoms[number]!r} holds at the start",
            hint="sample both with the same problem files",
        )


def sample_chunk(
    domain: Domain,
    settings: SampleSettings,
    vocabulary: Vocabulary,
    states: Bool[np.ndarray, "states atoms"] | None,
    chunk: int,
    count: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens and labels of `count` traces end to end, and the traces' lengths."""
    split = stable_seed(settings.split) % 2**32
    rng = np.random.default_rng([settings.seed, split, chunk])
    if states is None:
        initial = domain.draw_states(rng, count, settings.split)
        refuse_unsaid_atoms(initial, domain, vocabulary)
    else:
        chosen = rng.integers(len(states), size=count)
        initial = states[chosen]
    # streams[t] seeds trace t alone, so no trace depends on what another core does
    streams = rng.integers(2**64, size=count, dtype=np.uint64)
    lengths = rng.integers(settings.max_length + 1, size=count)
    refusals = rng.random(count) < 0.5  # test split: does the last action fail?

    actions = StripsModel(domain.model.atoms, tuple(domain.model.action(name) for name in vocabulary.actions))
    domain_tokens, labels, final = walk_many(
        actions, pack(initial), settings.split == "train", streams, refusals, lengths, token_type(vocabulary)
    )
    if states is None:
        prefix = np.concatenate(
            [np.ones((count, 1), dtype=bool), initial[:, column_numbers(domain, vocabulary.init_atoms)]], axis=1
        )
        prefix_tokens = np.arange(1 + len(vocabulary.init_atoms))
    else:
        prefix = np.ones((count, 1), dtype=bool)
        prefix_tokens = vocabulary.first[Kind.INIT_STATE] + chosen[:, None]
    values = unpack(final, len(domain.model.atoms))[:, column_numbers(domain, vocabulary.test_atoms)]
    return assemble(
        prefix, np.broadcast_to(prefix_tokens, prefix.shape).astype(domain_tokens.dtype),
        domain_tokens + domain_tokens.dtype.type(vocabulary.first[Kind.ACTION]), labels, lengths,
        values, vocabulary.first[Kind.TEST_ATOM],
    )  # fmt: skip


def assemble(
    prefix: Bool[np.ndarray, "traces prefix"],
    prefix_tokens: np.ndarray,
    domain_tokens: np.ndarray,
    labels: Bool[np.ndarray, "traces length"],
    lengths: Int64[np.ndarray, " traces"],
    values: Bool[np.ndarray, "traces suffix"],
    first_test: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prefix, walk and suffix of each trace side by side, then everything that is really there in one flat row."""
    count, suffix = values.shape
    walked = np.arange(labels.shape[1]) < lengths[:, None]
    there = np.concatenate([prefix, walked, np.ones((count, suffix), dtype=bool)], axis=1)
    suffix_tokens = np.broadcast_to(first_test + np.arange(suffix), values.shape).astype(domain_tokens.dtype)
    tokens = np.concatenate([prefix_tokens, domain_tokens, suffix_tokens], axis=1)
    inapplicable = np.concatenate([np.zeros_like(prefix), labels, ~values], axis=1)
    return tokens[there], inapplicable[there], there.sum(axis=1)


def column_numbers(domain: Domain, atoms: tuple[str, ...]) -> Int64[np.ndarray, " atoms"]:
    return np.array([domain.model.atom_index[atom] for atom in atoms], dtype=np.int64)


def ground_partially(dataset: Dataset) -> Dataset:
    """Remove the actions that were never applicable: their (refused, so without effect) positions and their tokens."""
    vocabulary = dataset.vocabulary
    worked = np.zeros(len(vocabulary), dtype=bool)
    worked[dataset.tokens[~dataset.inapplicable]] = True
    keep = worked | (vocabulary.kinds != Kind.ACTION)
    if keep.all():
        return dataset
    first = vocabulary.first[Kind.ACTION]
    smaller = Vocabulary(
        tuple(name for i, name in enumerate(vocabulary.actions) if keep[first + i]),
        vocabulary.init_atoms, vocabulary.init_states, vocabulary.test_atoms, vocabulary.has_init_false,
    )  # fmt: skip
    renumbered = (np.cumsum(keep) - 1).astype(dataset.tokens.dtype)
    stays = keep[dataset.tokens]
    kept_before = np.concatenate([[0], np.cumsum(stays)])
    return Dataset(
        smaller, renumbered[dataset.tokens[stays]], dataset.inapplicable[stays], kept_before[dataset.offsets],
        dataset.settings, dataset.states,
    )  # fmt: skip


# --- the walk --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """A model turned inside out: which actions need an atom, and what an action changes, as ranges of flat arrays.

    With it a step costs what it changes, not |A|: each action counts its preconditions that are false now, and
    applicable actions stand in front of the others in one list.
    """

    need_start: Int64[np.ndarray, " atoms_and_one"]  # need[need_start[p]:need_start[p+1]]: the actions with p in pre
    need: Int64[np.ndarray, " needs"]
    pre_count: Int64[np.ndarray, " actions"]
    effect_start: Int64[np.ndarray, " actions_and_one"]
    effect: Int64[np.ndarray, " effects"]  # atoms
    effect_value: Bool[np.ndarray, " effects"]  # True: added, False: deleted

    @staticmethod
    def of(model: StripsModel) -> Walk:
        index = model.atom_index
        need: list[list[int]] = [[] for _ in model.atoms]
        effect: list[list[tuple[int, bool]]] = []
        for number, action in enumerate(model.actions):
            for atom in action.pre:
                need[index[atom]].append(number)
            changes = [(index[a], True) for a in action.add] + [(index[a], False) for a in action.delete]
            effect.append(sorted(changes))
        flat = [change for changes in effect for change in changes]
        return Walk(
            starts(need), np.array([a for actions in need for a in actions], dtype=np.int64),
            np.array([len(action.pre) for action in model.actions], dtype=np.int64),
            starts(effect), np.array([p for p, _ in flat], dtype=np.int64), np.array([v for _, v in flat], dtype=bool),
        )  # fmt: skip


def starts(groups: list[list[int]] | list[list[tuple[int, bool]]]) -> Int64[np.ndarray, " groups_and_one"]:
    return np.cumsum([0, *map(len, groups)]).astype(np.int64)


def walk_many(
    model: StripsModel,
    starts: UInt64[np.ndarray, "traces words"],
    training: bool,
    streams: UInt64[np.ndarray, " traces"],
    refusals: Bool[np.ndarray, " traces"],
    lengths: Int64[np.ndarray, " traces"],
    kind: type[np.unsignedinteger[Any]],
) -> tuple[UInt[np.ndarray, "traces length"], Bool[np.ndarray, "traces length"], UInt64[np.ndarray, "traces words"]]:
    """`walk_slowly` for many traces: action numbers, labels, last states. `lengths` become what was really walked:
    a dead end cuts a trace short.
    """
    shape = (len(lengths), int(lengths.max(initial=0)))
    tokens, labels, final = np.empty(shape, dtype=kind), np.empty(shape, dtype=np.bool_), starts.copy()
    walk = Walk.of(model)
    walk_traces(
        walk.need_start, walk.need, walk.pre_count, walk.effect_start, walk.effect, walk.effect_value,
        training, streams, refusals, final, lengths, tokens, labels,
    )  # fmt: skip
    return tokens, labels, final


def walk_slowly(
    model: StripsModel, state: State, training: bool, refusal: bool, length: int, random: Callable[[], int]
) -> tuple[list[int], list[bool], State]:
    """One trace of `walk_traces`, word for word: action numbers, labels and the last state. `random` gives 64 bits."""
    tokens: list[int] = []
    labels: list[bool] = []
    tried: set[tuple[State, int]] = set()
    order = ActionOrder(model, state)
    while len(tokens) < length:
        refuse = random() >> 63 == 1 if training else refusal and len(tokens) == length - 1
        applicable, others = order.split()
        chosen = None
        if (refuse or (training and not applicable)) and others:
            for _ in range(TRIES):
                candidate = others[random_below_slowly(random, len(others))]
                if (state, candidate) not in tried:
                    chosen = candidate
                    break
            else:
                fresh = [action for action in others if (state, action) not in tried]
                chosen = fresh[random_below_slowly(random, len(fresh))] if fresh else None
        if chosen is None and applicable and (training or not refuse):
            chosen = applicable[random_below_slowly(random, len(applicable))]
        if chosen is None:
            break
        action = model.actions[chosen]
        tokens.append(chosen)
        labels.append(not action.applicable(state))
        if labels[-1]:
            tried.add((state, chosen))
        else:
            state = order.apply(action, state)
    return tokens, labels, state


class ActionOrder:
    """The list of `Walk`: applicable actions in front. Which of them stands where is part of what a seed means."""

    def __init__(self, model: StripsModel, state: State) -> None:
        self.model = model
        self.order = list(range(len(model.actions)))
        self.applicable = 0
        for number, action in enumerate(model.actions):
            if action.applicable(state):
                self.move(number, forward=True)

    def split(self) -> tuple[list[int], list[int]]:
        return self.order[: self.applicable], self.order[self.applicable :]

    def move(self, number: int, forward: bool) -> None:
        """Across the border between applicable and not, by exchange with the action that stands there."""
        self.applicable -= not forward
        old = self.order.index(number)
        self.order[old], self.order[self.applicable] = self.order[self.applicable], number
        self.applicable += forward

    def apply(self, action: StripsAction, state: State) -> State:
        """Atom after atom, as the walk does it: the order of the exchanges depends on it."""
        for atom in sorted(action.add | action.delete, key=self.model.atom_index.__getitem__):
            after = state | {atom} if atom in action.add else state - {atom}
            for number, other in enumerate(self.model.actions):
                if other.applicable(after) != other.applicable(state):
                    self.move(number, forward=other.applicable(after))
            state = after
        return state


@compiled()
def swap_in(action, place, order, where):  # type: ignore[no-untyped-def]
    """Put `action` at `place` of the list; what stood there goes where the action was."""
    old = where[action]
    other = order[place]
    order[place], order[old] = action, other
    where[action], where[other] = place, old


@compiled()
def find_refusal(action, t, position, key, table, states, tokens):  # type: ignore[no-untyped-def]
    """The place in the hash table of this action's refusal in the state that the walk is in now (whose hash is `key`):
    table[place] is the position where it was refused before, or -1.
    """
    mask = np.uint64(len(table) - 1)
    place = extend_hash(key, action) & mask
    while table[place] >= 0:
        j = table[place]
        if tokens[t, j] == action:
            same = True
            for w in range(states.shape[1]):
                if states[j, w] != states[position, w]:
                    same = False
                    break
            if same:
                break
        place = (place + np.uint64(1)) & mask
    return place


@compiled(parallel=True)
def walk_traces(  # type: ignore[no-untyped-def]
    need_start, need, pre_count, effect_start, effect, effect_value, training, streams, refusals, final, lengths,
    tokens, labels,
):  # fmt: skip
    """Random walks. Training: applicable or not with equal chance, never the same refusal twice in one state.
    Test: applicable actions, and where `refusals` says so the last one inapplicable.
    """
    actions = len(pre_count)
    words = final.shape[1]
    for t in numba.prange(len(lengths)):
        missing = np.empty(actions, dtype=np.int64)
        order = np.empty(actions, dtype=np.int64)
        where = np.empty(actions, dtype=np.int64)
        state = final[t]
        states = np.empty((lengths[t] + 1, words), dtype=np.uint64)
        size = 2
        while size < 2 * lengths[t]:  # at most half full, so that a search ends soon
            size *= 2
        table = np.full(size, -1, dtype=np.int32)
        applicable = 0
        for a in range(actions):
            missing[a] = pre_count[a]
            order[a] = a
            where[a] = a
        for p in range(len(need_start) - 1):
            if state[p >> 6] >> np.uint64(p & 63) & np.uint64(1):
                for k in range(need_start[p], need_start[p + 1]):
                    missing[need[k]] -= 1
        for a in range(actions):
            if missing[a] == 0:
                swap_in(a, applicable, order, where)
                applicable += 1
        position = 0
        while position < lengths[t]:
            for w in range(words):
                states[position, w] = state[w]
            if training:
                refuse = next_random(streams, t) >> np.uint64(63) == np.uint64(1)
            else:
                refuse = refusals[t] and position == lengths[t] - 1
            chosen = -1
            if (refuse or (training and applicable == 0)) and applicable < actions:
                chosen = choose_refused(t, position, applicable, actions, order, streams, table, states, tokens)
            if chosen < 0 and applicable > 0 and (training or not refuse):
                chosen = order[random_below(streams, t, applicable)]  # type: ignore[assignment]
            if chosen < 0:
                break  # a dead end, or nothing left to refuse
            tokens[t, position] = chosen
            refused = where[chosen] >= applicable
            labels[t, position] = refused
            position += 1
            if refused:
                continue
            for e in range(effect_start[chosen], effect_start[chosen + 1]):
                p = effect[e]
                bit = np.uint64(1) << np.uint64(p & 63)
                was = state[p >> 6] & bit != np.uint64(0)
                if was == effect_value[e]:
                    continue
                state[p >> 6] ^= bit
                for k in range(need_start[p], need_start[p + 1]):
                    a = need[k]
                    if was:
                        if missing[a] == 0:
                            applicable -= 1
                            swap_in(a, applicable, order, where)
                        missing[a] += 1
                    else:
                        missing[a] -= 1
                        if missing[a] == 0:
                            swap_in(a, applicable, order, where)
                            applicable += 1
        lengths[t] = position


@compiled()
def choose_refused(t, position, applicable, actions, order, streams, table, states, tokens):  # type: ignore[no-untyped-def]
    """An inapplicable action that was not tried in this state yet, uniformly; -1 where there is none. It is noted."""
    key = hash_words(states[position])
    for _ in range(TRIES):
        candidate = order[applicable + random_below(streams, t, actions - applicable)]
        place = find_refusal(candidate, t, position, key, table, states, tokens)
        if table[place] < 0:
            table[place] = position
            return candidate
    fresh = np.empty(actions - applicable, dtype=np.int64)
    count = 0
    for k in range(applicable, actions):
        if table[find_refusal(order[k], t, position, key, table, states, tokens)] < 0:
            fresh[count] = order[k]
            count += 1
    if count == 0:
        return -1
    candidate = fresh[random_below(streams, t, count)]
    table[find_refusal(candidate, t, position, key, table, states, tokens)] = position
    return candidate
