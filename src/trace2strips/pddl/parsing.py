"""PDDL text to domains, problems and propositional models. What cannot be read is told with file, line and column.

Supported of PDDL: `:strips`, `:typing` with `either`, constants, `=`, negative preconditions and goals. Action costs
are read over: they change nothing of what works. Requirements are only a promise of the file, so what is not supported
is told where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from trace2strips.errors import PddlError, first_repeated, shorten, suggest, with_file
from trace2strips.files import read_text
from trace2strips.model.lifted import EITHER, OBJECT, LiftedDomain, LiftedProblem, Literal, Schema
from trace2strips.model.strips import StripsAction, StripsModel, StripsProblem
from trace2strips.pddl.names import decode_name, encode_name

# --- s-expressions with places ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A word or a list, with the place where it starts."""

    value: str | tuple[Node, ...]
    file: str | None
    line: int
    column: int

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, tuple)

    @property
    def items(self) -> tuple[Node, ...]:
        if isinstance(self.value, str):
            self.fail(f"expected a list, found {shorten(self.value)!r}")
        return self.value

    @property
    def word(self) -> str:
        if not isinstance(self.value, str):
            self.fail("expected a name, found a list")
        return self.value

    def checked(self, variable: bool = False) -> Node:
        """Itself, if it may name something: `:typing`, `=` and the like may not."""
        if not NAME.match(self.word[variable:]):
            self.fail(f"{shorten(self.word)!r} is no PDDL name", hint="letters, digits, '-' and '_'")
        return self

    @property
    def head(self) -> str:
        """The first word of a list, '' where there is none."""
        return self.value[0].value if self.is_list and self.items and isinstance(self.items[0].value, str) else ""  # type: ignore[union-attr,return-value]

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        raise PddlError(message, file=self.file, line=self.line, column=self.column, hint=hint)


NAME = re.compile(r"[a-z0-9_][a-z0-9_-]*\Z")  # also with a digit in front, as some benchmark files have it
WORDS = re.compile(r"\s+|;[^\n]*|([()])|([^\s();]+)")


def parse_expression(text: str, file: str | None = None, heads: Sequence[str] = ("define",)) -> Node:
    """The one list that a PDDL file is, in lower case (PDDL does not distinguish); it begins with one of `heads`."""
    stack: list[tuple[list[Node], int, int]] = []
    whole: Node | None = None
    line, line_start = 1, 0
    for match in WORDS.finditer(text):
        column = match.start() - line_start + 1
        bracket, word = match.groups()
        if whole is not None and (bracket or word):
            raise PddlError(
                "text after the end of the definition", file=file, line=line, column=column, hint="a ')' too many?"
            )
        if bracket == "(":
            stack.append(([], line, column))
        elif bracket == ")":
            if not stack:
                raise PddlError("')' without '('", file=file, line=line, column=column, hint="unbalanced parenthesis")
            items, start_line, start_column = stack.pop()
            node = Node(tuple(items), file, start_line, start_column)
            if stack:
                stack[-1][0].append(node)
            else:
                whole = node
        elif word:
            if not stack:
                raise PddlError(
                    f"not a PDDL file: it starts with {shorten(word)!r}",
                    file=file, line=line, column=column, hint="a PDDL file starts with '(define'",
                )  # fmt: skip
            stack[-1][0].append(Node(word.lower(), file, line, column))
        newlines = match.group().count("\n")
        if newlines:
            line += newlines
            line_start = match.start() + match.group().rindex("\n") + 1
    if stack:
        _, start_line, start_column = stack[-1]
        raise PddlError(
            "'(' is never closed", file=file, line=start_line, column=start_column, hint="unbalanced parenthesis"
        )
    if whole is None:
        raise PddlError("not a PDDL file: it is empty", file=file, hint=f"a PDDL file starts with '({heads[0]}'")
    if whole.head not in heads:
        whole.fail("not a PDDL file", hint=f"a PDDL file starts with '({heads[0]}'")
    return whole


# --- lifted domains and problems -------------------------------------------------------------------------------------

UNSUPPORTED_SECTIONS = {
    ":derived": "derived predicates", ":durative-action": "durative actions",
    ":constraints": "constraints", ":axiom": "axioms",
    ":process": "processes", ":event": "events",
}  # fmt: skip
UNSUPPORTED_WORDS = {
    "when": "conditional effects", "forall": "quantifiers", "exists": "quantifiers", "or": "disjunctions",
    "imply": "implications", "oneof": "non-deterministic effects", "probabilistic": "probabilistic effects",
    "increase": "numeric effects", "decrease": "numeric effects", "assign": "numeric effects",
    "scale-up": "numeric effects", "scale-down": "numeric effects", "preference": "preferences",
    "<": "numeric conditions", ">": "numeric conditions", "<=": "numeric conditions", ">=": "numeric conditions",
}  # fmt: skip
NUMERIC = {word for word, feature in UNSUPPORTED_WORDS.items() if feature == "numeric effects"}
NEGATED = {"and": "a negated conjunction (not (and …))", "not": "a double negation (not (not …))"}
REQUIREMENTS = {":strips", ":typing", ":equality", ":negative-preconditions", ":action-costs", ":adl", ":fluents",
    ":numeric-fluents", ":object-fluents", ":disjunctive-preconditions", ":existential-preconditions",
    ":universal-preconditions", ":quantified-preconditions", ":conditional-effects", ":derived-predicates",
    ":durative-actions", ":duration-inequalities", ":continuous-effects", ":timed-initial-literals", ":constraints",
    ":preferences", ":domain-axioms", ":goal-utilities"}  # fmt: skip
MOST_LEVELS = 100  # of types, one above the other
MOST_BYTES = 16 * 2**20  # of a file: a hundred times that is in memory while it is read
HINT_SUPPORTED = "supported: STRIPS with types, constants, equality, negative preconditions, action costs (ignored)"


def read_domain(path: str | Path) -> LiftedDomain:
    return parse_domain(read_text(Path(path), MOST_BYTES), str(path))


def read_problem(path: str | Path, domain: LiftedDomain) -> LiftedProblem:
    return parse_problem(read_text(Path(path), MOST_BYTES), domain, str(path))


DOMAIN_SECTIONS = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")
PROBLEM_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric", ":length")


def parse_domain(text: str, file: str | None = None) -> LiftedDomain:
    name, sections = split_definition(parse_expression(text, file), "domain", DOMAIN_SECTIONS)
    requirements = body_of(sections, ":requirements")
    for node in requirements:
        if node.word not in REQUIREMENTS:
            node.fail(
                f"unknown requirement {shorten(node.word)}", hint=suggest(node.word, REQUIREMENTS, "requirements")
            )
    typed = bool(sections[":types"]) or any(node.word == ":typing" for node in requirements)
    types = read_types(body_of(sections, ":types"))
    constants = read_objects(body_of(sections, ":constants"), types, {})
    predicates: dict[str, tuple[str, ...]] = {}
    for node in body_of(sections, ":predicates"):
        if not node.items:
            node.fail("a predicate needs a name")
        predicate = node.items[0].checked().word
        if predicate in predicates:
            node.fail(f"predicate {predicate!r} is declared twice")
        predicates[predicate] = tuple(kind for _, kind in typed_list(node.items[1:], types, variables=True))
    domain = LiftedDomain(name, tuple(types.items()), tuple(constants.items()), tuple(predicates.items()), (), typed)
    schemas: dict[str, Schema] = {}
    for node in sections[":action"]:
        schema = read_schema(node, domain)
        if schema.name in schemas:
            node.fail(f"action {schema.name!r} is declared twice")
        schemas[schema.name] = schema
    actions = tuple(schemas.values())
    remarks = numbers_ignored(sections[":functions"])
    return LiftedDomain(name, domain.types, domain.constants, domain.predicates, actions, typed, remarks)


def numbers_ignored(sections: Sequence[Node]) -> tuple[str, ...]:
    """A condition on a number is refused where it stands, so numbers that are only changed decide nothing."""
    return tuple(
        str(
            PddlError("costs and other numbers are ignored: no condition asks for them", file=node.file, line=node.line)
        )
        for node in sections
    )


def parse_problem(text: str, domain: LiftedDomain, file: str | None = None) -> LiftedProblem:
    name, sections = split_definition(parse_expression(text, file), "problem", PROBLEM_SECTIONS)
    for section in sections[":domain"]:
        if len(section.items) != 2:
            section.fail("(:domain NAME) needs a name")
        _ = section.items[1].word  # any name will do: whether the problem fits is said by its words
    known = dict(domain.constants)
    objects = read_objects(body_of(sections, ":objects"), domain.parents, known)
    known |= objects
    init = [
        read_fact(node, domain, known, "init")
        for node in body_of(sections, ":init")
        if not is_number(node) and not is_false(node, domain, known)
    ]
    goal: list[Literal] = []
    negative: list[Literal] = []
    for section in sections[":goal"]:
        if len(section.items) != 2:
            section.fail("(:goal …) needs exactly one condition")
        for node in conjuncts(section.items[1]):
            inner, is_negative = strip_not(node)
            (negative if is_negative else goal).append(read_fact(inner, domain, known, "goal"))
    starts, wanted, unwanted = (tuple(dict.fromkeys(facts)) for facts in (init, goal, negative))
    remarks = numbers_ignored(sections[":metric"])
    return LiftedProblem(name, domain.name, tuple(objects.items()), starts, wanted, unwanted, remarks)


def is_number(node: Node) -> bool:
    """(= (distance a b) 5): the value of a number, which no condition asks for."""
    return node.head == "=" and len(node.items) == 3 and node.items[1].is_list


def is_false(node: Node, domain: LiftedDomain, objects: dict[str, str]) -> bool:
    """(not (on a b)) at the start: what is not listed is false anyway."""
    inner, negative = strip_not(node)
    if negative:
        read_fact(inner, domain, objects, "init")
    return negative


def split_definition(whole: Node, kind: str, known: Sequence[str]) -> tuple[str, dict[str, list[Node]]]:
    """The name, and the sections by their heads: they may come in any order, but only actions more than once."""
    items = whole.items
    if len(items) < 2 or not items[1].is_list or len(items[1].items) != 2:
        whole.fail(f"expected (define ({kind} NAME) …)")
    if items[1].head != kind:
        items[1].fail(
            f"this file defines a {items[1].head or 'list'}, not a {kind}", hint=f"expected (define ({kind} …"
        )
    sections: dict[str, list[Node]] = {head: [] for head in known}
    for section in items[2:]:
        if not section.head.startswith(":"):
            section.fail("expected a section such as (:predicates …)")
        if section.head not in known:
            refuse_section(section, section.head)
        if sections[section.head] and section.head != ":action":
            first = sections[section.head][0].line
            section.fail(f"a second section {section.head}", hint=f"the first stands on line {first}; join them")
        sections[section.head].append(section)
    return items[1].items[1].word, sections


def body_of(sections: dict[str, list[Node]], head: str) -> tuple[Node, ...]:
    return sections[head][0].items[1:] if sections[head] else ()


def refuse_section(section: Node, head: str) -> NoReturn:
    if head in UNSUPPORTED_SECTIONS:
        section.fail(f"unsupported feature: {UNSUPPORTED_SECTIONS[head]} ({head})", hint=HINT_SUPPORTED)
    section.fail(f"unknown section {head}")


def read_fact(node: Node, domain: LiftedDomain, objects: dict[str, str], where: str) -> Literal:
    if node.head == "=":
        node.fail(f"unsupported feature: '=' in the {where}", hint="it may stand in preconditions only")
    return read_literal(node, domain, objects)


def typed_list(
    nodes: Sequence[Node], types: dict[str, str], variables: bool, declaring: bool = False
) -> Iterator[tuple[Node, str]]:
    """`a b - t c` as (a, t), (b, t), (c, object)."""
    waiting: list[Node] = []
    i = 0
    while i < len(nodes):
        node = nodes[i]
        if node.is_list and node.head in UNSUPPORTED_WORDS:
            refuse_word(node)
        if node.word == "-":
            if i + 1 == len(nodes) or not waiting:
                node.fail("'-' needs names before it and a type after it")
            kind = read_kind(nodes[i + 1], None if declaring else types)
            yield from ((name, kind) for name in waiting)
            waiting = []
            i += 2
            continue
        if node.word.startswith("?") != variables:
            node.fail(f"expected a {'variable such as ?x' if variables else 'name'}, found {node.word!r}")
        waiting.append(node.checked(variables))
        i += 1
    yield from ((name, OBJECT) for name in waiting)


def read_kind(node: Node, types: dict[str, str] | None) -> str:
    """A type, or several: (either a b). Without known types any name will do: types are being declared."""
    if node.is_list and (node.head != "either" or len(node.items) < 2):
        refuse_word(node)
    parts = node.items[1:] if node.is_list else (node,)
    for part in parts:
        if types is None:
            part.checked()
        elif part.word != OBJECT and part.word not in types:
            part.fail(f"unknown type {shorten(part.word)!r}", hint=suggest(part.word, (OBJECT, *types), "types"))
    return EITHER.join(dict.fromkeys(part.word for part in parts))


def read_types(nodes: Sequence[Node]) -> dict[str, str]:
    types: dict[str, str] = {}
    supertypes: dict[str, Node] = {}
    for node, parent in typed_list(nodes, {}, variables=False, declaring=True):
        if node.word == OBJECT:
            continue
        if node.word in types:
            node.fail(f"type {node.word!r} is declared twice")
        types[node.word] = parent
        supertypes[node.word] = node
    for parent in [part for kind in types.values() for part in kind.split(EITHER)]:
        if parent != OBJECT:  # a supertype that is only ever named after '-' hangs below the root
            types.setdefault(parent, OBJECT)
    check_levels(types, supertypes)
    return types


def check_levels(types: dict[str, str], places: dict[str, Node]) -> None:
    """No type is its own supertype, and none has too many above it. Types are taken away from the top down: each is
    looked at once, however deep they are nested."""
    waiting = {
        kind: dict.fromkeys(part for part in above.split(EITHER) if part in types) for kind, above in types.items()
    }
    below: dict[str, list[str]] = {kind: [] for kind in types}
    for kind, parts in waiting.items():
        for part in parts:
            below[part].append(kind)
    level = {kind: 1 for kind, parts in waiting.items() if not parts}
    for kind in (order := list(level)):  # grows while it is walked
        for lower in below[kind]:
            del waiting[lower][kind]
            level[lower] = level[kind] + 1
            if not waiting[lower]:
                order.append(lower)
    if left := next((kind for kind in types if waiting[kind]), None):  # in a ring, or below one: upwards it is reached
        ring = first_repeated(go_up(left, waiting))
        assert ring is not None
        places[ring].fail(f"type {ring!r} is its own supertype")
    for kind, place in places.items():
        if level[kind] > MOST_LEVELS:
            place.fail(f"type {kind!r} has more than {MOST_LEVELS} types above it", hint="leave some of them out")


def go_up(kind: str, parents: dict[str, dict[str, None]]) -> Iterator[str]:
    while True:
        yield kind
        kind = next(iter(parents[kind]))


def read_objects(nodes: Sequence[Node], types: dict[str, str], known: dict[str, str]) -> dict[str, str]:
    objects: dict[str, str] = {}
    for node, kind in typed_list(nodes, types, variables=False):
        if node.word in objects or node.word in known:
            node.fail(f"object {node.word!r} is declared twice")
        objects[node.word] = kind
    return objects


def refuse_word(node: Node) -> NoReturn:
    if node.head in UNSUPPORTED_WORDS:
        node.fail(f"unsupported feature: {UNSUPPORTED_WORDS[node.head]} ({node.head})", hint=HINT_SUPPORTED)
    node.fail("expected an atom such as (on ?x ?y)")


def conjuncts(node: Node) -> Iterator[Node]:
    """The parts of a condition or effect, nested `and`s and the empty list opened."""
    waiting = [node]
    while waiting:  # no recursion: a file may nest deeper than Python's stack
        node = waiting.pop()
        if not node.is_list:
            node.fail(f"expected a condition, found {node.word!r}")
        if node.head == "and":
            waiting += reversed(node.items[1:])
        elif node.items:
            yield node


def read_schema(action: Node, domain: LiftedDomain) -> Schema:
    if len(action.items) < 2:
        action.fail("an action needs a name")
    name = action.items[1].checked().word
    parts: dict[str, Node] = {}
    for i in range(2, len(action.items), 2):
        keyword = action.items[i]
        if keyword.word not in (":parameters", ":precondition", ":effect"):
            keyword.fail(f"unknown part {keyword.word!r} of action {name!r}")
        if i + 1 == len(action.items):
            keyword.fail(f"{keyword.word} of action {name!r} is empty")
        if keyword.word in parts:
            keyword.fail(f"{keyword.word} stands twice in action {name!r}")
        parts[keyword.word] = action.items[i + 1]
    parameters: dict[str, str] = {}
    if ":parameters" in parts:
        for node, kind in typed_list(parts[":parameters"].items, domain.parents, variables=True):
            if node.word in parameters:
                node.fail(f"parameter {node.word!r} stands twice in action {name!r}")
            parameters[node.word] = kind
    terms = dict(domain.constants) | parameters
    pre: list[Literal] = []
    negative: list[Literal] = []
    add: list[Literal] = []
    delete: list[Literal] = []
    for node in conjuncts(parts[":precondition"]) if ":precondition" in parts else ():
        inner, is_negative = strip_not(node)
        (negative if is_negative else pre).append(read_literal(inner, domain, terms))
    for node in conjuncts(parts[":effect"]) if ":effect" in parts else ():
        inner, is_negative = strip_not(node)
        if inner.head == "=":
            inner.fail("'=' cannot be an effect")
        if inner.head not in NUMERIC or is_negative:
            (delete if is_negative else add).append(read_literal(inner, domain, terms))
    pre_list, negative_list, add_list, delete_list = (
        tuple(dict.fromkeys(literals)) for literals in (pre, negative, add, delete)
    )
    return Schema(
        name, tuple(parameters.items()), pre_list, negative_list, add_list, delete_list, action.file, action.line
    )


def strip_not(node: Node) -> tuple[Node, bool]:
    if node.head != "not":
        return node, False
    if len(node.items) != 2:
        node.fail("(not …) needs exactly one atom")
    if node.items[1].head in NEGATED:
        node.fail(f"unsupported feature: {NEGATED[node.items[1].head]}", hint=HINT_SUPPORTED)
    return node.items[1], True


def read_literal(node: Node, domain: LiftedDomain, terms: dict[str, str]) -> Literal:
    """A checked atom: its predicate exists, with as many arguments, each known and of a fitting type."""
    if not node.is_list or not node.head or node.head in UNSUPPORTED_WORDS:
        refuse_word(node)
    predicate, arguments = node.head, node.items[1:]
    if predicate == "=" and any(x.is_list or (is_decimal(x.word) and x.word not in terms) for x in arguments):
        node.fail("unsupported feature: numeric conditions (=)", hint=HINT_SUPPORTED)
    signatures = domain.signatures
    if predicate == "=":
        expected: tuple[str, ...] = (OBJECT, OBJECT)
    elif predicate not in signatures:
        node.fail(f"unknown predicate {predicate!r}", hint=suggest(predicate, signatures, "predicates"))
    else:
        expected = signatures[predicate]
    if len(arguments) != len(expected):
        node.fail(f"{predicate!r} takes {len(expected)} arguments, not {len(arguments)}")
    for argument, kind in zip(arguments, expected, strict=True):
        word = argument.word
        if word not in terms:
            noun = "variable" if word.startswith("?") else "object"
            argument.fail(f"unknown {noun} {word!r}", hint=suggest(word, terms, f"{noun}s"))
        # a variable of a supertype is bound to what fits when grounding; an object is what it is
        narrows = word.startswith("?") and domain.may_be(kind, terms[word])
        if not domain.is_a(terms[word], kind) and not narrows:
            ours, theirs = (text.replace(EITHER, " or ") for text in (terms[word], kind))
            argument.fail(f"{word!r} is a {ours}, but {predicate!r} wants a {theirs} here")
    return Literal(predicate, tuple(argument.word for argument in arguments))


def is_decimal(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal() and not word.startswith(".")


# --- propositional models --------------------------------------------------------------------------------------------


def parse_model(text: str, file: str | None = None) -> StripsModel:
    """The inverse of `format_model`: a domain without parameters is the model itself, nothing is pruned."""
    domain = parse_domain(text, file)
    for kind, names in (
        ("predicate", [name for name, types in domain.predicates if types]),
        ("action", [schema.name for schema in domain.schemas if schema.parameters]),
    ):
        if names:
            raise PddlError(
                f"{kind} {names[0]!r} has parameters: this is a lifted domain",
                file=file,
                hint="ground it with a problem",
            )

    def atoms(literals: Sequence[Literal]) -> frozenset[str]:
        return frozenset(decode_name(literal.predicate) for literal in literals)

    for schema in domain.schemas:
        if schema.negative_pre:
            raise PddlError(f"action {schema.name!r} has a negative precondition", file=file, hint=HINT_SUPPORTED)
    return StripsModel(
        tuple(decode_name(name) for name, _ in domain.predicates),
        tuple(StripsAction(decode_name(s.name), atoms(s.pre), atoms(s.add), atoms(s.delete)) for s in domain.schemas),
        name=decode_name(domain.name),
    )


def parse_model_problem(text: str, model: StripsModel, file: str | None = None) -> StripsProblem:
    """The inverse of `format_model_problem`."""
    predicates = tuple((encode_name(atom), ()) for atom in model.atoms)
    frame = LiftedDomain(encode_name(model.name), (), (), predicates, ())
    problem = parse_problem(text, frame, file)
    init = frozenset(decode_name(fact.predicate) for fact in problem.init)
    goal = frozenset(decode_name(fact.predicate) for fact in problem.goal)
    return StripsProblem(model, init, goal, decode_name(problem.name))


def read_model(path: str | Path) -> StripsModel:
    return with_file(path, lambda: parse_model(read_text(Path(path), MOST_BYTES), str(path)))


def read_model_problem(path: str | Path, model: StripsModel) -> StripsProblem:
    return with_file(path, lambda: parse_model_problem(read_text(Path(path), MOST_BYTES), model, str(path)))
