"""The pipeline goes one way: a module imports only what stands above it."""

import ast
from pathlib import Path

import pytest

import trace2strips

# From docs/architecture.md. A module may import those above it and those in its own folder.
ORDER = [
    "errors",
    "compilation",
    "files",
    "strips",
    "pddl",
    "domains",
    "traces",
    "brasp",
    "networks",
    "training",
    "histories",
    "latches",
    "completion",
    "extraction",
    "probing",
    "learning",
    "goals",
    "planners",
    "planning",
    "evaluation",
    "world_metrics",
    "sources",
    "equivalence",
    "experiments",
    "report",
    "demo",
    "commands",
    "cli",
    "__main__",
]
FREE = {
    "errors": set(),
    "compilation": set(),
    "files": {"errors"},
    "strips": {"errors", "compilation"},
    "planners": set(),
}
SOURCE = Path(trace2strips.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    inside = {name.split(".")[1] for name in names if name.startswith("trace2strips.")}
    return {name for name in inside if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = part(path)
    if own == "__init__":
        assert imported(path) <= set(ORDER[:-3])
        return
    above = FREE.get(own, set(ORDER[: ORDER.index(own)])) | {own}
    assert imported(path) <= above


def test_every_part_has_its_place() -> None:
    assert {part(path) for path in MODULES} - {"__init__"} == set(ORDER)


def test_no_drawer_for_everything() -> None:
    assert not [path for path in MODULES if path.stem in {"utils", "util", "helpers", "common", "misc"}]


def test_the_order_is_the_documented_one() -> None:
    text = (SOURCE.parent.parent / "docs" / "architecture.md").read_text()
    places = [text.find(f"`{name}`") for name in ORDER[:-1]]
    assert -1 not in places
    assert places == sorted(places)


def test_shapes_are_checked_while_tests_run() -> None:
    import numpy as np
    from jaxtyping import TypeCheckError

    from trace2strips.bits import pack

    with pytest.raises(TypeCheckError):
        pack(np.zeros(3, dtype=bool))
    with pytest.raises(TypeCheckError):
        pack(np.zeros((2, 3), dtype=np.int64))


def test_nothing_of_one_machine_is_in_the_project() -> None:
    root = SOURCE.parent.parent
    for path in [*root.glob("*.md"), *root.glob("docs/*.md"), *MODULES, *root.glob("benchmarks/*.py")]:
        assert "/home/" not in path.read_text()
