"""Frames of pandas, polars and other libraries as tables of events: columns are understood as those of a file.

Neither pandas nor pyarrow is needed: a pandas frame gives its cells itself, others speak Arrow.
"""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import numpy as np
import polars as pl

from trace2strips.errors import TraceError, shorten
from trace2strips.traces.tables import Table, check_size, flat, whole

PLAIN = (str, bool, int, float)


def table_of(frame: Any) -> Table:
    """A row of the frame is an attempt; in messages the first is line 1 of `DataFrame`."""
    library = type(frame).__module__.partition(".")[0]
    try:
        if library == "pandas":
            found = of_pandas(frame)
        elif isinstance(frame, pl.LazyFrame):
            found = frame.collect()
        else:
            found = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise TraceError(f"the frame cannot be read: {shorten(str(error), 100)}", hint="save it as Parquet") from None
    check_size(type(frame).__name__, len(found), len(found.columns))
    return whole(type(frame).__name__, f"a frame of {library}", flat(found), np.arange(1, len(found) + 1))


def of_pandas(frame: Any) -> pl.DataFrame:
    names = [str(name) for name in frame.columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise TraceError(f"the column {shorten(twice)!r} is there twice", hint="rename one of them")
    return pl.DataFrame([column_of(name, frame.iloc[:, i].tolist()) for i, name in enumerate(names)])


def column_of(name: str, cells: list[Any]) -> pl.Series:
    """Of Python's values, of which pandas has several for an empty cell."""
    values = [None if is_empty(cell) else said(cell) for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        return pl.Series(name, values, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def is_empty(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def said(cell: Any) -> Any:
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    return cell if isinstance(cell, (*PLAIN, dict, list)) else str(cell)
