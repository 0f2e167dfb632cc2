"""Standard output that no text can misuse: what moves a cursor, rings, colours or turns text round is written out.

Names come from logs and files of strangers, and commands print them in many places; so it is done in one, on the way
out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# control characters but line ends and tabs, marks of direction, and halves of surrogate pairs, which UTF-8 cannot hold
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """As JSON writes them: \\u001b, so that JSON stays JSON."""
    return HARMFUL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


class Screen:
    """A text stream in front of another one; `bare` is that other one, for who writes colours on purpose."""

    def __init__(self, bare: Any) -> None:
        self.bare = bare

    def write(self, text: str) -> int:
        self.bare.write(visible(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)


@contextmanager
def screened() -> Iterator[None]:
    """Standard output is screened while a command runs."""
    bare = sys.stdout
    sys.stdout = Screen(bare)
    try:
        yield
    finally:
        sys.stdout = bare
