"""What a user gets: a wheel that works outside the repository, the licences of what it needs, and the files of a release."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from trace2strips import __version__
from trace2strips.licences import page

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the backend that is installed: no network is needed."""
    folder = tmp_path_factory.mktemp("wheel")
    script = f"import hatchling.build as b; print(b.build_wheel({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_what_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "trace2strips/cli.py",
        "trace2strips/py.typed",
        "trace2strips/pages/style.css",
        "trace2strips/report/paper.json",
    } <= names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "results"))]


def test_the_sdist_is_what_is_kept(tmp_path: Path) -> None:
    """All that git keeps, so that the suite runs from it beside an installed wheel, and nothing else."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: what is kept is not known")
    script = f"import hatchling.build as b; print(b.build_sdist({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    (found,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(found) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    listed = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    kept = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    assert names == {name for name in kept if (ROOT / name).is_file()} | {"PKG-INFO"}


def test_the_release_is_tested_with_what_the_package_names() -> None:
    """Every Python of the classifiers, every extra that brings something to users."""
    script = (ROOT / "tools" / "release").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (pythons,) = re.findall(r"PYTHONS:-([\d. ]+)\}", script)
    assert pythons.split() == [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    (extras,) = re.findall(r"\*\.whl\)\[([a-z,]+)\]", script)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    assert project["optional-dependencies"].keys() - set(extras.split(",")) <= {"docs"}


@pytest.mark.slow
def test_a_wheel_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, which sees the packages that are installed here but not this tree."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    others = next(path for path in sys.path if path.endswith("site-packages"))
    # at the end of the path, and without the .pth files there: an editable install of ours would come in again
    (site / "others.pth").write_text(f"{others}\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str, code: int = 0) -> str:
        python = tmp_path / "venv" / "bin" / "python"
        done = subprocess.run(
            [python, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    assert str(site) in run("-c", "import trace2strips; print(trace2strips.__file__)")
    assert run("-m", "trace2strips", "--version") == f"trace2strips {__version__}\n"
    (tmp_path / "log.txt").write_text("open !open close !close\n!close open close open\n")
    assert "log.txt" in run("-m", "trace2strips", "check", "log.txt")
    assert "(define (domain" in run("-m", "trace2strips", "ground", "blocksworld:2")
    assert run("-c", "from trace2strips.experiments.provenance import commit; print(commit())") == "None\n"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "runs.jsonl").write_text(
        (ROOT / "results" / "runs.jsonl").read_text().splitlines()[0] + "\n"
    )
    run("-m", "trace2strips", "report")
    assert "0.9" in (tmp_path / "build" / "report" / "tables.md").read_text()


def test_the_licences_are_those_of_what_is_installed() -> None:
    text = (ROOT / "docs" / "licences.md").read_text()
    assert text == page(ROOT / "requirements"), "python -m trace2strips.licences docs/licences.md"
    assert not [line for line in text.splitlines() if "| trace2strips |" in line and "not said" in line]


def test_the_files_of_a_release_agree() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert "./.ci/run" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    for page_name in ("SECURITY.md", "CITATION.cff", "CHANGELOG.md", "docs/licences.md", "docs/security-tests.md"):
        assert (ROOT / page_name).exists()
