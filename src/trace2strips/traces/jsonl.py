"""JSON Lines, the canonical text format: one trace a line.

{"actions": ["pick-up_a", "stack_a_b"], "ok": [true, false], "init": ["clear_a", …], "final": {"holding_a": true}}

An action or an initial atom may be a list, ["stack", "a", "b"]; "separator": "_" says what stands before an argument.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from io import TextIOBase
from pathlib import Path
from typing import Any

from trace2strips.errors import first_repeated, shorten, suggest
from trace2strips.files import Stretch
from trace2strips.model.vocabulary import SURROGATE
from trace2strips.traces.names import join_list
from trace2strips.traces.text_files import MalformedError, Numbered, Progress, Stated, make_trace, read_by_line
from trace2strips.traces.trace import Trace

WORD = {"type": "string", "minLength": 1}
NAMES = {"type": "array", "items": {"anyOf": [WORD, {"type": "array", "items": WORD, "minItems": 1}]}}
SCHEMA = {  # of one line, as JSON Schema; a test checks that the reader accepts what it accepts
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "actions": NAMES,
        "ok": {"type": "array", "items": {"type": "boolean"}},
        "init": {"anyOf": [NAMES, {"type": "null"}]},
        "state": {"type": ["string", "null"], "minLength": 1},
        "final": {
            "type": ["object", "null"],
            "propertyNames": {"minLength": 1},
            "additionalProperties": {"type": "boolean"},
        },
        "separator": {"type": ["string", "null"]},
    },
    "required": ["actions", "ok"],
    "additionalProperties": False,
}
FIELDS: tuple[str, ...] = tuple(SCHEMA["properties"])  # type: ignore[arg-type]


def parse_json(text: str, stated: Stated | None = None) -> Trace:
    """`stated` is told what the line says of its names."""
    try:
        record = DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedError(
            f"not JSON: {error.msg} at column {error.colno}", 'for example {"actions": ["a"], "ok": [true]}'
        ) from None
    except RecursionError:
        raise MalformedError("not a trace: JSON nested too deeply") from None
    except ValueError:  # Python refuses to read integers of more than 4300 digits
        raise MalformedError("not a trace: a number with thousands of digits") from None
    if not isinstance(record, dict):
        raise MalformedError(
            "not a trace: a line must be a JSON object", 'for example {"actions": ["a"], "ok": [true]}'
        )
    for key in record:
        if key not in FIELDS:
            raise MalformedError(f"unknown field {shorten(key)!r}", suggest(key, FIELDS, "fields"))
    for key in ("actions", "ok"):
        if key not in record:
            raise MalformedError(
                f"the field {key!r} is missing", "a trace needs 'actions' and 'ok', lists of one length"
            )
    actions = read_names(record["actions"], "actions")
    ok = record["ok"]
    if not isinstance(ok, list) or not all(isinstance(mark, bool) for mark in ok):
        raise MalformedError("'ok' must be a list of true and false", f"found {shorten(json.dumps(ok))}")
    init = None if record.get("init") is None else frozenset(read_names(record["init"], "init"))
    state = record.get("state")
    if state is not None and not (isinstance(state, str) and state):
        raise MalformedError("'state' must be the name of an initial state", f"found {shorten(json.dumps(state))}")
    final = {} if record.get("final") is None else record["final"]
    if not isinstance(final, dict) or not all(isinstance(v, bool) for v in final.values()) or "" in final:
        raise MalformedError("'final' must map atoms to true or false", f"found {shorten(json.dumps(final))}")
    separator = record.get("separator")
    if separator is not None:
        if not isinstance(separator, str):
            raise MalformedError("'separator' must be a text", f"found {shorten(json.dumps(separator))}")
        if stated is not None:
            stated.say(separator)
    if "\\u" in text:  # an escaped half of a pair is the one way to a name that UTF-8 cannot hold
        for name in (*actions, *(init or ()), state or "", *final, separator or ""):
            if SURROGATE.search(name):
                raise MalformedError(
                    f"{shorten(name)!r} is no text: half of a surrogate pair", "write the whole character"
                )
    return make_trace(actions, ok, init, state, final)


def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON leaves open what a repeated field means, so it means nothing."""
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise MalformedError(f"the field {shorten(str(twice))!r} is there twice", "keep one")
    return record


DECODER = json.JSONDecoder(object_pairs_hook=refuse_repeated)  # made once: `json.loads` makes one for each line


def read_names(value: Any, field: str) -> list[str]:
    def is_name(name: Any) -> bool:
        return isinstance(name, str) and bool(name)

    if not isinstance(value, list):
        raise MalformedError(f"{field!r} must be a list of names", f"found {shorten(json.dumps(value))}")
    for name in value:
        if not is_name(name) and not (isinstance(name, list) and name and all(map(is_name, name))):
            message = f"{field!r} must be a list of names, each a text or a list of a name and arguments"
            raise MalformedError(message, f"found {shorten(json.dumps(name))}")
    return [name if isinstance(name, str) else join_list(name) for name in value]


def read_jsonl(path: Path, progress: Progress, stated: Stated, stretch: Stretch | None = None) -> Numbered:
    return read_by_line(path, partial(parse_json, stated=stated), None, progress, stretch=stretch)


def write_jsonl(traces: Iterable[Trace], stream: TextIOBase, separator: str | None = None) -> None:
    for trace in traces:
        record: dict[str, Any] = {"actions": trace.actions, "ok": trace.ok}
        if trace.init is not None:
            record["init"] = sorted(trace.init)
        if trace.state is not None:
            record["state"] = trace.state
        if trace.final:
            record["final"] = dict(sorted(trace.final.items()))
        if separator is not None:
            record["separator"] = separator
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
