"""Plain text: one trace a line, `!` before what was refused or is false.

pick-up_a !stack_a_b put-down_a
clear_a ontable_a handempty | pick-up_a !pick-up_a | holding_a !clear_a
@s3 | pick-up_a |

A comment `# separator: _` says what stands between a name and its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from io import TextIOBase
from pathlib import Path

from trace2strips.errors import shorten
from trace2strips.files import Stretch
from trace2strips.traces.text_files import (
    MalformedError,
    Numbered,
    Progress,
    Stated,
    decode_percent,
    encode_percent,
    make_trace,
    read_by_line,
    set_final,
)
from trace2strips.traces.trace import Trace

SPECIAL = re.compile(r"[\s|#!@%\ufeff]|\A-\Z")  # U+FEFF: at the start of a file it would be a byte order mark
SAYS = re.compile(r"\s*#\s*separator:\s*(\S*)\s*\Z")
NO_ATOM = "-"  # stands for "no atom is true" where a list of atoms would be empty


def parse_text(text: str) -> Trace:
    parts = text.split("|")
    if len(parts) not in (1, 3):
        raise MalformedError(
            f"{len(parts) - 1} '|' on the line", "either none or two: initial atoms | actions | final atoms"
        )
    before, middle, after = parts if len(parts) == 3 else ("", text, "")
    actions, ok = marked(middle)
    init: frozenset[str] | None = None
    state = None
    words = before.split()
    if words and words[0].startswith("@"):
        if len(words) > 1:
            raise MalformedError("a line has the name of an initial state or initial atoms, not both")
        if words[0] == "@":
            raise MalformedError("'@' without a name behind it")
        state = decode_word(words[0][1:])
    elif words == [NO_ATOM]:
        init = frozenset()
    elif words:
        if any(word.startswith("!") for word in words):
            raise MalformedError("'!' before an initial atom", "list the atoms that are true, leave out the others")
        if NO_ATOM in words:
            raise MalformedError(
                f"{NO_ATOM!r} among initial atoms", "it says that no atom is true; write %2D for a name"
            )
        init = frozenset(map(decode_word, words))
    final: dict[str, bool] = {}
    if after:
        for atom, value in zip(*marked(after), strict=True):
            set_final(final, atom, value)
    return make_trace(actions, ok, init, state, final)


def marked(text: str) -> tuple[list[str], list[bool]]:
    words = text.split()
    ok = [not word.startswith("!") for word in words]
    if "!" in words:
        raise MalformedError("'!' without a name behind it")
    return [decode_word(word.removeprefix("!")) for word in words], ok


@lru_cache(2**16)  # a log has few names, many times
def decode_word(word: str) -> str:
    """The name that a word stands for. A sign that means something elsewhere is more likely a slip than a name."""
    also = {"#": "; a comment has a line of its own", "!": "; what did not work has it in front: !name"}
    for sign in "#!@":
        if sign in word:
            raise MalformedError(
                f"{sign!r} inside {shorten(word)!r}",
                f"write %{ord(sign):02X} for {sign!r} in a name{also.get(sign, '')}",
            )
    return decode_percent(word)


def read_plain(path: Path, progress: Progress, stated: Stated, stretch: Stretch | None = None) -> Numbered:
    return read_by_line(path, parse_text, "#", progress, told_by(stated), stretch)


def told_by(stated: Stated) -> Callable[[str], None]:
    """Looks into comments."""

    def hear(comment: str) -> None:
        if (found := SAYS.match(comment)) is not None:
            stated.say(decode_percent(found[1]))

    return hear


def write_plain(traces: Iterable[Trace], stream: TextIOBase, separator: str | None = None) -> None:
    if separator is not None:
        stream.write(f"# separator: {SPECIAL.sub(encode_percent, separator)}\n")

    def word(name: str) -> str:  # what would be read as something else is percent-encoded
        return SPECIAL.sub(encode_percent, name)

    def marks(pairs: Iterable[tuple[str, bool]]) -> str:
        return " ".join(("" if good else "!") + word(name) for name, good in pairs)

    for trace in traces:
        middle = marks(zip(trace.actions, trace.ok, strict=True))
        before = " ".join(map(word, sorted(trace.init or ()))) or (NO_ATOM if trace.init is not None else "")
        if trace.state is not None:
            before = "@" + word(trace.state)
        after = marks(sorted(trace.final.items()))
        plain = middle and not before and not after
        stream.write((middle if plain else f"{before} | {middle} | {after}".strip()) + "\n")
