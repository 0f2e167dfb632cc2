"""A planner of our own, from the textbook: for who cannot have another one, or may not (the others are under the GPL).

Greedy best-first search with FF, or A* with hmax; states are whole numbers, a bit for each atom. Slower than Mimir by a
hundred times and more.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from itertools import count

from trace2strips.planning.planners import Action, Answer, Atoms, Status

NEVER = float("inf")
LOOKS = 64  # states between two looks at the clock


class Search:
    def __init__(self, atoms: int, actions: Sequence[Action], optimal: bool) -> None:
        self.atoms, self.actions, self.optimal = atoms, actions, optimal
        self.bits = [tuple(sum(1 << atom for atom in set(part)) for part in action) for action in actions]
        self.needing: list[list[int]] = [[] for _ in range(atoms)]
        self.needs = [len(set(pre)) for pre, _, _ in actions]
        for number, (pre, _, _) in enumerate(actions):
            for atom in set(pre):
                self.needing[atom].append(number)

    def solve(self, init: Atoms, goal: Atoms, states: int | None, seconds: float | None) -> Answer:
        """Best first: by the heuristic alone, or with the steps so far."""
        deadline = NEVER if seconds is None else time.monotonic() + seconds
        start, wanted = (sum(1 << atom for atom in set(some)) for some in (init, goal))
        estimate: Callable[[int], float] = lambda state: self.relaxed(state, goal)  # noqa: E731
        first = estimate(start)
        if first == NEVER:
            return Answer(Status.UNSOLVABLE, None, 0)
        number = count()
        waiting = [(first, next(number), start)]
        came: dict[int, tuple[int, int]] = {}  # state → the one before it, and the action between
        steps, done, known = {start: 0}, set[int](), {start: first}
        generated = 0
        while waiting:
            _, _, state = heapq.heappop(waiting)
            if state in done:
                continue
            done.add(state)
            if state & wanted == wanted:
                return Answer(Status.SOLVED, path_to(state, came), generated)
            if len(done) % LOOKS == 0 and time.monotonic() > deadline:
                return Answer(Status.OUT_OF_TIME, None, generated)
            for action, (pre, add, delete) in enumerate(self.bits):
                if state & pre != pre:
                    continue
                generated += 1
                after, so_far = (state | add) & ~delete, steps[state] + 1
                if so_far >= steps.get(after, NEVER) or (not self.optimal and after in steps):
                    continue
                if after not in known:
                    if states is not None and len(known) >= states:
                        return Answer(Status.OUT_OF_STATES, None, generated)
                    known[after] = estimate(after)
                if known[after] < NEVER:
                    steps[after], came[after] = so_far, (state, action)
                    done.discard(after)
                    rank = known[after] + (so_far if self.optimal else 0)
                    heapq.heappush(waiting, (rank, next(number), after))
        return Answer(Status.UNSOLVABLE, None, generated)

    def relaxed(self, state: int, goal: Atoms) -> float:
        """As if nothing were deleted: the level at which the goal is reached (hmax), or the number of actions that
        reach it (FF). Infinite where it cannot be reached even so, which is a proof that it cannot."""
        level = {atom: 0 for atom in range(self.atoms) if state >> atom & 1}
        first: dict[int, int] = {}  # atom → the action that adds it first
        missing, reached = list(self.needs), list(level)
        ready = [number for number, needed in enumerate(missing) if not needed]
        depth, left = 0, set(goal) - level.keys()
        while left and (reached or ready):
            for atom in reached:
                for number in self.needing[atom]:
                    missing[number] -= 1
                    if not missing[number]:
                        ready.append(number)
            depth, reached = depth + 1, []
            for number in ready:
                for atom in self.actions[number][1]:
                    if atom not in level:
                        level[atom], first[atom] = depth, number
                        reached.append(atom)
            ready = []
            left -= level.keys()
        if left:
            return NEVER
        if self.optimal:
            return max((level[atom] for atom in goal), default=0)
        chosen: set[int] = set()
        open_atoms = [atom for atom in goal if atom in first]
        for atom in open_atoms:  # grows while it is walked
            if first[atom] not in chosen:
                chosen.add(first[atom])
                open_atoms += [need for need in self.actions[first[atom]][0] if need in first]
        return len(chosen)


def path_to(state: int, came: dict[int, tuple[int, int]]) -> tuple[int, ...]:
    found = []
    while state in came:
        state, action = came[state]
        found.append(action)
    return tuple(reversed(found))
