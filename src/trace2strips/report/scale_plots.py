"""How time and memory grow with the log, as SVG. Imports matplotlib, which is slow: import this where you draw."""

from __future__ import annotations

from trace2strips.report.outside import Record
from trace2strips.report.plots import COLOURS, SMALL, Plot, canvas, legend
from trace2strips.report.scale import rows_of

LOOKS = {
    "shards": {"label": "shard by shard", "color": COLOURS["windows"], "marker": "o", "linestyle": "-"},
    "at once": {"label": "at once", "color": COLOURS["strips+completion"], "marker": "s", "linestyle": "--"},
}


def draw_scale(record: Record) -> tuple[Plot, ...]:
    """Time and memory against attempts."""
    return (
        draw(record, "scale-time", "seconds", "seconds", "Time by the number of attempts"),
        draw(record, "scale-memory", "peak_memory_mb", "peak memory, MB", "Memory by the number of attempts"),
    )


def draw(record: Record, name: str, figure: str, label: str, title: str) -> Plot:
    with canvas(name, SMALL) as (axes, finish):
        for how, look in LOOKS.items():
            rows = sorted(rows_of(record, "attempts", how), key=lambda row: row["attempts"])
            axes.plot([row["attempts"] for row in rows], [row[figure] for row in rows], markersize=5, **look)  # type: ignore[arg-type]
        axes.set(xscale="log", yscale="log", xlabel="attempts", ylabel=label)
        legend(axes, len(LOOKS))
    return Plot(name, title, f"{title}, shard by shard and at once. The figures are in the table.", finish())
