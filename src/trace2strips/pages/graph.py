"""A small graph as DOT, for Graphviz, and as an SVG picture that needs nothing else.

Nodes stand in layers; within a layer each stands near those that lead to it. Names are any text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import hypot

from trace2strips.errors import printable, shorten

LETTER, LINE = 7.2, 16.0  # of the font, in pixels
GAP, ROOM = 76.0, 96.0  # between neighbours, between layers
NEARER = 0.36  # of an edge's way its text stands: so those of two ways between two nodes do not meet
MOST_LINES, LONGEST = 4, 28  # of a node's text
STYLE = """text{font:12px system-ui,"Segoe UI",Roboto,sans-serif;fill:#1d2329}
.name{text-anchor:middle}.edge{fill:none;stroke:#6b737c}.tip{fill:#6b737c}
.act{text-anchor:middle;font-size:11px;fill:#0b5a94;paint-order:stroke;stroke:#fdfcfa;stroke-width:4px}
.node{fill:#f4f1ec;stroke:#6b737c}.start{stroke:#00664b;stroke-width:2.5}.page{fill:#fdfcfa}
@media (prefers-color-scheme:dark){text{fill:#e6e3dd}.edge{stroke:#9aa3ad}.tip{fill:#9aa3ad}
.act{fill:#7cc0f0;stroke:#14181d}.node{fill:#1d232a;stroke:#9aa3ad}.start{stroke:#4fd1a5}.page{fill:#14181d}}"""


@dataclass(frozen=True)
class Graph:
    """`nodes` have lines of text, `layers` say how far each is from the start; an edge is (from, to, names)."""

    title: str
    nodes: tuple[tuple[str, ...], ...]
    layers: tuple[int, ...]
    edges: tuple[tuple[int, int, tuple[str, ...]], ...]

    def dot(self) -> str:
        lines = [f"digraph {quoted(self.title)} {{", "  node [shape=box, style=rounded];"]
        for i, (node, layer) in enumerate(zip(self.nodes, self.layers, strict=True)):
            bold = ", penwidth=2" if layer == 0 else ""
            lines.append(f"  s{i} [label={quoted(*(node or ('–',)))}{bold}];")
        lines += [f"  s{i} -> s{j} [label={quoted(*names)}];" for i, j, names in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        return Drawing(self).svg()


def quoted(*lines: str) -> str:
    """A string of DOT."""
    shown = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(shown) + '"'


class Drawing:
    """Where everything stands."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.texts = [cut(node) for node in graph.nodes]
        self.sizes = [(max(len(line) for line in text) * LETTER + 20, len(text) * LINE + 12) for text in self.texts]
        self.places: dict[int, tuple[float, float]] = {}
        rows = self.rows()
        width = max(sum(self.sizes[i][0] for i in row) + GAP * (len(row) - 1) for row in rows)
        top = 24.0
        for row in rows:
            used = sum(self.sizes[i][0] for i in row) + GAP * (len(row) - 1)
            left, height = 60 + (width - used) / 2, max(self.sizes[i][1] for i in row)
            for i in row:
                self.places[i] = left + self.sizes[i][0] / 2, top + height / 2
                left += self.sizes[i][0] + GAP
            top += height + ROOM
        self.width, self.height = width + 120, top - ROOM + 40

    def rows(self) -> list[list[int]]:
        """The nodes of each layer, near those of the layer before that lead to them."""
        layers = self.graph.layers
        rows = [[i for i, layer in enumerate(layers) if layer == d] for d in range(max(layers) + 1)]
        rank = {i: float(k) for k, i in enumerate(rows[0])}
        for row in rows[1:]:
            wanted = {}
            for i in row:
                before = [rank[a] for a, b, _ in self.graph.edges if b == i and layers[a] == layers[i] - 1]
                wanted[i] = sum(before) / max(1, len(before))
            row.sort(key=lambda i: (wanted[i], i))
            rank |= {i: k * len(rows[0]) / max(1, len(row)) for k, i in enumerate(row)}
        return [row for row in rows if row]

    def svg(self) -> str:
        title = escape(printable(self.graph.title))
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>',
            '<rect class="page" width="100%" height="100%"/>',
        ]
        both = {(i, j) for i, j, _ in self.graph.edges}
        edges = [self.edge(i, j, names, (j, i) in both) for i, j, names in self.graph.edges]
        nodes = map(self.node, range(len(self.texts)))
        parts += [*(line for line, _ in edges), *nodes, *(name for _, name in edges), "</svg>"]
        return "\n".join(parts) + "\n"

    def node(self, i: int) -> str:
        (x, y), (w, h) = self.places[i], self.sizes[i]
        first = y - h / 2 + 6 + LINE * 0.8
        text = "".join(
            f'<text class="name" x="{x:.1f}" y="{first + k * LINE:.1f}">{escape(line)}</text>'
            for k, line in enumerate(self.texts[i])
        )
        whole = escape(printable(", ".join(self.graph.nodes[i]) or "nothing is true that changes"))
        kind = "node start" if self.graph.layers[i] == 0 else "node"
        box = f'<rect class="{kind}" x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}" rx="8"/>'
        return f"<g><title>{whole}</title>{box}{text}</g>"

    def edge(self, i: int, j: int, names: Sequence[str], is_pair: bool) -> tuple[str, str]:
        """Its line, and its text, which stands above all lines."""
        (x1, y1), (x2, y2) = self.places[i], self.places[j]
        if i == j:
            w, h = self.sizes[i]
            x, y = x1 + w / 2, y1
            up, down = y - h / 2, y + h / 2
            path = f"M{x:.1f} {y - h / 4:.1f}C{x + 36:.1f} {up:.1f} {x + 36:.1f} {down:.1f} {x:.1f} {y + h / 4:.1f}"
            middle = x + 30, y
        else:
            length = hypot(x2 - x1, y2 - y1)
            bend = 34.0 if is_pair else (22.0 if y1 == y2 else 0.0)
            cx, cy = (x1 + x2) / 2 - bend * (y2 - y1) / length, (y1 + y2) / 2 + bend * (x2 - x1) / length
            (x1, y1), (x2, y2) = self.rim(i, cx, cy), self.rim(j, cx, cy)
            path = f"M{x1:.1f} {y1:.1f}Q{cx:.1f} {cy:.1f} {x2:.1f} {y2:.1f}"
            a, b, c = (1 - NEARER) ** 2, 2 * NEARER * (1 - NEARER), NEARER**2
            middle = a * x1 + b * cx + c * x2, a * y1 + b * cy + c * y2 + 4
        said = escape(shorten(printable(", ".join(names)), 40))
        whole = escape(printable(", ".join(names)))
        line = f'<path class="edge" marker-end="url(#tip)" d="{path}"/>'
        return line, f'<text class="act" x="{middle[0]:.1f}" y="{middle[1]:.1f}"><title>{whole}</title>{said}</text>'

    def rim(self, i: int, x: float, y: float) -> tuple[float, float]:
        """Where the line from a node to a point leaves its box."""
        (cx, cy), (w, h) = self.places[i], self.sizes[i]
        dx, dy = x - cx, y - cy
        share = min(w / 2 / abs(dx) if dx else 9e9, h / 2 / abs(dy) if dy else 9e9)
        return cx + dx * min(1.0, share), cy + dy * min(1.0, share)


def cut(node: Sequence[str]) -> list[str]:
    """The text of a node, short enough for a box."""
    lines = [shorten(printable(line), LONGEST) for line in node] or ["–"]
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"… {len(lines) - MOST_LINES + 1} more"]
