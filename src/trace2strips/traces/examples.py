"""Goals by example: what is true after a trace."""

from __future__ import annotations

from collections.abc import Collection

from trace2strips.model.goals import NOT, Goal, initial_state, split_names, state_after
from trace2strips.model.strips import State, StripsModel
from trace2strips.model.world import WorldModel
from trace2strips.traces.columns import Columns
from trace2strips.traces.one_trace import is_file, read_trace
from trace2strips.traces.trace import Trace


def read_example(text: str, actions: Collection[str], kept: Columns | None = None) -> Trace:
    """A trace by its file, its place in a file (FILE:LINE), or as it is written: known actions one after the other, `!`
    before those that were refused, or with `;` between them as `one_trace` says."""
    is_written = text in actions or not (set(text) & set(";|") or is_file(text) or is_file(text.rpartition(":")[0]))
    if not is_written:
        return read_trace(text, kept)
    words = split_names(text, {*actions, *(NOT + action for action in actions)})
    ok = tuple(word in actions or not word.startswith(NOT) for word in words)
    return Trace(tuple(w if worked else w.removeprefix(NOT) for w, worked in zip(words, ok, strict=True)), ok)


def goal_after(source: StripsModel | WorldModel, start: State, trace: Trace) -> Goal:
    """Exactly the state after what worked in the trace. It begins where it says, else at `start`."""
    told = trace.init if trace.init is not None else trace.state
    worked = [action for action, ok in zip(trace.actions, trace.ok, strict=True) if ok]
    model = source.model if isinstance(source, WorldModel) else source
    return state_after(model, start if told is None else initial_state(source, told), worked)
