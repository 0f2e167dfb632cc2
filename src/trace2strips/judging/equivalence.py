"""Do two models accept the same traces? `compare` answers *equivalent*, *different* or *not distinguished*.

It needs nothing but the two models and the pairs of states they start in: `starts` finds those. A short search through
the pairs of states, then invariants, then the long search, then random walks; whichever settles it first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from trace2strips.errors import UserError, listing, printable
from trace2strips.judging.invariants import Counterpart, find_invariants
from trace2strips.judging.joint import JointModel, Starts, everything_true
from trace2strips.judging.product_search import Difference, ProductSearch, walk_for_difference
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel, is_negative_by_definition, walk

MAX_PAIRS = 4_000_000
QUICK_PAIRS = 200_000  # searched before the invariants are tried: shallow differences and small spaces end here
MOST_PAIRS = 1_000_000_000  # pairs are numbered by 32 bits

EQUIVALENT, DIFFERENT, NOT_DISTINGUISHED = "equivalent", "different", "not distinguished"
EXHAUSTED, INVARIANTS = "exhausted", "invariants"


@dataclass(frozen=True)
class Comparison:
    """The answer of `compare` and what it rests on. It prints itself."""

    verdict: str  # equivalent, different, not distinguished
    how: tuple[str, ...]  # equivalent: exhausted, invariants, or both
    pairs: int  # different joint states that were looked at
    starts: int  # different starts among them
    origin: str  # where the starts come from
    further: int = 0  # other starts, drawn apart from those, that the proof covers too
    added: int = 0  # other starts that it did not cover: it was done again, with them among `starts`
    only_a: tuple[str, ...] = ()  # actions that only A has: B always refuses them
    only_b: tuple[str, ...] = ()
    trace: tuple[str, ...] | None = None  # different: both accept all but its last action
    shortest: bool = False  # no shorter trace tells the models apart
    start: str | None = None  # where the trace begins, and what holds there
    start_a: tuple[Atom, ...] = ()
    start_b: tuple[Atom, ...] = ()
    refused_by: str | None = None  # A or B
    missing: tuple[Atom, ...] | None = None  # its preconditions that are false then; None: it has no such action
    mapping: tuple[Counterpart, ...] = ()  # of A's atoms in B
    mapping_back: tuple[Counterpart, ...] = ()  # of B's atoms in A

    @property
    def exit_code(self) -> int:
        return {EQUIVALENT: 0, DIFFERENT: 1, NOT_DISTINGUISHED: 3}[self.verdict]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join((self.verdict, *self.explanation()))

    def explanation(self) -> list[str]:
        """What the verdict rests on, in lines for people."""
        lines = [f"starts: {self.starts:,}, {self.origin}"]
        for side, other, only in (("A", "B", self.only_a), ("B", "A", self.only_b)):
            if only:
                lines.append(f"{side} alone has {listing(only)}; {other} counts as refusing them always")
        if EXHAUSTED in self.how:
            lines.append(f"shown by the product state space, exhausted: {self.pairs:,} pairs of states")
        if INVARIANTS in self.how:
            lines.append(
                "shown by invariants: each precondition of one model follows from those of the other, "
                "wherever both can be"
            )
        if self.further:
            lines.append(f"a second draw brought {self.further:,} other starts; the proof covers them too")
        if self.added:
            lines.append(
                f"a second draw brought {self.added:,} starts that were not covered; all of it is among those above now"
            )
        if self.trace is not None:
            lines += describe_difference(self, self.trace)
        elif not self.how:
            lines.append(f"{self.pairs:,} pairs of states were looked at; --max-pairs allows more")
        return [printable(line) for line in (*lines, *describe_mapping(self))]


def describe_difference(result: Comparison, trace: tuple[str, ...]) -> list[str]:
    """The trace that only one model accepts, and why the other does not."""
    refuser, accepter = ("A", "B") if result.refused_by == "A" else ("B", "A")
    reason = "it has no such action" if result.missing is None else f"{', '.join(result.missing)} is false"
    return [
        f"{'a shortest' if result.shortest else 'a'} trace that tells them apart, {len(trace)} actions:",
        f"  start: {result.start}",
        f"    A: {' '.join(result.start_a) or 'nothing is true'}",
        f"    B: {' '.join(result.start_b) or 'nothing is true'}",
        *(f"  {name}" for name in trace[:-1]),
        f"  {trace[-1]}   refused by {refuser} ({reason}), accepted by {accepter}",
    ]


def describe_mapping(result: Comparison) -> list[str]:
    """Atoms that equal their namesakes are counted, the others listed."""
    if not result.mapping and not result.mapping_back:
        return []
    same = sum(item.relation == "equal" and item.other == item.atom for item in result.mapping)
    lines = [f"atoms proven equal to their namesakes: {same:,}"]
    shown: set[tuple[str, str | None]] = set()
    for side, other, items in (("A", "B", result.mapping), ("B", "A", result.mapping_back)):
        for item in items:
            pair = (item.atom, item.other) if side == "A" else (str(item.other), item.atom)
            if item.other != item.atom and pair not in shown:
                lines.append(f"  {describe_counterpart(side, other, item)}")
                shown.add(pair)
    return lines


def describe_counterpart(side: str, other: str, item: Counterpart) -> str:
    if item.relation in ("equal", "opposite"):
        return f"{item.atom} ({side}) {'=' if item.relation == 'equal' else '= not'} {item.other} ({other})"
    return f"{item.atom} ({side}) " + ("has no counterpart" if item.relation == "none" else f"is {item.relation}")


def compare(
    a: StripsModel,
    b: StripsModel,
    starts: Starts | None = None,
    max_pairs: int = MAX_PAIRS,
    seed: int = 0,
    further: Starts | None = None,
    exhaust: bool = False,
) -> Comparison:
    """Do A and B accept the same traces from these starts (without any: from F, as f_M)?

    A short search, then invariants, then the search up to `max_pairs`, then random walks. If what was shown does not
    cover the `further` starts, it is shown again for both. With `exhaust` the search goes on to its limit even where
    invariants have settled it.
    """
    if not 1 <= max_pairs <= MOST_PAIRS:
        raise UserError(f"cannot look at {max_pairs} pairs of states", hint=f"1 to {MOST_PAIRS}")
    check_seed(seed)
    starts = everything_true(a, b) if starts is None else starts
    if not len(starts):
        raise UserError("there is no start to compare from", hint="at least one initial state")
    joint = JointModel(a, b)
    search = ProductSearch(joint, starts)
    result = Comparison(
        NOT_DISTINGUISHED, (), search.pairs, search.pairs, starts.origin,
        only_a=tuple(np.array(joint.names, dtype=object)[~joint.known[1]]),
        only_b=tuple(np.array(joint.names, dtype=object)[~joint.known[0]]),
    )  # fmt: skip
    found = search.run(min(QUICK_PAIRS, max_pairs), last=False)
    if found.difference:
        return with_difference(replace(result, pairs=found.pairs), joint, starts, found.difference, True)
    invariants = find_invariants(joint, starts)
    if not found.exhausted and (exhaust or not invariants.prove):
        found = search.run(max_pairs)
    if found.difference and invariants.prove:
        raise RuntimeError("internal error: invariants and search contradict each other")
    result = replace(
        result, pairs=found.pairs, mapping=invariants.mapping(), mapping_back=invariants.mapping(of_b=True)
    )
    if found.difference:
        return with_difference(result, joint, starts, found.difference, True)
    how = ((EXHAUSTED,) if found.exhausted else ()) + ((INVARIANTS,) if invariants.prove else ())
    if how:
        if further is not None:
            covered = invariants.covers(further) if invariants.prove else search.contains(further)
            if not covered.all():
                everything = compare(a, b, starts.and_also(further), max_pairs, seed, None, exhaust)
                return replace(everything, added=int((~covered).sum()))
            result = replace(result, further=ProductSearch(joint, starts.and_also(further)).pairs - result.starts)
        return replace(result, verdict=EQUIVALENT, how=how)
    deeper = walk_for_difference(joint, starts, seed)
    return with_difference(result, joint, starts, deeper, False) if deeper else result


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        raise UserError(f"the seed {seed} is out of range", hint="0 to 2^63 - 1")


def with_difference(
    result: Comparison, joint: JointModel, starts: Starts, difference: Difference, shortest: bool
) -> Comparison:
    """Fill in who refuses what, after f_M of both models, by its definition, has confirmed the trace."""
    states, trace = joint.states(starts, difference.start), difference.trace
    refusing = [negative_from(m, s, trace) for m, s in zip((joint.a, joint.b), states, strict=True)]
    before = [negative_from(m, s, trace[:-1]) for m, s in zip((joint.a, joint.b), states, strict=True)]
    if any(before) or refusing[0] == refusing[1]:
        raise RuntimeError(f"internal error: the trace {trace} is no counterexample")
    refuser, state = (joint.a, states[0]) if refusing[0] else (joint.b, states[1])
    missing = None
    if trace[-1] in refuser.action_index:
        *_, (last, _) = walk(refuser, trace, state)
        missing = in_order(refuser, refuser.action(trace[-1]).pre - last)
    return replace(
        result, verdict=DIFFERENT, how=(), trace=trace, shortest=shortest,
        start=starts.names[difference.start] if starts.names else f"start {difference.start + 1}",
        start_a=in_order(joint.a, states[0]), start_b=in_order(joint.b, states[1]),
        refused_by="A" if refusing[0] else "B", missing=missing,
    )  # fmt: skip


def in_order(model: StripsModel, atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=model.atom_index.__getitem__))


def negative_from(model: StripsModel, init: State, trace: Sequence[str]) -> bool:
    """f_M of the trace after a setup action that makes `init` true and all else false; an unknown action is refused."""
    begin = "init"
    while begin in model.action_index:
        begin += "-"
    setup = StripsAction(begin, add=init, delete=frozenset(model.atoms) - init)
    unknown = [i for i, name in enumerate(trace) if name not in model.action_index]
    known = trace[: unknown[0]] if unknown else trace
    extended = StripsModel(model.atoms, (setup, *model.actions))
    return bool(unknown) or is_negative_by_definition(extended, [begin, *known])
