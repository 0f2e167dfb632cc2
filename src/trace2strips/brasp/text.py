"""B-RASP programs as text. Blank space and line breaks separate words, `#` starts a comment.

    program    = "alphabet" symbols { definition } [ "output" symbols ]
    symbols    = "{" [ name { "," name } ] "}"
    definition = name "(" "i" ")" ":=" ( formula | attention )
    attention  = ( "leftmost" | "rightmost" ) "j" "[" mask "," formula "]" formula ":" formula
    mask       = "1" | "j" "<" "i" | "j" ">" "i"
    formula    = conjunct { "|" conjunct }
    conjunct   = factor { "&" factor }
    factor     = { "!" } ( "0" | "1" | name "(" ( "i" | "j" ) ")" | "(" formula ")" )
    name       = word | string in double quotes, with the escapes of JSON

The paper's signs ¬ ∧ ∨ ◀ ▶ stand for ! & | leftmost rightmost. May import `errors`, `files` and `brasp.language`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from trace2strips.brasp.language import (
    And,
    Attention,
    Choice,
    Constant,
    Definition,
    Formula,
    Mask,
    Not,
    Or,
    Place,
    Pointwise,
    Program,
    Variable,
)
from trace2strips.errors import BraspError, shorten
from trace2strips.files import read_text

WORD = r"[^\W\d][\w.'-]*"
TOKEN = re.compile(rf'(?P<word>{WORD})|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<sign>:=|[{{}}()\[\],:<>|&!01¬∧∨◀▶])')
SPACE = re.compile(r"(?:\s|#[^\n]*)*")
SIGNS = {"¬": "!", "∧": "&", "∨": "|", "◀": "leftmost", "▶": "rightmost"}
KEYWORDS = frozenset({"alphabet", "output", "leftmost", "rightmost"})
DEEPEST = 100  # nested parentheses; deeper ones would exhaust Python's stack


# --- printing --------------------------------------------------------------------------------------------------------


def format_program(program: Program) -> str:
    """The text of a program; `parse_program` gives the same program back."""
    lines = [f"alphabet {format_symbols(program.alphabet)}"]
    width = max(len(format_name(definition.name)) for definition in program.definitions)
    for definition in program.definitions:
        left = f"{format_name(definition.name)}(i)".ljust(min(width, 20) + 3)
        lines.append(f"{left} := {format_right_side(definition)}")
    if program.output:
        lines.append(f"output {format_symbols(program.output)}")
    return "\n".join(lines) + "\n"


def format_right_side(definition: Definition) -> str:
    match definition:
        case Pointwise(_, formula):
            return format_formula(formula)
        case Attention(_, choice, mask, score, value, default):
            texts = (format_formula(part) for part in (score, value, default))
            return "{} j [{}, {}] {} : {}".format(choice, mask, *texts)


def format_formula(formula: Formula, outer: str = "") -> str:
    """`outer` is the operator around: a part of another kind goes into parentheses, and so does a nested one of the
    same kind, so that reading gives the same tree."""
    match formula:
        case Constant(value):
            return "1" if value else "0"
        case Variable(vector, at):
            return f"{format_name(vector)}({at})"
        case Not(operand):
            return "!" + format_formula(operand, "!")
        case And(operands) | Or(operands):
            sign = " & " if isinstance(formula, And) else " | "
            text = sign.join(format_formula(operand, sign) for operand in operands)
            bare = not outer or (outer == " | " and sign == " & ")
            return text if bare else f"({text})"


def format_symbols(symbols: Iterable[str]) -> str:
    return "{ " + ", ".join(map(format_name, symbols)) + " }" if symbols else "{ }"


def format_name(name: str) -> str:
    plain = re.fullmatch(WORD, name) and name not in KEYWORDS
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Token:
    """`kind` is the sign or keyword itself, "name" for any other word or string, "end" after the last one."""

    kind: str
    text: str
    place: Place

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        self.place.fail(message, hint)

    def __str__(self) -> str:
        return "the end of the program" if self.kind == "end" else repr(shorten(self.text))


def split_tokens(text: str, file: str | None) -> Iterator[Token]:
    position, line, line_start = 0, 1, 0
    while True:
        space = SPACE.match(text, position)
        assert space is not None  # it matches the empty text too
        line += space.group().count("\n")
        if "\n" in space.group():
            line_start = space.start() + space.group().rindex("\n") + 1
        position = space.end()
        place = Place(file, line, position - line_start + 1)
        if position == len(text):
            yield Token("end", "", place)
            return
        match = TOKEN.match(text, position)
        if match is None:
            place.fail(f"unexpected character {text[position]!r}", hint='names with other characters stand in "…"')
        word = match.group()
        if match["sign"]:
            yield Token(SIGNS.get(word, word), word, place)
        elif match["string"]:
            yield Token("name", read_string(word, place), place)
        else:
            yield Token(word if word in KEYWORDS else "name", word, place)
        position = match.end()


def read_string(word: str, place: Place) -> str:
    try:
        return str(json.loads(word, strict=False))
    except ValueError:
        place.fail(f"broken string {shorten(word)}", hint='escapes are those of JSON: \\" \\\\ \\n \\u00e4')


def read_program(path: str | Path) -> Program:
    return parse_program(read_text(Path(path)), str(path))


def parse_program(text: str, file: str | None = None) -> Program:
    """A program from its text; every error says line and column."""
    try:
        return Parser(list(split_tokens(text, file))).program()
    except BraspError as error:
        error.file = error.file or file
        raise


class Parser:
    """Recursive descent; one token of lookahead is enough."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self, kind: str, what: str | None = None) -> Token:
        """The next token, which must be of this kind."""
        token = self.token
        if token.kind != kind:
            token.fail(f"expected {what or repr(kind)}, found {token}", hint="docs/brasp.md has the grammar")
        self.position += token.kind != "end"
        return token

    def meets(self, *kinds: str) -> bool:
        """Take the next token if it is one of these."""
        found = self.token.kind in kinds
        self.position += found
        return found

    def program(self) -> Program:
        if self.token.kind == "end":
            self.token.fail("the program is empty", hint="it starts with: alphabet { a, b }")
        start = self.take("alphabet")
        alphabet = self.symbols()
        definitions = []
        while self.token.kind == "name":
            definitions.append(self.definition())
        output = self.symbols() if self.meets("output") else ()
        self.take("end", "a definition such as 'P(i) :=', or the end")
        try:
            return Program(alphabet, tuple(definitions), output)
        except BraspError as error:
            if error.line is None:
                error.line, error.column = start.place.line, start.place.column
            raise

    def symbols(self) -> tuple[str, ...]:
        self.take("{")
        names: dict[str, None] = {}
        while not self.meets("}"):
            if names:
                self.take(",", "',' or '}'")
            token = self.take("name", "a symbol")
            if token.text in names:
                token.fail(f"symbol {token.text!r} is there twice", hint="symbols must differ")
            names[token.text] = None
        return tuple(names)

    def definition(self) -> Definition:
        name = self.take("name")
        self.take("(")
        self.position_word("i")
        self.take(")")
        self.take(":=", "':=' or, inside a formula, an operator before this name")
        if self.token.kind not in tuple(Choice):
            return Pointwise(name.text, self.formula(), name.place)
        choice = Choice(self.take(self.token.kind).kind)
        self.position_word("j")
        self.take("[")
        mask = self.mask()
        self.take(",")
        score = self.formula()
        self.take("]", "an operator or ']'")
        value = self.formula()
        self.take(":", "an operator, or ':' and the default")
        return Attention(name.text, choice, mask, score, value, self.formula(), name.place)

    def position_word(self, *allowed: str) -> str:
        token = self.token
        if token.kind != "name" or token.text not in allowed:
            token.fail(f"expected {' or '.join(allowed)}, found {token}", hint="i is this position, j the attended one")
        self.position += 1
        return token.text

    def mask(self) -> Mask:
        if self.meets("1"):
            return Mask.NONE
        if self.token.text != "j":
            self.token.fail(f"expected a mask, found {self.token}", hint="1, j < i or j > i")
        self.position_word("j")
        mask = Mask.FUTURE if self.token.kind == "<" else Mask.PAST
        if not self.meets("<", ">"):
            self.token.fail(f"expected '<' or '>', found {self.token}", hint="the masks are 1, j < i and j > i")
        self.position_word("i")
        return mask

    def formula(self) -> Formula:
        parts = [self.conjunct()]
        while self.meets("|"):
            parts.append(self.conjunct())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def conjunct(self) -> Formula:
        parts = [self.factor()]
        while self.meets("&"):
            parts.append(self.factor())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def factor(self) -> Formula:
        token = self.token
        if self.meets("0", "1"):
            return Constant(token.kind == "1")
        if token.kind == "name":
            self.take("name")
            self.take("(", f"'(i)' or '(j)' after {token}")
            at = self.position_word("i", "j")
            self.take(")")
            return Variable(token.text, at, token.place)
        if token.kind not in ("!", "("):
            token.fail(f"expected a formula, found {token}", hint="0, 1, P(i), P(j), !φ, φ & ψ, φ | ψ, (φ)")
        self.position += 1
        self.depth += 1
        if self.depth > DEEPEST:
            token.fail(f"formulas nested deeper than {DEEPEST}", hint="name a part of it as a vector of its own")
        inner = Not(self.factor()) if token.kind == "!" else self.formula()
        if token.kind == "(":
            self.take(")", "an operator or ')'")
        self.depth -= 1
        return inner
