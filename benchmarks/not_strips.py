"""Worlds that no STRIPS model explains as long as an action does not name what it acts on; and the same with names.

Each has actions whose effect depends on the state (a conditional effect): a switch that flips, a swap of whatever is in
two boxes, a box that is emptied into another. A second kind of action looks. With the objects among the arguments the
same worlds are plain STRIPS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from itertools import permutations, product
from typing import ClassVar

import numpy as np

from trace2strips.traces import Trace

BOXES, BALLS = ("box1", "box2", "box3"), ("red", "blue")
Words = tuple[str, ...]
Content = tuple[str, ...]  # what is in each box; "" for nothing


class World(ABC):
    """`named`: actions say what they act on."""

    name: ClassVar[str]
    start: ClassVar[Hashable]

    def __init__(self, named: bool) -> None:
        self.named = named

    @property
    @abstractmethod
    def actions(self) -> Sequence[Words]: ...

    @abstractmethod
    def after(self, state: Hashable, action: Words) -> Hashable | None:
        """The next state; None: refused."""

    def log(self, traces: int, length: int, seed: int) -> list[Trace]:
        """Random attempts. Half of them are drawn from those that work."""
        rng = np.random.default_rng([seed, 11])
        found = []
        for _ in range(traces):
            state, names, ok = self.start, list[str](), list[bool]()
            for _ in range(length):
                choices = [a for a in self.actions if self.after(state, a) is not None] if rng.integers(2) else []
                choices = choices or list(self.actions)
                action = choices[rng.integers(len(choices))]
                new = self.after(state, action)
                names.append(f"{action[0]}({', '.join(action[1:])})")
                ok.append(new is not None)
                state = state if new is None else new
            found.append(Trace(tuple(names), tuple(ok)))
        return found


class FlipFlop(World):
    """`press` turns the lamp on or off, whichever it is not; `read` needs light. Named: `press(off, on)`."""

    name, start = "flip-flop", "off"

    @property
    def actions(self) -> Sequence[Words]:
        presses = [("press", "off", "on"), ("press", "on", "off")] if self.named else [("press",)]
        return [*presses, ("read", "on")]

    def after(self, state: Hashable, action: Words) -> Hashable | None:
        if action[0] == "read":
            return state if state == "on" else None
        if self.named:
            return action[2] if state == action[1] else None
        return "off" if state == "on" else "on"


class Boxes(World):
    """Three boxes; `see(box, ball)` works if the ball is in the box."""

    start = ("red", "blue", "")
    verb: ClassVar[str]

    @property
    def actions(self) -> Sequence[Words]:
        pairs = list(permutations(BOXES, 2))
        looks = [("see", box, ball) for box, ball in product(BOXES, BALLS)]
        if not self.named:
            return [*((self.verb, *pair) for pair in pairs), *looks]
        return [*((self.verb, *pair, *things) for pair in pairs for things in self.things()), *looks]

    @abstractmethod
    def things(self) -> Sequence[Words]:
        """What the boxes of a named action can hold."""

    def after(self, state: Hashable, action: Words) -> Hashable | None:
        assert isinstance(state, tuple)
        if action[0] == "see":
            return state if state[BOXES.index(action[1])] == action[2] else None
        return self.act(state, BOXES.index(action[1]), BOXES.index(action[2]), action[3:])

    @abstractmethod
    def act(self, state: Content, one: int, other: int, things: Words) -> Content | None: ...


class Swap(Boxes):
    """`swap(box1, box2)` exchanges what is in them, whatever it is. Named: `swap(box1, box2, red, blue)`; an empty box
    has nothing to name, so the third box holds a green ball."""

    name, verb, start = "swap", "swap", ("red", "blue", "green")

    def things(self) -> Sequence[Words]:
        return list(permutations(self.start, 2))

    def act(self, state: Content, one: int, other: int, things: Words) -> Content | None:
        if things and (state[one], state[other]) != things:
            return None
        return exchanged(state, one, other)


class Empty(Boxes):
    """`pour(box1, box2)` moves what is in one box into another, which must be empty. Named: `pour(box1, box2, red)`."""

    name, verb = "move the contents", "pour"

    def things(self) -> Sequence[Words]:
        return [(ball,) for ball in BALLS]

    def act(self, state: Content, one: int, other: int, things: Words) -> Content | None:
        if state[other] or not state[one] or (things and state[one] != things[0]):
            return None
        return exchanged(state, one, other)


def exchanged(state: Content, one: int, other: int) -> Content:
    new = list(state)
    new[one], new[other] = new[other], new[one]
    return tuple(new)


WORLDS: tuple[type[World], ...] = (FlipFlop, Swap, Empty)
