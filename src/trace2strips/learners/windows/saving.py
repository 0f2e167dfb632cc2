"""A summary as text: JSON with a row a line, the same bytes for the same summary; and the one reader, which checks it.

"starts"    ["told", ["clear", 0], …], ["told-of", [objects …], literals …] or ["start", name, objects …]
"windows"   [query, by, [[window, trace, attempt], …]]: the smallest windows of successes. `by` is the bit of a token
            or, below zero, a START: −1 is the first. A window is a set of bits, in hexadecimal.
"refusals"  [schema, trace, attempt, [[query, by, window], …]]: those that say most, with their live reasons
"worked"    [action, how often it worked]; "told": all initial atoms; "example": those of the first trace that tells
            some. Actions and atoms are numbers in "names", from 1 on.
"rows"      [trace, attempt, file, line]: where attempts stand that have a line of their own; files are in "files"
"sample"    [hash, trace, initial atoms, named start, actions, final values]; below zero: refused, or false
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from math import perm
from typing import Any, Literal

from trace2strips.learners.windows.origins import Sampled, Source
from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.learners.windows.starts import Start, StartLevel
from trace2strips.learners.windows.summary import Place, Reason, Refusal, Summary
from trace2strips.schemas import Schema as FileSchema
from trace2strips.schemas import dump, record
from trace2strips.traces.names import Naming, Schema
from trace2strips.traces.trace import Trace

FORMAT = "summary-1"
MOST_TOKENS = 10**6  # of a projection: more cannot have been learned
FORMS = ("call", "lisp", "json", "words", "separator", "plain")

SUMMARY = FileSchema(  # of its frame; `Reader` checks every number in it
    record(
        "Summary",
        {
            "format": Literal["summary-1"], "start": StartLevel, "naming": dict[str, Any], "names": list[str],
            **dict.fromkeys(("arity", "traces", "wrong_labels"), int),
            **dict.fromkeys(("schemas", "tests", "types", "objects", "sources", "lines", "starts"), list[Any]),
            **dict.fromkeys(("windows", "refusals", "worked", "told", "sample"), list[Any]),
            "example": list[Any] | None,
        },
        {"files": list[str], "rows": list[Any]},
    )
)  # fmt: skip


def to_text(summary: Summary) -> str:
    """What `from_text` reads. Own starts are of no use to others and are left out."""
    summary = summary.without_own_starts()
    used = {by for _, by in summary.smallest if not isinstance(by, int)}
    used |= {by for refusal in summary.refusals for _, by in refusal.reasons if not isinstance(by, int)}
    starts = {start: -1 - i for i, start in enumerate(sorted(used, key=repr))}

    def number(by: int | Start) -> int:
        return by if isinstance(by, int) else starts[by]

    words = {word for s in summary.sample for word in (*(s.trace.init or ()), *s.trace.actions, *s.trace.final)}
    names = sorted(words | {*summary.worked, *summary.told, *(summary.example or ())})
    name_number = {name: i for i, name in enumerate(names, 1)}

    def signed(pairs: Iterable[tuple[str, bool]]) -> list[int]:
        return [name_number[name] if good else -name_number[name] for name, good in pairs]

    files = {file: i for i, file in enumerate(sorted({file for file, _ in summary.rows.values()}))}
    content: dict[str, Any] = {
        "format": FORMAT,
        "start": str(summary.start),
        "arity": summary.projection.arity,
        "traces": summary.traces,
        "wrong_labels": summary.wrong_labels,
        "naming": asdict(summary.naming),
        "schemas": summary.projection.schemas,
        "tests": summary.projection.tests,
        "types": summary.types,
        "objects": summary.objects,
        "sources": [[source.file, source.first] for source in summary.sources],
        "lines": sorted(summary.lines.items()),
        "files": sorted(files),
        "rows": [[*split(place), files[file], line] for place, (file, line) in sorted(summary.rows.items())],
        "starts": list(starts),
        "windows": [
            [query, number(by), [[f"{window:x}", *split(place)] for window, place in kept.items()]]
            for (query, by), kept in summary.smallest.items()
        ],
        "refusals": [
            [r.schema, *split(r.place), sorted([query, number(by), f"{w:x}"] for (query, by), w in r.reasons.items())]
            for r in summary.refusals
        ],
        "names": names,
        "worked": [[name_number[name], times] for name, times in summary.worked.items()],
        "told": [name_number[atom] for atom in summary.told],
        "example": None if summary.example is None else [name_number[atom] for atom in summary.example],
        "sample": [
            [
                f"{s.hash:x}",
                s.number,
                None if s.trace.init is None else sorted(name_number[atom] for atom in s.trace.init),
                s.trace.state,
                signed(zip(s.trace.actions, s.trace.ok, strict=True)),
                signed(sorted(s.trace.final.items())),
            ]
            for s in summary.sample
        ],
    }
    return (
        "{\n" + ",\n".join(f"{json.dumps(name)}: {as_json(name, value)}" for name, value in content.items()) + "\n}\n"
    )


def as_json(name: str, value: Any) -> str:
    def compact(part: Any) -> str:
        return dump(part, separators=(",", ":"))

    if name in ("starts", "windows", "refusals", "sample") and value:
        return "[\n" + ",\n".join(map(compact, value)) + "\n]"
    return compact(value)


def split(place: Place) -> tuple[int, int]:
    return place >> 32, place & (2**32 - 1)


def from_text(text: str) -> Summary:
    """The inverse of `to_text`; a ValueError where the text is none."""
    try:
        return Reader(SUMMARY.parse(text)).summary()
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"no summary: {error}") from None


class Reader:
    """Checks whatever it reads: numbers are in range, so that nobody behind it has to look again."""

    def __init__(self, record: Any) -> None:
        need(isinstance(record, Mapping) and record["format"] == FORMAT, "another format")
        self.record = record
        arity = whole(record["arity"], 0, 8)
        self.projection = Projection(schemas(record["schemas"]), schemas(record["tests"]), arity)
        tokens = sum(perm(arity_of(s), r) for s in self.projection.asked for r in range(arity + 1))
        need(tokens <= MOST_TOKENS, "too many tokens")
        self.traces = whole(record["traces"], 0, 2**31)
        self.names = texts(record["names"])
        self.starts = [start_from(row) for row in rows(record["starts"])]

    def summary(self) -> Summary:
        record = self.record
        objects = tuple(texts(group) for group in rows(record["objects"]))
        types = tuple(tuple(whole(kind, 0, len(objects)) for kind in rows(kinds)) for kinds in rows(record["types"]))
        need([len(kinds) for kinds in types] == [arity_of(s) for s in self.projection.asked], "types of other schemas")
        smallest: dict[Reason, dict[int, Place]] = {}
        for query, by, kept in rows(record["windows"]):
            reason = self.reason(query, by)
            need(reason not in smallest, "a reason twice")
            smallest[reason] = {self.window(reason, w): self.place(*place) for w, *place in rows(kept)}
        refusals = tuple(self.refusal(*row) for row in rows(record["refusals"]))
        lines = {whole(trace, 0, self.traces): whole(line, 0, 2**63) for trace, line in rows(record["lines"])}
        form = naming(record["naming"])
        return Summary(
            self.projection, types, smallest, refusals, StartLevel(record["start"]), form, self.traces, objects,
            tuple(self.source(*row) for row in rows(record["sources"])), lines, tuple(self.sampled()),
            {self.name(number): whole(times, 0, 2**63) for number, times in rows(record["worked"])},
            self.named(record["told"]), None if record["example"] is None else self.named(record["example"]),
            whole(record["wrong_labels"], 0, 2**63), self.attempt_rows(),
        )  # fmt: skip

    def reason(self, query: Any, by: Any) -> Reason:
        number = whole(query, 0, len(self.projection.queries))
        bit = whole(by, -len(self.starts), self.bits(number))
        return number, bit if bit >= 0 else self.starts[-1 - bit]

    def bits(self, query: int) -> int:
        return len(self.projection.tokens[len(self.projection.queries[query][1])])

    def window(self, reason: Reason, text: Any) -> int:
        window = hexadecimal(text)
        need(window.bit_length() <= self.bits(reason[0]), "a window of unknown tokens")
        return window

    def place(self, trace: Any, position: Any) -> Place:
        return whole(trace, 0, self.traces) << 32 | whole(position, 0, 2**32)

    def refusal(self, schema: Any, trace: Any, position: Any, reasons: Any) -> Refusal:
        number = whole(schema, 0, len(self.projection.asked))
        found = {}
        for query, by, text in rows(reasons):
            reason = self.reason(query, by)
            need(self.projection.queries[reason[0]][0] == number, "a reason of another action")
            found[reason] = self.window(reason, text)
        return Refusal(number, found, self.place(trace, position))

    def source(self, file: Any, first: Any) -> Source:
        need(file is None or isinstance(file, str), "a file without a name")
        return Source(file, whole(first, 0, self.traces + 1))

    def attempt_rows(self) -> dict[Place, tuple[str, int]]:
        files = texts(self.record.get("files", []))
        return {
            self.place(trace, attempt): (files[whole(file, 0, len(files))], whole(line, 0, 2**63))
            for trace, attempt, file, line in rows(self.record.get("rows", []))
        }

    def name(self, number: Any) -> str:
        return self.names[whole(number, 1, len(self.names) + 1) - 1]

    def named(self, numbers: Any) -> tuple[str, ...]:
        return tuple(map(self.name, rows(numbers)))

    def sampled(self) -> Iterator[Sampled]:
        def named(number: Any) -> tuple[str, bool]:
            number = whole(number, -len(self.names), len(self.names) + 1)
            return self.name(abs(number)), number > 0

        for text, number, init, state, actions, final in rows(self.record["sample"]):
            need(state is None or isinstance(state, str), "a start without a name")
            need(init is None or state is None, "two starts")
            told = None if init is None else frozenset(named(atom)[0] for atom in rows(init))
            steps = [named(step) for step in rows(actions)]
            marks = tuple(ok for _, ok in steps)
            trace = Trace(tuple(name for name, _ in steps), marks, told, state, dict(map(named, rows(final))))
            yield Sampled(hexadecimal(text) % 2**64, whole(number, 0, self.traces), trace)


def need(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"no summary: {what}")


def whole(value: Any, least: int, end: int) -> int:
    need(isinstance(value, int) and not isinstance(value, bool) and least <= value < end, "a number out of range")
    return int(value)


def hexadecimal(text: Any) -> int:
    need(isinstance(text, str), "a number that is no text")
    return int(text, 16)


def rows(value: Any) -> list[Any]:
    need(isinstance(value, list), "no list")
    return list(value)


def texts(value: Any) -> tuple[str, ...]:
    found = rows(value)
    need(all(isinstance(text, str) for text in found), "a name that is no text")
    return tuple(found)


def schemas(value: Any) -> tuple[Schema, ...]:
    found: list[Schema] = []
    for name, pattern in rows(value):
        need(isinstance(name, str), "an action without a name")
        numbers = tuple(whole(place, 0, 100) for place in rows(pattern))
        need(all(n <= len(set(numbers[:i])) for i, n in enumerate(numbers)), "arguments out of order")
        found.append((name, numbers))
    need(found == sorted(set(found)), "actions out of order")
    return tuple(found)


def naming(record: Any) -> Naming:
    form, separator = record["form"], record["separator"]
    need(form in FORMS and isinstance(separator, str), "names of no form")
    need(bool(separator) or form != "separator", "names without a separator")
    return Naming(form, separator, tuple(texts(words) for words in rows(record["constants"])))


def start_from(row: Any) -> Start:
    kind, *parts = rows(row)
    match kind:
        case "start":
            return ("start", *texts(parts))
        case "told":
            return ("told", *map(literal, parts))
        case "told-of":
            return ("told-of", texts(parts[0]), *map(literal, parts[1:]))
    raise ValueError("no summary: an unknown start")


def literal(row: Any) -> tuple[Any, ...]:
    name, *places = rows(row)
    need(isinstance(name, str), "an atom without a name")
    return (name, *(whole(place, 0, 100) for place in places))
