"""Windows by definition: slow, obvious, for small logs and for tests of the compiled collection.

A window is a set of bits (a Python int). Starts are told as keys: tuples whose START has the same key are taken to
start alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.starts import Start

Reason = tuple[int, int | Start]  # a query, and what deletes: a token's bit, or a START
Situation = Mapping[Reason, int]  # for each reason that is there the window since


@dataclass(frozen=True)
class Attempt:
    """A situation in which a schema was attempted, and where that stands in the log."""

    schema: int
    situation: Situation
    worked: bool
    place: tuple[int, int] = (0, 0)


class History:
    """What has happened to each tuple of objects since the start of a trace."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.recent: dict[tuple[str, ...], list[int]] = {}  # bits of tokens, the latest last

    def apply(self, schema: int, objects: tuple[str, ...]) -> None:
        for r, bits in enumerate(self.projection.bit):
            for (number, positions), bit in bits.items():
                if number == schema:
                    tuple_of = tuple(objects[i] for i in positions)
                    assert len(tuple_of) == r
                    seen = self.recent.setdefault(tuple_of, [])
                    if bit in seen:
                        seen.remove(bit)
                    seen.append(bit)

    def situation(
        self, schema: int, objects: tuple[str, ...], start: Callable[[tuple[str, ...]], Start]
    ) -> dict[Reason, int]:
        """`start` tells the key of each tuple's START."""
        found: dict[Reason, int] = {}
        for number, (asked, positions) in enumerate(self.projection.queries):
            if asked != schema:
                continue
            about = tuple(objects[i] for i in positions)
            window = 0
            for bit in reversed(self.recent.get(about, ())):
                found[number, bit] = window
                window |= 1 << bit
            found[number, start(about)] = window
        return found


@dataclass
class VersionSpace:
    """The smallest windows of successes, and the refusals."""

    smallest: dict[Reason, list[int]] = field(default_factory=dict)
    refusals: list[Attempt] = field(default_factory=list)

    @staticmethod
    def of(attempts: Iterable[Attempt]) -> VersionSpace:
        space = VersionSpace()
        for attempt in attempts:
            if not attempt.worked:
                space.refusals.append(attempt)
                continue
            for reason, window in attempt.situation.items():
                kept = space.smallest.setdefault(reason, [])
                if not any(other & window == other for other in kept):
                    kept[:] = [other for other in kept if other & window != window] + [window]
        return space

    def live(self, situation: Situation) -> dict[Reason, int]:
        """The reasons that no success rules out, with their windows."""
        return {
            reason: window
            for reason, window in situation.items()
            if not any(other & window == other for other in self.smallest.get(reason, ()))
        }

    def inexplicable(self) -> list[Attempt]:
        """Theorem 1: the refusals without a live reason."""
        return [attempt for attempt in self.refusals if not self.live(attempt.situation)]

    def answer(self, schema: int, situation: Situation) -> str:
        """Theorem 2, for a log that is explainable."""
        if not self.live(situation):
            return "works"
        for attempt in self.refusals:
            if attempt.schema == schema and all(
                reason in situation and situation[reason] & ~window == 0
                for reason, window in self.live(attempt.situation).items()
            ):
                return "refused"
        return "open"
