"""The small lifted model as rules for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trace2strips.learners.rules import ADDS, DELETES, NEEDS, AtomInfo, Rule, Rules, first_value
from trace2strips.learners.windows.evidence import Support
from trace2strips.learners.windows.lifted import EVERYWHERE, LiftedAction, LiftedPredicate, LiftedWorld

MOST_OBJECTS = 3  # that are listed


def rules_of(lifted: LiftedWorld, support: Sequence[Support], starts: Sequence[str]) -> Rules:
    """`support` says how sure each rule is, in the order of the actions, if that is known; `starts` are the names of
    the log's initial states."""
    found = []
    levels = iter(support)
    for action in lifted.actions:
        own = words_of(lifted, action, variables(len(action.types)))
        for part, places in ((NEEDS, action.pre), (ADDS, action.add), (DELETES, action.delete)):
            for number, arguments in places:
                name = lifted.predicates[number].name
                names = variables(len(action.types)) | lifted.fixed(action)
                renamed = dict.fromkeys(range(len(action.types)), "_")
                renamed |= dict(zip(arguments, variables(len(arguments)).values(), strict=True))
                known = next(levels, None)
                found.append(
                    Rule(
                        own, part, call(name, [names[i] for i in arguments]), name,
                        words_of(lifted, action, renamed), known.level if known else "", known.places if known else (),
                    )
                )  # fmt: skip
    actions = tuple(words_of(lifted, action, variables(len(action.types))) for action in lifted.actions)
    atoms = tuple(
        AtomInfo(p.name, call(p.name, list(variables(len(p.types)).values())), starting(p, starts), p.start == "told")
        for p in lifted.predicates
    )
    return Rules(actions, atoms, tuple(found))


def variables(count: int) -> dict[int, str]:
    """x, y, z, x3, x4, …"""
    return {i: "xyz"[i] if i < 3 else f"x{i}" for i in range(count)}


def call(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})" if arguments else name


def words_of(lifted: LiftedWorld, action: LiftedAction, names: Mapping[int, str]) -> str:
    """An action as the log would call it; constants are not said."""
    own = action.pattern[: len(action.pattern) - len(lifted.fixed(action))]
    return call(action.name, [names[i] for i in own])


def starting(predicate: LiftedPredicate, starts: Sequence[str]) -> str:
    """Its first value in words."""
    if predicate.start == "told":
        return "as the log tells"
    if not predicate.true_at or predicate.start == "true":
        return predicate.start
    if not predicate.types:
        named = {name for name, *_ in predicate.true_at}
        return first_value([name for name in starts if named & {name, EVERYWHERE}], starts)
    objects = sorted({", ".join(rest) for _, *rest in predicate.true_at})
    more = f" and {len(objects) - MOST_OBJECTS} more" if len(objects) > MOST_OBJECTS else ""
    return f"true of {'; '.join(objects[:MOST_OBJECTS])}{more}"
