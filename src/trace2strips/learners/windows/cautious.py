"""The cautious bound: the STRIPS model in which an action works iff it works in every model that fits the log.

By theorem 2 an action works for certain iff for each reason d that is there, some smallest success window of d lies
within what happened since. "Some window is all there" is the same as "each set that meets all windows has something
that is there". So its atoms are (d, A) for the minimal sets A that meet every smallest success window of d (the
*transversals* of these): false iff d happened to these objects and nothing of A since. Without any window A is empty:
what d deletes stays deleted. An empty window leaves no A, and no atom is needed. START is a reason like others: its
atoms are false at first.

It is a ground model over given actions and one start. `only_certain` joins it to a small model, for planners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import permutations

from trace2strips.errors import UserError
from trace2strips.learners.windows.lifted import EVERYWHERE, LiftedWorld
from trace2strips.learners.windows.predicates import bits_of
from trace2strips.learners.windows.starts import start_key
from trace2strips.learners.windows.summary import Reason, Summary
from trace2strips.model.goals import START, Names, split_names
from trace2strips.model.strips import State, StripsAction, StripsModel, StripsProblem
from trace2strips.model.world import WorldModel
from trace2strips.traces.trace import Trace

MOST_SETS = 64  # that meet all windows of one reason
MOST_ATOMS = 200_000  # of one problem
Condition = tuple[int, int, bool]  # an atom: who deletes it, who adds it, as bits over the actions; its first value


def transversals(windows: Iterable[int], most: int = MOST_SETS) -> tuple[int, ...]:
    """The minimal sets that meet every window. Windows that would make more than `most` of them are left out, small
    ones last: then less is certain, and never what is not."""
    found = [0]
    for window in sorted(windows, key=lambda w: (w.bit_count(), w)):
        grown = minimal(
            longer
            for chosen in found
            for longer in ([chosen] if chosen & window else (chosen | 1 << bit for bit in bits_of(window)))
        )
        if len(grown) <= most or found == [0]:
            found = grown
    return tuple(found)


def minimal(sets: Iterable[int]) -> list[int]:
    """Those that contain no other."""
    found: list[int] = []
    for one in sorted(set(sets), key=lambda s: (s.bit_count(), s)):
        if not any(other & ~one == 0 for other in found):
            found.append(one)
    return found


class Cautious:
    """What each of these actions needs to be certain, in traces of them that begin as `start` does. Actions may have
    happened that were not certain."""

    def __init__(self, summary: Summary, actions: Sequence[str], start: Trace) -> None:
        naming = summary.naming
        schemas = [naming.schema(name) for name in actions]
        self.summary = summary.with_schemas(schema for schema, _ in schemas)
        self.actions = tuple(actions)
        self.start, self.told = start, [naming.words(atom) for atom in sorted(start.init or ())]
        projection = self.summary.projection
        numbers = {schema: i for i, schema in enumerate(projection.schemas)}
        self.attempts = [(numbers[schema], objects) for schema, objects in schemas]
        self.queries: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        for number, (schema, positions) in enumerate(projection.queries):
            self.queries[schema].append((number, positions))
        self.left: dict[tuple[str, ...], dict[int, int]] = defaultdict(dict)  # who leaves each token with a tuple
        for i, (schema, objects) in enumerate(self.attempts):
            for r, bits in enumerate(projection.bit):
                for positions in permutations(range(len(objects)), r):
                    left, bit = self.left[tuple(objects[p] for p in positions)], bits[schema, positions]
                    left[bit] = left.get(bit, 0) | 1 << i
        self.known: dict[tuple[Reason, int], tuple[int, ...]] = {}

    def conditions(self, action: int, starts_only: bool = False) -> set[Condition]:
        """The atoms that an action needs."""
        if self.summary.nothing_certain:
            return {(0, 0, False)}  # never true
        schema, objects = self.attempts[action]
        found = set[Condition]()
        for query, positions in self.queries[schema]:
            about = tuple(objects[i] for i in positions)
            left = self.left[about]
            possible = sum(1 << bit for bit in left)
            key = start_key(self.start, self.told, about, self.summary.start)
            found |= {(0, self.leaving(about, chosen), False) for chosen in self.sets((query, key), possible)}
            for bit, deleting in () if starts_only else left.items():
                sets = self.sets((query, bit), possible)
                found |= {(deleting, self.leaving(about, chosen), True) for chosen in sets}
        return found

    def sets(self, reason: Reason, possible: int) -> tuple[int, ...]:
        """The minimal sets that meet all success windows of the reason that these actions can fill."""
        if (reason, possible) not in self.known:
            windows = [window for window in self.summary.smallest.get(reason, ()) if not window & ~possible]
            self.known[reason, possible] = transversals(windows)
        return self.known[reason, possible]

    def leaving(self, about: tuple[str, ...], tokens: int) -> int:
        """The actions that leave one of the tokens."""
        found = 0
        for bit in bits_of(tokens):
            found |= self.left[about][bit]
        return found

    def reachable(self) -> tuple[str, ...]:
        """The actions that may become certain, where only certain ones happen: all others are of no use in a plan.
        Nothing deletes what START needs, so its conditions alone are looked at."""
        needs = [[adding for _, adding, _ in self.conditions(i, starts_only=True)] for i in range(len(self.actions))]
        reached, before = 0, -1
        while reached != before:
            before = reached
            reached = sum(1 << i for i, sets in enumerate(needs) if all(before & adding for adding in sets))
        return tuple(name for i, name in enumerate(self.actions) if reached >> i & 1)

    def model(self, taken: Iterable[str] = ()) -> tuple[StripsModel, State]:
        """The model that accepts an action iff it is certain, and its start. No atom is called as one that is taken."""
        names: dict[Condition, str] = {}
        word = "certain"
        while any(name.startswith(f"{word}-") for name in taken):
            word += "-again"
        needs: list[frozenset[str]] = []
        adds: list[set[str]] = [set() for _ in self.actions]
        deletes: list[set[str]] = [set() for _ in self.actions]
        for i in range(len(self.actions)):
            mine = []
            for condition in sorted(self.conditions(i)):
                if condition not in names:
                    names[condition] = name = f"{word}-{len(names) + 1}"
                    for acting, effects in zip(condition[:2], (deletes, adds), strict=True):
                        for j in bits_of(acting):
                            effects[j].add(name)
                mine.append(names[condition])
            needs.append(frozenset(mine))
            if len(names) > MOST_ATOMS:
                raise UserError(
                    f"more than {MOST_ATOMS:,} conditions decide what is certain over these objects",
                    hint="plan for fewer objects, or without certainty",
                )
        parts = zip(self.actions, needs, map(frozenset, adds), map(frozenset, deletes), strict=True)
        model = StripsModel(tuple(names.values()), tuple(StripsAction(*part) for part in parts), "certain")
        return model, frozenset(name for (_, _, first), name in names.items() if first)


def only_certain(
    summary: Summary, small: StripsModel, init: State, start: Trace, wanted: Collection[str] = ()
) -> tuple[StripsModel, State]:
    """The effects of the small model, the preconditions of the cautious one, and the start of both. Actions that never
    come to be certain are left out, unless they are wanted."""
    actions = tuple(small.action_index)
    while True:
        cautious = Cautious(summary, actions, start)
        kept = {*cautious.reachable(), *wanted}
        if kept.issuperset(actions):
            break
        actions = tuple(name for name in actions if name in kept)
    bound, first = cautious.model(small.atoms)
    joined = tuple(
        StripsAction(own.name, own.pre, own.add | said.add, own.delete | said.delete)
        for own in bound.actions
        for said in (small.action(own.name),)
    )
    return StripsModel((*small.atoms, *bound.atoms), joined, small.name), init | first


def first_trace(lifted: LiftedWorld, world: WorldModel, init: Names | None) -> Trace:
    """A trace that begins where a plan does: told atoms, the name of a start, or nothing said. Which objects may stand
    together is said to planners alone; logs do not tell it."""
    if init is None:
        return Trace((), ())
    words = split_names(init, {*world.model.atoms, *world.states, *world.vocabulary.init_atoms})
    if len(words) == 1 and words[0] in world.states:
        return Trace((), (), state=None if words[0] == START else words[0])
    relations = {relation.name for relation in lifted.relations}
    return Trace((), (), frozenset(word for word in words if lifted.naming.words(word)[0] not in relations))


def first_of_problem(lifted: LiftedWorld, summary: Summary, known: WorldModel, problem: StripsProblem) -> Trace:
    """The same from what holds at the start in the words of the learned model: only what the log could have told will
    do, a named start or told atoms with all that follows from them. Anything else is an error."""
    model, init = problem.model, problem.init
    named = [name for name, state in known.states.items() if state == init]
    if len(named) == 1 or problem.name in named:
        name = problem.name if problem.name in named else named[0]
        return Trace((), (), state=None if name == START else name)
    naming = lifted.naming
    predicates = {p.name: p for p in lifted.predicates}
    hint = "--init and --goal tell a start in the words of the log"
    if not summary.told:
        where = f"like {len(named)} named starts of the log" if named else "where no trace of the log does"
        raise UserError(f"the problem begins {where}", hint=hint)
    told: dict[str, bool] = {}
    for atom in model.atoms:
        name, *objects = naming.words(atom)
        p = predicates[name]
        if p.start != "told":
            listed = (EVERYWHERE, *objects) in p.true_at
            if (atom in init) != (p.start == "true" or listed):
                right = "false" if atom in init else "true"
                message = f"a start at which {atom!r} is not {right} cannot be told in the words of the log"
                raise UserError(message, hint=hint)
        elif told.setdefault(naming.join(p.told_of(objects)), atom in init) != (atom in init):
            raise UserError(f"at the start {atom!r} contradicts what else is told", hint=hint)
    if lost := {naming.words(atom)[0] for atom in summary.told} - {p.told for p in lifted.predicates}:
        raise UserError(f"the log tells {min(lost)!r} of its starts, which the learned model does without", hint=hint)
    return Trace((), (), frozenset(atom for atom, holds in told.items() if holds))


__all__ = ["Cautious", "first_of_problem", "first_trace", "only_certain", "transversals"]
