"""What a STRIPS model, its B-RASP program and its attention heads compute on a trace, in the terminal and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trace2strips.errors import printable, shorten
from trace2strips.learners.transformer.illustration import HeadView, Illustration

INAPPLICABLE = "bold black on orange1"
HEAD_CAPTION = "scores Q(i)·K(j) for j < i, the value V at the chosen j, the output y"
MARK = "✗"  # beside the colour, for those who do not see it


# --- terminal --------------------------------------------------------------------------------------------------------


def print_illustration(
    console: Console, illustration: Illustration, everything: bool = False, with_heads: bool = False
) -> None:
    """Tables as wide as the terminal; long traces go on below."""
    some = illustration.shown(everything)
    titles = [headline(some, i) for i in range(len(some.string))]
    label = max(cell_len(printable(name)) for block in some.blocks for name in block)
    said = " ".join(titles) or "(empty)"
    if len(list(parts(titles, label, console.width))) > 1:  # names do not fit: they are said once, then numbers do
        said = ", ".join(f"{i} {title}" for i, title in enumerate(titles))
        titles = [MARK if flag else "" for flag in some.inapplicable]
    console.print(Text(f"{printable(some.name)}: {said}", style="bold"))
    if titles:
        for part in parts(titles, label, console.width):
            console.print(vector_table(some, titles, part))
        for head in some.heads if with_heads else ():
            console.print(Text(f"head {printable(head.atom)}: {HEAD_CAPTION}"))
            for part in parts(titles, max(map(cell_len, titles)) + 16, console.width):
                console.print(head_table(some, head, titles, part))
    hidden = sum(map(len, illustration.blocks)) - sum(map(len, some.blocks))
    if hidden:
        console.print(f"{hidden} vectors of symbols and atoms that do not occur are not shown")
    console.print(Text(printable(some.verdict), style=INAPPLICABLE if some.verdict == "negative" else "bold"))


def headline(illustration: Illustration, i: int) -> str:
    name = shorten(printable(illustration.string[i]), 24)
    return f"{name}{MARK}" if illustration.inapplicable[i] else name


def parts(titles: Sequence[str], label: int, width: int) -> Iterator[range]:
    """The positions, cut into parts that fit beside the labels; at least one position each."""
    start, room = 0, width - label - 4
    used = 0
    for i, title in enumerate(titles):
        cost = max(cell_len(title), 5) + 3
        if i > start and used + cost > room:
            yield range(start, i)
            start, used = i, 0
        used += cost
    yield range(start, len(titles))


def new_table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1))


def add_positions(table: Table, illustration: Illustration, titles: Sequence[str], part: range) -> None:
    for i in part:
        style = INAPPLICABLE if illustration.inapplicable[i] else ""
        table.add_column(Text(f"{i}\n") + Text(titles[i], style=style), justify="center", no_wrap=True)


def vector_table(illustration: Illustration, titles: Sequence[str], part: range) -> Table:
    table = new_table()
    table.add_column("", no_wrap=True)
    add_positions(table, illustration, titles, part)
    for block in illustration.blocks:
        for name, vector in block.items():
            bad = name == "Y" or name.startswith("Y_")
            cells = [
                Text(str(int(vector[i])), style=INAPPLICABLE if bad and illustration.heads and vector[i] else "")
                for i in part
            ]
            table.add_row(Text(printable(name)), *cells)
        table.add_section()
    return table


def head_table(illustration: Illustration, head: HeadView, titles: Sequence[str], part: range) -> Table:
    """One row for each position i: the scores Q(i)·K(j) of the earlier positions j. The rightmost of the best is in
    [brackets] if its score is 1, in (parentheses) otherwise."""
    table = new_table()
    table.add_column("i", no_wrap=True)
    add_positions(table, illustration, titles, part)
    table.add_column("V")
    table.add_column("y")
    for i, title in enumerate(titles):
        chosen = head.chosen[i]
        scores = {j: f"{head.query[i]}·{head.key[j]}" for j in part if j < i}
        if chosen in scores:
            scores[chosen] = f"[{scores[chosen]}]" if head.attended[i] else f"({scores[chosen]})"
        value = "" if chosen is None else str(head.value[chosen])
        output = Text(str(head.output[i]), style=INAPPLICABLE if head.output[i] else "")
        table.add_row(Text(f"{i} {title}"), *(Text(scores.get(j, "")) for j in part), Text(value), output)
    return table


# --- HTML ------------------------------------------------------------------------------------------------------------

STYLE = """
:root { color-scheme: light dark; --line: #767676; --bad: #ffb000; --bad-ink: #000; --chosen: #d0e4ff; --ink: #000; }
@media (prefers-color-scheme: dark) { :root { --chosen: #003c80; --ink: #fff; } }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
div.scroll { overflow-x: auto; margin-bottom: 1.5rem; }
table { border-collapse: collapse; }
caption { text-align: left; padding: .3rem 0; font-weight: bold; }
th, td { padding: .15rem .55rem; text-align: center; font-variant-numeric: tabular-nums; }
tbody th { text-align: left; }
tbody { border-top: 1px solid var(--line); }
.bad { background: var(--bad); color: var(--bad-ink); font-weight: bold; }
.chosen, .attended { outline: 2px solid var(--line); outline-offset: -2px; }
.attended { background: var(--chosen); color: var(--ink); font-weight: bold; }
pre { overflow-x: auto; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
"""


def format_html(illustrations: Iterable[Illustration], program: str, everything: bool = False) -> str:
    """One page, nothing loaded from elsewhere. Colour never stands alone: ✗ and hidden words say the same."""
    some = list(illustrations)
    title = f"B-RASP: {text(some[0].name)}" if some else "B-RASP"
    lines = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body><main>",
        f"<h1>{title}</h1>",
    ]
    for illustration in some:
        shown = illustration.shown(everything)
        lines.append(f"<h2>{text(' '.join(shown.string)) or '(empty)'}: {text(shown.verdict)}</h2>")
        lines += html_vectors(shown)
        for head in shown.heads:
            lines += html_head(shown, head)
    lines += ["<h2>Program</h2>", f"<pre>{escape(program)}</pre>", "</main></body></html>"]
    return "\n".join(lines) + "\n"


def text(name: str) -> str:
    return escape(printable(name))


def html_positions(illustration: Illustration) -> str:
    cells = []
    for i, name in enumerate(illustration.string):
        bad = illustration.inapplicable[i]
        mark = f' <span aria-hidden="true">{MARK}</span><span class="hidden"> inapplicable</span>' if bad else ""
        cells.append(f'<th scope="col"{style("bad", bad)}>{i}<br>{text(name)}{mark}</th>')
    return "".join(cells)


def style(name: str, wanted: bool | int) -> str:
    return f' class="{name}"' if wanted else ""


def html_vectors(illustration: Illustration) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Vectors"><table>'
    yield f'<caption>Vectors</caption><thead><tr><th scope="col">vector</th>{html_positions(illustration)}</tr></thead>'
    for block in filter(None, illustration.blocks):
        yield "<tbody>"
        for name, vector in block.items():
            bad = illustration.heads and (name == "Y" or name.startswith("Y_"))
            cells = "".join(f"<td{style('bad', bool(bad and entry))}>{int(entry)}</td>" for entry in vector)
            yield f'<tr><th scope="row">{text(name)}</th>{cells}</tr>'
        yield "</tbody>"
    yield "</table></div>"


def html_head(illustration: Illustration, head: HeadView) -> Iterator[str]:
    atom = text(head.atom)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="Head {atom}"><table>'
    yield (
        f"<caption>Head {atom}: {escape(HEAD_CAPTION)}</caption>"
        f'<thead><tr><th scope="col">i</th>{html_positions(illustration)}'
        '<th scope="col">V</th><th scope="col">y</th></tr></thead><tbody>'
    )
    for i, name in enumerate(illustration.string):
        chosen = head.chosen[i]
        kind, said = ("attended", "attended") if head.attended[i] else ("chosen", "rightmost, but 0")
        cells = []
        for j in range(len(illustration.string)):
            score = f"{head.query[i]}·{head.key[j]}" if j < i else ""
            words = f'<span class="hidden"> {said}</span>' if j == chosen else ""
            cells.append(f"<td{style(kind, j == chosen)}>{score}{words}</td>")
        value = "" if chosen is None else head.value[chosen]
        output = f"<td{style('bad', head.output[i])}>{head.output[i]}</td>"
        yield f'<tr><th scope="row">{i} {text(name)}</th>{"".join(cells)}<td>{value}</td>{output}</tr>'
    yield "</tbody></table></div>"
