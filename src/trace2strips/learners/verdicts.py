"""What a learned world says of every attempt of a new log: as expected, surprising, impossible or unknown.

* *impossible*: the label contradicts every model that fits the log that was learned from. Behind the first such label
  of a trace nothing is certain: no model fits both logs, or the label is wrong and so is the history.
* *surprising*: the log leaves it open, and the model's guess is the other label.
* *unknown*: nothing was learned of the action, or of where its trace starts. An unknown action that worked may have
  changed whatever its arguments are about: certificates that this could touch are not given.
* *expected*: all others, for certain or by the model's guess.

The history of an attempt is what worked before it by the labels of the new log.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, UInt8

from trace2strips.errors import printable
from trace2strips.model.vocabulary import ACTION, INIT_FALSE, INIT_STATE, Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import readable
from trace2strips.traces.places import find_places
from trace2strips.traces.trace import Trace

Details = Callable[[Trace, str, bool, str], Sequence[str]]
"""The trace up to an attempt, the attempt, whether it is a final value, the verdict → sentences that say why."""
OPEN, WORKS, REFUSED = 0, 1, 2  # what is certain of an attempt, as `windows.answers.Answer` has it
COLUMNS = ("file", "line", "trace", "attempt", "action", "happened", "verdict", "reason")
SHOWN = 20


class Verdict(StrEnum):
    """The worst first."""

    IMPOSSIBLE = "impossible"
    SURPRISING = "surprising"
    UNKNOWN = "unknown"
    EXPECTED = "expected"


VERDICTS = tuple(Verdict)
SETUP = len(VERDICTS)  # in place of a verdict's number: a position that is no attempt


@dataclass(frozen=True)
class Remark:
    """One attempt of the new log and what is to be said of it; `details` say more, a sentence each."""

    verdict: str
    action: str
    happened: str  # worked or refused
    reason: str
    place: str
    trace: int
    attempt: int
    file: str | None = None
    line: int | None = None
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        did = "worked" if self.happened == "worked" else "was refused"
        first = f"{self.verdict}: {readable(self.action)} {did} at {self.place}: {self.reason}"
        return "\n".join([first, *(f"  {line}" for line in self.details)])


@dataclass(frozen=True)
class Judgement:
    """The verdicts on all attempts of a log. It prints itself: counts, then the first remarks."""

    dataset: Dataset = field(repr=False)
    verdicts: UInt8[np.ndarray, " positions"] = field(repr=False)  # numbers of VERDICTS, or SETUP
    certain: Bool[np.ndarray, " positions"] = field(repr=False)
    guesses: Bool[np.ndarray, " positions"] = field(repr=False)  # whether the model refuses
    unknown: Bool[np.ndarray, " tokens"] = field(repr=False)  # names that nothing was learned of
    assumptions: tuple[str, ...] = ()
    explain: Details | None = field(default=None, repr=False)

    @property
    def counts(self) -> dict[str, int]:
        """Traces, attempts, and how many there are of each verdict; `certain`: expected ones that are certain."""
        found = {verdict.value: int((self.verdicts == i).sum()) for i, verdict in enumerate(VERDICTS)}
        attempts = int((self.verdicts != SETUP).sum())
        expected = self.verdicts == VERDICTS.index(Verdict.EXPECTED)
        return {"traces": len(self.dataset), "attempts": attempts, **found,
                "certain": int((self.certain & expected).sum())}  # fmt: skip

    @property
    def is_possible(self) -> bool:
        return not (self.verdicts == VERDICTS.index(Verdict.IMPOSSIBLE)).any()

    def positions(self, verdict: Verdict) -> Int64[np.ndarray, " found"]:
        return np.flatnonzero(self.verdicts == VERDICTS.index(verdict))

    def remarks(self, limit: int | None = None, details: bool = False) -> Iterator[Remark]:
        """All that is not as expected, the worst first, then as in the log."""
        chosen = np.concatenate([self.positions(verdict) for verdict in VERDICTS[:-1]])[:limit].tolist()
        for i, place in zip(chosen, find_places(self.dataset, chosen), strict=True):
            more = tuple(self.details(i, place.trace - 1, place.attempt - 1)) if details else ()
            worked = not self.dataset.inapplicable[i]
            yield Remark(
                VERDICTS[self.verdicts[i]].value, self.name(i), "worked" if worked else "refused", self.reason(i),
                str(place), place.trace, place.attempt, place.file, place.line, more,
            )  # fmt: skip

    def name(self, position: int) -> str:
        return self.dataset.vocabulary.subjects[self.dataset.tokens[position]]

    def reason(self, position: int) -> str:
        match VERDICTS[self.verdicts[position]]:
            case Verdict.IMPOSSIBLE:
                certain = "works" if self.dataset.inapplicable[position] else "is refused"
                return f"it {certain} in every model that fits the log that was learned from"
            case Verdict.SURPRISING:
                return f"the model says {'refused' if self.guesses[position] else 'works'}"
            case Verdict.UNKNOWN if not self.unknown[self.dataset.tokens[position]]:
                return "nothing is known of where this trace starts"
            case Verdict.UNKNOWN:
                is_action = self.dataset.vocabulary.kinds[self.dataset.tokens[position]] == ACTION
                may = "; it may have changed what follows" if not self.dataset.inapplicable[position] else ""
                return f"nothing was learned of this action{may}" if is_action else "nothing was learned of this atom"
        return ""

    def details(self, position: int, trace: int, attempt: int) -> Sequence[str]:
        verdict = VERDICTS[self.verdicts[position]]
        if self.explain is None or verdict == Verdict.UNKNOWN:
            return ()
        whole = self.dataset[trace]
        before = Trace(whole.actions[:attempt], whole.ok[:attempt], whole.init, whole.state)
        is_final = self.dataset.vocabulary.kinds[self.dataset.tokens[position]] == Kind.TEST_ATOM
        return self.explain(before, self.name(position), bool(is_final), verdict.value)

    def to_csv(self) -> str:
        """All remarks as a table."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(remark) for remark in self.remarks())
        return stream.getvalue()

    def record(self, limit: int | None = None) -> dict[str, Any]:
        """For JSON."""
        remarks = [asdict(remark) for remark in self.remarks(limit, details=True)]
        return {**self.counts, "assumptions": list(self.assumptions), "remarks": remarks}

    def lines(self, limit: int | None = SHOWN) -> list[str]:
        """Counts, then the first remarks with what proves them."""
        n = self.counts
        sure = f" ({n['certain']:,} for certain)" if self.assumptions else ""
        said = ", ".join(f"{n[verdict]:,} {verdict}" for verdict in VERDICTS[:-1])
        lines = [f"{n['attempts']:,} attempts in {n['traces']:,} traces: {n['expected']:,} as expected{sure}, {said}"]
        shown = list(self.remarks(limit, details=True))
        lines += [printable(line) for remark in shown for line in str(remark).splitlines()]
        left = n["attempts"] - n["expected"] - len(shown)
        return [*lines, f"… and {left:,} more"] if left else lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def judge(
    dataset: Dataset,
    unknown: Bool[np.ndarray, " tokens"],
    predict: Callable[[Dataset], np.ndarray],
    answers: UInt8[np.ndarray, " positions"] | None,
    assumptions: tuple[str, ...] = (),
    explain: Details | None = None,
) -> Judgement:
    """`unknown` tells the names that nothing was learned of; `predict` which positions of known names the model
    refuses, given what worked by the labels; `answers` what is certain of each position."""
    kinds = dataset.vocabulary.kinds[dataset.tokens]
    strange = unknown[dataset.tokens]
    lengths = np.diff(dataset.offsets)
    lost = lost_traces(dataset, unknown)
    guesses = np.zeros(len(dataset.tokens), dtype=bool)
    guessed = ~strange & np.repeat(~lost, lengths)
    if not lost.all():
        guesses[guessed] = predict(dataset.only(~lost, ~strange))
    worked = ~dataset.inapplicable
    found = np.full(len(dataset.tokens), OPEN, dtype=np.uint8) if answers is None else answers
    agrees = np.where(worked, found == WORKS, found == REFUSED)
    against = np.where(worked, found == REFUSED, found == WORKS) & (kinds >= ACTION)
    before = np.append(0, np.cumsum(against))  # behind the first of a trace nothing is certain
    earlier = before[:-1] > np.repeat(before[dataset.offsets[:-1]], lengths)
    agrees, against = agrees & ~earlier, against & ~earlier
    verdicts = np.full(len(dataset.tokens), VERDICTS.index(Verdict.EXPECTED), dtype=np.uint8)
    verdicts[guesses == worked] = VERDICTS.index(Verdict.SURPRISING)
    verdicts[~guessed] = VERDICTS.index(Verdict.UNKNOWN)
    verdicts[agrees & ~strange] = VERDICTS.index(Verdict.EXPECTED)
    verdicts[against] = VERDICTS.index(Verdict.IMPOSSIBLE)
    verdicts[kinds < ACTION] = SETUP
    return Judgement(dataset, verdicts, agrees, guesses, unknown, assumptions, explain)


def lost_traces(dataset: Dataset, unknown: Bool[np.ndarray, " tokens"]) -> Bool[np.ndarray, " traces"]:
    """Traces whose start is unknown. (An unknown initial atom alone changes nothing.)"""
    kinds = dataset.vocabulary.kinds
    starts = unknown & ((kinds == INIT_STATE) | (kinds == INIT_FALSE))
    before = np.append(0, np.cumsum(starts[dataset.tokens]))[dataset.offsets]
    return before[1:] > before[:-1]


def missing(atoms: Sequence[str]) -> tuple[str, ...]:
    """What the model finds false, as a sentence."""
    return (
        (f"in the model {' and '.join(map(readable, atoms))} {'is' if len(atoms) == 1 else 'are'} false there",)
        if atoms
        else ()
    )
