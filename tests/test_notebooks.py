"""notebooks/: each is executed from start to end, prints what it shows, and what it says is so.

`python tests/test_notebooks.py` writes the outputs into the notebooks anew; what it writes is for a person to read.
Outputs of cells with the tag `varies` (figures of networks, which differ from machine to machine) are not compared.
"""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LIMIT = 600  # seconds for a cell, also on a machine that is busy
LARGEST = 300_000  # bytes of a notebook with its outputs
FOUND = {  # what a notebook found, as an expression over its names
    "your-log": (
        "{'accuracy': accuracy, 'wrong': wrong + 1, 'suspects': [s.line for s in from_mistaken.suspects],"
        " 'still': from_mistaken.accuracy(later), 'plan': plan.plan, 'certain': all(plan.certain),"
        " 'loaded': t2s.load('desk').model == learned.model, 'page': Path('desk/explore.html').stat().st_size}"
    ),
    "two-transformers": "{'strips': strips_verdict.verdict, 'sb': sb_verdict.verdict, 'network': sb.figures.test_accuracy}",
    "what-is-certain": (
        "{'verdict': comparison.verdict, 'before': before, 'after': after, 'safe': safe.plan, 'certain': all(safe.certain),"
        " 'open before': sum(r.answer == 'open' for r in learned.next(held)),"
        " 'open after': sum(r.answer == 'open' for r in wiser.next(held)), 'tower': all(tower.certain)}"
    ),
}


def execute(path: Path, folder: Path, expression: str) -> tuple[Any, Any]:
    """The notebook with its outputs, and the value of an expression behind its last cell."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    ask = nbformat.v4.new_code_cell(f"import json; print(json.dumps({expression}))")
    notebook.cells.append(ask)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=LIMIT, resources=where, coalesce_streams=True).execute()
    notebook.cells.pop()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    return notebook, json.loads(ask.outputs[0].text)


def printed(notebook: Any) -> dict[str, str]:
    """Cell → its text and tables, where they are the same on every machine."""
    return {
        cell.id: "".join(shown(output) for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code" and "varies" not in cell.metadata.get("tags", ())
    }


def shown(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.data.get("text/html", output.data.get("text/plain", "")))


@pytest.fixture
def found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    folder = tmp_path / "clean"
    folder.mkdir()
    path = NOTEBOOKS / f"{name}.ipynb"
    notebook, value = execute(path, folder, FOUND[name])
    assert printed(notebook) == printed(nbformat.read(path, as_version=4)), "python tests/test_notebooks.py"
    return value


def test_every_notebook_is_executed() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == FOUND.keys()
    for path in NOTEBOOKS.glob("*.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))
        assert path.stat().st_size < LARGEST
        assert f"]({path.name})" in (NOTEBOOKS / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["your-log"])
def test_a_log_of_ones_own(found: Any) -> None:
    assert (found["accuracy"], found["still"]) == (1, 1)  # of 200 days that were not learned from
    assert found["suspects"] == [found["wrong"]]
    assert found["plan"] == ["join(cleo)", "borrow(cleo, dracula)"]
    assert found["certain"]
    assert found["loaded"]
    assert found["page"] > 500_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-transformers"])
def test_two_transformers(found: Any) -> None:
    assert (found["strips"], found["sb"]) == ("equivalent", "equivalent")
    assert found["network"] < 1  # the model is better than the network that it was read out of


@pytest.mark.slow
@pytest.mark.parametrize("name", ["what-is-certain"])
def test_what_is_certain(found: Any) -> None:
    assert found["verdict"] == "equivalent"
    assert 0.5 < found["before"] < found["after"] < 1
    assert found["open before"] > found["open after"] == 0
    assert found["safe"][-1] == "stack_a_b"
    assert found["certain"]
    assert found["tower"]


if __name__ == "__main__":
    import sys
    import tempfile

    for path in [NOTEBOOKS / f"{name}.ipynb" for name in sys.argv[1:] or FOUND]:
        with tempfile.TemporaryDirectory() as folder:
            notebook, value = execute(path, Path(folder), FOUND[path.stem])
        nbformat.write(notebook, path)
        print(path.stem, value)
