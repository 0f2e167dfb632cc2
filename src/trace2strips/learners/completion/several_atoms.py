"""Several new atoms at once, for actions that need more than one atom of which none is named.

Where a refusal can have several reasons, no single new atom explains all refusals of an action, so there is nothing to
fit. But *parts* of atoms can be read off the labels. Say that an action never works right after row d. Then d may
delete one of its preconditions, and between d and the next time that the action works something must add it again: the
adders are a small set of rows of which one stands in every such window (`hitting_set`; short windows say most). That
makes a part of an atom, `d` deletes, they add, which never forbids what worked.

Parts are put together while nothing is lost: the whole still forbids nothing that worked, and every refusal that they
explained is still explained, by the whole or by another part that the action needs. Those alike come first, across
actions too, so that what is rare in one action is learned from another. Of what comes out, few are chosen that explain
the refusals of all actions (`choose`); completion then settles their effects like those of any other atom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, UInt8, UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, NONE
from trace2strips.learners.completion.histories import (
    UNSTARTED,
    Histories,
    Occurrences,
    deciders,
    demand,
    evidence,
    is_false,
    likeness,
    spread,
)
from trace2strips.learners.completion.settings import DEFAULTS, CompletionSettings

Scores = Float64[np.ndarray, " parts"]


@dataclass
class Part:
    """A part of an atom, in the end a whole one: what rows do to it, how it starts, and for each action that may need
    it the refusals it explains.
    """

    effect: UInt8[np.ndarray, " rows"]
    users: dict[int, Bool[np.ndarray, " _"]]
    start: int = UNSTARTED

    @property
    def explained(self) -> int:
        return int(sum(mask.sum() for mask in self.users.values()))


@compiled()
def count_windows(rows, row_start, trace, depth, occurrence, forbids):  # type: ignore[no-untyped-def]
    """How many windows `fill_windows` finds."""
    found = 0
    seen = np.full(len(forbids), -1, dtype=np.int64)
    for i in range(len(occurrence)):
        o = occurrence[i]
        begin = row_start[trace[o]]
        for at in range(begin + depth[o] - 1, begin - 1, -1):
            r = rows[at]
            found += forbids[r] and seen[r] != i
            seen[r] = i
    return found


@compiled()
def fill_windows(rows, row_start, trace, depth, occurrence, forbids, after, size, content):  # type: ignore[no-untyped-def]
    """A window: the different rows between the last time of a forbidding row and an occurrence, as bits."""
    found = 0
    seen = np.full(len(forbids), -1, dtype=np.int64)
    now = np.zeros(content.shape[1], dtype=np.uint64)
    for i in range(len(occurrence)):
        o = occurrence[i]
        begin = row_start[trace[o]]
        now[:] = 0
        different = 0
        for at in range(begin + depth[o] - 1, begin - 1, -1):
            r = rows[at]
            if seen[r] == i:
                continue
            seen[r] = i
            if forbids[r]:
                after[found] = r
                size[found] = different
                content[found] = now
                found += 1
            different += 1
            now[r // 64] |= np.uint64(1) << np.uint64(r % 64)


@compiled()
def fill_undecided(rows, row_start, trace, depth, occurrence, effect, size, content):  # type: ignore[no-untyped-def]
    """The different rows between the last one that affects the part and an occurrence, as bits."""
    for i in range(len(occurrence)):
        o = occurrence[i]
        begin = row_start[trace[o]]
        size[i] = 0
        at = begin + depth[o] - 1
        while at >= begin and effect[rows[at]] == 0:
            word, bit = rows[at] // 64, np.uint64(1) << np.uint64(rows[at] % 64)
            if not content[i, word] & bit:
                content[i, word] |= bit
                size[i] += 1
            at -= 1


@compiled()
def hitting_set(size, content, most, chosen):  # type: ignore[no-untyped-def]
    """Greedily the rows of which every window holds one. Windows come sorted, short ones first: those weigh more, and
    only the first `most` that are not hit yet decide.
    """
    missed = np.ones(len(size), dtype=np.bool_)
    weight = np.zeros(len(chosen))
    while True:
        weight[:] = 0
        looked = shortest = 0
        for i in range(len(size)):
            if missed[i]:
                shortest = size[i] if looked == 0 else shortest
                counts = 4.0 ** (shortest - size[i])
                for r in range(len(chosen)):
                    if content[i, r // 64] >> np.uint64(r % 64) & np.uint64(1):
                        weight[r] += counts
                looked += 1
                if looked == most:
                    break
        best = np.argmax(weight)
        if weight[best] == 0:
            return
        chosen[best] = True
        for i in range(len(size)):
            if content[i, best // 64] >> np.uint64(best % 64) & np.uint64(1):
                missed[i] = False


class PartSearch:
    """The search on one set of refusals: `worked` and `refused` tell for each action where it worked, and where it was
    refused for a reason that is still unknown.
    """

    def __init__(
        self,
        histories: Histories,
        worked: Mapping[int, Occurrences],
        refused: Mapping[int, Occurrences],
        settings: CompletionSettings = DEFAULTS,
    ) -> None:
        self.settings = settings
        self.histories = histories
        self.worked = worked
        self.refused = refused
        self.looked_at = {action: spread(refusals, settings.sampled_refusals) for action, refusals in refused.items()}
        # by how many parts each of these refusals is explained
        self.reasons = {action: np.zeros(len(some), dtype=np.int64) for action, some in self.looked_at.items()}

    def find(self, starts: list[int], states: bool) -> list[Part]:
        """Atoms that explain what they can. `starts`: columns of `initially_false` that an atom may start as, where
        traces begin with atoms. `states`: a named initial state may be what deletes.
        """
        found = [part for action in self.refused for part in self.read_parts(action, states)]
        found = self.gather(found, self.same_effects)
        if self.told_by_atoms:  # two parts of one atom may delete in different ways, but the same actions need them
            found = self.gather(self.needed(found), self.same_users)
        return self.choose(self.begin(found, starts))

    def read_parts(self, action: int, states: bool) -> list[Part]:
        """What the refusals of one action say: one part for each row that forbids it, alike ones put together."""
        h, worked, rows = self.histories, self.worked[action], self.histories.layout.rows
        counts = evidence(h, demand(worked, self.refused[action]))
        forbids = (counts[:, 0] == 0) & (counts[:, 1] > 0)
        if not states:
            forbids[h.layout.actions :] = False
        where = (h.rows, h.row_start, h.trace, h.depth, worked, forbids)
        total = count_windows(*where)
        after, size = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int64)
        content: UInt64[np.ndarray, "windows words"] = np.empty((total, -(-rows // 64)), dtype=np.uint64)
        fill_windows(*where, after, size, content)
        order = np.lexsort((size, after))
        size, content = size[order], content[order]
        bounds = np.searchsorted(after[order], np.arange(rows + 1))
        found: list[Part] = []
        for row in np.flatnonzero(forbids).tolist():
            mine = slice(bounds[row], bounds[row + 1])
            adds = np.zeros(rows, dtype=bool)
            hitting_set(size[mine], content[mine], self.settings.windows, adds)
            effect = np.where(adds, ADD, NONE).astype(np.uint8)
            effect[row] = DELETE
            explained = is_false(h, self.looked_at[action], effect)
            if explained.any():
                found.append(Part(effect, {action: explained}))
                self.enter(found[-1])
        return self.gather(found, self.same_effects, others=False)

    def enter(self, part: Part, by: int = 1) -> None:
        """Count a part among the reasons, or take it out again."""
        for action, explained in part.users.items():
            self.reasons[action] += by * explained

    def put_together(self, one: Part, other: Part, others: bool = True) -> Part | None:
        """`together`, and the reasons are counted anew."""
        both = self.together(one, other, others)
        if both:
            self.enter(one, -1)
            self.enter(other, -1)
            self.enter(both)
        return both

    def together(self, one: Part, other: Part, others: bool = True) -> Part | None:
        """Both as one part, if nothing is lost. With `others` a refusal may be left to other parts.

        What deletes for one of them deletes; where that forbids what worked, adders were missing or others stood in for
        them, so the windows are looked at again.
        """
        effect = np.maximum(one.effect, other.effect)
        if (users := self.explained_by(effect, one, other, others)) is None:
            return None
        lacked = self.lacking(effect, one.start, users)
        if lacked is None:
            return None
        if lacked.any():
            effect[lacked] = ADD
            if (users := self.explained_by(effect, one, other, others)) is None:
                return None
        return Part(effect, users, one.start)

    def explained_by(
        self, effect: UInt8[np.ndarray, " rows"], one: Part, other: Part, others: bool
    ) -> dict[int, Bool[np.ndarray, " _"]] | None:
        """What a part in place of two explains; None if something is lost."""
        users = {}
        for action in one.users | other.users:
            whole = is_false(self.histories, self.looked_at[action], effect, one.start)
            lost = np.zeros(len(whole), dtype=bool)
            rest = self.reasons[action].copy()
            for part in (one, other):
                if action in part.users:
                    lost |= part.users[action] & ~whole
                    rest -= part.users[action]
            if (lost & (rest <= 0) if others else lost).any():
                return None
            users[action] = whole
        return users

    def lacking(
        self, effect: UInt8[np.ndarray, " rows"], start: int, actions: Iterable[int]
    ) -> Bool[np.ndarray, " rows"] | None:
        """The adders that a part lacks, so that it forbids nothing that worked; None if none can help."""
        lacked = np.zeros(len(effect), dtype=bool)
        broken = [
            where[is_false(self.histories, where, effect, start)] for where in map(self.worked.__getitem__, actions)
        ]
        missing = np.concatenate(broken)
        if len(missing):
            h = self.histories
            size = np.empty(len(missing), dtype=np.int64)
            content = np.zeros((len(missing), -(-len(effect) // 64)), dtype=np.uint64)
            fill_undecided(h.rows, h.row_start, h.trace, h.depth, missing, effect, size, content)
            if not size.all():  # it worked right after what deletes
                return None
            order = np.argsort(size, kind="stable")
            hitting_set(size[order], content[order], self.settings.windows, lacked)
        return lacked

    def gather(self, parts: list[Part], alike: Callable[[list[Part], Part], Scores], others: bool = True) -> list[Part]:
        """Each part is put to the one that it is most alike, if nothing is lost; who explains most comes first."""
        before: list[Part] = []
        kept = parts
        while len(kept) != len(before):
            before, kept = kept, []
            for part in sorted(before, key=lambda part: -part.explained):
                score = alike(kept, part)
                for i in np.argsort(-score, kind="stable")[: self.settings.tries].tolist():
                    if score[i] > 0 and (both := self.put_together(kept[i], part, others)):
                        kept[i] = both
                        break
                else:
                    kept.append(part)
        return kept

    def needed(self, parts: list[Part]) -> list[Part]:
        """Who explains nothing of an action that others do not explain is none of its reasons; those that explain least
        go first. What is nobody's reason goes altogether.
        """
        for action, reasons in self.reasons.items():
            mine = [part for part in parts if action in part.users]
            for part in sorted(mine, key=lambda part: int(part.users[action].sum())):
                if (reasons[part.users[action]] > 1).all():
                    reasons -= part.users.pop(action)
        return [part for part in parts if part.users]

    def same_effects(self, parts: list[Part], part: Part) -> Scores:
        return np.array([likeness(other.effect, part.effect) for other in parts], dtype=np.float64)

    def same_users(self, parts: list[Part], part: Part) -> Scores:
        """The share of actions that need both, where it is half or more: one atom that is deleted in several ways."""
        mine = part.users.keys()
        share = np.array([len(mine & other.users.keys()) / len(mine | other.users.keys()) for other in parts])
        return np.where(share >= 0.5, share, 0.0) if len(share) else share

    def begin(self, parts: list[Part], starts: list[int]) -> list[Part]:
        """Say how each starts. Named states: by what its actions did before any row decided. Atoms: as the one among
        `starts` that forbids nothing that worked and explains most; who starts as the same atom is put together, or
        starts as another. Who cannot start goes.
        """
        kept: list[Part] = []
        for part in sorted(parts, key=lambda part: -part.explained):
            effect = self.begin_in_states(part)
            start: int | None = self.spare
            left = list(starts)
            while True:
                if self.told_by_atoms:
                    start = self.best_start(part.users, effect, left)
                self.enter(part, -1)
                if start is None:
                    break
                part = Part(effect, self.explained_from(part, effect, start), start)
                self.enter(part)
                holder = next((i for i, other in enumerate(kept) if other.start == start != self.spare), None)
                if holder is None:
                    kept.append(part)
                    break
                if both := self.put_together(kept[holder], part):
                    kept[holder] = both
                    break
                left.remove(start)
        return kept

    @property
    def told_by_atoms(self) -> bool:
        """Whether traces begin with atoms, all others being false."""
        return bool(self.histories.initially_false[:, self.spare].any())

    @property
    def spare(self) -> int:
        """Where an atom starts that no setup action names."""
        return self.histories.initially_false.shape[1] - 1

    def explained_from(
        self, part: Part, effect: UInt8[np.ndarray, " rows"], start: int
    ) -> dict[int, Bool[np.ndarray, " _"]]:
        return {a: is_false(self.histories, self.looked_at[a], effect, start) for a in part.users}

    def begin_in_states(self, part: Part) -> UInt8[np.ndarray, " rows"]:
        """A named state deletes the part if an action that needs it was refused there, and none worked."""
        h = self.histories
        seen = np.zeros((h.layout.rows, 2), dtype=np.int64)
        for action in part.users:
            for kind, where in enumerate((self.worked[action], self.looked_at[action])):
                undecided = where[(deciders(h, where, part.effect) < 0) & (h.depth[where] > 0)]
                first = h.rows[h.row_start[h.trace[undecided]]]
                seen[:, kind] += np.bincount(first, minlength=h.layout.rows)
        effect = part.effect.copy()
        open_rows = np.flatnonzero(effect == NONE)
        open_rows = open_rows[open_rows >= h.layout.actions]
        false = (seen[open_rows, 0] == 0) & (seen[open_rows, 1] > 0)
        effect[open_rows] = np.where(false, DELETE, ADD)
        return effect

    def best_start(self, users: Iterable[int], effect: UInt8[np.ndarray, " rows"], starts: list[int]) -> int | None:
        h = self.histories
        forbidden, explained = (np.zeros(len(starts), dtype=np.int64) for _ in range(2))
        for action in users:
            for count, where in ((forbidden, self.worked[action]), (explained, self.looked_at[action])):
                undecided = h.trace[where[deciders(h, where, effect) < 0]]
                count += h.initially_false[undecided][:, starts].sum(axis=0, dtype=np.int64)
        fitting = np.flatnonzero(forbidden == 0)
        return starts[int(fitting[explained[fitting].argmax()])] if len(fitting) else None

    def choose(self, parts: list[Part]) -> list[Part]:
        """Few parts that explain all that can be explained: always the one that explains most of what is left, in all
        actions that it would not forbid where they worked.
        """
        actions = list(self.refused)
        most = self.settings.sampled_labels
        samples = [[spread(where[action], most) for action in actions] for where in (self.worked, self.refused)]
        right, wrong = map(np.concatenate, samples)
        right_of, wrong_of = (np.repeat(np.arange(len(actions)), [len(part) for part in some]) for some in samples)
        explains = np.empty((len(parts), len(wrong)), dtype=bool)
        for i, part in enumerate(parts):
            forbids = np.zeros(len(actions), dtype=bool)
            forbids[right_of[is_false(self.histories, right, part.effect, part.start)]] = True
            explains[i] = is_false(self.histories, wrong, part.effect, part.start) & ~forbids[wrong_of]
        chosen: list[Part] = []
        gain = explains.sum(axis=1)
        while len(parts) and gain[best := int(gain.argmax())]:
            chosen.append(parts[best])
            gain -= explains[:, newly := explains[best].copy()].sum(axis=1)
            explains[:, newly] = False
        return chosen
