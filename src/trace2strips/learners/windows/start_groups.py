"""Which traces may have started alike, where nothing is told and one start does not explain the log.

Collected at level `own`, a refusal that only its trace's own start can explain says: nothing that shares this start has
a success with a smaller window since START. So some traces cannot start alike: they are the seeds of groups, and the
others follow, those first that fit one group alone. In a group every such refusal keeps a live reason. What follows
from anything but starts is the same whatever the groups are (theorem 1): with its groups named the log is explainable.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from math import log

import numpy as np

from trace2strips.learners.windows.collection import START_MARK, Collected
from trace2strips.learners.windows.summary import StartNames, as_int, as_ints, keep
from trace2strips.model.goals import START
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset

MOST_GROUPS = 40  # more starts are not told apart
MOST_TRACES = 20_000  # that are put into groups
MOST_SEEDS = 500  # traces among which those are looked for that cannot start alike
NEVER = -1

Asked = tuple[int, tuple[str, ...]]  # a query and its objects
Refusal = frozenset[tuple[Asked, int]]  # the windows since START, one of which must explain it


@dataclass
class Group:
    """Traces that start alike: the smallest windows since START of what worked, and the refusals that only START
    explains. `version` counts how often more came to be known of the start."""

    windows: dict[Asked, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    refusals: set[Refusal] = field(default_factory=set)
    traces: list[int] = field(default_factory=list)
    version: int = 0

    @property
    def says(self) -> int:
        """How much is known of its start."""
        return len(self.refusals) + len(self.windows)

    def is_alive(self, reason: tuple[Asked, int], other: Group) -> bool:
        """Whether nothing of the two groups has worked with a smaller window."""
        asked, window = reason
        return not any(small & ~window == 0 for group in (self, other) for small in group.windows.get(asked, ()))

    def fits(self, other: Group) -> bool:
        return all(
            any(self.is_alive(reason, other) for reason in refusal)
            for refusals in (other.refusals, self.refusals)
            for refusal in refusals
        )

    def take(self, other: Group) -> None:
        more = not other.refusals <= self.refusals
        for asked, windows in other.windows.items():
            mine = self.windows[asked]
            for window in windows:
                more = more or all(small & ~window for small in mine)
                keep(mine, window, 0)
        self.refusals |= other.refusals
        self.traces += other.traces
        self.version += more


def single_groups(found: Collected, dataset: Dataset) -> list[Group]:
    """What each trace says of its own start. `found` was collected at level `own`."""
    names, mark = StartNames(found, dataset.vocabulary), int(START_MARK)
    groups = [Group(traces=[i]) for i in range(len(dataset))]
    for key, window, _ in found.successes():
        if key & mark:
            query, (_, trace, *objects) = names.reason(key)  # type: ignore[misc]
            keep(groups[trace].windows[query, tuple(objects)], as_int(window), 0)
    count, reasons = int(found.counts[2]), int(found.counts[3])
    keys, windows = found.reason_key[:reasons].tolist(), as_ints(found.reason_window[:reasons])
    for n in range(count):
        mine = range(int(found.refusal_start[n]), int(found.refusal_start[n + 1]))
        if all(keys[r] & mark for r in mine):
            said = set()
            for r in mine:
                query, (_, trace, *objects) = names.reason(keys[r])  # type: ignore[misc]
                said.add(((query, tuple(objects)), windows[r]))
            groups[trace].refusals.add(frozenset(said))
    return groups


def group_starts(found: Collected, dataset: Dataset) -> list[list[int]] | None:
    """The traces of each start, the most common one first; None: there would be too many."""
    singles = single_groups(found, dataset)
    order = sorted(range(len(singles)), key=lambda i: (-singles[i].says, i))
    homes = Homes(singles, seeds(singles, order))
    groups = homes.groups
    placed = {i for group in groups for i in group.traces}
    waiting = [i for i in order if i not in placed]
    while waiting:
        if len(groups) > MOST_GROUPS:
            return None
        left = homes.propagate(waiting)
        if len(left) < len(waiting):
            waiting = left
            continue
        # all fit several: those that say most go to the most common, until more is known of one
        known = sum(group.version for group in groups)
        taken = 0
        while taken < len(left) and known == sum(group.version for group in groups):
            i = left[taken]
            if not singles[i].says:
                max(groups, key=lambda group: len(group.traces)).traces.extend(left[taken:])
                taken = len(left)
            else:
                max(homes.of(i), key=lambda group: len(group.traces)).take(singles[i])
                taken += 1
        waiting = left[taken:]
    return sorted((sorted(group.traces) for group in groups), key=lambda traces: (-len(traces), traces[0]))


def seeds(singles: list[Group], order: list[int]) -> list[Group]:
    """Traces no two of which can start alike, those first that say most."""
    found: list[Group] = []
    for i in order[:MOST_SEEDS]:
        if not any(group.fits(singles[i]) for group in found):
            found.append(Group())
            found[-1].take(singles[i])
    return found


class Homes:
    """Which groups each trace fits. The more is known of a group, the fewer fit it: a trace that does not fit never
    will, and one that did is asked again only when more is known."""

    def __init__(self, singles: list[Group], groups: list[Group]) -> None:
        self.singles, self.groups = singles, groups
        self.fitted: dict[tuple[int, int], int] = {}  # a trace and a group: at which version it fitted, or NEVER

    def fits(self, trace: int, number: int) -> bool:
        group, at = self.groups[number], self.fitted.get((trace, number))
        if at == NEVER or at == group.version:
            return at != NEVER
        fits = group.fits(self.singles[trace])
        self.fitted[trace, number] = group.version if fits else NEVER
        return fits

    def of(self, trace: int) -> list[Group]:
        return [group for number, group in enumerate(self.groups) if self.fits(trace, number)]

    def propagate(self, waiting: list[int]) -> list[int]:
        """Traces that fit one group alone go there, those that fit none begin one; the others wait."""
        left = []
        for i in waiting:
            homes = self.of(i)
            if len(homes) > 1:
                left.append(i)
            elif homes:
                homes[0].take(self.singles[i])
            else:
                self.groups.append(Group())
                self.groups[-1].take(self.singles[i])
        return left


def with_named_starts(dataset: Dataset, groups: list[list[int]]) -> Dataset:
    """The traces of the first group begin in `start`, as those do of which nothing is known, others in `start-2` …"""
    names = [START, *(f"{START}-{number}" for number in range(2, len(groups) + 1))]
    vocabulary = dataset.vocabulary
    wider = replace(vocabulary, init_states=tuple(names))
    moved = np.arange(len(vocabulary)) + (len(wider) - len(vocabulary)) * (vocabulary.kinds > Kind.INIT_STATE)
    tokens = moved[dataset.tokens].astype(dataset.tokens.dtype)
    for name, traces in zip(names, groups, strict=True):
        tokens[dataset.offsets[traces]] = wider.number(Kind.INIT_STATE, name)
    told = np.ones(len(dataset), dtype=bool)
    told[groups[0]] = False
    return replace(dataset, vocabulary=wider, tokens=tokens, untold=~told)


def starts_in(dataset: Dataset, name: str) -> Dataset:
    """The same traces, all of them from a start with this name."""
    tokens = dataset.tokens.copy()
    tokens[dataset.offsets[:-1]] = dataset.vocabulary.number(Kind.INIT_STATE, name)
    return replace(dataset, tokens=tokens, untold=np.zeros(len(dataset), dtype=bool))


def describe_starts(dataset: Dataset) -> tuple[str, ...]:
    """How many traces begin in each, and where the first of them stands."""
    found = []
    for name in dataset.vocabulary.init_states:
        mine = np.flatnonzero(dataset.tokens[dataset.offsets[:-1]] == dataset.vocabulary.number(Kind.INIT_STATE, name))
        file, line = dataset.place(int(mine[0]))
        where = f"trace {int(mine[0]) + 1}" if file is None else f"{file}:{line}"
        found.append(f"{name}: {len(mine):,} traces, the first at {where}")
    return tuple(found)


def group_nats(groups: list[list[int]], predicates: int) -> float:
    """What it takes to say which trace starts how, N times the entropy of that, and how predicates start in each."""
    total = sum(map(len, groups))
    which = -sum(len(traces) * log(len(traces) / total) for traces in groups)
    return which + log(2) * (len(groups) - 1) * predicates


def can_be_grouped(dataset: Dataset) -> bool:
    """Where nothing is told of any start."""
    return bool(dataset.untold.all()) and len(dataset) <= MOST_TRACES
