"""Columns of which most rows are empty, as in logs where each kind of event has attributes of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int64


@dataclass
class Column:
    """What some rows have."""

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def put(self, row: int, value: Any) -> None:
        """The last value of a row counts."""
        if self.rows and self.rows[-1] == row:
            self.values[-1] = value
        else:
            self.rows.append(row)
            self.values.append(value)

    def spread(self, count: int, rows: Int64[np.ndarray, " events"]) -> pl.Series:
        """The value of each event; `rows` are the events' rows here, of `count`."""
        place = np.full(count, len(self.values))
        place[self.rows] = np.arange(len(self.rows))
        return series([*self.values, None])[place[rows]]


def series(values: list[Any]) -> pl.Series:
    """Of one type where the values are; otherwise as texts, as JSON has them."""
    kinds = {type(value) for value in values if value is not None}
    numbers = kinds <= {int, float} and all(value is None or -(2**63) <= value < 2**63 for value in values)
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    if kinds and numbers:
        return pl.Series(values, dtype=pl.Float64 if float in kinds else pl.Int64)
    texts = (value if value is None or isinstance(value, str) else json.dumps(value) for value in values)
    return pl.Series(list(texts), dtype=pl.String)
