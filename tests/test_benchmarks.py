"""What the benchmarks share: a result file holds all that is needed to measure again, and is never half-written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import measuring


def test_result_files_hold_their_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "x.json"
    for figure in (1, 2):
        measuring.write_results(out, "python benchmarks/x.py", {"seed": 7, "threads": 2}, [{"figure": figure}])
        record = json.loads(out.read_text())
        assert record["settings"] == {"seed": 7, "threads": 2}
        assert record["rows"] == [{"figure": figure}]
        assert record.keys() >= {"command", "commit", "date", "machine"}
    assert [path.name for path in out.parent.iterdir()] == ["x.json"]
    assert capsys.readouterr().out == f"wrote {out}\n" * 2


def test_nothing_is_left_of_a_failed_write(tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    out.write_text("old")
    with pytest.raises(TypeError):
        measuring.write_results(out, "x", {}, [{"figure": object()}])
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.json", "old")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "decoder_trials", "one_state"])
def test_benchmarks_run(name: str, tmp_path: Path) -> None:
    """They call what may change: they have to keep up with it."""
    script = Path(measuring.__file__).parent / f"{name}.py"
    subprocess.run([sys.executable, script, "--quick", "--out", tmp_path / "x.json"], check=True, capture_output=True)
    assert json.loads((tmp_path / "x.json").read_text())["rows"]
