"""A corpus of right inputs in every format, and seeded mutations of them that know the format: they take a tree apart
and put it together wrongly, so that most mutants get past the first stage of a reader. Some are of bytes."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any
from xml.sax.saxutils import quoteattr

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, "", " ", "x", "-", "(", ")", "a b", "a,b", '"', "!", "#",
    "%", "%ff", "\\", "\n", "\t", "\x00", "\x1b[2J", "\u202e", "\ud800", "é", "𝄞", "[]", "[1", "{}", "a" * 5000, "__class__", "init-a",
    "start", [], {}, [[]], [None], {"": {}}, ["x"] * 50, {"a": [{"b": None}]},
]  # fmt: skip
BYTES = [b"", b"\x00", b"\xff", b"\n", b"\r", b'"', b"(", b")", b"[", b"{", b"<", b"&", b"\xed\xa0\x80", b"\x1f\x8b"]


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something can be changed."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def mutate_tree(tree: Any, random: Random, odd: list[Any]) -> Any:
    """One change at a random place: away, twice, another's value, an odd value, deeper, another key, another order."""
    whole = [deepcopy(tree)]
    path = random.choice([(0, *path) for path in places(tree)])
    inner: Any = whole
    for key in path[:-1]:
        inner = inner[key]
    key, value = path[-1], inner[path[-1]]
    match random.randrange(8):
        case 0 if len(path) > 1:
            del inner[key]
        case 1 if isinstance(inner, list):
            inner.insert(random.randrange(len(inner) + 1), deepcopy(value))
        case 2:
            other: Any = tree
            for step in random.choice(list(places(tree))):
                other = other[step]
            inner[key] = deepcopy(other)
        case 3:
            inner[key] = [value] if random.random() < 0.5 else {"x": value}
        case 4 if isinstance(inner, dict):
            inner[random.choice(["", "x", "\u202e", str(random.choice(odd))[:50]])] = inner.pop(key)
        case 5 if isinstance(value, list):
            random.shuffle(value)
        case 6 if isinstance(value, str) and value:
            at = random.randrange(len(value))
            inner[key] = value[:at] + str(random.choice(odd))[:50] + value[at + random.randrange(2) :]
        case _:
            inner[key] = deepcopy(random.choice(odd))
    return whole[0] if whole else None


def mutate_bytes(raw: bytes, random: Random) -> bytes:
    """Cut, doubled, overwritten or with something put in between."""
    at, to = sorted(random.randrange(len(raw) + 1) for _ in range(2))
    match random.randrange(4):
        case 0:
            return raw[:at]
        case 1:
            return raw[:to] + raw[at:to][:200] + raw[to:]
        case 2:
            return raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :]
        case _:
            return raw[:at] + random.choice(BYTES) + raw[at:]


def several(tree: Any, random: Random, odd: list[Any]) -> Any:
    """Up to three changes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        tree = mutate_tree(tree, random, odd)
    return tree


def mutants(
    trees: list[Any], write: Callable[[Any], bytes], count: int, seed: str, odd: list[Any] = ODD
) -> Iterator[bytes]:
    """Nine of ten are of the tree, the others of its bytes."""
    random = Random(seed)
    for _ in range(count):
        tree = random.choice(trees)
        if random.random() < 0.9:
            yield write(several(tree, random, odd))
        else:
            yield mutate_bytes(write(tree), random)


# --- formats as trees ---


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def json_lines(rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in (rows if isinstance(rows, list) else [rows])).encode()


def json_text(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def csv_text(rows: Any) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, escapechar="\\")
    for row in rows if isinstance(rows, list) else [[rows]]:
        writer.writerow(row if isinstance(row, list) else [row])
    return encode(stream.getvalue())


def words(tree: Any) -> bytes:
    """Lines of words."""
    lines = tree if isinstance(tree, list) else [tree]
    return encode("\n".join(" ".join(map(str, line)) if isinstance(line, list) else str(line) for line in lines) + "\n")


def lisp(tree: Any) -> bytes:
    """Lists in parentheses. No recursion is needed: mutations nest a few levels only."""

    def write(part: Any) -> str:
        if isinstance(part, dict):
            part = [item for pair in part.items() for item in pair]
        return f"({' '.join(map(write, part))})" if isinstance(part, list) else str(part)

    return encode(write(tree))


def read_lisp(text: str) -> Any:
    stack: list[list[Any]] = [[]]
    for word in re.findall(r"[()]|[^\s()]+", text):
        if word == "(":
            stack.append([])
        elif word == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word)
    return stack[0][0]


def xml(tree: Any) -> bytes:
    """[tag, attributes, children …]"""

    def write(part: Any) -> str:
        if not isinstance(part, list) or not part:
            return str(part)
        tag, attributes, *children = [*part, {}][: max(2, len(part))]
        written = (
            "".join(f" {k}={quoteattr(str(v))}" for k, v in attributes.items()) if isinstance(attributes, dict) else ""
        )
        return f"<{tag}{written}>{''.join(map(write, children))}</{tag}>"

    return encode(write(tree))
