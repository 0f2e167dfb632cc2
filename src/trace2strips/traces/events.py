"""A table of events as a dataset: understood, put into order, grouped into traces, all by columns.

What was understood is kept in five lines for people; where each attempt stands, its file and line, is kept too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Bool, Int, Int64

from trace2strips.errors import TraceError, printable, shorten
from trace2strips.model.goals import START
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.columns import FILE, LIFECYCLE, NONE, Columns, Roles, find_roles, normal
from trace2strips.traces.dataset import OFFER, Dataset, Origin, token_type
from trace2strips.traces.names import join_list
from trace2strips.traces.outcomes import read_outcomes, says_both, speaks, understood
from trace2strips.traces.tables import Table
from trace2strips.traces.text_files import MAX_ACTIONS, MalformedError, decode_percent
from trace2strips.traces.times import TimeError, are_moments, as_numbers, is_in_order

FEW = 4  # values that are shown
OFFERED = 4  # columns that are offered as arguments
NAME = 100  # letters of a column's name that are shown where it is to be typed
MOST_OUTCOMES = 100  # different words of a column that can be outcomes
COMPLETE = "complete"
WHOLE = re.compile(r"[+-]?\d+(?:\.0+)?")


@dataclass(frozen=True)
class Coded:
    """A column of words that come again and again: the different ones in the order of their first row, and which of
    them each row has, -1 where the cell is empty."""

    words: tuple[str, ...]
    codes: Int[np.ndarray, " rows"]

    @staticmethod
    def of(column: pl.Series) -> Coded:
        whole = column.dtype.is_float() and not (column != column.round()).any()
        if whole and (column.abs() < 2**53).all():  # larger ones are no numbers of anything
            column = column.cast(pl.Int64)
        few = column if column.dtype == pl.Categorical else column.cast(pl.String).cast(pl.Categorical)
        different = few.drop_nulls().unique()
        numbers = different.to_physical().to_numpy().astype(np.int64)
        size = int(numbers.max(initial=-1)) + 2
        raw = few.to_physical().fill_null(size - 1).to_numpy()
        first = np.full(size, len(raw), dtype=np.int64)
        first[raw[::-1]] = np.arange(len(raw) - 1, -1, -1)
        known: dict[str, int] = {}
        codes = np.full(size, -1, dtype=np.int32)
        texts = different.cast(pl.String).to_list()
        for place in np.argsort(first[numbers], kind="stable").tolist():
            if word := texts[place].strip():
                codes[numbers[place]] = known.setdefault(word, len(known))
        return Coded(tuple(known), codes[raw])

    def counts(self) -> Int[np.ndarray, " words"]:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))


@dataclass(frozen=True)
class Events:
    """The columns of all files together, and where each row stands."""

    names: tuple[str, ...]
    files: tuple[str, ...]
    kinds: tuple[str, ...]
    roles: Roles
    frame: pl.DataFrame
    file: Int64[np.ndarray, " rows"]
    line: Int64[np.ndarray, " rows"]

    def coded(self, column: int) -> Coded:
        return Coded.of(self.frame[str(column)])

    def error(self, row: int, message: str, hint: str | None = None) -> TraceError:
        return TraceError(message, file=self.files[int(self.file[row])], line=int(self.line[row]), hint=hint)


def settled(table: Table, told: Columns) -> Columns:
    """What is said of columns and what the first of several files shows, so that all are read alike."""
    names = table.names
    try:
        roles = find_roles(names, told, Sampled(table), True)
    except MalformedError as error:
        raise TraceError(str(error), file=table.file, hint=error.hint) from None
    time = told.time if len(roles.time) > 1 else names[roles.time[0]] if roles.time else NONE
    return replace(
        told,
        case=FILE if roles.case is None else names[roles.case],
        action=names[roles.action],
        ok=NONE if roles.ok is None else names[roles.ok],
        time=time,
    )


def read_events(tables: Sequence[Table], told: Columns, decode: bool = False) -> Dataset:
    """`decode`: names are written with codes as in addresses of web pages, as our own CSV files are."""
    first = tables[0]
    try:
        roles = find_roles(first.names, told, Sampled(first), len(tables) > 1)
    except MalformedError as error:
        line = 1 if first.kind.startswith("CSV") else None
        raise TraceError(str(error), file=first.file, line=line, hint=error.hint) from None
    events = gather(tables, roles)
    if not len(events.frame):
        raise TraceError("no trace in the file", file=first.file, hint="a row is an attempt")
    events, left_out = only_complete(events)
    case, cases, case_line = cases_of(events)
    named_cases = events.coded(roles.case).words if roles.case is not None and roles.time else ()
    action = named(events, roles.action, "the action is empty")
    labels, outcome_line = outcomes_of(events, told)
    order, order_line = order_of(events, case)
    names, token, names_line = actions_of(events, action, decode)
    start, start_line = starts_of(events, case, cases)
    if order is not None and len(order) and not (np.diff(case[order]) >= 0).all():  # traces in another order, too
        later = case[order][np.append(True, np.diff(case[order]) != 0)]
        number = np.empty(cases, dtype=case.dtype)
        number[later] = np.arange(cases)
        case, start = number[case], [start[i] for i in later] if start else []
    offsets = boundaries(case if order is None else case[order], cases)
    refuse_long(events, case, offsets)
    twice = repeated_rows(events, case, token, labels, order)
    if order is not None:
        labels, token = labels[order], token[order]
        events = replace(events, frame=pl.DataFrame(), file=events.file[order], line=events.line[order])
    states = tuple(sorted(set(start))) if start else (START,)
    ranks = {name: number for number, name in enumerate(sorted(set(names)))}
    vocabulary = Vocabulary(tuple(ranks), (), states, (), False)
    shift = vocabulary.first[Kind.ACTION]
    of_name = np.array([ranks[name] + shift for name in names], dtype=token_type(vocabulary))
    begins = (
        [vocabulary.number(Kind.INIT_STATE, name) for name in start] if start else vocabulary.first[Kind.INIT_STATE]
    )
    if other := offers(first, roles):
        names_line += OFFER + other
    if roles.ok is None and (other := possible_outcomes(first, roles)):
        outcome_line += f" (or does a column say it? {other})"
    log = log_line(events, len(token), cases, case_line, left_out, twice)
    lines = (log, names_line, outcome_line, order_line, start_line)
    said = tuple(map(printable, lines))
    used = roles.said(first.names, told)
    origin = Origin(events.files, events.file.astype(np.uint32), events.line, said, named_cases, used)
    return Dataset(
        vocabulary,
        np.insert(of_name[token], offsets[:-1], begins).astype(token_type(vocabulary)),
        np.insert(labels, offsets[:-1], False),
        offsets + np.arange(len(offsets)),
        lines=tuple(events.line[offsets[:-1]].tolist()) if len(events.files) == 1 else (),
        untold=np.full(cases, not start),
        file=events.files[0] if len(events.files) == 1 else None,
        origin=origin,
    )


@dataclass(frozen=True)
class Sampled:
    """What the first rows of a table show of its columns."""

    table: Table

    def words(self, column: int) -> tuple[str, ...]:
        """The different words; none where they are too many to be outcomes."""
        found = words_of(Coded.of(self.table.sample[str(column)]))
        return found if len(found) <= MOST_OUTCOMES else ()

    def is_outcome(self, column: int) -> bool:
        return understood(self.table.names[column], self.words(column))

    def says_both(self, column: int) -> bool:
        return says_both(self.table.names[column], self.words(column))

    def speaks(self, column: int) -> bool:
        return speaks(self.words(column))

    def varies(self, column: int) -> bool:
        return len(Coded.of(self.table.sample[str(column)]).words) > 1

    def numbers_rows(self, column: int, case: int | None) -> bool:
        return numbers_rows(self.table, column, case)

    def tells_times(self, column: int, case: int | None) -> bool:
        """Times of day with a date, in all rows, and mostly others in each case: what is said of a whole case, such as
        the day on which it is due, is no time of its rows."""
        cells = self.table.sample[str(column)]
        if not are_moments(cells):
            return False
        of = np.zeros(len(cells), dtype=np.int64) if case is None else Coded.of(self.table.sample[str(case)]).codes
        cases = len(np.unique(of))
        different = len(np.unique(np.stack([of, Coded.of(cells).codes]), axis=1).T)
        return 2 * (different - cases) >= len(of) - cases > 0


def numbers_rows(table: Table, column: int, case: int | None) -> bool:
    """Whether a column holds whole numbers that tell the rows of each case apart, as 0, 1, 2 … do: what is done again
    and again would come twice. Numbers of steps are none of actions even where they come twice."""
    found = Coded.of(table.sample[str(column)])
    if not all(WHOLE.fullmatch(word) for word in found.words):
        return False
    if normal(table.names[column]) == "step":
        return True
    of = np.zeros(len(found.codes), dtype=np.int64) if case is None else Coded.of(table.sample[str(case)]).codes
    pairs = np.unique(np.stack([of, found.codes])[:, found.codes >= 0], axis=1)
    several = len(found.codes) > len(np.unique(of))  # a case with two rows shows it
    return several and pairs.shape[1] == int((found.codes >= 0).sum())


def words_of(found: Coded) -> tuple[str, ...]:
    """With '' where cells are empty."""
    return (*found.words, "") if (found.codes < 0).any() else found.words


def gather(tables: Sequence[Table], roles: Roles) -> Events:
    """Read what is needed of all files, which must have the columns of the first."""
    names = tables[0].names
    frames, files, lines = [], [], []
    for number, table in enumerate(tables):
        places = {}
        for column in roles.used:
            if table.names.count(names[column]) != 1:
                message = f"the column {shorten(names[column])!r} is missing, which {shorten(tables[0].file)} has"
                raise TraceError(message, file=table.file, hint="files of one log have the same columns")
            places[column] = table.names.index(names[column])
        found = table.read(list(places.values()), [places[i] for i in roles.time])
        found = found.select(pl.col(str(place)).alias(str(column)) for column, place in places.items())
        line = table.lines(len(found))
        if table.kind.startswith("CSV"):  # an empty line is a row without a word
            empty = found.select(pl.all_horizontal(pl.all().is_null())).to_series()
            if empty.any():
                table.explain()
                found, line = found.filter(~empty), line[(~empty).to_numpy()]
        frames.append(found)
        files.append(np.full(len(found), number, dtype=np.int64))
        lines.append(line)
    try:
        frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError:  # columns of different types: as texts
        frame = pl.concat([one.select(pl.all().cast(pl.String)) for one in frames])
    kinds = tuple(dict.fromkeys(table.kind for table in tables))
    return Events(
        names, tuple(table.file for table in tables), kinds, roles, frame, np.concatenate(files), np.concatenate(lines)
    )


def only_complete(events: Events) -> tuple[Events, int]:
    """Of an activity with a life cycle (started, completed) what was completed is what happened."""
    if events.roles.lifecycle is None:
        return events, 0
    cycle = events.coded(events.roles.lifecycle)
    complete = [word.casefold() == COMPLETE for word in cycle.words]
    if not any(complete) or all(complete):
        return events, 0
    kept = np.array([*complete, False])[cycle.codes]
    left = replace(events, frame=events.frame.filter(kept), file=events.file[kept], line=events.line[kept])
    return left, int((~kept).sum())


def named(events: Events, column: int, empty: str) -> Coded:
    found = events.coded(column)
    if (found.codes < 0).any():
        row = int(np.argmax(found.codes < 0))
        raise events.error(row, empty, f"every row needs one in the column {shorten(events.names[column])!r}")
    return found


def cases_of(events: Events) -> tuple[Int[np.ndarray, " rows"], int, str]:
    """The trace of each row, numbered by their first rows. One case in several files is one trace where times put its
    rows into order; otherwise each file has its own."""
    many = len(events.files) > 1
    if events.roles.case is None:
        return events.file, len(events.files), "each file is one"
    found = named(events, events.roles.case, "the case is empty")
    said = f"column {shorten(events.names[events.roles.case])}"
    if not many or events.roles.time:
        return found.codes, len(found.words), said
    both = events.file * len(found.words) + found.codes
    _, first, codes = np.unique(both, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[codes], len(first), f"{said}, in each file its own"


def outcomes_of(events: Events, told: Columns) -> tuple[Bool[np.ndarray, " rows"], str]:
    """Whether each row was refused."""
    roles = events.roles
    if roles.ok is None:
        if told.words:
            raise TraceError("--worked and --refused need a column of outcomes", hint="--ok COLUMN")
        said = (
            "no column says it, so everything worked: the cautious model is learned; log refused attempts to learn more"
        )
        return np.zeros(len(events.frame), dtype=bool), f"outcomes: {said}"
    found = events.coded(roles.ok)
    words, column = words_of(found), events.names[roles.ok]
    try:
        meaning = read_outcomes(column, words, told.words)
    except MalformedError as error:
        word = next((w for w in words if f"{shorten(w)!r}" in str(error)), "")
        row = int(np.argmax(found.codes == (found.words.index(word) if word else -1)))
        raise events.error(row, str(error), error.hint) from None
    refused = np.array([*(not meaning[word] for word in found.words), not meaning.get("", True)])[found.codes]
    counts = dict(zip(found.words, found.counts().tolist(), strict=True)) | {"": int((found.codes < 0).sum())}

    def listed(worked: bool) -> str:
        chosen = sorted((w for w in words if meaning[w] == worked), key=lambda w: -counts[w])
        shown = ", ".join(f"{shorten(w, 30) or 'an empty cell'} ({counts[w]:,})" for w in chosen[:FEW])
        return (shown or "nothing") + (f" and {len(chosen) - FEW} more" if len(chosen) > FEW else "")

    line = f"outcomes: column {shorten(column)}: worked: {listed(True)}; refused: {listed(False)}"
    if not refused.any():
        line += "; nothing was refused: the cautious model is learned; log refused attempts to learn more"
    return refused, line


def order_of(events: Events, case: Int[np.ndarray, " rows"]) -> tuple[Int64[np.ndarray, " rows"] | None, str]:
    """In which order rows are traces one after the other, each by time; None: as they stand."""
    contiguous = bool((case[1:] >= case[:-1]).all())
    as_it_stands = None if contiguous else np.argsort(case, kind="stable")
    if not events.roles.time:
        return as_it_stands, "order: as in the file, no column of times is known (--time COLUMN)"
    said = " and ".join(shorten(events.names[i]) for i in events.roles.time)
    columns = [events.frame[str(i)] for i in events.roles.time]
    times = columns[0] if len(columns) == 1 else pl.Series(
        columns[0].cast(pl.String).str.strip_chars() + " " + columns[1].cast(pl.String).str.strip_chars()
    )  # fmt: skip
    if is_in_order(times, case):
        return as_it_stands, f"order: by time (column {said}), in which the rows stand already"
    try:
        numbers = as_numbers(times)
    except TimeError as error:
        hint = "--time COLUMN names another column, --time none keeps the order of the file"
        if error.row is None:
            message = f"dates of the column {said!r} can be read with the day or the month first"
            raise TraceError(message, file=events.files[0], hint=f"write 2026-12-31, or {hint}") from None
        what = f"{shorten(error.text)!r} is no time that is understood" if error.text else "the time is empty"
        raise events.error(error.row, f"{what} (column {said})", hint) from None
    first = np.full(int(case.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, case, numbers)
    earliest = np.lexsort((np.arange(len(first)), first))  # traces by their first times
    rank = np.empty_like(earliest)
    rank[earliest] = np.arange(len(first))
    order = np.lexsort((numbers, rank[case]))
    before = np.lexsort((np.arange(len(case)), rank[case]))
    moved = int((order != before).sum())
    note = f"{moved:,} rows stood in another place" if moved else "in which the rows of each trace stand already"
    return order, f"order: by time (column {said}), {note}; equal times as in the file"


def actions_of(events: Events, action: Coded, decode: bool) -> tuple[list[str], Int[np.ndarray, " rows"], str]:
    """The different actions with their arguments, which of them each row has, and a line for people."""
    roles, names = events.roles, events.names
    column = shorten(names[roles.action])
    words = list(action.words)
    decoded = [decode_word(events, action, i) if decode else word for i, word in enumerate(words)]
    if not roles.arguments:
        codes = action.codes
        found = decoded
        said = f"actions: column {column}, {len(words):,} different, without columns of arguments"
    else:
        cells = [events.coded(i) for i in roles.arguments]
        key = action.codes.astype(np.int64)
        for cell in cells:
            if len(words) * np.prod([len(c.words) + 1 for c in cells], dtype=float) > 2**62:
                raise TraceError("too many different arguments", file=events.files[0], hint="fewer --arg")
            key = key * (len(cell.words) + 1) + cell.codes + 1
        _, first, codes = np.unique(key, return_index=True, return_inverse=True)
        filled = dict[str, tuple[str, ...]]()
        parts = {
            row: tuple(cell.words[cell.codes[row]] if cell.codes[row] >= 0 else "" for cell in cells)
            for row in sorted(first.tolist())
        }
        for row, words_here in parts.items():
            word = decoded[action.codes[row]]
            here = tuple(names[i] for i, part in zip(roles.arguments, words_here, strict=True) if part)
            before = filled.setdefault(word, here)
            if here != before:
                raise events.error(
                    row,
                    f"{shorten(word)!r} has arguments in {columns_of(here)} here, before in {columns_of(before)}",
                    "an action has its arguments always in the same columns; give the two different names",
                )
        found = [
            join_list((decoded[action.codes[row]], *(decode_percent(p) if decode else p for p in parts[row] if p)))
            for row in first.tolist()
        ]
        listed = ", ".join(shorten(names[i]) for i in roles.arguments)
        said = f"actions: column {column} with arguments in {listed}, {len(found):,} different"
    return found, codes, said


def decode_word(events: Events, action: Coded, word: int) -> str:
    try:
        return decode_percent(action.words[word])
    except MalformedError as error:
        raise events.error(int(np.argmax(action.codes == word)), str(error), error.hint) from None


def columns_of(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "no column"


def starts_of(events: Events, case: Int[np.ndarray, " rows"], cases: int) -> tuple[list[str], str]:
    """The name of each trace's start, where a column has it; none: nothing is told."""
    if events.roles.start is None:
        return [], "starts: nothing is told; whether traces start alike is found out (--start same, own or COLUMN)"
    column = shorten(events.names[events.roles.start])
    found = events.coded(events.roles.start)
    known = found.codes >= 0
    of_case = np.full(cases, -1)
    of_case[case[known][::-1]] = found.codes[known][::-1]
    if (of_case < 0).any():
        row = int(np.argmax(case == np.argmax(of_case < 0)))
        raise events.error(row, f"no row of this trace names its start (column {column})", "one row of each must")
    other = known & (found.codes != of_case[case])
    if other.any():
        row = int(np.argmax(other))
        first = found.words[of_case[case[row]]]
        message = f"a second start of one trace: {found.words[found.codes[row]]!r}, before {first!r} (column {column})"
        raise events.error(row, message, "the column must be the same in all rows of a trace, or empty")
    return [
        found.words[code] for code in of_case.tolist()
    ], f"starts: named by column {column}, {len(found.words):,} different"


def boundaries(case: Int[np.ndarray, " rows"], cases: int) -> Int64[np.ndarray, " boundaries"]:
    return np.append(0, np.cumsum(np.bincount(case, minlength=cases))).astype(np.int64)


def refuse_long(events: Events, case: Int[np.ndarray, " rows"], offsets: Int64[np.ndarray, " boundaries"]) -> None:
    longest = int(np.argmax(np.diff(offsets)))
    if (size := int(offsets[longest + 1] - offsets[longest])) > MAX_ACTIONS:
        message = f"{size} actions in one trace, at most {MAX_ACTIONS}"
        raise events.error(int(np.argmax(case == longest)), message, "split it into several traces: --case COLUMN")


def repeated_rows(
    events: Events,
    case: Int[np.ndarray, " rows"],
    token: Int[np.ndarray, " rows"],
    refused: Bool[np.ndarray, " rows"],
    order: Int64[np.ndarray, " rows"] | None,
) -> int:
    """How many rows say the same as one before, at the same time: perhaps written twice. Without times the same may
    well be tried twice."""
    if not events.roles.time or len(case) < 2:
        return 0
    place = np.arange(len(case)) if order is None else order
    times = [events.frame[str(i)].gather(place) for i in events.roles.time]
    with_next = case[place][1:] == case[place][:-1]
    for column in times:  # equal times stand together, so only these rows are compared
        with_next &= (column == column.shift(1)).fill_null(False).to_numpy()[1:]
    near = np.append(with_next, False) | np.append(False, with_next)
    if not near.any():
        return 0
    said = {"case": case, "token": token, "refused": refused}
    found = pl.DataFrame({name: values[place][near] for name, values in said.items()})
    found = found.with_columns(column.filter(pl.Series(near)).alias(f"time{i}") for i, column in enumerate(times))
    return len(found) - found.n_unique()


def log_line(events: Events, rows: int, cases: int, case_line: str, left_out: int, twice: int) -> str:
    what = events.files[0] if len(events.files) == 1 else f"{len(events.files):,} files"
    without = f", {left_out:,} more left out that are not complete ({LIFECYCLE})" if left_out else ""
    kinds = " and ".join(events.kinds)
    again = (
        f"; {twice:,} rows say the same as one before (case, time, action, outcome) and count again: leave them out if "
        "the log has them twice by mistake"
    )
    counted = f"{rows:,} attempts{without}; {cases:,} traces ({case_line})"
    return f"log: {Path(what).name}, {kinds}, {counted}{again if twice else ''}"


def with_several(table: Table, columns: Sequence[int]) -> list[int]:
    """Columns that may have two different words, found for all at once: a log of many kinds of events has thousands,
    most of them empty, and looking at each takes a millisecond."""
    names = [name for name in map(str, columns) if not table.sample[name].dtype.is_nested()]
    different = table.sample.select(pl.col(names).drop_nulls().n_unique()).row(0) if names else ()
    known = dict(zip(names, different, strict=True))
    return [column for column in columns if known.get(str(column), 2) >= 2]


def offers(table: Table, roles: Roles) -> str:
    """Columns that may hold arguments, with a few values."""
    shown = []
    for column in with_several(table, roles.others):
        found = Coded.of(table.sample[str(column)])
        few = 2 <= len(found.words) <= max(2, len(table.sample) // 2)
        if few and not numbers_rows(table, column, roles.case):
            values = ", ".join(shorten(word, 20) for word in found.words[:3])
            more = " …" if len(found.words) > 3 else ""
            shown.append(f"--arg {shorten(table.names[column], NAME)} ({values}{more})")
    rest = f" and {len(shown) - OFFERED} more" if len(shown) > OFFERED else ""
    return ", ".join(shown[:OFFERED]) + rest


def possible_outcomes(table: Table, roles: Roles) -> str:
    """Columns with words that say yes and no."""
    shown = []
    for column in with_several(table, roles.others):
        words = words_of(Coded.of(table.sample[str(column)]))
        if 2 <= len(words) <= 20 and understood(table.names[column], words):
            shown.append(f"--ok {shorten(table.names[column], NAME)}")
    return ", ".join(shown[:OFFERED])
