"""`Trace`: one trace for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trace2strips.errors import TraceError
from trace2strips.model.strips import Atom, State


@dataclass(frozen=True)
class Trace:
    """Actions with whether each worked; optionally the atoms true at the start (or the name of a known initial
    state) and the values of some atoms at the end."""

    actions: tuple[str, ...]
    ok: tuple[bool, ...]
    init: State | None = None
    state: str | None = None
    final: Mapping[Atom, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.actions) != len(self.ok):
            raise TraceError(f"{len(self.actions)} actions but {len(self.ok)} marks", hint="one mark for each action")
        if self.init is not None and self.state is not None:
            raise TraceError("a trace has initial atoms or the name of an initial state, not both")
