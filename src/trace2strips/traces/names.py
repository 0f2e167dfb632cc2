"""An action's name as a schema with arguments: `stack(b1, b2)`, `(stack b1 b2)`, `stack b1 b2`, `["stack", "b1", "b2"]`
or, with a separator, `stack_b1_b2`.

A log is understood as a whole: one form for all names. A separator that nobody gave, and a space, is taken
only if it fits the whole log (`fits`); otherwise each name is an action without arguments. Lists and argument columns
of a log become names that are JSON lists, which say what is meant whatever the words are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from trace2strips.errors import TraceError, shorten

Words = tuple[str, ...]  # the schema, then its arguments
Schema = tuple[str, tuple[int, ...]]  # a name, and which of its arguments are the same object
CALL = re.compile(r"\s*([^\s(),]+|[^\s(),][^(),]*[^\s(),](?=\())\s*\(([^()]*)\)\s*\Z")  # name(…), a name(…), name (…)
LISP = re.compile(r"\s*\(\s*([^()\s][^()]*?)\s*\)\s*\Z")
SEPARATORS = ("_", ":", "/", "|", ".", "-", "__", "--")


@dataclass(frozen=True)
class Naming:
    """How the names of a log are read."""

    form: str  # call, lisp, json, words, separator or plain
    separator: str = ""  # of a call: what stands between two arguments, a comma and a space if nothing is said
    constants: tuple[Words, ...] = ()
    """(schema, object, …): actions of the schema are about these objects too, although their names do not say so."""

    def __post_init__(self) -> None:
        if not all(self.constants):
            raise ValueError("constants of no schema")

    def words(self, name: str) -> Words:
        """The schema and the arguments of one name."""
        match self.form:
            case "call":
                return call_words(name)
            case "lisp":
                found = LISP.match(name)
                return tuple(found[1].split()) if found else (name.strip(),)
            case "json":
                return tuple(str(part) for part in json.loads(name)) if is_json_list(name) else call_words(name)
            case "words":
                return tuple(name.split()) or (name,)
            case "separator":
                return tuple(name.split(self.separator))
        return (name,)

    def action(self, name: str) -> Words:
        """The schema and the arguments of an action, and the constants that it is about."""
        words = self.words(name)
        return (*words, *(constant for schema, *more in self.constants if schema == words[0] for constant in more))

    def schema(self, name: str) -> tuple[Schema, tuple[str, ...]]:
        """`move a a b` → (move, (0, 0, 1)) with the different objects (a, b)."""
        word, *arguments = self.action(name)
        return schema_of(word, tuple(arguments))

    def with_constants(self, pairs: Iterable[tuple[str, str]]) -> Naming:
        """The same with these constants, each a schema and an object."""
        known: dict[str, list[str]] = {}
        for schema, constant in sorted(pairs):
            known.setdefault(schema, []).append(constant)
        return replace(self, constants=tuple((schema, *more) for schema, more in known.items()))

    def join(self, words: Words) -> str:
        """The inverse of `words`; plain names take brackets where they need arguments."""
        match self.form:
            case "lisp":
                return f"({' '.join(words)})"
            case "json":
                return join_list(words)
            case "words":
                return " ".join(words)
            case "separator":
                return self.separator.join(words)
        return f"{words[0]}({(self.separator or ', ').join(words[1:])})" if len(words) > 1 else words[0]

    def __str__(self) -> str:
        shown = {
            "call": "name(argument, …)",
            "lisp": "(name argument …)",
            "json": 'a JSON list ["name", "argument", …]',
            "words": "name argument …, by spaces",
            "separator": f"name{self.separator}argument{self.separator}…, by {self.separator!r}",
        }
        said = shown.get(self.form, "each name is an action without arguments")
        about = ", ".join(f"{name} also about {' and '.join(more)}" for name, *more in self.constants)
        return f"{said}; {about}" if about else said


PLAIN = Naming("plain")
PLAIN_CALL = Naming("call")


def join_list(words: Sequence[str]) -> str:
    """An action that was given as a list, as one name."""
    return json.dumps(list(words), ensure_ascii=False)


def readable(name: str) -> str:
    """A list as people write it: `["stack", "b1", "b2"]` → `stack(b1, b2)`, where that says the same."""
    if not is_json_list(name):
        return name
    words = tuple(str(part) for part in json.loads(name))
    found = PLAIN_CALL.join(words)
    return found if call_words(found) == words else name


def call_words(name: str) -> Words:
    found = CALL.match(name)
    if found is None:
        return (name.strip(),)
    inside = found[2].strip()
    return (found[1], *(part.strip() for part in inside.split(","))) if inside else (found[1],)


def schema_of(name: str, arguments: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
    """(move, a, a, b) → (move, (0, 0, 1)) with the different objects (a, b)."""
    objects = tuple(dict.fromkeys(arguments))
    return (name, tuple(objects.index(word) for word in arguments)), objects


def understand(names: Sequence[str], separator: str | None = None) -> Naming:
    """The one form that all names of a log have. A given separator must fit; '' says that names have no arguments."""
    if separator is not None:
        return checked(names, Naming("separator", separator) if separator else PLAIN)
    lists = [name for name in names if is_json_list(name)]
    calls = [name for name in names if CALL.match(name)]
    marked = {*lists, *calls}
    if marked and not any(has_odd_marks(name) for name in names if name not in marked):
        if lists:
            return checked(names, Naming("json"))
        close = any("," in name for name in calls) and not any(", " in name for name in calls)
        return checked(names, Naming("call", "," if close else ""))
    if names and all(LISP.match(name) for name in names):
        return checked(names, Naming("lisp"))
    if any(len(name.split()) > 1 for name in names):
        naming = Naming("words")
        return naming if fits(names, naming) else PLAIN
    for mark in SEPARATORS:
        naming = Naming("separator", mark)
        if fits(names, naming):
            return naming
    return PLAIN


def checked(names: Sequence[str], naming: Naming) -> Naming:
    """Brackets and a separator that is given say what is meant: an empty word and a schema with two numbers of
    arguments are errors there."""
    if naming != PLAIN:
        for name in names:
            if not all(naming.words(name)):
                hint = "write what is meant, or say that names have no arguments: --separator ''"
                raise TraceError(f"an empty argument or name in {shorten(name)!r}, read as {naming}", hint=hint)
    refuse_two_arities(names, naming)
    return naming


def is_json_list(name: str) -> bool:
    if not name.lstrip().startswith("["):
        return False
    try:
        found = json.loads(name)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and bool(found) and all(type(part) in (str, int) for part in found)


def has_odd_marks(name: str) -> bool:
    return bool(re.search(r"[\s(),]", name.strip()))


def one_arity(names: Iterable[str], naming: Naming) -> bool:
    return two_arities(names, naming) is None


def two_arities(names: Iterable[str], naming: Naming) -> tuple[str, str] | None:
    """Two names of one schema with different numbers of arguments."""
    first: dict[str, tuple[int, str]] = {}
    for name in names:
        schema, *arguments = naming.words(name)
        count, other = first.setdefault(schema, (len(arguments), name))
        if count != len(arguments):
            return other, name
    return None


def refuse_two_arities(names: Sequence[str], naming: Naming) -> None:
    if (found := two_arities(names, naming)) is not None:
        one, other = found
        schema = naming.words(one)[0]
        raise TraceError(
            f"the action {shorten(schema)!r} has two numbers of arguments: {shorten(one)!r} and {shorten(other)!r}",
            hint="give the two different names, or say that names have no arguments: --separator ''",
        )


def fits(names: Sequence[str], naming: Naming) -> bool:
    """Whether a separator that nobody gave, or a space, can be meant: no word is empty, each schema has one number of
    arguments, the words are fewer than the names or one stands in two places of one schema (`stack a b`, `stack b a`),
    and most objects stand in two places, as what is acted on does; a part of a name (`power_on`, `power_off`) or of a
    phrase (`send reminder`) does not.
    """
    split = [naming.words(name) for name in names]
    if not all(all(words) for words in split) or not one_arity(names, naming):
        return False
    schemas = {words[0] for words in split}
    places: dict[str, set[tuple[str, int]]] = {}
    for schema, *arguments in split:
        for position, word in enumerate(arguments):
            places.setdefault(word, set()).add((schema, position))
    exchanged = any(len({schema for schema, _ in found}) < len(found) for found in places.values())
    if not places or not (exchanged or len(schemas) + len(places) < len(set(names))):
        return False
    return 2 * sum(len(found) > 1 for found in places.values()) > len(places)
