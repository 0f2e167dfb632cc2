"""The files of AMLGym's benchmark: 25 domains, problems for 21 of them, states to ask about. Nothing of it
is copied here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from trace2strips.errors import UserError, suggest

KINDS = ("learning", "solving", "predictive_power")


def amlgym_folder() -> Path:
    """Where it is installed. It is only looked for: importing it takes seconds and brings PyTorch."""
    found = find_spec("amlgym")
    if found is None or not found.submodule_search_locations:
        raise UserError("AMLGym is not installed", hint="pip install 'trace2strips[peers]'")
    return Path(next(iter(found.submodule_search_locations))) / "benchmarks"


def amlgym_version() -> str | None:
    try:
        return version("amlgym")
    except PackageNotFoundError:
        return None


def all_domains() -> list[str]:
    return sorted(path.stem for path in (amlgym_folder() / "domains").glob("*.pddl"))


def domains_with_problems() -> list[str]:
    """Those that can be played: four of the domains come without a single problem."""
    return [
        name
        for name in all_domains()
        if all((amlgym_folder() / "problems" / kind / name).is_dir() for kind in KINDS[:2])
    ]


def domain_file(name: str) -> Path:
    path = amlgym_folder() / "domains" / f"{name}.pddl"
    if not path.is_file():
        raise UserError(f"AMLGym has no domain {name!r}", hint=suggest(name, all_domains(), "domains"))
    return path


def problem_files(name: str, kind: str) -> list[Path]:
    """In the order of their numbers, which is the order of their sizes."""
    found = (amlgym_folder() / "problems" / kind / name).glob("*.pddl")
    return sorted(found, key=lambda path: int(path.name.split("_")[0]))


def states_to_ask(name: str, problem: Path) -> Sequence[Sequence[str]]:
    """AMLGym's test states of a problem of kind `predictive_power`, each as its true atoms."""
    file = amlgym_folder() / "states" / "predictive_power" / name / "test_states.json"
    return json.loads(file.read_text()).get(problem.name, [])
