"""Random walks through a hidden model, in compiled code on all cores, and their slow reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from jaxtyping import Bool, Int64, UInt, UInt64

from trace2strips.bits import extend_hash, hash_words, next_random, pack, random_below, random_below_slowly, unpack
from trace2strips.compilation import compiled
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel

TRIES = 8  # blind draws of an inapplicable action before those not tried yet are listed
DRAWS = 16  # of an applicable action, which show of what kinds there are some


@dataclass(frozen=True)
class Balance:
    """What is to be tried equally often: the kinds of actions, and the preconditions of each kind. Without any, all
    actions are.

    A group is one precondition of one kind: group_action[i] needs group_atom[i] by it, for i from group_start[g].
    """

    kinds: Int64[np.ndarray, " actions_or_none"]
    group_start: Int64[np.ndarray, " groups_and_one"]
    group_action: Int64[np.ndarray, " members"]
    group_atom: Int64[np.ndarray, " members"]

    @staticmethod
    def of(model: StripsModel, words: Mapping[str, tuple[str, ...]]) -> Balance:
        """A kind is a schema, with one object in several places or not. `words`: of what names are made."""
        kinds: dict[tuple[Any, ...], int] = {}
        groups: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        kind_of = []
        for number, action in enumerate(model.actions):
            schema, *objects = words[action.name]
            key = (schema, *map(objects.index, objects))
            kind_of.append(kinds.setdefault(key, len(kinds)))
            for atom in sorted(action.pre):
                predicate, *arguments = words[atom]
                places = (objects.index(word) if word in objects else word for word in arguments)
                groups.setdefault((key, predicate, *places), []).append((number, model.atom_index[atom]))
        members = [member for group in groups.values() for member in group]
        return Balance(
            np.array(kind_of, dtype=np.int64), range_starts(list(groups.values())),
            np.array([action for action, _ in members], dtype=np.int64),
            np.array([atom for _, atom in members], dtype=np.int64),
        )  # fmt: skip


NOTHING = np.zeros(0, dtype=np.int64)
NOT_BALANCED = Balance(NOTHING, np.zeros(1, dtype=np.int64), NOTHING, NOTHING)


@dataclass(frozen=True)
class InvertedModel:
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
    def of(model: StripsModel) -> InvertedModel:
        index = model.atom_index
        need: list[list[int]] = [[] for _ in model.atoms]
        effect: list[list[tuple[int, bool]]] = []
        for number, action in enumerate(model.actions):
            for atom in action.pre:
                need[index[atom]].append(number)
            changes = [(index[a], True) for a in action.add] + [(index[a], False) for a in action.delete]
            effect.append(sorted(changes))
        flat = [change for changes in effect for change in changes]
        return InvertedModel(
            range_starts(need), np.array([a for actions in need for a in actions], dtype=np.int64),
            np.array([len(action.pre) for action in model.actions], dtype=np.int64),
            range_starts(effect), np.array([p for p, _ in flat], dtype=np.int64),
            np.array([v for _, v in flat], dtype=bool),
        )  # fmt: skip


def range_starts(groups: Sequence[Sequence[object]]) -> Int64[np.ndarray, " groups_and_one"]:
    return np.cumsum([0, *map(len, groups)]).astype(np.int64)


def walk_many(
    model: StripsModel,
    starts: UInt64[np.ndarray, "traces words"],
    training: bool,
    streams: UInt64[np.ndarray, " traces"],
    refusals: Bool[np.ndarray, " traces"],
    lengths: Int64[np.ndarray, " traces"],
    kind: type[np.unsignedinteger[Any]],
    balance: Balance = NOT_BALANCED,
) -> tuple[UInt[np.ndarray, "traces length"], Bool[np.ndarray, "traces length"], UInt64[np.ndarray, "traces words"]]:
    """`walk_slowly` for many traces: action numbers, labels, last states. `lengths` become what was really walked:
    a dead end cuts a trace short.
    """
    shape = (len(lengths), int(lengths.max(initial=0)))
    tokens, labels, final = np.empty(shape, dtype=kind), np.empty(shape, dtype=np.bool_), starts.copy()
    of = InvertedModel.of(model)
    walk_traces(
        of.need_start, of.need, of.pre_count, of.effect_start, of.effect, of.effect_value,
        training, streams, refusals, final, lengths, tokens, labels,
        balance.kinds, balance.group_start, balance.group_action, balance.group_atom,
    )  # fmt: skip
    return tokens, labels, final


def walk_out(
    model: StripsModel,
    starts: Bool[np.ndarray, "walks atoms"],
    most: int,
    rng: np.random.Generator,
    balance: Balance = NOT_BALANCED,
) -> Bool[np.ndarray, "walks atoms"]:
    """A state of each random walk of up to so many steps, however early a dead end ends it. Short walks are as frequent
    as long ones: where nothing can be undone most happens at first."""
    streams = rng.integers(2**64, size=len(starts), dtype=np.uint64)
    never = np.zeros(len(starts), dtype=bool)
    lengths = np.full(len(starts), most)
    walk_many(model, pack(starts), False, streams.copy(), never, lengths, np.uint32, balance)
    doublings = rng.integers(most.bit_length() + 1, size=len(starts))
    lengths = rng.integers(np.minimum(lengths, 2**doublings) + 1)  # the same walks again, up to there
    _, _, final = walk_many(model, pack(starts), False, streams, never, lengths, np.uint32, balance)
    return unpack(final, len(model.atoms))


def walk_slowly(
    model: StripsModel, state: State, training: bool, refusal: bool, length: int, random: Callable[[], int],
    balance: Balance = NOT_BALANCED,
) -> tuple[list[int], list[bool], State]:  # fmt: skip
    """One trace of `walk_traces`, word for word: action numbers, labels and the last state. `random` gives 64 bits."""
    tokens: list[int] = []
    labels: list[bool] = []
    tried: set[tuple[State, int]] = set()
    order = ActionOrder(model, state)
    last: int | None = None
    while len(tokens) < length:
        refuse = random() >> 63 == 1 if training else refusal and len(tokens) == length - 1
        applicable, others = order.split()
        chosen = None
        if (refuse or (training and not applicable)) and others:
            chosen = choose_near_slowly(model, state, tried, random, balance, last)
        if chosen is None and (refuse or (training and not applicable)) and others:
            for _ in range(TRIES):
                candidate = others[random_below_slowly(random, len(others))]
                if (state, candidate) not in tried:
                    chosen = candidate
                    break
            else:
                fresh = [action for action in others if (state, action) not in tried]
                chosen = fresh[random_below_slowly(random, len(fresh))] if fresh else None
        if chosen is None and applicable and (training or not refuse):
            chosen = choose_applicable_slowly(applicable, random, balance.kinds.tolist())
        if chosen is None:
            break
        action = model.actions[chosen]
        tokens.append(chosen)
        labels.append(not action.applicable(state))
        if labels[-1]:
            tried.add((state, chosen))
        else:
            state = order.apply(action, state)
            last = chosen
    return tokens, labels, state


def choose_near_slowly(
    model: StripsModel, state: State, tried: set[tuple[State, int]], random: Callable[[], int], balance: Balance,
    last: int | None,
) -> int | None:  # fmt: skip
    """An action that one random precondition alone refuses, every second time one that the last action has made false:
    what a precondition is shows where all others hold. If tries find none, one with fewest false preconditions."""
    groups = len(balance.group_start) - 1
    best: int | None = None
    fewest = 0
    for _ in range(TRIES if groups > 0 else 0):
        members: list[tuple[int, Atom]] = []
        if last is not None and random() >> 63 == 1:
            lost = sorted(model.actions[last].delete, key=model.atom_index.__getitem__)
            if lost:
                atom = lost[random_below_slowly(random, len(lost))]
                members = [(number, atom) for number, action in enumerate(model.actions) if atom in action.pre]
        else:
            group = random_below_slowly(random, groups)
            places = range(*balance.group_start[group : group + 2].tolist())
            members = [(int(balance.group_action[i]), model.atoms[balance.group_atom[i]]) for i in places]
        if not members:
            continue
        start, looked_at = random_below_slowly(random, len(members)), 1 + random_below_slowly(random, len(members))
        for i in range(looked_at):
            candidate, atom = members[(start + i) % len(members)]
            missing = len(model.actions[candidate].pre - state)
            if atom not in state and (state, candidate) not in tried and (best is None or missing < fewest):
                best, fewest = candidate, missing
            if fewest == 1:
                return best
    return best


def choose_applicable_slowly(applicable: list[int], random: Callable[[], int], kinds: Sequence[int]) -> int:
    """Any; where actions have kinds, one of a random kind among those that some draws find."""
    if not kinds:
        return applicable[random_below_slowly(random, len(applicable))]
    seen: set[int] = set()
    for _ in range(DRAWS):
        candidate = applicable[random_below_slowly(random, len(applicable))]
        if kinds[candidate] not in seen:
            seen.add(kinds[candidate])
            if random_below_slowly(random, len(seen)) == 0:  # so each of the kinds has the same chance in the end
                chosen = candidate
    return chosen


class ActionOrder:
    """The list of the compiled walk, applicable actions in front. Which stands where is part of what a seed means."""

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
    tokens, labels, kinds, group_start, group_action, group_atom,
):  # fmt: skip
    """`walk` for each trace."""
    for t in numba.prange(len(lengths)):
        walk(
            np.int64(t), need_start, need, pre_count, effect_start, effect, effect_value, training, streams, refusals,
            final, lengths, tokens, labels, kinds, group_start, group_action, group_atom,
        )  # fmt: skip


@compiled()
def walk(  # type: ignore[no-untyped-def]
    t, need_start, need, pre_count, effect_start, effect, effect_value, training, streams, refusals, final, lengths,
    tokens, labels, kinds, group_start, group_action, group_atom,
):  # fmt: skip
    """A random walk. Training: applicable or not with equal chance, never the same refusal twice in one state.
    Test: applicable actions, and where `refusals` says so the last one inapplicable. With a `Balance` rare kinds
    of actions and rare reasons of refusals are tried as often as others.

    Apart from the parallel loop, whose body Numba would compile several times.
    """
    actions = len(pre_count)
    number = kinds.max() + 1 if len(kinds) else 0
    words = final.shape[1]
    missing = np.empty(actions, dtype=np.int64)
    seen = np.full(number, -1, dtype=np.int64)
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
    last = -1  # the action that worked last
    while position < lengths[t]:
        for w in range(words):
            states[position, w] = state[w]
        if training:
            refuse = next_random(streams, t) >> np.uint64(63) == np.uint64(1)
        else:
            refuse = refusals[t] and position == lengths[t] - 1
        chosen = -1
        if (refuse or (training and applicable == 0)) and applicable < actions and len(group_start) > 1:
            chosen = choose_near(
                t, position, missing, state, group_start, group_action, group_atom, need_start, need,
                effect_start, effect, effect_value, last, streams, table, states, tokens,
            )  # fmt: skip
        if chosen < 0 and (refuse or (training and applicable == 0)) and applicable < actions:
            chosen = choose_refused(t, position, applicable, actions, order, streams, table, states, tokens)
        if chosen < 0 and applicable > 0 and (training or not refuse):
            chosen = choose_applicable(t, position, applicable, order, streams, kinds, seen)
        if chosen < 0:
            break  # a dead end, or nothing left to refuse
        tokens[t, position] = chosen
        refused = where[chosen] >= applicable
        labels[t, position] = refused
        position += 1
        if refused:
            continue
        last = chosen
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
def choose_near(  # type: ignore[no-untyped-def]
    t, position, missing, state, group_start, group_action, group_atom, need_start, need, effect_start, effect,
    effect_value, last, streams, table, states, tokens,
):  # fmt: skip
    """`choose_near_slowly`; -1 where none is found. It is noted."""
    key = hash_words(states[position])
    best = -1
    for _ in range(TRIES):
        lost = -1
        if last >= 0 and next_random(streams, t) >> np.uint64(63) == np.uint64(1):
            count = 0
            for e in range(effect_start[last], effect_start[last + 1]):
                count += not effect_value[e]
            if count == 0:
                continue
            count = random_below(streams, t, count)
            for e in range(effect_start[last], effect_start[last + 1]):
                if not effect_value[e]:
                    if count == 0:
                        lost = effect[e]
                    count -= 1
            first, size = need_start[lost], need_start[lost + 1] - need_start[lost]
            if size == 0:
                continue
        else:
            group = random_below(streams, t, len(group_start) - 1)
            first, size = group_start[group], group_start[group + 1] - group_start[group]
        start = random_below(streams, t, size)
        looked_at = 1 + random_below(streams, t, size)
        for i in range(looked_at):
            place = first + (start + i) % size
            candidate = need[place] if lost >= 0 else group_action[place]
            p = lost if lost >= 0 else group_atom[place]
            if best >= 0 and missing[candidate] >= missing[best]:
                continue
            if state[p >> 6] >> np.uint64(p & 63) & np.uint64(1):
                continue
            if table[find_refusal(candidate, t, position, key, table, states, tokens)] >= 0:
                continue
            best = candidate
            if missing[best] == 1:
                break
        if best >= 0 and missing[best] == 1:
            break
    if best >= 0:
        table[find_refusal(best, t, position, key, table, states, tokens)] = position
    return best


@compiled()
def choose_applicable(t, position, applicable, order, streams, kinds, seen):  # type: ignore[no-untyped-def]
    """`choose_applicable_slowly`; seen[kind] is the position at which the kind was seen last."""
    if len(kinds) == 0:
        return order[random_below(streams, t, applicable)]
    chosen, different = -1, 0
    for _ in range(DRAWS):
        candidate = order[random_below(streams, t, applicable)]
        if seen[kinds[candidate]] != position:
            seen[kinds[candidate]] = position
            different += 1
            if random_below(streams, t, different) == 0:
                chosen = candidate
    return chosen


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
