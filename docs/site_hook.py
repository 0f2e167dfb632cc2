"""For mkdocs: what the site has beyond docs/. The notebooks and the pages at the root of the repository become pages,
links that work in the repository work in the site, and the tour of `help(trace2strips)` becomes a page."""

from __future__ import annotations

import ast
import json
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import trace2strips as t2s
from trace2strips.explorer.contents import Surroundings

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "index.md"} | {  # in the repository → in the site
    f"{name.upper()}.md": f"{name}.md" for name in ("security", "contributing", "changelog")
}
NOTEBOOKS = {path.relative_to(ROOT).as_posix(): f"notebooks/{path.stem}.md" for path in ROOT.glob("notebooks/*.ipynb")}
PLACES = PAGES | NOTEBOOKS | {"notebooks/README.md": "notebooks/index.md"}
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")
TOUR = "<!-- tour -->"  # marks in a page, where the site has more than the repository shows
EXPLORER = "<!-- explorer -->"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for place, uri in PLACES.items():
        if place != "README.md":  # the site begins with docs/index.md
            text = (ROOT / place).read_text(encoding="utf-8")
            files.append(File.generated(config, uri, content=notebook(text) if place in NOTEBOOKS else text))
    files.append(File.generated(config, "five-blocks.html", content=explorer()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    uri = page.file.src_uri
    parts = FENCE.split(markdown.replace(TOUR, tour()))
    text = "".join(part if number % 2 else with_links(part, uri, files) for number, part in enumerate(parts))
    return text.replace(EXPLORER, "[Try it here: five blocks, learned from 20 traces](five-blocks.html){ .md-button }")


def with_links(text: str, uri: str, files: Files) -> str:
    """Links as the repository has them, as the site needs them. What the site does not have is no link there."""
    here = next((place for place, at in PLACES.items() if at == uri and place != "README.md"), f"docs/{uri}")

    def link(match: re.Match[str]) -> str:
        shown, target, section = match.groups()
        there = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
        inside = there.startswith("docs/")
        found = there.removeprefix("docs/") if inside else PLACES.get(there, "")
        if not inside and not files.get_file_from_path(found):
            return shown
        return f"[{shown}]({posixpath.relpath(found, posixpath.dirname(uri) or '.')}{section or ''})"

    return LINK.sub(link, text)


def tour() -> str:
    """The docstring of the package, its examples as blocks of code."""
    text = ast.get_docstring(ast.parse((ROOT / "src" / "trace2strips" / "__init__.py").read_text(encoding="utf-8")))
    text = re.sub(r"^(.+)\n=+$", r"## \1", str(text).partition("\n\n")[2], flags=re.MULTILINE)
    blocks = (f"```pycon\n{block}\n```" if block.startswith(">>>") else block for block in text.split("\n\n"))
    return "\n\n".join(blocks)


@cache
def explorer() -> str:
    """A learned world to try: the page that `make demo` would lead to."""
    learned = t2s.learn(t2s.sample("blocksworld-5b", t2s.SampleSettings(traces=20, suffix="none")))
    return learned.explore(Surroundings("Five blocks, learned from 20 traces")).html()


def notebook(text: str) -> str:
    """A notebook as Markdown, with the outputs that it holds."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in cell_parts(cell)) + "\n"


def cell_parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            yield f'<div class="output">{"".join(data["text/html"])}</div>'
        elif "image/svg+xml" in data:
            yield f'<div class="output">{"".join(data["image/svg+xml"])}</div>'
        elif "image/png" in data:
            image = data["image/png"].strip()
            yield f'<img class="output" alt="what the cell draws" src="data:image/png;base64,{image}">'
        else:
            yield f"```text\n{''.join(output.get('text', data.get('text/plain', ''))).rstrip()}\n```"
