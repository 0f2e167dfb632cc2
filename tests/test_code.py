"""The hash of the code behind a row: what may change the figures changes it, nothing else does."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from trace2strips.experiments.code import SOURCE, learner_code, run_code, sampling_code
from trace2strips.learners.registry import learner_names

Edit = Callable[[str, str, str], Path]
Codes = dict[str, str]


def codes(source: Path) -> Codes:
    return {"sampling": sampling_code(source), **{name: run_code(name, source) for name in learner_names()}}


@pytest.fixture(scope="module")
def before() -> Codes:
    return codes(SOURCE)


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    """A copy of the package in which something is replaced in a file."""

    def change(file: str, old: str, new: str) -> Path:
        shutil.copytree(
            SOURCE / "trace2strips", tmp_path / "trace2strips", ignore=shutil.ignore_patterns("__pycache__")
        )
        path = tmp_path / "trace2strips" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return tmp_path

    return change


ALL = {"sampling", *learner_names()}
DECODERS = {"sb", "sinusoidal", "rope"}
FROM = "from __future__ import annotations\n"
MORE = f"{FROM}\nNEW = 1\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("learners/completion/learner.py", FROM, MORE, {"completion", "strips", "strips+completion"}),
        ("learners/transformer/learner.py", FROM, MORE, {"strips", "strips+completion"}),
        ("learners/decoder/probing.py", FROM, MORE, DECODERS),  # imported inside a function
        ("learners/learner.py", FROM, MORE, ALL - {"sampling"}),
        ("worlds/sampling.py", FROM, MORE, ALL),
        ("worlds/ferry.py", FROM, MORE, ALL),
        ("planning/planners/worker.py", FROM, MORE, ALL - {"sampling"}),  # started by its name
        ("planning/planners/mimir.py", FROM, MORE, ALL - {"sampling"}),
        ("planning/planners/pyperplan.py", FROM, MORE, set()),  # no run plans with it
        ("experiments/performing.py", FROM, MORE, ALL - {"sampling"}),
        ("experiments/performing.py", "PROBLEMS = 100", "PROBLEMS = 101", ALL - {"sampling"}),
        ("experiments/performing.py", "PROBLEMS = 100", "PROBLEMS = (  # so many\n    100\n)\n\n", set()),
        ("experiments/performing.py", '"""One run: ', '"""Another sentence: ', set()),
        ("experiments/catalogue.py", FROM, MORE, set()),  # another experiment changes no run
        ("experiments/rows.py", FROM, MORE, set()),
        ("learners/registry.py", FROM, MORE, set()),
        ("report/sections.py", FROM, MORE, set()),
        ("commands/reproduce.py", FROM, MORE, set()),
        ("cli.py", FROM, MORE, set()),
        ("__init__.py", "__version__", "NEW = 1\n__version__", set()),
    ],
)
def test_what_changes_the_code_of_a_row(
    edit: Edit, before: Codes, file: str, old: str, new: str, changed: set[str]
) -> None:
    after = codes(edit(file, old, new))
    assert {name for name in after if after[name] != before[name]} == changed


def test_a_model_depends_on_less_than_a_row(edit: Edit) -> None:
    """After a change in planning a model need not be learned anew."""
    source = edit("planning/planners/mimir.py", FROM, MORE)
    assert learner_code("completion", source) == learner_code("completion")
    assert run_code("completion", source) != run_code("completion")
