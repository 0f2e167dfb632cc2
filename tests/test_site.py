"""`make docs`: the site builds without a warning, has every page, and needs no network, not even to search."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import trace2strips as t2s
from trace2strips.learners.registry import LEARNERS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Request

ROOT = Path(__file__).parent.parent
PARTS = ("docs", "notebooks", "src", "mkdocs.yml", "README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")


def build(root: Path, out: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(out)]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Addresses(HTMLParser):
    """What a page loads, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data") and value is not None:
                (self.linked if tag == "a" else self.loaded).append(value)


def test_every_page_is_there(site: Path) -> None:
    wanted = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    wanted |= {path.relative_to(ROOT).with_suffix(".html") for path in ROOT.glob("notebooks/*.ipynb")}
    wanted |= {Path(name) for name in ("security.html", "contributing.html", "changelog.html", "five-blocks.html")}
    assert not [page for page in sorted(wanted) if not (site / page).exists()]


def test_links_and_files_are_there(site: Path) -> None:
    """Also those that mkdocs does not look at: in notebooks, to the explorer, to examples."""
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # shown at any address
            continue
        found = Addresses(page.read_text(encoding="utf-8"))
        assert not [value for value in found.loaded if re.match(r"(https?:)?//", value)], page
        for value in found.loaded + found.linked:
            target = value.partition("#")[0].partition("?")[0]
            if target and not re.match(r"[a-z]+:", target):
                assert (page.parent / target).exists(), (page.name, value)


def test_all_public_names_are_described(site: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    described = set(re.findall(r'<h2 id="trace2strips\.[a-z_.]+\.(\w+)"', pages))
    assert set(t2s.__all__) <= described
    assert {name for _, name in LEARNERS.values()} <= set(t2s.__all__)


def test_the_tour_and_the_notebooks_are_shown(site: Path) -> None:
    tour = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert "&gt;&gt;&gt;" in tour
    assert tour.count("<h2 ") == 4
    assert "impossible: borrow(" in (site / "notebooks" / "your-log.html").read_text(encoding="utf-8")
    assert "data:image/png" in (site / "notebooks" / "two-transformers.html").read_text(encoding="utf-8")


BROKEN = [  # a link, a section, a page that no menu has
    ("docs/guide.md", "(examples/orders.csv)", "(examples/none.csv)", "examples/none.csv"),
    ("docs/decoders.md", "(results.md#baselines)", "(results.md#baseline)", "#baseline"),
    ("mkdocs.yml", "      - Scale: scale.md\n", "", "scale.md"),
]


def test_what_is_broken_stops_the_build(tmp_path: Path) -> None:
    for name in PARTS:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    for page, old, new, _ in BROKEN:
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert old in text
        (tmp_path / page).write_text(text.replace(old, new, 1), encoding="utf-8")
    done = build(tmp_path, tmp_path / "out")
    assert done.returncode == 1
    for *_, said in BROKEN:
        assert said in done.stderr + done.stdout


def test_it_works_from_disk_without_a_network(site: Path, browser: "Browser") -> None:
    """Search, a phone, the explorer; nothing outside is asked for."""
    asked: list[str] = []

    def note(request: "Request") -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            asked.append(request.url)

    page = browser.new_page(viewport={"width": 390, "height": 844})
    errors: list[str] = []
    page.on("request", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for name in ("index", "results", "paper", "api/learning", "notebooks/your-log"):
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((site / "api" / "index.html").as_uri())
    page.locator("[data-md-component=search-query]").click()
    page.keyboard.type("version space")
    page.locator(".md-search-result__link", has_text="What is certain").first.click()
    page.wait_for_url("**/notebooks/what-is-certain.html*")
    page.goto((site / "index.html").as_uri())
    page.get_by_text("Try it here").click()
    page.get_by_role("tab", name="World").wait_for()
    assert (asked, errors) == ([], [])
    page.close()
