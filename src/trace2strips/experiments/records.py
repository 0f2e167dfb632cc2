"""Settings as typed values: what does not fit the declared type is refused, not passed on; and types in words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from trace2strips.schemas import Schema

Value = str | int | float | bool | None  # a setting

PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


def read_value(value: Any, kind: Any) -> Any:
    """The value as this type; TypeError where it is none."""
    try:
        return schema_of(kind).take(value)
    except ValueError:
        raise TypeError from None


@cache
def schema_of(kind: Any) -> Schema:
    return Schema(kind)


def describe(kind: Any) -> str:
    """A type in words: "a whole number or null"."""
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(describe, get_args(kind)))
    if kind in PLAIN:
        return PLAIN[kind]
    if get_origin(kind) is tuple:
        first, *rest = get_args(kind)
        return "a list" if rest != [Ellipsis] else f"a list, each item {describe(first)}"
    if get_origin(kind) is Mapping:
        return f"an object, each value {describe(get_args(kind)[1])}"
    return f"an object with {', '.join(get_type_hints(kind))}"
