"""Tables of how the cost of learning grows, and what follows for a log that nobody has measured (docs/scale.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from trace2strips.pages.tables import NONE, Table, number, table, words
from trace2strips.report.outside import Record, origin
from trace2strips.report.tables import Columns, duration

Row = dict[str, Any]
FAN = 8  # results that one task merges: `learners.windows.spreading`
A_DAY = 10**12  # attempts
SHARD = 10**8  # attempts of a shard on paper


def rows_of(record: Record, part: str, how: str | None = None) -> list[Row]:
    return [row for row in record["rows"] if row["part"] == part and how in (None, row.get("how"))]


def size(count: float | int) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def scale_attempts(record: Record) -> Table:
    once = {row["attempts"]: row for row in rows_of(record, "attempts", "at once")}
    rows = []
    for row in rows_of(record, "attempts", "shards"):
        other = once.get(row["attempts"])
        rows.append([
            number(row["attempts"]), size(row["bytes"]), duration(row["seconds"]),
            f"{row['attempts'] / row['seconds']:,.0f}", f"{number(row['peak_memory_mb'])} MB",
            NONE if other is None else duration(other["seconds"]),
            NONE if other is None else f"{number(other['peak_memory_mb'])} MB", size(row["summary_bytes"]),
        ])  # fmt: skip
    columns: Columns = ["attempts", "file", "shard by shard", "attempts/s", "peak memory", "at once", "peak memory",
                        "summary"]  # fmt: skip
    return table("scale-attempts", origin(record), columns, rows)


def scale_actions(record: Record) -> Table:
    rows = [
        [f"{row['copies']:,} × {row['domain']}", number(row["ground_actions"]), number(row["attempts"]),
         duration(row["seconds"]), f"{number(row['peak_memory_mb'])} MB", size(row["summary_bytes"])]
        for row in rows_of(record, "ground actions", "shards")
    ]  # fmt: skip
    columns: Columns = [words("worlds"), "ground actions", "attempts", "learning", "peak memory", "summary"]
    return table("scale-actions", origin(record), columns, rows)


def scale_update(record: Record) -> Table:
    known = {row["attempts"]: row for row in rows_of(record, "attempts", "shards")}
    sizes = sorted(known)
    rows = []
    for row in rows_of(record, "update"):
        before = min(sizes, key=lambda attempts: abs(math.log(attempts / (25 * row["known_traces"]))))
        rows.append([number(before), number(row["attempts"]), duration(row["seconds"]),
                     duration(known[before]["seconds"])])  # fmt: skip
    columns: Columns = ["attempts known", "new ones", "update", "learning what is known took"]
    return table("scale-update", origin(record), columns, rows)


def other_learners(record: Record) -> Table:
    late = f"not done in {duration(record['settings']['limit'])}"
    rows = []
    for row in record["rows"]:
        told, plans = row["expected_seconds"], row["plans_right"]
        rows.append([
            row["domain"], number(row["ground_actions"]), row["learner"], NONE if told is None else duration(told),
            late if row["seconds"] is None else duration(row["seconds"]),
            NONE if row["test_accuracy"] is None else f"{row['test_accuracy']:.3f}",
            NONE if plans is None else f"{plans} of {record['settings']['problems']}",
        ])  # fmt: skip
    columns: Columns = [words("world"), "ground actions", words("learner"), "said before", "took", "test accuracy",
                        "plans"]  # fmt: skip
    return table("other-learners", origin(record), columns, rows)


def scale_paper(record: Record) -> Table:
    columns: Columns = [words("10¹² attempts a day"), "on paper"]
    return table("scale-paper", origin(record), columns, [[what, value] for what, value in on_paper(record)])


def on_paper(record: Record) -> Iterator[tuple[str, str]]:
    """From the largest log that was measured, and from one shard."""
    whole = max(rows_of(record, "attempts", "shards"), key=lambda row: row["attempts"])
    (shard,), (text,) = rows_of(record, "shard"), rows_of(record, "text")
    threads = record["settings"]["threads"]
    rate = whole["attempts"] / whole["seconds"] / threads
    shards = A_DAY // SHARD
    depth = math.ceil(math.log(shards, FAN))
    yield "attempts a second of one core, both passes, from datasets", f"{rate:,.0f}"
    yield "cores that are busy all day", number(math.ceil(A_DAY / 86_400 / rate))
    text_rate = text["attempts"] / text["seconds"] / threads
    yield "the same from JSON Lines, which is parsed", number(math.ceil(A_DAY / 86_400 / text_rate))
    yield f"shards of {SHARD:,} attempts, about {size(SHARD * whole['bytes'] / whole['attempts'])} each", number(shards)
    yield "read from storage, twice", size(2 * A_DAY * whole["bytes"] / whole["attempts"])
    yield "that is, a second", size(2 * A_DAY * whole["bytes"] / whole["attempts"] / 86_400)
    yield f"summary of a shard (measured at {whole['attempts']:,} attempts)", size(whole["summary_bytes"])
    moved = shards * (1 + 1 / FAN + 1 / FAN**2) * whole["summary_bytes"]
    yield "summaries over the network", size(moved)
    yield f"levels of the tree, {FAN} to 1", number(depth)
    yield "merges, one after the other", duration(shards * shard["merge_seconds"])
    yield "merges, along the deepest path", duration(depth * (FAN - 1) * shard["merge_seconds"])
