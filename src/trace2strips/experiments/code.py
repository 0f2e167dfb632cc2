"""Which code made a row: a hash of the modules that it depends on, so that rows of older code can be done again.

A module depends on what it imports, at the top or inside a function, and on modules that it names as text: a process is
started by the name of its module, and a learner or planner is loaded by it. Comments, docstrings and formatting do not
count. Package files are followed only where something is imported from them.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import trace2strips
from trace2strips.learners.registry import LEARNERS
from trace2strips.planning.planners import PLANNERS

PACKAGE = "trace2strips"
SOURCE = Path(trace2strips.__file__).parent.parent
PERFORMING = f"{PACKAGE}.experiments.performing"
SAMPLING = (f"{PACKAGE}.worlds", f"{PACKAGE}.worlds.sampling")
PLANNER = PLANNERS["mimir"].module
NEUTRAL = {  # what writes figures down does not make them, nor does a list of learners, nor who answers questions later
    *(f"{PACKAGE}.experiments.{name}" for name in ("code", "provenance", "records", "rows")),
    f"{PACKAGE}.learners.registry",
    *(f"{PACKAGE}.pages{name}" for name in ("", ".graph", ".html", ".markdown", ".tables")),
    *(f"{PACKAGE}.learners.windows.{name}" for name in ("questions", "saving", "wording")),
    *(f"{PACKAGE}.explorer{name}" for name in ("", ".page", ".contents", ".reading", ".serving")),
    *(f"{PACKAGE}.learners.{name}.exploring" for name in ("windows", "transformer", "decoder")),
    f"{PACKAGE}.model.state_graph",
    f"{PACKAGE}.pddl.unified",
    *(f"{PACKAGE}.learners.{name}" for name in ("card", "rules", "suspects", "verdicts")),
    *(f"{PACKAGE}.traces.{name}" for name in ("examples", "one_trace", "places", "states")),
    *(f"{PACKAGE}.traces.{name}" for name in ("columns", "outcomes", "times", "tables", "xes", "events", "joining")),
}


@cache
def run_code(learner: str, source: Path = SOURCE) -> str:
    """Of all that makes a row of this learner: sampling, the learner, testing, planning, comparing."""
    roots = (PERFORMING, PLANNER)
    return hash_of(find_modules(roots, source, follow=is_common) | learner_modules(learner, source), source)


@cache
def learner_code(learner: str, source: Path = SOURCE) -> str:
    """Of all that makes a model of traces."""
    return hash_of(learner_modules(learner, source), source)


@cache
def sampling_code(source: Path = SOURCE) -> str:
    """Of all that makes traces of a world."""
    return hash_of(find_modules(SAMPLING, source), source)


def learner_modules(learner: str, source: Path) -> set[str]:
    module, _ = LEARNERS[learner]
    return find_modules([module], source, follow=makes_models)


def makes_models(module: str) -> bool:
    """What was learned can plan, but nothing is learned by planning."""
    return not module.startswith(f"{PACKAGE}.planning.") and module not in NEUTRAL


def is_common(module: str) -> bool:
    """Is this a module that rows of every learner depend on? A run chooses one learner and one planner."""
    folders = {module.rpartition(".")[0] for module, _ in LEARNERS.values()}
    planners = {planner.module for planner in PLANNERS.values()}
    return module.rpartition(".")[0] not in folders and module not in planners | NEUTRAL


def find_modules(roots: Iterable[str], source: Path, follow: Callable[[str], bool] | None = None) -> set[str]:
    """The roots, what they depend on, what that depends on, and so on, as far as it is to be followed."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += filter(follow, sorted(dependencies(module, source)))
    return found


def hash_of(modules: Iterable[str], source: Path) -> str:
    digest = hashlib.sha256()
    for module in sorted(modules):
        digest.update(f"# {module}\n{contents(module, source).text}\n".encode())
    return digest.hexdigest()[:12]


def find_file(module: str, source: Path) -> Path | None:
    path = source.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def dependencies(module: str, source: Path) -> set[str]:
    """The modules of the package that a module names, but not the package itself, which offers the names of all."""
    known = {name for name in contents(module, source).mentioned if name.startswith(f"{PACKAGE}.")}
    inner = {name for name in known if find_file(name, source)}
    outer = {name.rpartition(".")[0] for name in known - inner}  # a name in a module
    return inner | {name for name in outer if name != PACKAGE and find_file(name, source)}


@dataclass(frozen=True)
class Contents:
    """Of a module: its text without what does not count, and the dotted names and texts in it."""

    text: str
    mentioned: frozenset[str]


def contents(module: str, source: Path) -> Contents:
    path = find_file(module, source)
    if path is None:
        raise ModuleNotFoundError(module)
    return analyse(path.read_text(encoding="utf-8"))


@cache
def analyse(text: str) -> Contents:
    tree = ast.parse(text)
    drop_docstrings(tree)
    found: set[str] = set()
    for node in working_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return Contents(ast.unparse(tree), frozenset(found))


def drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]


def working_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All but what is there for the type checker only."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from working_nodes(child)
