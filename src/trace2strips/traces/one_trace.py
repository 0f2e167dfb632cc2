"""One trace as a user may name it: a file with one, FILE:LINE, or the trace itself.

open !open close                                    words, as in plain text
pick-up(a); stack(a, b)!                            actions with spaces: `;` between them, `!` what was refused
clear(a); ontable(a); handempty | pick-up(a)        initial atoms, or @name, before `|`
"""

from __future__ import annotations

from trace2strips.errors import TraceError, shorten
from trace2strips.traces.columns import Columns
from trace2strips.traces.formats import ENDINGS, read_traces
from trace2strips.traces.plain_text import parse_text
from trace2strips.traces.text_files import MalformedError
from trace2strips.traces.trace import Trace


def read_trace(text: str, kept: Columns | None = None) -> Trace:
    """A trace by its file, its place in a file, or as it is written. `kept`: columns of a log that was read before."""
    name, _, line = text.rpartition(":")
    if name and line.isdecimal() and is_file(name):
        dataset = read_traces(name, kept=kept)
        if int(line) in dataset.lines:
            return dataset[list(dataset.lines).index(int(line))]
        raise TraceError("no trace begins on this line", file=name, line=int(line))
    if is_file(text):
        dataset = read_traces(text, kept=kept)
        if len(dataset) != 1:
            hint = f"name one by its line: {shorten(text)}:{dataset.lines[0]}" if dataset.lines else "one trace a file"
            raise TraceError(f"there are {len(dataset)} traces where one is asked for", file=text, hint=hint)
        return dataset[0]
    try:
        return parse_trace(text)
    except MalformedError as error:
        raise TraceError(f"{shorten(text)!r} is no trace: {error}", hint=error.hint) from None


def is_file(text: str) -> bool:
    return text.lower().removesuffix(".gz").endswith(ENDINGS) and "\n" not in text and ";" not in text


def parse_trace(text: str) -> Trace:
    if not set(text) & set(";("):
        return parse_text(text)
    before, bar, middle = text.rpartition("|")
    if "|" in before:
        raise MalformedError("more than one '|'", "initial atoms | actions")
    told = [part.strip() for part in before.split(";") if part.strip()]
    steps = [part.strip() for part in middle.split(";") if part.strip()]
    names = tuple(step.strip("!").strip() for step in steps)
    if not all(names):
        raise MalformedError("'!' without a name")
    ok = tuple("!" not in (step[0], step[-1]) for step in steps)
    if len(told) == 1 and told[0].startswith("@"):
        return Trace(names, ok, state=told[0][1:])
    return Trace(names, ok, frozenset(told) if bar else None)
