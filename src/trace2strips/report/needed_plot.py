"""Traces needed for an exact model, domain by domain, as SVG. Imports matplotlib: import this where you draw.

Right of the axis stands who is not exact with the most traces that were tried, a column for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from trace2strips.report.outside import PAPER, PAPER_TRACES, READ_OUT, SERIES, Tried, tried
from trace2strips.report.plots import COLOURS, INK, MARKERS, Plot, canvas
from trace2strips.report.rows import Results
from trace2strips.worlds import BENCHMARKS

NAME = "traces-needed"
SIZE = (7.2, 5.4)  # inches
COLOUR = {**COLOURS, READ_OUT: COLOURS["sb"], **dict.fromkeys(PAPER.values(), COLOURS["paper"])}
MARKER = {**MARKERS, READ_OUT: "D", PAPER["STRIPS"]: "o", PAPER["SB"]: "^"}
LARGER = {"windows": 11.0, "strips": 7.5}  # a star and a cross look small
MARKER_SIZE = 6.0
LANES = {"windows": -0.08, "completion": -0.08, "strips": -0.34, "sb": 0.14, READ_OUT: 0.38}  # none covers another
FIRST, STEP = 2.7e5, 2.2  # where the columns right of the axis begin, and how far the next one is
READING = "a line begins at the largest number that is not enough; ◂ fewer were not tried"
GAP = 0.35  # between families


def draw_needed(results: Results) -> tuple[Plot, ...]:
    """One plot, if it was measured."""
    if "traces_needed" not in results.outside:
        return ()
    everything = tried(results)
    sizes = results.outside["traces_needed"]["settings"]["traces"]
    with canvas(NAME, SIZE) as (axes, finish):
        places = row_places()
        inexact = [name for name, domains in everything.items() if any(map(is_inexact, domains.values()))]
        columns = {name: FIRST * STEP**place for place, name in enumerate(inexact)}
        for name, domains in everything.items():
            for domain, it in domains.items():
                draw_one(axes, name, it, places[domain], columns)
        lay_out(axes, places, min(sizes), max(columns.values(), default=FIRST))
    description = "Traces needed for an exact model, by domain and learner. " + in_words(everything)
    caption = "Traces needed until no test trace is wrong, in any seed"
    return (Plot(NAME, caption, description, finish(), wide=True),)


def is_inexact(it: Tried) -> bool:
    """With as many traces as the paper has; of what was not tried with so many nothing is known."""
    return it.needed is None and it.most >= PAPER_TRACES


def row_places() -> dict[str, float]:
    """From above; families a little apart."""
    found, families = {}, list(dict.fromkeys(name.partition("-")[0] for name in BENCHMARKS))
    for place, name in enumerate(BENCHMARKS):
        found[name] = place + GAP * families.index(name.partition("-")[0])
    return found


def draw_one(axes: Axes, name: str, it: Tried, place: float, columns: Mapping[str, float]) -> None:
    """A filled marker at the number that is enough, with a line to the largest that is not, or an arrow if nothing
    smaller was tried; an open one in its column if none is enough."""
    look: dict[str, Any] = {"marker": MARKER[name], "color": COLOUR[name], "linestyle": "none"}
    look["markersize"] = LARGER.get(name, MARKER_SIZE)
    if is_inexact(it):
        axes.plot([columns[name]], [place], fillstyle="none", markeredgewidth=1.3, **look)
    if it.needed is None:
        return
    lane = place + LANES.get(name, 0.0)
    end = it.needed / 2.2 if it.failed is None else it.failed
    axes.plot([end, it.needed], [lane, lane], color=COLOUR[name], linewidth=1.2, alpha=0.6, zorder=1)
    if it.is_bound:
        axes.plot([end], [lane], marker="<", markersize=3.5, color=COLOUR[name], alpha=0.6, linestyle="none")
    axes.plot([it.needed], [lane], markeredgewidth=0, zorder=3, **look)


def lay_out(axes: Axes, places: Mapping[str, float], least: int, last: float) -> None:
    axes.set_xscale("log")
    ticks = [10**power for power in range(1, 6)]
    axes.set_xticks([least, *ticks], [f"{tick:,}" for tick in (least, *ticks)])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(list(places.values()), list(places))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    bottom = max(places.values()) + 0.6
    axes.set(xlim=(least / 2.8, last * 1.8), ylim=(bottom, -0.65), xlabel=f"training traces ({READING})")
    for place in places.values():
        axes.axhline(place, color=INK, alpha=0.1, linewidth=0.6, zorder=0)
    axes.axvspan(PAPER_TRACES * 1.55, last * 1.8, color=COLOURS["paper"], alpha=0.13, linewidth=0)
    axes.text((FIRST * last) ** 0.5, -0.72, f"not exact with {PAPER_TRACES:,}", ha="center", va="bottom", fontsize=8.5)
    for name in SERIES:
        size = LARGER.get(name, MARKER_SIZE)
        filled: dict[str, Any] = {"fillstyle": "none"} if name in PAPER.values() else {"markeredgewidth": 0}
        axes.plot(
            [], [], marker=MARKER[name], color=COLOUR[name], linestyle="none", label=name, markersize=size, **filled
        )
    axes.figure.legend(loc="outside upper center", ncols=4, handletextpad=0.3, columnspacing=1.6, borderaxespad=0.2)


def in_words(everything: Mapping[str, Mapping[str, Tried]]) -> str:
    """What a screen reader says."""
    parts = []
    for name, domains in everything.items():
        known = [it.needed for it in domains.values() if it.needed is not None]
        spread = f"{min(known):,} to {max(known):,} traces on {len(known)} domains" if known else "never exact"
        parts.append(f"{name}: {spread}{f' of {len(domains)}' if known else ''}")
    return "; ".join(parts) + ". The figures are in the table."
