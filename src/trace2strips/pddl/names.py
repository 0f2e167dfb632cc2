"""Names: any text as a PDDL name and back, and (on a b) as the one word on_a_b."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from trace2strips.model.lifted import OBJECT

PLAIN_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
ESCAPED = "x--"  # what an escaped name starts with
ESCAPED_BEFORE = {"at"}  # in run folders of earlier versions
RESERVED = {"and", "not", "or", "imply", "when", "forall", "exists", "either", "define", "domain", "problem", OBJECT,
            "total-cost", "increase", "number", "over", "start", "end", "all", "preference", "assign", "scale-up",
            "scale-down", "decrease", "minimize", "maximize"}  # fmt: skip


def encode_name(name: str) -> str:
    """Any text as a PDDL name. Plain names stay; others become `x--…` with `-` as the escape sign:
    `--` a dash, `-c` and a letter a capital, `-s` a space, `-h…-` any other character by its hexadecimal number.
    """
    if PLAIN_NAME.match(name) and not name.startswith(ESCAPED) and name not in RESERVED:
        return name

    def escape(character: str) -> str:
        if re.match(r"[a-z0-9_]", character):
            return character
        if re.match(r"[A-Z]", character):
            return f"-c{character.lower()}"
        return {"-": "--", " ": "-s"}.get(character, f"-h{ord(character):x}-")

    return ESCAPED + "".join(map(escape, name))


def decode_name(name: str) -> str:
    """The inverse of `encode_name`; a name that it cannot have made stays as it is."""
    if not name.startswith(ESCAPED):
        return name

    def restore(match: re.Match[str]) -> str:
        dash, space, capital, code = match.groups()
        return "-" if dash else " " if space else capital.upper() if capital else chr(int(code, 16))

    decoded = re.sub(r"-(?:(-)|(s)|c([a-z])|h([0-9a-f]{1,6})-)", restore, name[len(ESCAPED) :])
    return decoded if encode_name(decoded) == name or decoded in ESCAPED_BEFORE else name


def find_joiner(words: Collection[str]) -> str | None:
    """The fewest underscores at which a name made of these words can be split again; None where there are none."""
    if any(word.startswith("_") or word.endswith("_") for word in words):
        return None
    longest = max((len(run) for word in words for run in re.findall("_+", word)), default=0)
    return "_" * (longest + 1)


def unambiguous_names(groups: Sequence[tuple[str, ...]], joiner: str | None = None) -> dict[tuple[str, ...], str]:
    """(on a b) → on_a_b; with this joiner, or as many underscores as keep all names different."""
    if joiner is not None:
        return {words: joiner.join(words) for words in groups}
    longest = max((len(run) for words in groups for word in words for run in re.findall("_+", word)), default=0)
    for joiner in ("_" * n for n in range(1, longest + 2)):
        if len({joiner.join(words) for words in groups}) == len(groups):
            return {words: joiner.join(words) for words in groups}
    # (on a_ b) and (on a _b) collide for every joiner: write '_' inside a word as '_-', which no joiner looks like
    return {words: "__".join(word.replace("_", "_-") for word in words) for words in groups}
