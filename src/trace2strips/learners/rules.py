"""The learned model in words: rules such as "ship needs after-pay", and what an atom seems to mean.

One rule is one precondition or effect. Where a model is lifted its rules are about variables, `stack(x, y)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from trace2strips.errors import ModelError, suggest
from trace2strips.model.world import WorldModel

NEEDS, ADDS, DELETES = "needs", "adds", "deletes"
HEADINGS = {ADDS: "made true by", DELETES: "made false by", NEEDS: "needed by"}
MOST_STARTS = 3  # named starts that are listed
MOST_LISTED = 6  # actions of a sentence


@dataclass(frozen=True)
class Rule:
    """`seen` is the action in the variables of the atom alone: `unstack(x, y)` makes `clear(y)` true, so `clear(x)` is
    made true by `unstack(_, x)`. `level`: certain, likely or free, "" where that is not known; `places` of the log show
    it."""

    action: str
    part: str  # needs, adds or deletes
    atom: str
    predicate: str  # the atom without its arguments
    seen: str
    level: str = ""
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        sure = f": {self.level}" if self.level else ""
        return f"{self.action} {self.part} {self.atom}{sure}"


@dataclass(frozen=True)
class AtomInfo:
    """An atom or predicate. `starts`: true, false, or in words how its first value is known."""

    name: str
    shown: str  # with its variables
    starts: str
    told: bool  # whether the log names it


@dataclass(frozen=True)
class Rules:
    """All of a learned model."""

    actions: tuple[str, ...]
    atoms: tuple[AtomInfo, ...]
    rules: tuple[Rule, ...]

    @cached_property
    def by_action(self) -> dict[str, list[Rule]]:
        found: dict[str, list[Rule]] = defaultdict(list)
        for rule in self.rules:
            found[rule.action].append(rule)
        return found

    @cached_property
    def by_predicate(self) -> dict[str, list[Rule]]:
        found: dict[str, list[Rule]] = defaultdict(list)
        for rule in self.rules:
            found[rule.predicate].append(rule)
        return found

    def of_action(self, action: str, part: str) -> list[str]:
        return [rule.atom for rule in self.by_action.get(action, ()) if rule.part == part]

    def undone_by(self, action: str) -> list[str]:
        """Other actions that make false what this one makes true."""
        made = dict.fromkeys(rule.predicate for rule in self.by_action.get(action, ()) if rule.part == ADDS)
        found = (r.action for p in made for r in self.by_predicate[p] if r.part == DELETES and r.action != action)
        return list(dict.fromkeys(found))

    def explain(self, predicate: str) -> AtomExplanation:
        """What makes an atom true and false, what needs it, and what it seems to mean."""
        for atom in self.atoms:
            if atom.name == predicate:
                rules = tuple(self.by_predicate.get(predicate, ()))
                return AtomExplanation(atom.shown, atom.told, atom.starts, meaning(atom, rules), rules)
        if any(action.partition("(")[0] == predicate for action in self.actions):
            hint = "this is an action: 'trace2strips why RUN TRACE ACTION' is about actions"
        else:
            hint = suggest(predicate, [atom.name for atom in self.atoms], "atoms")
        raise ModelError(f"unknown atom {predicate!r}", hint=hint)


@dataclass(frozen=True)
class AtomExplanation:
    """It prints itself."""

    atom: str
    told: bool
    starts: str
    meaning: str
    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        who = "an atom that the log names" if self.told else "invented: the log does not name it"
        lines = [f"{self.atom}: {self.meaning}", f"  {who}; at the start: {self.starts}"]
        for part, heading in HEADINGS.items():
            for rule in self.rules:
                if rule.part == part:
                    sure = f"  ({'; '.join((rule.level, *rule.places))})" if rule.level else ""
                    lines.append(f"  {heading} {rule.seen}{sure}")
        return "\n".join(lines)


def rules_of_world(world: WorldModel) -> Rules:
    """Of a ground model: actions and atoms are their names."""
    order = world.model.atom_index.__getitem__
    invented = set(world.invented)
    found = [
        Rule(action.name, part, atom, atom, action.name)
        for action in world.model.actions
        for part, atoms in ((NEEDS, action.pre), (ADDS, action.add), (DELETES, action.delete))
        for atom in sorted(atoms, key=order)
    ]

    def starts(atom: str) -> str:
        true = [name for name, state in world.states.items() if atom in state]
        if world.states:
            return first_value(true, list(world.states))
        return "true" if atom in world.always else "as the log tells"

    atoms = tuple(AtomInfo(atom, atom, starts(atom), atom not in invented) for atom in world.model.atoms)
    return Rules(tuple(action.name for action in world.model.actions), atoms, tuple(found))


def first_value(true: Sequence[str], every: Sequence[str]) -> str:
    """In words at which of all named starts it is true."""
    if not true:
        return "false"
    if len(true) == len(every):
        return "true"
    shown = ", ".join(true[:MOST_STARTS]) + (f" and {len(true) - MOST_STARTS} more" if len(true) > MOST_STARTS else "")
    return f"true at {shown}"


def meaning(atom: AtomInfo, rules: Iterable[Rule]) -> str:
    """A sentence from who makes it true, who makes it false and who needs it."""
    who: dict[str, list[str]] = {NEEDS: [], ADDS: [], DELETES: []}
    for rule in rules:
        if rule.seen not in who[rule.part]:
            who[rule.part].append(rule.seen)
    adders, deleters = listed(who[ADDS], "or"), listed(who[DELETES], "or")
    begins = "" if atom.starts in ("true", "false") else "; or it holds since the start"
    if not adders and not deleters:
        said, begins = "it is never true" if atom.starts == "false" else "it never changes", ""
    elif not adders:
        said = f"{deleters} has not happened" if atom.starts != "false" else "it is never true"
    elif not deleters:
        said = f"{adders} has happened" if atom.starts != "true" else "it is always true"
    elif atom.starts == "true":
        said = f"{deleters} has not happened, or {adders} has since"
    else:
        said = f"{adders} has happened, and {deleters} has not since"
    if not (adders and atom.starts != "true"):
        begins = ""
    needers = listed(who[NEEDS], "and")
    asked = f"{needers} {'need' if len(who[NEEDS]) > 1 else 'needs'} it" if needers else "no action needs it"
    return f"{said}{begins}; {asked}"


def listed(names: Sequence[str], word: str) -> str:
    """a, b or c; of many the first."""
    few = list(names)
    if len(few) > MOST_LISTED:
        few = [*few[: MOST_LISTED - 1], f"{len(few) - MOST_LISTED + 1} more"]
    return f" {word} ".join(filter(None, (", ".join(few[:-1]), *few[-1:])))
