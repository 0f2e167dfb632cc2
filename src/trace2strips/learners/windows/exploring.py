"""What the explorer's page is told of a log: the summary, kept traces, what is inexplicable, what to try next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from trace2strips.errors import UserError
from trace2strips.explorer.contents import KeptTrace, Known, LogView
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.proofs import Proof, prove_refusal
from trace2strips.learners.windows.questions import Questions
from trace2strips.learners.windows.saving import to_text
from trace2strips.learners.windows.summary import Summary

SUGGESTIONS = 5
SITUATIONS = 4  # traces after which they are looked for: of many objects each takes a second
PROOFS = 20  # of refusals that nothing explains


def known_of(summary: Summary, questions: Questions) -> Known:
    log = LogView(
        tuple(KeptTrace(s.number, summary.where_is(s.number), s.trace) for s in summary.sample),
        summary.traces,
        tuple(
            {
                "action": proof.action,
                "place": summary.where(proof.refused or 0),
                "ruled_out": [
                    {"since": out.since, "between": list(out.between), "worked": summary.where(out.worked)}
                    for out in proof.ruled_out
                ],
            }
            for proof in proofs(summary)
        ),
        tuple(suggestions(questions)),
        f"{summary.wrong_labels:,} labels are taken to be wrong, so nothing is certain."
        if summary.wrong_labels
        else "",
    )
    return Known(to_text(summary), summary.nothing_certain, summary.objects, tuple(types_in_atoms(summary)), log)


def proofs(summary: Summary) -> Iterator[Proof]:
    """Of refusals that no model explains, those whose traces are kept."""
    kept = {sampled.number: sampled.trace for sampled in summary.sample}
    found = (refusal for refusal in summary.inexplicable if refusal.place >> 32 in kept)
    for _, refusal in zip(range(PROOFS), found, strict=False):
        number = refusal.place >> 32
        if refusal.place & (2**32 - 1) < len(kept[number].actions) + len(kept[number].final):
            yield prove_refusal(summary, summary.naming, kept[number], number, refusal)


def suggestions(questions: Questions) -> Iterator[dict[str, object]]:
    try:
        first = sorted(questions.summary.sample, key=lambda sampled: sampled.number)[:SITUATIONS]
        few = Questions(replace(questions.summary, sample=tuple(first)), questions.lifted)
        found = few.suggest(count=SUGGESTIONS)
    except UserError:  # too many actions to look at
        return
    numbers = {questions.summary.where_is(s.number): s.number for s in questions.summary.sample}
    for one in found:
        yield {
            "after": one.after, "number": numbers.get(one.after or ""), "action": one.reply.action,
            "guess": one.reply.guess, "decided_if_works": one.decided_if_works,
            "decided_if_refused": one.decided_if_refused,
        }  # fmt: skip


def objects_of(lifted: LiftedWorld, actions: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The objects of each type, by where they stand in these actions."""
    types = {action.schema: action.types for action in lifted.actions}
    found: dict[int, set[str]] = defaultdict(set)
    for schema, objects in map(lifted.naming.schema, actions):
        for kind, name in zip(types.get(schema, ()), objects, strict=False):
            found[kind].add(name)
    return tuple(tuple(sorted(found[kind])) for kind in range(max(found, default=-1) + 1))


def types_in_atoms(summary: Summary) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Which types stand where in initial atoms, as kept traces show it."""
    groups = [set(names) for names in summary.objects]
    found: dict[tuple[str, int], set[int]] = defaultdict(set)
    seen = {atom for sampled in summary.sample for atom in sampled.trace.init or ()}
    for word, *arguments in map(summary.naming.words, sorted(seen)):
        for place, name in enumerate(arguments):
            found[word, place] |= {kind for kind, names in enumerate(groups) if name in names}
    return ((word, place, tuple(sorted(kinds))) for (word, place), kinds in found.items())
