"""Which words of a log say that an attempt worked, and which that it was refused.

    read_outcomes("status", ("200", "403"), Words()) → {"200": True, "403": False}

A column of codes is understood as a whole: 0 is a refusal beside 1, and a success beside other codes of a program.
What is not understood is an error with the word; `--worked` and `--refused` say what it means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trace2strips.errors import listing, shorten
from trace2strips.traces.text_files import MalformedError


def several(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORKED = several(
    "true 1 yes y t ok okay worked works work success successful successfully succeeded succeed passed pass done "
    "complete completed finished accepted accept allowed allow granted permitted permit ack valid "
    "applied executed positive"
)
REFUSED = several(
    "false 0 no n f refused refuse failed fail fails failure failing error errored err denied deny rejected reject "
    "forbidden unauthorized unauthorised invalid illegal exception impossible inapplicable aborted abort blocked "
    "declined decline unsuccessful ko nok disallowed prohibited timeout crashed negative unavailable conflict fault "
    "nak nack"
) | {"not ok", "not allowed", "not found", "not permitted", "not possible", "bad request", "timed out", "access denied",
     "permission denied", "server error"}  # fmt: skip
ANY_QUESTION = several("true false yes no y n t f positive negative valid invalid complete completed done blocked")
"""Words that say as well whether something is so, or how far it is."""
INVERTED = several("error errors is_error has_error failed failure refused denied rejected exception")
"""Columns of which true means that it did not work."""
MESSAGES = INVERTED | several("error_message error_code errormessage exception_message err error_type")
"""Columns that hold something only where it did not work."""
FEW_WORDS = 10
EXIT = several("exit_code exitcode exit_status returncode return_code rc errno exit")
HTTP = re.compile(r"(?:http[ /]?(?:\d(?:\.\d)?)?\s*)?([1-5])(\d\d|xx)(?:\s.*)?\Z", re.IGNORECASE)
NOTHING = frozenset(("", "null", "none", "nil", "nan", "na", "n/a", "-", "[]", "{}"))


@dataclass(frozen=True)
class Words:
    """What the user says of outcomes. With one side alone every other word is on the other side."""

    worked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    kept: bool = False  # said of another log of the same kind, which may have more words

    def __bool__(self) -> bool:
        return bool(self.worked or self.refused)


def plain(word: str) -> str:
    """Case, spaces and underscores do not matter."""
    return " ".join(re.sub(r"[\s_\-]+", " ", word).split()).casefold()


def read_outcomes(column: str, words: Sequence[str], told: Words) -> dict[str, bool]:
    """What each word of a column says; an empty cell is the word ''."""
    if told:
        return by_told(column, words, told)
    found = guess(column, words)
    for word in words:
        if word not in found:
            raise MalformedError(unknown(column, word), hint_for(words))
    return found


def understood(column: str, words: Sequence[str]) -> bool:
    """Whether all words of a column can be outcomes."""
    found = guess(column, words)
    return bool(words) and all(word in found for word in words)


def says_both(column: str, words: Sequence[str]) -> bool:
    """Whether the words that are understood say now that it worked, now that it was refused."""
    return len(set(guess(column, words).values())) == 2


def speaks(words: Sequence[str]) -> bool:
    """Whether a column of these words says of attempts whether they worked, whatever its name is: yes, no and numbers
    answer any question, but `denied` beside `success` does not. Of other words beside these it has to be asked what
    they mean, as long as all are few."""
    found = guess("", words)
    telling = {found[word] for word in found if plain(word) not in ANY_QUESTION and not plain(word).isdecimal()}
    return len(telling) == 2 and (len(found) == len(words) or len(words) <= FEW_WORDS)


def by_told(column: str, words: Sequence[str], told: Words) -> dict[str, bool]:
    worked, refused = {plain(w) for w in told.worked}, {plain(w) for w in told.refused}
    if both := sorted(worked & refused):
        raise MalformedError(f"{both[0]!r} is said to be both worked and refused", "keep it in one of the options")
    for word in sorted(worked | refused):
        if word not in {plain(w) for w in words} and not told.kept:
            raise MalformedError(
                f"{shorten(word)!r} is no word of the column {column!r}", f"its words: {listed(words)}"
            )
    known, found = guess(column, words), {}
    for word in words:
        if plain(word) in worked | refused:
            found[word] = plain(word) in worked
        elif not worked or not refused:
            found[word] = not worked
            if word in known and known[word] != found[word] and speaks_for_itself(word):
                raise MalformedError(*against(column, word, told))
        elif word in known:
            found[word] = known[word]
        else:
            raise MalformedError(unknown(column, word), "name it too: --worked WORD or --refused WORD")
    return found


def speaks_for_itself(word: str) -> bool:
    """Whether a word is understood whatever column it stands in; other errors of a column of errors are not."""
    return plain(word) in WORKED | REFUSED or HTTP.match(plain(word)) is not None


def against(column: str, word: str, told: Words) -> tuple[str, str]:
    """What is wrong where one side alone is named and a word on the other is understood as on this."""
    side, other = ("refused", "worked") if told.refused else ("worked", "refused")
    options = " ".join(f"--{side} {shorten(w) or chr(34) * 2}" for w in told.refused or told.worked)
    opposite = "worked" if other == "worked" else "was refused"
    message = f"the word {shorten(word)!r} of the column {column!r} is understood as {side}"
    hint = f"name both sides: {options} --{side} {shorten(word)}, or {options} --{other} {shorten(word)}"
    return f"{message}, but with {options} alone it {opposite}", hint


def guess(column: str, words: Sequence[str]) -> dict[str, bool]:
    """Of the words that are understood."""
    plain_name = re.sub(r"[\s:\-]+", "_", column.strip().casefold())
    names = {
        plain_name.replace(".", "_").rpartition("__")[2],
        plain_name.rpartition(".")[2],
    }  # of fields of fields, too
    plainly = {word: plain(word) for word in words}
    if names & EXIT:
        return {word: int(w) == 0 for word, w in plainly.items() if re.fullmatch(r"-?\d{1,9}", w)}
    if names & MESSAGES:
        good = NOTHING | (REFUSED & {"false", "0", "no", "n", "f"}) | {"ok", "success"}
        return {word: w in good for word, w in plainly.items()}
    if all(HTTP.match(w) for w in plainly.values()):
        return {word: HTTP.match(w)[1] in "123" for word, w in plainly.items()}  # type: ignore[index]
    found = {}
    for word, w in plainly.items():
        if w in WORKED or w in REFUSED:
            found[word] = w in WORKED
        elif match := HTTP.match(w):
            found[word] = match[1] in "123"
    return found


def unknown(column: str, word: str) -> str:
    if not word:
        return f"the column {column!r} is empty here: did it work?"
    return f"the word {shorten(word)!r} of the column {column!r} is not understood: did it work?"


def listed(words: Sequence[str]) -> str:
    return listing([word or '(empty), written ""' for word in words])


def hint_for(words: Sequence[str]) -> str:
    return f"--worked WORD, --refused WORD ({listed(words)}), another column by --ok, or --ok none: all worked"
