"""The measured figures in docs/, written from results/ alone; none is typed by hand.

    python -m trace2strips.report.doc_tables            write docs/results.md, the tables in other pages, the plot
    python -m trace2strips.report.doc_tables --check    exit with 1 if one is not what results/ say

docs/results.md holds them all. Another page has a table only where it explains something with it, between
<!-- table NAME --> and <!-- end -->.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from trace2strips.errors import UserError, suggest
from trace2strips.files import read_text, writing_text
from trace2strips.pages.markdown import format_table
from trace2strips.pages.tables import Section, Table
from trace2strips.report.benchmarks import (
    any_log_formats,
    any_log_large,
    any_log_starts,
    benchmark_sections,
    difficulty,
    foreign,
    lifted_strips,
    lifted_strips_untold,
    listing_c,
    one_state,
    paper_form,
    paper_form_whole,
    trials,
    windows,
    windows_equivalence,
    windows_everyday,
    windows_learning,
    windows_not_strips,
    windows_speed,
    windows_theorems,
    windows_untold,
    windows_worked,
)
from trace2strips.report.markdown import format_markdown
from trace2strips.report.outside import Record, amlgym_domains, amlgym_peers, amlgym_solved, world_metrics
from trace2strips.report.rows import ANY_BENCHMARK, Results, amlgym_record, load_results
from trace2strips.report.scale import other_learners, scale_actions, scale_attempts, scale_paper, scale_update
from trace2strips.report.sections import make_sections

HEAD = """<!-- Written by `make tables` from results/: edit neither this page nor its figures by hand. -->

# Results

Every figure that was measured, with the command that measures it again and the commit at which it was. What the
columns mean: [report.md](report.md); how runs are done: [experiments.md](experiments.md). `trace2strips report` shows
the first part as a page with plots.
"""
EXPLAINING: Mapping[str, tuple[str, Callable[[Record], Table]]] = {  # tables in other pages: which file, and how
    "amlgym-domains": ("outside", amlgym_domains),
    "amlgym-peers": ("outside", amlgym_peers),
    "amlgym-solved": ("outside", amlgym_solved),
    "any-log-formats": ("any_log", any_log_formats),
    "any-log-large": ("any_log", any_log_large),
    "any-log-starts": ("any_log", any_log_starts),
    "decoder-trials": ("decoder_trials", trials),
    "difficulty": ("problem_difficulty", difficulty),
    "foreign": ("foreign", foreign),
    "lifted-strips": ("lifted_strips", lifted_strips),
    "lifted-strips-untold": ("lifted_strips", lifted_strips_untold),
    "listing-c": ("listing_c", listing_c),
    "one-state": ("one_state", one_state),
    "other-learners": ("other_learners", other_learners),
    "paper-form": ("paper_form", paper_form),
    "paper-form-whole": ("paper_form", paper_form_whole),
    "scale-actions": ("scale", scale_actions),
    "scale-attempts": ("scale", scale_attempts),
    "scale-paper": ("scale", scale_paper),
    "scale-update": ("scale", scale_update),
    "windows": ("windows", windows),
    "windows-equivalence": ("windows_equivalence", windows_equivalence),
    "windows-everyday": ("windows_everyday", windows_everyday),
    "windows-not-strips": ("windows_not_strips", windows_not_strips),
    "windows-untold": ("windows_untold", windows_untold),
    "windows-worked": ("windows_untold", windows_worked),
    "windows-learning": ("windows_speed", windows_learning),
    "windows-speed": ("windows_speed", windows_speed),
    "windows-theorems": ("windows_theorems", windows_theorems),
    "world-metrics": ("world_metrics", world_metrics),
}


def write_pages(root: Path) -> dict[Path, str]:
    """Each file with the text that it should have."""
    results = load_results(root / "results" / "runs.jsonl")
    docs = root / "docs"
    pages = {page: fill(read_text(page), root / "results") for page in sorted(docs.glob("*.md"))}
    pages[docs / "results.md"] = results_page(results, root / "results")
    pages[docs / "accuracy-against-length.svg"] = picture(results)
    pages |= {docs / f"{name}.svg": text for name, text in needed_picture(results).items()}
    pages |= {docs / f"{name}.svg": text for name, text in scale_pictures(root / "results").items()}
    return pages


def results_page(results: Results, folder: Path) -> str:
    """Sections of the report and of the benchmarks."""
    sections: tuple[Section, ...] = (*make_sections(results), *benchmark_sections(folder, results))
    contents = "\n".join(f"- [{section.title}](#{anchor(section.title)})" for section in sections)
    body = format_markdown(sections).partition("\n\n")[2]  # without its title
    return f"{HEAD}\n{contents}\n\n{body}"


def anchor(title: str) -> str:
    """As Markdown makes it of a heading."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def fill(text: str, folder: Path) -> str:
    """A page with its tables made anew."""

    def block(match: re.Match[str]) -> str:
        name = match[1]
        if name not in EXPLAINING:
            raise UserError(f"no table {name!r}", hint=suggest(name, EXPLAINING, "tables"))
        file, make = EXPLAINING[name]
        record = amlgym_record(folder) if file == "outside" else ANY_BENCHMARK.read(folder / f"{file}.json")
        table = make(record)
        return f"<!-- table {name} -->\n{format_table(table)}\n\n{table.caption}\n<!-- end -->"

    return re.sub(r"<!-- table ([a-z-]+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


def picture(results: Results) -> str:
    from trace2strips.report.plots import draw_lengths  # matplotlib is slow to import

    return draw_lengths(results)[0].file()


def needed_picture(results: Results) -> dict[str, str]:
    from trace2strips.report.needed_plot import draw_needed  # matplotlib is slow to import

    return {plot.name: plot.file() for plot in draw_needed(results)}


def scale_pictures(folder: Path) -> dict[str, str]:
    from trace2strips.report.scale_plots import draw_scale  # matplotlib is slow to import

    file = folder / "scale.json"
    return {plot.name: plot.file() for plot in draw_scale(ANY_BENCHMARK.read(file))} if file.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, nargs="?", default=Path(), help="the project's folder; default: this one")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    try:
        stale = {path: text for path, text in write_pages(arguments.root).items() if old_text(path) != text}
        for path, text in () if arguments.check else stale.items():
            with writing_text(path, force=True) as stream:
                stream.write(text)
    except UserError as error:
        sys.exit(f"trace2strips: {error}")
    names = ", ".join(path.name for path in stale)
    print(
        f"{'not what results/ say' if arguments.check else 'written'}: {names}" if stale else "all tables are current"
    )
    sys.exit(1 if stale and arguments.check else 0)


def old_text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    main()
