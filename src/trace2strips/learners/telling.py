"""What a person wants to know first of what was learned from a log, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from trace2strips.errors import printable
from trace2strips.learners.learner import Figures, Learned
from trace2strips.traces.names import readable

SHOWN = 3  # suspects
FEW = 5  # attempts of a kind from which little can be learned
STARTS = {
    "same": "traces that tell the same of their start start alike",
    "objects": "what is told says all of a start for the very same objects only",
    "own": "every trace may start in its own way",
}


def tell(learned: Learned) -> list[str]:
    return [printable(line) for line in sentences(learned)]


def sentences(learned: Learned) -> Iterator[str]:
    f = learned.figures
    if f.start is not None:
        yield f"explainable: {explainable(f)}"
        yield f"starts: {starts(f)}"
    yield from accuracy(f)
    if learned.suspects:
        listed = "; ".join(str(suspect) for suspect in learned.suspects[:SHOWN])
        more = ", all in suspects.csv" if len(learned.suspects) > SHOWN else ""
        yield f"labels that look wrong: {len(learned.suspects):,}{more}: {listed}"
    elif f.start is not None:
        yield "labels that look wrong: none"
    if f.worst_action is not None:
        yield f"learned worst: {worst(f)}"


def starts(f: Figures) -> str:
    if not f.starts_found:
        return STARTS[f.start or "same"]
    listed = "; ".join(f.starts_found[:SHOWN])
    more = f" and {len(f.starts_found) - SHOWN} more" if len(f.starts_found) > SHOWN else ""
    return f"one start does not explain the log, {len(f.starts_found)} do (a guess): {listed}{more}"


def explainable(f: Figures) -> str:
    if f.wrong_labels:
        return f"no STRIPS model fits every label, one fits all but {f.wrong_labels:,} that look wrong"
    if f.inexplicable and not f.test_traces:
        return f"no STRIPS model fits every label: {f.inexplicable:,} refusals have no explanation"
    if f.train_errors:
        return f"yes, but the small model gets {f.train_errors:,} of {f.traces:,} traces wrong"
    return "yes, the small model fits every label"


def accuracy(f: Figures) -> Iterator[str]:
    if f.held_out_accuracy is not None:
        yield (
            f"held out: {f.held_out_accuracy:.2%} of {f.held_out_traces:,} traces predicted without an error by a "
            f"model of {f.held_out_learned_from:,} others; the model that is kept is learned from all"
        )
        if f.held_out_sound_accuracy is not None:
            yield (
                f"held out, without traces that have a label that looks wrong: {f.held_out_sound_accuracy:.2%} of "
                f"{f.held_out_sound:,}"
            )
        if f.held_out_told_accuracy is not None:
            yield f"held out, if traces told which start is theirs (--start COLUMN): {f.held_out_told_accuracy:.2%}"


def worst(f: Figures) -> str:
    action = readable(f.worst_action or "")
    found = f"{action}, {f.worst_errors:,} of {f.worst_attempts:,} attempts held out are predicted wrongly"
    worked, refused = f.worst_worked or 0, f.worst_refused or 0
    if not worked or not refused:
        never = "worked" if not worked else "was refused"
        return f"{found}, as it never {never} in what was learned from"
    if min(worked, refused) < FEW:
        rare = f"worked {worked:,} times" if worked < refused else f"was refused {refused:,} times"
        return f"{found}, as it only {rare} in what was learned from"
    if f.start == "own":
        return f"{found}, as nothing is known of how these traces start"
    if f.wrong_labels:
        return f"{found}, perhaps because of labels that look wrong"
    return f"{found}: more traces in which it is tried in other orders would help"
