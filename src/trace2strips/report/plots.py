"""Plots as SVG that stands inside the page: same rows, same bytes; text stays text.

Learners differ in colour (Okabe and Ito's palette, which colour-blind readers can tell apart), in marker and in line
style. In the SVG colours are variables of the page, whose style makes them darker or lighter for contrast. Every plot
is small enough to be read on a phone; the page lays them out side by side.

Imports matplotlib, which is slow: import this module where you draw.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from statistics import fmean
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from trace2strips.report.rows import Line, Results
from trace2strips.report.tables import slug
from trace2strips.worlds import BENCHMARKS

INK = "#010203"  # becomes the colour of the page's text
COLOURS = {"strips+completion": "#d55e00", "sb": "#0072b2", "sinusoidal": "#009e73", "rope": "#cc79a7",
           "completion": "#e69f00", "strips": "#332288", "windows": "#117733", "lifted-strips": "#882255",
           "paper": "#7f7f7f"}  # fmt: skip
MARKERS = {
    "strips+completion": "o",
    "sb": "s",
    "sinusoidal": "^",
    "rope": "D",
    "completion": "v",
    "strips": "P",
    "windows": "*",
    "lifted-strips": "X",
}
DASHES = {"strips+completion": "-", "sb": "--", "sinusoidal": ":", "rope": "-.", "completion": (0, (5, 1)),
          "strips": (0, (1, 1)), "windows": (0, (8, 2)), "lifted-strips": (0, (3, 1, 1, 1))}  # fmt: skip
SMALL, WIDE = (4.4, 3.1), (5.0, 3.0)  # inches


@dataclass(frozen=True)
class Plot:
    """`description` is what a screen reader says; a wide one is twice as large where there is room."""

    name: str
    caption: str
    description: str
    svg: str
    wide: bool = False

    def file(self) -> str:
        """The plot as a file of its own, dark on white."""
        svg = self.svg.replace("currentColor", "#222222").replace("<svg ", '<svg style="background: white" ', 1)
        for name, colour in COLOURS.items():
            svg = svg.replace(f"var(--{slug(name)})", colour)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}'

    def html(self) -> str:
        kind = ' class="wide"' if self.wide else ""
        svg = self.svg.replace("<svg ", f'<svg role="img" aria-label="{escape(self.description)}" ', 1)
        return f"<figure{kind}>\n<figcaption>{escape(self.caption)}</figcaption>\n{svg}</figure>"


def draw_lengths(results: Results) -> tuple[Plot, ...]:
    """One plot per domain that was measured, the paper's own first and large."""
    by_domain: dict[str, list[Line]] = {}
    for line in results.lines["baselines"]:
        if line.length_curve:
            by_domain.setdefault(line.run.domain, []).append(line)
    return tuple(
        draw_length(domain, by_domain[domain], wide=domain == "blocksworld-8b")
        for domain in sorted(by_domain, key=lambda name: (name != "blocksworld-8b", BENCHMARKS.index(name)))
    )


def draw_length(domain: str, lines: Sequence[Line], wide: bool) -> Plot:
    with canvas(f"length-{domain}", WIDE if wide else SMALL) as (axes, finish):
        for line in lines:
            curve = line.length_curve
            axes.plot(list(curve), list(curve.values()), **style(line.run.learner), markevery=2)
        trained = 200 if domain == "maze-7x7" else 50
        axes.axvline(trained, color=INK, alpha=0.35, linewidth=0.8)
        axes.set(xlim=(0, 405), ylim=(-0.02, 1.04), xlabel="actions of the trace", ylabel="accuracy")
        legend(axes, len(lines))
    ends = "; ".join(f"{line.run.learner} {min(line.length_curve.values()):.3f}" for line in lines)
    description = f"Accuracy against trace length in {domain}; lowest: {ends}. The figures are in the table."
    return Plot(f"length-{domain}", domain, description, finish(), wide)


def draw_sizes(results: Results) -> tuple[Plot, ...]:
    lines = [line for line in results.lines["dataset-size"] if line.rows]
    titles = {"train": "Training accuracy", "test": "Test accuracy", "plan": "Planning accuracy"}
    return tuple(draw_size(name, title, lines) for name, title in titles.items() if any(x.values(name) for x in lines))


def draw_size(name: str, title: str, lines: Sequence[Line]) -> Plot:
    learners = dict.fromkeys(line.run.learner for line in lines if line.values(name))
    with canvas(f"size-{name}", SMALL) as (axes, finish):
        for learner in learners:
            points = {line.run.traces: values for line in lines
                      if line.run.learner == learner and (values := line.values(name))}  # fmt: skip
            axes.plot(list(points), [fmean(values) for values in points.values()], **style(learner))
            for traces, values in points.items():  # the seeds behind the mean
                axes.plot([traces] * len(values), values, linestyle="none", color=COLOURS[learner], marker="_",
                          markersize=9)  # fmt: skip
        axes.set_xscale("log")
        axes.set(ylim=(-0.02, 1.04), xlabel="training traces", ylabel="accuracy")
        legend(axes, len(learners))
    description = f"{title} by number of training traces: {' and '.join(learners)}. The figures are in the table."
    return Plot(f"size-{name}", title, description, finish())


def draw_main(results: Results) -> tuple[Plot, ...]:
    return tuple(draw_dumbbells(name, results.of_learner("main", name)) for name in results.learners("main"))


def draw_dumbbells(learner: str, lines: Sequence[Line]) -> Plot:
    """Test accuracy, a row for each line: the paper's mean and best seed, and ours, joined."""
    theirs = lines[0].paper_name
    with canvas(f"main-{slug(learner)}", (5.0, 0.9 + 0.215 * len(lines))) as (axes, finish):
        figures = [line.figure("test") for line in lines]
        for place, figure in enumerate(figures):
            if figure.mean is not None and figure.paper is not None:
                axes.plot([figure.paper, figure.mean], [place, place], color=INK, alpha=0.35, linewidth=1.2, zorder=1)
            elif figure.mean is None:
                axes.text(0.01, place, "○ missing", va="center", fontsize=7.5, transform=axes.get_yaxis_transform())
        grey: dict[str, Any] = {"color": COLOURS["paper"]}
        marks: tuple[tuple[str, str, dict[str, Any]], ...] = (
            (f"paper's {theirs}, mean", "paper", grey | {"marker": "s", "fillstyle": "none"}),
            ("best seed", "paper_best", grey | {"marker": "|", "markersize": 9}),
            (f"{learner}, mean", "mean", {"marker": "o", "color": COLOURS[learner]}),
        )
        for label, name, look in marks:
            xs = [math.nan if (value := getattr(f, name)) is None else value for f in figures]
            axes.plot(xs, range(len(xs)), linestyle="none", label=label, zorder=3, **{"markersize": 6} | look)
        axes.set_yticks(range(len(lines)), [line.name for line in lines])
        known = [value for f in figures for value in (f.mean, f.paper, f.paper_best) if value is not None]
        start = math.floor(10 * min(known, default=0)) / 10
        margin = 0.03 * (1 - start)
        axes.set(xlim=(start - margin, 1 + margin), ylim=(len(lines) - 0.4, -0.6), xlabel="test accuracy")
        for place in range(3, len(lines), 3):
            axes.axhline(place - 0.5, color=INK, alpha=0.12, linewidth=0.6)
        legend(axes, 3, 1.0)
    measured = sum(figure.mean is not None for figure in figures)
    description = f"Test accuracy of {learner}, {measured} of {len(lines)} rows measured. The figures are in the table."
    return Plot(f"main-{slug(learner)}", f"{learner} beside the paper's {theirs}: test accuracy", description, finish())


def style(learner: str) -> dict[str, Any]:
    return {"label": learner, "color": COLOURS[learner], "marker": MARKERS[learner], "linestyle": DASHES[learner],
            "markersize": 5}  # fmt: skip


def legend(axes: Axes, columns: int, length: float = 2.6) -> None:
    axes.figure.legend(
        loc="outside upper left", ncols=columns, borderaxespad=0.2, handlelength=length, columnspacing=1.2
    )


@contextmanager
def canvas(name: str, size: tuple[float, float]) -> Iterator[tuple[Axes, Callable[[], str]]]:
    """Axes to draw on, and the function that gives the SVG when all is drawn."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9, "legend.frameon": False,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
        "grid.alpha": 0.15, "grid.linewidth": 0.5, "axes.linewidth": 0.6, "lines.linewidth": 1.6,
    }  # fmt: skip
    inked = ("grid.color", "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings |= dict.fromkeys(inked, INK)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # not the user's own style: same rows, same bytes
        matplotlib.rcParams.update(settings)
        figure = Canvas(figsize=size, layout="constrained")
        stream = io.StringIO()
        yield figure.add_subplot(), lambda: adopt(stream.getvalue(), name)
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})


def adopt(svg: str, name: str) -> str:
    """An `svg` element: sized by the page, in its colours, with names that no other plot has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<(metadata|style).*?</\1>\s*", "", svg, flags=re.DOTALL)  # a style would be the whole page's
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{escape(name)}-", svg)
    for learner, colour in COLOURS.items():
        svg = svg.replace(colour, f"var(--{slug(learner)})")
    return svg.replace(INK, "currentColor")


PLOTS: dict[str, Callable[[Results], tuple[Plot, ...]]] = {  # by section
    "length": draw_lengths, "main": draw_main, "dataset-size": draw_sizes,
}  # fmt: skip
