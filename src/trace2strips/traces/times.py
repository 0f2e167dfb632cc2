"""The order of rows by their times.

Times are texts of nearly any form, or numbers. Those in one ISO form sort as texts do, so a log that is in order
already is known to be so without reading a single one of them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from jaxtyping import Int, Int64

ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?Z?)?$"
MOMENT = r"\d\D+\d.*\d:\d\d"  # a date of some form, and a time of day
DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d.%m.%y", "%d-%m-%Y", "%d %b %Y", "%b %d %Y", "%d/%b/%Y", "%Y%m%d",
         "%d/%m/%Y", "%m/%d/%Y")  # fmt: skip
CLOCKS = ("%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%H:%M:%S%.f%z", "%H:%M%z", "%H:%M:%S%.f %z")
DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"


class TimeError(Exception):
    """`row` is the first whose time is not understood; None: all may be read in two ways."""

    def __init__(self, row: int | None, text: str = "") -> None:
        super().__init__(text)
        self.row, self.text = row, text


def is_in_order(times: pl.Series, case: Int[np.ndarray, " rows"]) -> bool:
    """Whether rows stand by time within each case already, as far as texts tell."""
    if times.dtype == pl.String:
        sizes = times.str.len_bytes()
        if times.null_count() or sizes.min() != sizes.max() or not times.str.contains(ISO).all():
            return False
    elif times.null_count() or not (times.dtype.is_numeric() or times.dtype.is_temporal()):
        return False
    falls = (times > times.shift(-1)).fill_null(False).to_numpy()
    if not falls.any():
        return True
    changes = np.flatnonzero(case[1:] != case[:-1])
    together = len(changes) + 1 == len(np.unique(case))  # the rows of each case stand together
    return together and not (falls[:-1] & (case[1:] == case[:-1])).any()


def are_moments(cells: pl.Series) -> bool:
    """Whether these are dates with a time of day, all of them, whatever the column is called."""
    if cells.null_count() or not len(cells):
        return False
    if cells.dtype.is_temporal():
        return cells.dtype == pl.Datetime
    if not (cells.dtype == pl.String or cells.dtype == pl.Categorical):
        return False
    texts = cells.cast(pl.String)
    if not texts.str.contains(MOMENT).all():
        return False
    try:
        as_numbers(texts)
    except TimeError:
        return False
    return True


def as_numbers(times: pl.Series) -> Int64[np.ndarray, " rows"]:
    """Times that can be compared; a `TimeError` where one is not understood."""
    if times.dtype.is_temporal():
        return checked(times.cast(pl.Int64), times)  # of whatever unit: one column has one
    if times.dtype.is_numeric():
        return checked(in_order(times), times)
    texts = times.cast(pl.String).str.strip_chars().str.replace("[Zz]$", "+00:00")
    numbers = texts.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        whole = texts.cast(pl.Int64, strict=False)
        return checked(in_order(numbers if whole.null_count() else whole), times)
    best, fewest = None, len(texts) + 1
    for form in forms_of(next((text for text in texts.head(100) if text), "")):
        found = texts.str.replace(",", ".", literal=True) if "%.f" in form else texts
        parsed = found.str.to_datetime(form, strict=False, time_unit="us").dt.replace_time_zone(None)
        if parsed.null_count() < fewest:
            best, fewest = parsed, parsed.null_count()
        if not fewest:
            if DAY_FIRST in form:
                refuse_two_readings(found, form, parsed)
            break
    if best is None:
        raise TimeError(0, str(times[0]))
    return checked(best.cast(pl.Int64), times)


def in_order(numbers: pl.Series) -> pl.Series:
    """Numbers of any size and unit, nanoseconds too, as their ranks: nothing is asked of times but their order."""
    if numbers.dtype.is_float():
        numbers = numbers.set(~numbers.is_finite().fill_null(False), None)
    return numbers.rank("dense").cast(pl.Int64)


def forms_of(example: str) -> list[str]:
    """The forms that a text may have; those that read it first."""
    every = [f"{date}{gap}{clock}" for date in DATES for clock in CLOCKS for gap in (" ", "T", ":") if gap != ":" or
             date == "%d/%b/%Y"]  # fmt: skip
    every += [*DATES, *CLOCKS]
    one = pl.Series([example.replace(",", ".")])
    fitting = []
    for form in every:
        try:
            if not one.str.to_datetime(form, strict=False, time_unit="us").null_count():
                fitting.append(form)
        except pl.exceptions.PolarsError:
            continue
    return fitting


def refuse_two_readings(texts: pl.Series, form: str, parsed: pl.Series) -> None:
    """3/4/2026 is in March or in April: an error if that makes another order."""
    other = texts.str.to_datetime(form.replace(DAY_FIRST, MONTH_FIRST), strict=False, time_unit="us")
    other = other.dt.replace_time_zone(None)
    if not other.null_count() and (other.rank("dense") != parsed.rank("dense")).any():
        raise TimeError(None)


def checked(numbers: pl.Series, times: pl.Series) -> Int64[np.ndarray, " rows"]:
    if numbers.null_count():
        row = int(numbers.is_null().arg_max() or 0)
        raise TimeError(row, "" if times[row] is None else str(times[row]))
    return numbers.to_numpy()
