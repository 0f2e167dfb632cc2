"""How sure each precondition and effect of the small model is: certain, likely or free.

By theorem 1 each model that fits the log refuses b after h by an atom that a live reason of this refusal deletes, over
exactly the objects of that reason. So a refusal with few live reasons says what all models have in common:

* Its only live reason is (u, d): in every model d deletes something over u that b needs. If the small model's P is
  what is false there, that d deletes P is *certain*.
* All its live reasons are deleters of P, or starts that leave it false, over the objects that b asks P of: in every
  model b needs something that one of them deletes. That b needs P is *certain*.
* Its only live reason is d with the window V, and b worked with a window W of d. Nothing in V adds what was missing,
  and something in W did; if W has one token a besides V, a adds it in every model. That a adds P is *certain*.

What is not certain is *likely* if the model would be wrong on a label of the kept traces without it, else *free*: the
log says neither yes nor no, and the model would explain the kept traces as well without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trace2strips.learners.windows.lifted import LiftedAction, LiftedPredicate, LiftedWorld, Place
from trace2strips.learners.windows.predicates import bits_of
from trace2strips.learners.windows.simulation import MOST, Simulation
from trace2strips.learners.windows.starts import Start
from trace2strips.learners.windows.summary import Place as LogPlace
from trace2strips.learners.windows.summary import Reason, Refusal, Summary
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset

Bit = tuple[str, int, int]  # pre, add or delete; an action's number; which of its preconditions or effects
WORDS = {"pre": "needs", "add": "adds", "delete": "deletes"}
CERTAIN, LIKELY, FREE = "certain", "likely", "free"
HEADER = """# What an action of domain.pddl needs, adds and deletes, and how sure that is:
# certain: every model that fits the log has it, and these places of the log show it
# likely: without it the model would be wrong on so many labels of the kept traces, the first of them here
# free: the kept traces say neither yes nor no
# certain if {}
"""


@dataclass(frozen=True)
class Support:
    """One precondition or effect of the small model. `labels`: how many of the kept traces it would get wrong without
    it; `places` of the log show that it is certain, or the first of these labels."""

    action: str
    part: str  # needs, adds or deletes
    atom: str
    level: str
    labels: int
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        labels = f"{self.labels} label{'s' * (self.labels != 1)}"
        shown = f": {'; '.join(self.places)}" if self.places else ""
        return f"{self.action} {self.part} {self.atom}: {self.level}, {labels}{shown}"


def support_of(lifted: LiftedWorld, summary: Summary) -> tuple[Support, ...]:
    """Of all actions, in the words of domain.pddl."""
    certain = certain_bits(lifted, summary)
    needed = needed_labels(lifted, summary)
    found = []
    for number, (action, schema) in enumerate(zip(lifted.actions, lifted.schemas(), strict=True)):
        said = " ".join((schema.name, *(variable for variable, _ in schema.parameters)))
        for part, count, literals in (
            ("pre", len(action.pre), schema.pre),
            ("add", len(action.add), schema.add),
            ("delete", len(action.delete), schema.delete),
        ):
            for k in range(count):
                bit = part, number, k
                labels, first = needed[bit]
                places = certain.get(bit, first)
                level = CERTAIN if bit in certain else LIKELY if labels else FREE
                atom = f"({' '.join((literals[k].predicate, *literals[k].arguments))})"
                found.append(Support(said, WORDS[part], atom, level, labels, tuple(map(summary.where, places))))
    return tuple(found)


# --- what every model that fits has in common ------------------------------------------------------------------------


def certain_bits(lifted: LiftedWorld, summary: Summary) -> dict[Bit, tuple[LogPlace, ...]]:
    """With the places of the log that show it; the first of them, in the order of the summary."""
    found: dict[Bit, tuple[LogPlace, ...]] = {}
    if summary.nothing_certain:
        return found
    asked = [*enumerate(lifted.actions), *((-1, test) for test in lifted.tests)]
    tests = len(summary.projection.schemas)
    of_schema = {(number < 0, action.schema): (number, action) for number, action in asked}
    for refusal in summary.refusals:
        number, action = of_schema[refusal.schema >= tests, summary.projection.asked[refusal.schema]]
        for k, (predicate, places) in enumerate(action.pre):
            if (asking := Asking.of(lifted, summary, refusal.schema, predicate, places)) is None:
                continue
            for bit, shown in asking.certain(refusal):
                found.setdefault(bit, shown)
            if number >= 0 and asking.explains(refusal) and all(map(asking.is_deleter, refusal.reasons)):
                found.setdefault(("pre", number, k), (refusal.place,))
    return found


@dataclass(frozen=True)
class Asking:
    """A predicate that an action asks, with its signs as the action's query sees them."""

    summary: Summary
    predicate: LiftedPredicate
    query: int
    order: tuple[int, ...]  # which object of the predicate each object of the query is
    adds: dict[int, Bit]  # by the bit of the token
    deletes: dict[int, Bit]

    @staticmethod
    def of(lifted: LiftedWorld, summary: Summary, schema: int, predicate: int, places: Sequence[int]) -> Asking | None:
        """None if it is about more objects than the summary."""
        positions = tuple(sorted(places))
        query = summary.projection.query_number.get((schema, positions))
        if query is None:
            return None
        order = tuple(tuple(places).index(position) for position in positions)
        adds, deletes = (dict(tokens(lifted, summary, predicate, order, part)) for part in ("add", "delete"))
        return Asking(summary, lifted.predicates[predicate], query, order, adds, deletes)

    def is_deleter(self, reason: Reason) -> bool:
        query, by = reason
        if query != self.query:
            return False
        return by in self.deletes if isinstance(by, int) else starts_false(self.predicate, by, self.order)

    def explains(self, refusal: Refusal) -> bool:
        """Whether the predicate is false there."""
        return any(
            self.is_deleter(reason) and not any(bit in self.adds or bit in self.deletes for bit in bits_of(window))
            for reason, window in refusal.reasons.items()
        )

    def certain(self, refusal: Refusal) -> Iterator[tuple[Bit, tuple[LogPlace, ...]]]:
        """The effects that this refusal shows, if the predicate is what is false there for the only live reason."""
        if len(refusal.reasons) != 1 or not self.explains(refusal):
            return
        ((reason, window),) = refusal.reasons.items()
        if isinstance(reason[1], int):
            yield self.deletes[reason[1]], (refusal.place,)
        for worked, place in self.summary.smallest.get(reason, {}).items():
            besides = list(bits_of(worked & ~window))
            if len(besides) == 1 and besides[0] in self.adds:
                yield self.adds[besides[0]], (refusal.place, place)


def tokens(
    lifted: LiftedWorld, summary: Summary, predicate: int, order: tuple[int, ...], part: str
) -> Iterator[tuple[int, Bit]]:
    """Who adds or deletes a predicate, as bits of a query that has the predicate's objects in this order."""
    projection = summary.projection
    numbers = {schema: i for i, schema in enumerate(projection.schemas)}
    for n, action in enumerate(lifted.actions):
        for k, (other, places) in enumerate(effects(action, part)):
            if other == predicate and action.schema in numbers:
                token = numbers[action.schema], tuple(places[i] for i in order)
                yield projection.bit[len(order)][token], (part, n, k)


def effects(action: LiftedAction, part: str) -> tuple[Place, ...]:
    return action.add if part == "add" else action.delete


def starts_false(predicate: LiftedPredicate, key: Start, order: tuple[int, ...]) -> bool:
    """Whether the predicate is false at a START; no, where nothing is known of it."""
    where = {j: i for i, j in enumerate(order)}  # of the predicate's objects in the query
    if key[0] == "start":
        return (key[1], *(key[2 + where[j]] for j in range(len(order)))) not in predicate.true_at
    if key[0] not in ("told", "told-of"):
        return False
    told = (predicate.told, *(where[j] for j in predicate.tells[1]))
    return predicate.start == "false" or (predicate.start == "told" and told not in key[1 if key[0] == "told" else 2 :])


# --- what the kept traces need --------------------------------------------------------------------------------------


def needed_labels(lifted: LiftedWorld, summary: Summary) -> dict[Bit, tuple[int, tuple[LogPlace, ...]]]:
    """For each bit how many labels of the kept traces would be wrong without it that are right now, and the first."""
    dataset = Dataset.of([sampled.trace for sampled in summary.sample])
    simulation = Simulation(lifted, dataset)
    false, refused = simulation.run()
    right = refused == dataset.inapplicable
    setup = dataset.vocabulary.kinds[dataset.tokens] < ACTION

    def place(position: int) -> LogPlace:
        index = int(np.searchsorted(dataset.offsets, position, side="right")) - 1
        begin = int(dataset.offsets[index])
        return summary.sample[index].number << 32 | position - begin - int(setup[begin:position].sum())

    found: dict[Bit, tuple[int, tuple[LogPlace, ...]]] = {}
    for n, action in enumerate(lifted.actions):
        mine = np.isin(dataset.tokens, simulation.tokens[n])
        bits = [("pre", n, k) for k in range(len(action.pre))]
        for bit in bits + [(part, n, k) for part in ("add", "delete") for k in range(len(effects(action, part)))]:
            part, _, k = bit
            if part != "pre":
                wrong = simulation.run(bit)[1] != dataset.inapplicable
            elif k < MOST:
                wrong = mine & dataset.inapplicable & (false == np.uint64(1 << k))
            else:  # so many are not told apart
                pre = (*action.pre[:k], *action.pre[k + 1 :])
                actions = (*lifted.actions[:n], replace(action, pre=pre), *lifted.actions[n + 1 :])
                wrong = Simulation(replace(lifted, actions=actions), dataset).run()[1] != dataset.inapplicable
            positions = np.flatnonzero(wrong & right)
            found[bit] = len(positions), tuple(place(int(i)) for i in positions[:1])
    return found


def support_text(support: Sequence[Support], summary: Summary) -> str:
    """A line for each precondition and effect, in columns."""
    rows = [(one.action, one.part, one.atom, one.level, str(one.labels)) for one in support]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for one, row in zip(support, rows, strict=True):
        *words, labels = map(str.ljust, row, widths)
        lines.append("  ".join((*words, labels.rstrip().rjust(widths[-1]), "; ".join(one.places))).rstrip())
    return "\n".join([HEADER.format("; ".join(summary.assumptions)), *lines, ""])


__all__ = ["Support", "support_of", "support_text"]
