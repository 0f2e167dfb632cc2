"""What README and docs show is executed here."""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.errors import UserError
from trace2strips.experiments import EXPERIMENTS, read_results
from trace2strips.report.doc_tables import EXPLAINING, anchor, fill, write_pages
from trace2strips.traces import read_traces

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/logs.md", "docs/planning.md", "docs/windows.md"])
def test_python_examples_print_what_the_page_shows(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The block of text after an example is its output, letter by letter."""
    text = (ROOT / page).read_text()
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == len(blocks(text, "python")) > 0, "an example without its output"
    for code, shown in examples:
        exec(compile(code, page, "exec"), {})
        assert capsys.readouterr().out == shown


def test_command_line_example(run: Run, tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs" / "examples" / "orders.csv", tmp_path)
    commands = [
        line for block in blocks(README, "sh") for line in block.splitlines()
        if line.startswith("trace2strips") and "demo" not in line  # tests/test_cli.py shows it
    ]  # fmt: skip
    assert len(commands) >= 10
    for command in commands:
        result = run(*shlex.split(command, comments=True)[1:])
        assert result.returncode == 0, (command, result.stderr)


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(README, "sh")), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_extras_named_in_the_readme_are_those_of_the_package() -> None:
    rows = re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \|", README.partition("| extra |")[2], flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z]+)`", row)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"].keys() <= named
    supported = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    assert f"Python {', '.join(supported[:-1])} or {supported[-1]}" in README


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page, target)


@pytest.mark.parametrize(("language", "ending"), [("json", ".jsonl"), ("csv", ".csv"), ("text", ".txt")])
def test_documented_trace_files_are_read(tmp_path: Path, language: str, ending: str) -> None:
    (text,) = blocks((ROOT / "docs" / "trace-files.md").read_text(), language)
    path = tmp_path / f"x{ending}"
    path.write_text(text)
    traces = list(read_traces(path))
    assert any(trace.state == "s3" for trace in traces)
    assert any("stack_a_b" in trace.actions and not trace.ok[trace.actions.index("stack_a_b")] for trace in traces)


def test_functions_named_in_the_paper_table_exist() -> None:
    """docs/paper.md maps equations to functions and tests; both must be there."""
    text = (ROOT / "docs" / "paper.md").read_text()
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").glob("*.py"))
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|") and "`test_" in line]
    assert len(rows) >= 10
    for _, here, test in rows:
        for name in re.findall(r"`(?:[a-z_]+\.)*(?:[A-Z]\w+\.)?(\w+)`", here):
            assert re.search(rf"(def|class) {name}\b|^    {name}\b", source, flags=re.MULTILINE), name
        for name in re.findall(r"`(test_\w+)`", test):
            assert f"def {name}(" in tests, name


def test_tables_are_what_the_results_say() -> None:
    """Every figure in docs/ is written from results/ (make tables); none is typed by hand."""
    pages = write_pages(ROOT)
    assert {path.name for path in pages} >= {"results.md", "learning.md", "accuracy-against-length.svg"}
    for path, text in pages.items():
        assert path.read_text() == text, f"make tables: {path.name}"


def test_measured_tables_stand_in_one_place() -> None:
    """Elsewhere only those that explain something; README has none that is generated."""
    found = {page.name: re.findall(r"<!-- table ([a-z-]+) -->", page.read_text()) for page in ROOT.glob("docs/*.md")}
    names = [name for names in found.values() for name in names]
    assert sorted(names) == sorted(EXPLAINING)
    with pytest.raises(UserError, match="no table 'maim'"):
        fill("<!-- table maim -->\n<!-- end -->", ROOT / "results")


def test_sections_named_in_the_docs_exist() -> None:
    headings = {
        anchor(line.lstrip("# "))
        for line in (ROOT / "docs" / "results.md").read_text().splitlines()
        if line.startswith("#")
    }
    for page in ROOT.glob("docs/*.md"):
        for name in re.findall(r"results\.md#([a-z-]+)", page.read_text()):
            assert name in headings, (page.name, name)


def test_every_run_has_what_reports_need() -> None:
    for run, row in read_results(ROOT / "results" / "runs.jsonl").items():
        assert any(run in runs for runs in EXPERIMENTS.values()), run.name
        assert row.commit, run.name
