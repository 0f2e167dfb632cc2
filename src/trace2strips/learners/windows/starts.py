"""What a certificate assumes of starts: which tuples of objects, of which traces, are taken to start alike.

A START has a key; what has the same key is taken to start alike. From level to level fewer keys are equal, so whatever
is certain at a weaker assumption is certain at a stronger one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from trace2strips.model.goals import START as START_NAME
from trace2strips.traces.names import Words
from trace2strips.traces.trace import Trace

Start = tuple[Any, ...]
"""("told", literals…), ("told-of", (objects…), literals…), ("start", name, objects…) or ("own", trace, objects…); a
literal is the name of a told atom and which of the tuple's objects its arguments are."""


class StartLevel(StrEnum):
    """The strongest assumption first."""

    SAME = "same"  # what is told of a start says all of it
    OBJECTS = "objects"  # … of these very objects: there may be untold relations that never change
    OWN = "own"  # every trace starts in its own way

    @property
    def sentence(self) -> str:
        """The assumption in plain words."""
        shared = "one name is one start, and traces that tell nothing share one"
        return {
            StartLevel.SAME: f"told atoms say all of a start, {shared}",
            StartLevel.OBJECTS: f"told atoms say all of a start for the very same objects, {shared}",
            StartLevel.OWN: "every trace may start in its own way",
        }[self]


def start_key(
    trace: Trace,
    told: Sequence[Words],
    about: tuple[str, ...],
    level: StartLevel = StartLevel.SAME,
    number: int | None = None,
) -> Start:
    """The key of a tuple's START. `told` are the trace's initial atoms, split into words. `number` is the trace's in
    the log; None: a new trace, whose own start nothing is known of."""
    if level == StartLevel.OWN:
        return ("own", number, *about)
    if trace.init is None:
        return ("start", START_NAME if trace.state is None else trace.state, *about)
    known = [(name, *(about.index(word) for word in words)) for name, *words in told if set(words) <= set(about)]
    literals = sorted(known, key=repr)
    return ("told-of", about, *literals) if level == StartLevel.OBJECTS else ("told", *literals)


__all__ = ["Start", "StartLevel", "start_key"]
