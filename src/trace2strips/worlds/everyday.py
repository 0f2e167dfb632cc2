"""Five small worlds of a person's kind, and logs of them: a door with an alarm, order handling, a small game, a
warehouse and an API session.

    log = everyday_log("door", traces=200, seed=0)

A log is what a machine would write down: actions by name, each worked or refused, nothing told of the start, which is
the same in all traces. Half of the attempts are drawn from what works, half from what does not; some never work. With
`wrong` a share of the labels is written down wrongly; the world goes on as it really was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from trace2strips.bits import stable_seed
from trace2strips.errors import DomainError, UserError, suggest
from trace2strips.model.strips import StripsAction
from trace2strips.traces.trace import Trace

LENGTHS = (15, 35)  # attempts of a trace


def act(name: str, needs: str, adds: str = "", deletes: str = "") -> StripsAction:
    return StripsAction(name, frozenset(needs.split()), frozenset(adds.split()), frozenset(deletes.split()))


def door() -> Iterator[StripsAction]:
    yield act("open", "closed unlocked quiet", "opened", "closed")
    yield act("close", "opened", "closed", "opened")
    yield act("lock", "closed unlocked key", "locked", "unlocked")
    yield act("unlock", "locked key", "unlocked", "locked")
    yield act("take-key", "hook", "key", "hook")
    yield act("hang-key", "key", "hook", "key")
    yield act("arm", "locked disarmed", "armed", "disarmed")
    yield act("disarm", "armed key", "disarmed quiet", "armed")
    yield act("rattle", "armed closed", "", "quiet")
    yield act("go-in", "opened outside", "inside", "outside")
    yield act("go-out", "opened inside", "outside", "inside")


def order() -> Iterator[StripsAction]:
    yield act("create", "idle", "draft", "idle")
    yield act("add-item", "draft", "items")
    yield act("clear", "draft items", "", "items")
    yield act("submit", "draft items", "submitted", "draft")
    yield act("approve", "submitted", "approved", "submitted")
    yield act("reject", "submitted", "draft", "submitted")
    yield act("invoice", "approved unbilled", "billed", "unbilled")
    yield act("pay", "billed", "paid", "billed")
    yield act("pack", "approved", "packed", "approved")
    yield act("ship", "packed paid", "shipped", "packed")
    yield act("deliver", "shipped", "delivered", "shipped")
    yield act("refund", "paid delivered", "unbilled idle", "paid delivered items")
    yield act("cancel", "draft", "idle", "draft items")


def game() -> Iterator[StripsAction]:
    rooms, paths = ("hall", "garden", "cave"), {("hall", "garden"), ("garden", "hall"), ("garden", "cave"),
                                                ("cave", "garden")}  # fmt: skip
    for a, b in permutations(rooms, 2):
        yield act(f"walk({a}, {b})", f"in-{a}" if (a, b) in paths else "never", f"in-{b}", f"in-{a}")
    for item in ("sword", "key"):
        for room in rooms:
            yield act(f"take({item}, {room})", f"in-{room} {item}-{room} free-hand", f"has-{item}",
                      f"{item}-{room} free-hand")  # fmt: skip
            yield act(f"drop({item}, {room})", f"in-{room} has-{item}", f"{item}-{room} free-hand", f"has-{item}")
    yield act("fight", "in-cave has-sword troll", "dead", "troll")
    yield act("open-chest", "in-cave has-key dead closed", "", "closed")


def warehouse() -> Iterator[StripsAction]:
    places = ("dock", "shelf", "ramp")
    for a, b in permutations(places, 2):
        yield act(f"drive({a}, {b})", f"at-{a} charged", f"at-{b}", f"at-{a}")
    for box in ("red", "blue"):
        for place in places:
            yield act(f"load({box}, {place})", f"at-{place} {box}-{place} empty", f"has-{box}", f"{box}-{place} empty")
            yield act(f"unload({box}, {place})", f"at-{place} has-{box}", f"{box}-{place} empty", f"has-{box}")
        yield act(f"scan({box})", f"has-{box}", f"scanned-{box}")
        yield act(f"return({box})", f"{box}-dock scanned-{box}", f"{box}-shelf", f"{box}-dock scanned-{box}")
    yield act("run-down", "charged", "flat", "charged")
    yield act("charge", "at-dock flat", "charged", "flat")


def api() -> Iterator[StripsAction]:
    yield act("login", "out", "in", "out")
    yield act("logout", "in", "out", "in admin")
    yield act("sudo", "in", "admin")
    for file in ("notes", "plan"):
        yield act(f"create({file})", f"in no-{file}", f"{file} free-{file}", f"no-{file}")
        yield act(f"delete({file})", f"in {file} free-{file}", f"no-{file}", f"{file} free-{file} shared-{file}")
        yield act(f"write({file})", f"in free-{file}")
        yield act(f"freeze({file})", f"admin free-{file}", f"frozen-{file}", f"free-{file}")
        yield act(f"thaw({file})", f"admin frozen-{file}", f"free-{file}", f"frozen-{file}")
        yield act(f"share({file})", f"in {file}", f"shared-{file}")
        yield act(f"download({file})", f"shared-{file}")


@dataclass(frozen=True)
class Everyday:
    actions: Callable[[], Iterator[StripsAction]]
    start: str


WORLDS = {
    "door": Everyday(door, "closed locked hook disarmed outside quiet"),
    "order": Everyday(order, "idle unbilled"),
    "game": Everyday(game, "in-hall sword-garden key-hall free-hand troll closed"),
    "warehouse": Everyday(warehouse, "at-dock charged empty red-shelf blue-shelf"),
    "api": Everyday(api, "out no-notes no-plan"),
}


def everyday_log(name: str, traces: int, seed: int = 0, wrong: float = 0.0) -> list[Trace]:
    """A log of one of the worlds; the same seed gives the same attempts whatever the share of wrong labels."""
    return [trace for trace, _ in everyday_traces(name, traces, seed, wrong)]


def everyday_traces(name: str, traces: int, seed: int, wrong: float) -> Iterator[tuple[Trace, tuple[bool, ...]]]:
    """Each trace as it is written down, and what really happened."""
    if name not in WORLDS:
        raise DomainError(f"unknown world {name!r}", hint=suggest(name, WORLDS, "worlds"))
    if not 0 <= wrong <= 1:
        raise UserError(f"a share of {wrong} wrong labels", hint="0 to 1")
    actions = tuple(WORLDS[name].actions())
    for number in range(traces):
        rng = np.random.default_rng([seed, number, stable_seed(name) % 2**32])
        state = frozenset(WORLDS[name].start.split())
        tried, truth = [], []
        for _ in range(rng.integers(*LENGTHS, endpoint=True)):
            able = [action for action in actions if action.pre <= state]
            unable = [action for action in actions if not action.pre <= state]
            pool = able if not unable or (able and rng.random() < 0.5) else unable
            chosen = pool[rng.integers(len(pool))]
            truth.append(chosen.pre <= state)
            tried.append(chosen.name)
            if truth[-1]:
                state = (state - chosen.delete) | chosen.add
        flipped = np.random.default_rng([seed, number, 1]).random(len(tried)) < wrong
        written = tuple(bool(ok ^ flip) for ok, flip in zip(truth, flipped, strict=True))
        yield Trace(tuple(tried), written), tuple(truth)
