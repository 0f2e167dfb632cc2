"""Files of ours are read through one schema each: whatever does not fit is refused before anybody looks at it.

A schema is made of the types that a dataclass or a table of fields declares. A number is of at most 64 bits, a float
may be written as a whole number and is finite, a list becomes a tuple where one is declared. pydantic reads the text
itself: it stops at a depth of nesting that no file of ours has, where Python's own reader ends in a RecursionError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, cached_property, reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import AllowInfNan, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from trace2strips.errors import FileError, shorten
from trace2strips.files import MOST_TEXT, read_text

SURROGATE = re.compile(r"[\ud800-\udfff]")
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Finite = Annotated[float, AllowInfNan(False)]
Extra = Literal["forbid", "ignore", "allow"]


class Schema:
    """Of one file, or of one line of it. It is built when it is first asked."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @cached_property
    def adapter(self) -> Any:
        return TypeAdapter(bounded(self.kind))

    def parse(self, text: str | bytes) -> Any:
        """The value that a text holds; a ValueError (`ValidationError`) where it does not fit."""
        return self.adapter.validate_json(text, strict=True)

    def take(self, value: Any) -> Any:
        """A value that was read already, as if it stood in a file; a ValueError where it does not fit."""
        return self.parse(json.dumps(value))

    def read(self, path: Path, hint: str = "", most: int = MOST_TEXT) -> Any:
        """What a file holds; where it does not fit, a FileError says what is wrong."""
        text = read_text(path, most)
        try:
            return self.parse(text)
        except ValidationError as error:
            raise refusal(error, path, hint=hint) from None


def record(name: str, required: Mapping[str, Any], optional: Mapping[str, Any], extra: Extra = "forbid") -> Any:
    """The type of an object with these fields. What else is in it is refused, ignored or kept."""
    kinds = {field: Required[bounded(kind)] for field, kind in required.items()}
    kinds |= {field: NotRequired[bounded(kind)] for field, kind in optional.items()}
    return with_config(ConfigDict(extra=extra))(TypedDict(name, kinds))  # type: ignore[operator]


@cache
def record_of(kind: type, extra: Extra = "forbid") -> Any:
    """The same from a dataclass: a field without a default is required."""
    hints = get_type_hints(kind)
    has_default = {
        item.name: not (item.default is MISSING and item.default_factory is MISSING) for item in fields(kind)
    }
    required, optional = ({n: hints[n] for n, has in has_default.items() if has is wanted} for wanted in (False, True))
    return record(kind.__name__, required, optional, extra)


def bounded(kind: Any) -> Any:
    """A declared type as it is checked."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is int:
        return Whole
    if kind is float:
        return Finite
    if origin in (Union, UnionType):
        return reduce(or_, (Annotated[bounded(part), Field()] for part in parts))
    if origin is tuple:
        return tuple[tuple(part if part is Ellipsis else bounded(part) for part in parts)]  # type: ignore[misc]
    if origin is list:
        return list[bounded(parts[0])]  # type: ignore[misc]
    if origin in (Mapping, dict):
        return dict[bounded(parts[0]), bounded(parts[1])]  # type: ignore[misc]
    if isinstance(kind, type) and is_dataclass(kind):
        return record_of(kind)
    return kind


def dump(value: Any, ascii_only: bool = False, **layout: Any) -> str:
    """The text of a file of ours. Half of a surrogate pair, as in the name of a file whose bytes are no UTF-8, is
    written out as Python writes it, since no JSON reader has to take it."""
    text = json.dumps(value, ensure_ascii=False, **layout)
    if SURROGATE.search(text):
        return SURROGATE.sub(lambda half: rf"\\u{ord(half.group()):04x}", text)
    return json.dumps(value, **layout) if ascii_only and not text.isascii() else text


def refusal(
    error: ValidationError, path: Path, line: int | None = None, noun: str = "the file", hint: str = ""
) -> FileError:
    """What is wrong first, in one line. `hint` says what a right one looks like."""
    first = error.errors(include_url=False)[0]
    kind, field = first["type"], ".".join(map(str, first["loc"]))
    what = {
        "json_invalid": f"not JSON: {first.get('ctx', {}).get('error', '')}",
        "dict_type": f"{field} is not a JSON object" if field else "not a JSON object",
        "list_type": f"{field} is not a list" if field else "not a list",
        "missing": f"no {field!r}",
        "extra_forbidden": f"{noun} has no field {shorten(field)!r}",
    }.get(kind, f"{field or noun} is {shorten(repr(first['input']))}: {first['msg'][:1].lower()}{first['msg'][1:]}")
    return FileError(what, file=path, line=line or line_of(what), hint=hint or None)


def line_of(message: str) -> int | None:
    """Where pydantic says that a text is no JSON."""
    found = re.search(r"at line (\d+) column", message)
    return int(found[1]) if found else None
