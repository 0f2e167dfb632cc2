"""JSON values as typed Python values: what does not fit the declared type is refused, not passed on.

A float may be written as a whole number; a list becomes a tuple. `None`, where the type allows it, is null or absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

Value = str | int | float | bool | None  # a setting

PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


def read_value(value: Any, kind: Any) -> Any:
    """The value as this type; TypeError where it is none."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return read_first(value, parts)
    if origin is tuple and isinstance(value, list | tuple):
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        if len(value) == len(kinds):
            return tuple(map(read_value, value, kinds))
    elif origin is Mapping and isinstance(value, Mapping):
        return {read_value(name, parts[0]): read_value(item, parts[1]) for name, item in value.items()}
    elif isinstance(kind, type) and is_dataclass(kind) and isinstance(value, Mapping):
        hints = get_type_hints(kind)
        if value.keys() <= hints.keys():  # one that is missing is a TypeError too
            return kind(**{name: read_value(item, hints[name]) for name, item in value.items()})
    elif kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    elif type(value) is kind and kind in PLAIN:
        return value
    raise TypeError


def read_first(value: Any, kinds: tuple[Any, ...]) -> Any:
    """As the first of several types that fits."""
    for kind in kinds:
        try:
            return read_value(value, kind)
        except TypeError:
            continue
    raise TypeError


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
