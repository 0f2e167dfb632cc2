"""docs/guide.md: three stories, each executed, with what they print.

`python tests/test_guide.py` writes the outputs into the page anew; what it writes is for a person to read.
"""

import io
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest
from conftest import Run

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide.md"
BLOCK = re.compile(r"```(console|python)\n(.*?)```(?:\n\n```text\n.*?```)?", re.DOTALL)
CARD = re.compile(r"<!-- card (\w+) -->\n.*?<!-- end -->", re.DOTALL)
SHOWN = 24  # lines of an output


def console(text: str, run: Callable[..., str]) -> str:
    """The same block with what its commands print."""
    lines = []
    for line in text.splitlines():
        if line.startswith("$ "):
            printed = run(*shlex.split(line)[2:]).splitlines()
            lines += [line, *printed[:SHOWN], *(["…"] if len(printed) > SHOWN else [])]
    return "\n".join(lines) + "\n"


def card(folder: str) -> str:
    """The table of the model in a run's card."""
    text = Path(folder, "card.md").read_text()
    rows = text[text.index("## The model") : text.index("## What the words mean")].splitlines()
    return "\n".join(row for row in rows if row.startswith("|")) + "\n"


def written(guide: str, run: Callable[..., str]) -> str:
    """The page with the outputs that its examples have, in a folder with the files of docs/examples."""

    def answer(match: re.Match[str]) -> str:
        kind, text = match.groups()
        if kind == "console":
            return f"```console\n{console(text, run)}```"
        with redirect_stdout(io.StringIO()) as out:
            exec(compile(text, "guide.md", "exec"), {})
        return f"```python\n{text}```\n\n```text\n{out.getvalue()}```"

    found = BLOCK.sub(answer, guide)
    return CARD.sub(lambda match: f"<!-- card {match[1]} -->\n{card(match[1])}<!-- end -->", found)


def test_the_stories_are_so(run: Run, tmp_path: Path) -> None:
    def call(*words: str) -> str:
        result = run(*words)
        assert result.returncode in (0, 3), result.stderr
        return result.stdout

    shutil.copytree(ROOT / "docs" / "examples", tmp_path, dirs_exist_ok=True)
    text = GUIDE.read_text()
    assert (len(BLOCK.findall(text)), len(CARD.findall(text))) == (6, 1)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        assert written(text, call) == text


def test_files_are_shown_as_they_are() -> None:
    text = GUIDE.read_text()
    for kind, name in (("csv", "orders.csv"), ("json", "calls.jsonl")):
        (shown,) = re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)
        assert (ROOT / "docs" / "examples" / name).read_text().startswith(shown)


if __name__ == "__main__":
    import subprocess
    import sys
    import tempfile

    def execute(*words: str) -> str:
        command = [sys.executable, "-m", "trace2strips", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "docs" / "examples", folder, dirs_exist_ok=True)
        with chdir(folder):
            found = written(GUIDE.read_text(), execute)
    GUIDE.write_text(found)
