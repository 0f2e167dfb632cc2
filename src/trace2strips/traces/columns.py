"""Which columns of a log are the trace, the action, its outcome and its time: by their usual names, or as is said.

Two columns that are equally good are an error with both names and the option that decides: nothing is guessed silently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from trace2strips.errors import shorten, suggest
from trace2strips.traces.outcomes import EXIT, MESSAGES, Words
from trace2strips.traces.text_files import MalformedError

NONE = "none"  # said instead of a column: there is none
FILE = "file"  # said instead of the column of traces: each file is one trace

USUAL: dict[str, tuple[str, ...]] = {  # of each role: names in groups, the better group first
    "case": (
        "case:concept:name",
        "case case_id caseid case_key case_number case_name",
        "trace trace_id traceid session session_id sessionid episode episode_id conversation conversation_id run "
        "run_id",
        "thread thread_id process_id processid instance instance_id process_instance workflow_id job_id request_id "
        "ticket ticket_id order_id connection connection_id mission mission_id workflow_run_id session_key",
    ),
    "action": (
        "concept:name",
        "action activity action_name activity_name",
        "event event_name tool tool_name operation task task_name skill command function function_name method "
        "tool_call tool_call_name tool_use tool_use_name call call_name",
        "event_type step activity_id verb request name params_name cmd job job_name step_name",
    ),
    "ok": (
        "ok success succeeded successful worked",
        "outcome result status action_result event_result",
        f"status_code statuscode http_status http_code response_code response code {' '.join(sorted(EXIT))}",
        " ".join(sorted(MESSAGES)),
        "lifecycle:outcome state conclusion verdict decision accepted allowed granted permitted passed",
    ),
    "time": (
        "time:timestamp",
        "timestamp time_stamp datetime date_time event_time eventtime",
        "time date ts created_at created when",
        "complete_timestamp completetimestamp complete_time end_time endtime end_timestamp completed_at finished_at "
        "ended_at",
        "start_timestamp start_time starttime started_at",
    ),
}  # fmt: skip
OPTIONS = {"case": "--case", "action": "--action", "ok": "--ok", "time": "--time"}
MEANINGS = {
    "case": "tells the traces apart",
    "action": "is the action",
    "ok": "says whether it worked",
    "time": "is the time",
}
LIFECYCLE = "lifecycle:transition"
ANSWERS = "result results response output outcome reply answer observation"
"""Fields of events whose own fields say what became of an attempt: `result.error`, and not `args.error`."""
ASKED = "args arguments params parameters input inputs kwargs payload"
"""Fields whose own fields are what was asked for."""
NUMBERS = (
    "seq seq_no seq_nr sequence sequence_no sequence_number step step_no step_number step_index turn turn_no "
    "turn_number turn_index event_no event_number event_index index position"
)
"""Columns that put the rows of each case into order where no time does."""


@runtime_checkable  # the type checker of the tests asks
class Shown(Protocol):
    """What the rows of a log show of a column, by its number."""

    def is_outcome(self, column: int) -> bool:
        """Whether its words can be outcomes."""

    def says_both(self, column: int) -> bool:
        """Whether some of its words say that it worked, and some that it was refused."""

    def speaks(self, column: int) -> bool:
        """Whether it says both in words that mean this whatever the name of the column; others may be among them."""

    def varies(self, column: int) -> bool:
        """Whether it has two different words."""

    def numbers_rows(self, column: int, case: int | None) -> bool:
        """Whether it only numbers the rows of each case, which another column may name."""

    def tells_times(self, column: int, case: int | None) -> bool:
        """Whether it says when each row happened."""


@dataclass(frozen=True)
class Columns:
    """What the user says of the columns of a log; None: found out."""

    case: str | None = None
    action: str | None = None
    ok: str | None = None
    time: str | None = None
    arguments: tuple[str, ...] = ()
    start: str | None = None  # the column that names the start of a case
    words: Words = field(default_factory=Words)

    def __bool__(self) -> bool:
        return self != Columns()

    def over(self, kept: Columns, names: Sequence[str]) -> Columns:
        """With what was kept of another log where nothing is said here, as far as a log with these columns has it."""

        def has(name: str | None) -> bool:
            return name is not None and normal(name) in map(normal, names)

        said = {name for name in (self.case, self.action, self.ok, self.time, self.start, *self.arguments) if name}
        found: dict[str, Any] = {}
        for role in (*OPTIONS, "start"):
            name = getattr(kept, role)
            absent = role in ("case", "ok", "time") and name in (NONE, FILE)
            if getattr(self, role) is None and (absent or has(name)) and name not in said:
                found[role] = name
        if not self.arguments and all(map(has, kept.arguments)) and not said & set(kept.arguments):
            found["arguments"] = kept.arguments
        column = self.ok if self.ok is not None else found.get("ok")
        if not self.words and kept.words and column is not None and column == kept.ok:
            found["words"] = replace(kept.words, kept=True)
        return replace(self, **found)


@dataclass(frozen=True)
class Roles:
    """The columns by their numbers; None: there is none."""

    case: int | None  # None: each file is one trace
    action: int
    ok: int | None  # None: everything worked
    time: tuple[int, ...]  # two: a date and a time of day
    arguments: tuple[int, ...]
    start: int | None
    lifecycle: int | None
    others: tuple[int, ...]

    def said(self, names: Sequence[str], told: Columns) -> Columns:
        """As a user would say them, for another log of the same kind."""
        found = {role: names[i] for role in ("case", "action", "ok") if (i := getattr(self, role)) is not None}
        if len(self.time) == 1:
            found["time"] = names[self.time[0]]
        return replace(told, **found)

    @property
    def used(self) -> tuple[int, ...]:
        single = (self.case, self.action, self.ok, self.start, self.lifecycle)
        return tuple(dict.fromkeys([i for i in (*single, *self.time, *self.arguments) if i is not None]))


def normal(name: str) -> str:
    """Case and spacing do not matter: "Case ID", "case-id" and "caseId" are case_id."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-.]+", "_", name).casefold()


def find_roles(
    names: Sequence[str],
    told: Columns,
    shown: Shown,
    many_files: bool,
) -> Roles:
    """By names first. A column that only numbers the rows of their cases is the action only if that is said. Where no
    name says which column is the outcome or the time, one alone is taken whose words can be nothing else."""
    taken: dict[int, str] = {}

    def given(name: str, option: str) -> int:
        number = find_column(names, name, option)
        if number in taken:
            raise MalformedError(
                f"the column {shorten(names[number])!r} is named for {taken[number]} and {option}", "keep one of them"
            )
        taken[number] = option
        return number

    arguments = tuple(given(name, "--arg") for name in told.arguments)
    start = None if told.start is None else given(told.start, "--start")
    said: dict[str, int | None] = {}
    for role, option in OPTIONS.items():
        name = getattr(told, role)
        if name is not None:
            nothing = (NONE, FILE) if role == "case" else (NONE,) if role != "action" else ()
            absent = name.casefold() in nothing and normal(name) not in map(normal, names)
            said[role] = None if absent else given(name, option)
    found: dict[str, int | None] = {}
    numbering = list[int]()
    for role in OPTIONS:
        if role in said:
            found[role] = said[role]
            continue
        candidates = usual(names, role, taken)
        if role == "action":
            while candidates and (numbers := [i for i in candidates if shown.numbers_rows(i, found["case"])]):
                numbering += numbers
                candidates = usual(names, role, taken | dict.fromkeys(numbering, ""))
            if candidates and not any(
                map(shown.varies, candidates)
            ):  # `tools/call`, and what is called stands elsewhere
                later = usual(names, role, taken | dict.fromkeys(candidates, ""))
                candidates = [i for i in later if shown.varies(i)] or candidates
        if role == "ok":
            fitting = [i for i in candidates if told.words or shown.is_outcome(i)]
            strong = [i for i in candidates if group_of(names[i], role) in USUAL["ok"][:2]]
            both = [] if told.words else [i for i in fitting if shown.says_both(i)]
            candidates = both or fitting or strong[:1]
        found[role] = choose(names, role, candidates)
        free = [i for i in range(len(names)) if i not in taken]
        if role == "ok" and found[role] is None:
            found[role] = the_only([i for i in free if shown.speaks(i)], names, role)
        if role == "time" and found[role] is None:
            clocks = [i for i in free if shown.tells_times(i, found["case"])]
            numbers = (
                [i for i in free if normal(names[i].rpartition(".")[2]) in NUMBERS.split()] if not many_files else []
            )
            counting = [i for i in numbers if shown.numbers_rows(i, found["case"])]
            found[role] = next((places[0] for places in (clocks, counting) if len(places) == 1), None)
        if (number := found[role]) is not None:
            taken[number] = OPTIONS[role]
    listed = ", ".join(shorten(name, 30) for name in names[:12]) or "none"
    if found["action"] is None:
        but = f": {shorten(names[numbering[0]])!r} only numbers the rows" if numbering else ""
        raise MalformedError(f"no column is known to be the action{but}", f"--action COLUMN; columns: {listed}")
    if found["case"] is None and "case" not in said and not many_files:
        hint = f"--case COLUMN, or --case file: each file is one trace; columns: {listed}"
        raise MalformedError("no column is known to tell the traces apart", hint)
    time: tuple[int, ...] = () if found["time"] is None else (found["time"],)
    if "time" not in said and time and normal(names[time[0]]) == "date":
        time = (*time, *(i for i, name in enumerate(names) if normal(name) in ("time", "time_of_day")))
    lifecycle = next((i for i, name in enumerate(names) if normal(name) == LIFECYCLE and i not in taken), None)
    roles = Roles(found["case"], found["action"], found["ok"], time, arguments, start, lifecycle, ())
    others = tuple(i for i in range(len(names)) if i not in roles.used)
    return Roles(roles.case, roles.action, roles.ok, time, arguments, start, lifecycle, others)


def find_column(names: Sequence[str], name: str, option: str) -> int:
    """By its name as it stands, or but for case and spacing."""
    for key in (str, normal):
        places = [i for i, other in enumerate(names) if key(other) == key(name)]
        if len(places) == 1:
            return places[0]
        if places:
            raise MalformedError(f"the column {shorten(name)!r} is there twice", "keep one, or rename the other")
    hint = suggest(name, names, "columns")
    raise MalformedError(f"no column {shorten(name)!r} for {option}", hint)


def keys_of(name: str, role: str) -> tuple[str, ...]:
    """What a column may be known by: its name; and for fields of fields its last words, as `call.function.name` is
    `function_name`, and what stands in an answer says what became of the attempt (`result.error`)."""
    parts = name.split(".")
    short = [normal("_".join(parts[i:])) for i in range(1, len(parts) - 1)]
    answers = role == "ok" and len(parts) > 1 and normal(parts[-2]) in ANSWERS.split()
    if answers or (role == "time" and not {normal(part) for part in parts} & set(ASKED.split())):
        short.append(normal(parts[-1]))
    return normal(name), *short


def group_of(name: str, role: str) -> str | None:
    """The group of usual names that a column belongs to."""
    return next((group for key in keys_of(name, role) for group in USUAL[role] if key in group.split()), None)


def usual(names: Sequence[str], role: str, taken: dict[int, str]) -> list[int]:
    """The columns of the best group of usual names that the log has."""
    groups = {i: group_of(name, role) for i, name in enumerate(names) if i not in taken}
    for number, group in enumerate(USUAL[role]):
        places = [i for i, of in groups.items() if of == group]
        if role == "time" and len(places) == 2 and {normal(names[i]) for i in places} == {"date", "time"}:
            return [i for i in places if normal(names[i]) == "date"]  # the two together are the time
        if places and role != "ok":
            return places
        if places:
            return [*places, *(i for later in USUAL[role][number + 1 :] for i, of in groups.items() if of == later)]
    return []


def the_only(places: list[int], names: Sequence[str], role: str) -> int | None:
    """The column that alone can be meant; None where none can."""
    if len(places) > 1:
        raise MalformedError(*which_of(names, role, places))
    return places[0] if places else None


def choose(names: Sequence[str], role: str, candidates: list[int]) -> int | None:
    if not candidates:
        return None
    if role == "ok":  # the better group first; within one group nothing decides
        group = group_of(names[candidates[0]], role)
        candidates = [i for i in candidates if group_of(names[i], role) == group]
        if "." in names[candidates[0]] and len({names[i].rpartition(".")[0] for i in candidates}) == 1:
            return candidates[0]  # fields of one error: `error.code`, `error.message`
    if len(candidates) > 1:
        if len({normal(names[i]) for i in candidates}) == 1:
            raise MalformedError(f"the column {shorten(names[candidates[0]])!r} is there twice", "rename one of them")
        raise MalformedError(*which_of(names, role, candidates))
    return candidates[0]


def which_of(names: Sequence[str], role: str, places: list[int]) -> tuple[str, str]:
    """The error of several columns that are equally good, and what decides."""
    both = " and ".join(repr(shorten(names[i])) for i in places[:3])
    hint = " or ".join(f"{OPTIONS[role]} {shorten(names[i])}" for i in places[:3])
    return f"which column {MEANINGS[role]}? {both} may", hint
