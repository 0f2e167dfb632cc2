"""What README and docs show is executed here."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.experiments import EXPERIMENTS, read_results
from trace2strips.traces import read_traces

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


PLANNING = (ROOT / "docs" / "planning.md").read_text()


@pytest.mark.parametrize("code", [*blocks(README, "python"), *blocks(PLANNING, "python")])
def test_python_examples(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out


def test_command_line_example(run: Run) -> None:
    commands = [
        line for block in blocks(README, "sh") for line in block.splitlines() if line.startswith("trace2strips")
    ]
    assert len(commands) >= 4
    for command in commands:
        result = run(*shlex.split(command, comments=True)[1:])
        assert result.returncode == 0, (command, result.stderr)


def test_make_targets_named_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(README, "sh")), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


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
    """benchmarks/tables.py writes every figure from results/; none is typed by hand."""
    result = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "tables.py", "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_run_has_what_reports_need() -> None:
    for run, row in read_results(ROOT / "results" / "runs.jsonl").items():
        assert any(run in runs for runs in EXPERIMENTS.values()), run.name
        assert {"train_accuracy", "test_accuracy", "train_seconds", "commit"} <= row.keys(), run.name
