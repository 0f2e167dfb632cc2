"""The house: imports go one way, file by file, and what docs/architecture.md says of the code is so.

ORDER is the only place where the order is written. A file may import those above it, and nothing else of the package.
"""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import trace2strips

ORDER = """
errors screen files schemas compilation bits processes ray_cluster licences
pages: . tables markdown html graph

model: . strips vocabulary world goals lifted state_graph
traces: trace dataset_file names text_files outcomes columns dataset places states checking accuracy csv_log jsonl
traces: plain_text times sparse xes tables frames events joining formats . splitting one_trace examples reading shards
pddl: names grounding parsing writing . unified
planning: . planners planners.fast_downward planners.mimir planners.plain planners.pyperplan planners.worker workers plans
worlds: walks domain blocksworld ferry npuzzle maze logistics pddl_files . sampling everyday
brasp: language evaluation examples strips_program text . hard_attention

learners: . layout training radam runs suspects verdicts rules card
explorer: . page contents reading serving
learners: learner
learners.windows: . starts projection reference encoding tables implied collection origins summary predicates memory
learners.windows: saving answers proofs lifted simulation support evidence wording relations lifting instances lifted_learner cautious questions exploring rows
learners.windows: tolerant repair fitting statics constants start_groups reading learner parts streaming spreading
learners.completion: . settings heads histories effects preconditions atoms several_atoms completion learner
learners.transformer: . parameters kernels references optimiser network presets alone merging retraining sharing extraction exploring learner module illustration
learners.lifted_transformer: . layout kernels references network extraction learner
learners.decoder: . settings packing batches stick_breaking softmax network threads inference probing lengthening training presets
learners.decoder: exploring learner
learners: registry learning holding_out telling

judging: . predictors network_predictor history_pool boundaries world_metrics joint product_search invariants equivalence
judging: plan_outcomes hidden sources problems starts own_world
experiments: records runs catalogue rows results provenance code performing . datasets execution estimates local worker
experiments: cluster
peers: amlgym_files cases trajectories signatures scoring outside adapter .
report: rows tables outside sections markdown plots needed_plot page . illustration benchmarks scale scale_plots doc_tables
commands: . terminal log_options sources domains sample check ground learning_run streamed_run own_world learn evaluate next why suggest
commands: judge explain export plan compare brasp explore
commands: run_display reproduce report demonstration demo
api cli __main__
"""
APART = {  # learners are siblings: what one of them is may not depend on another
    "learners.windows": (
        "learners.completion",
        "learners.transformer",
        "learners.lifted_transformer",
        "learners.decoder",
    ),
    "learners.completion": (
        "learners.windows",
        "learners.transformer",
        "learners.lifted_transformer",
        "learners.decoder",
    ),
    "learners.decoder": ("learners.completion", "learners.transformer", "learners.lifted_transformer"),
    "learners.transformer": ("learners.lifted_transformer",),
    "learners.lifted_transformer": ("learners.completion", "learners.decoder"),  # windows: lifted worlds alone
}
SOURCE = Path(trace2strips.__file__).parent
ROOT = Path(__file__).parent.parent


def listed() -> list[str]:
    """The modules in order; `.` is the folder's own file."""
    names = []
    for line in filter(None, ORDER.splitlines()):
        folder, _, files = line.rpartition(":")
        for name in files.split():
            names.append(folder if name == "." else f"{folder}.{name}".lstrip("."))
    return names


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, at the top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name.removeprefix("trace2strips.") in MODULES else str(node.module) for name in whole}
    return {name.removeprefix("trace2strips.") for name in names if name.startswith("trace2strips.")}


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__"])
def test_imports_go_one_way(module: str) -> None:
    order = listed()
    found = imported(MODULES[module])
    assert found <= set(order[: order.index(module)]), "below it"
    for folder, others in APART.items():
        if module.startswith(folder):
            assert not [name for name in found if name.startswith(others)]


def test_every_file_has_its_place() -> None:
    order = listed()
    assert sorted(order) == sorted(set(order))
    assert set(order) == MODULES.keys() - {"__init__"}


def test_the_front_door_loads_nothing_by_itself() -> None:
    tree = ast.parse(MODULES["__init__"].read_text())
    outside = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [node for node in outside if "trace2strips" in ast.unparse(node)]


def test_no_drawer_for_everything() -> None:
    assert not [path for path in MODULES.values() if path.stem in {"utils", "util", "helpers", "common", "misc"}]


def test_the_walk_through_the_code_is_so() -> None:
    """docs/architecture.md follows one log line from file to plan: at most twelve hops, each one function."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    walk = text[text.index("## One log line") :]
    hops = re.findall(r"^\d+\. `([a-z_.0-9]+)\.((?:[A-Z]\w+\.)?\w+)`", walk, flags=re.MULTILINE)
    assert 8 <= len(hops) <= 12
    for module, names in hops:
        found = import_module(f"trace2strips.{module}")
        for name in names.split("."):
            found = getattr(found, name)
        assert callable(found)


def test_every_folder_is_described() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for folder in sorted({name.split(".")[0] for name in MODULES} - {"__init__", "__main__"}):
        assert f"`{folder}" in text, folder


def test_shapes_are_checked_while_tests_run() -> None:
    import numpy as np
    from jaxtyping import TypeCheckError

    from trace2strips.bits import pack

    with pytest.raises(TypeCheckError):
        pack(np.zeros(3, dtype=bool))
    with pytest.raises(TypeCheckError):
        pack(np.zeros((2, 3), dtype=np.int64))


def test_nothing_of_one_machine_is_in_the_project() -> None:
    root = ROOT
    for path in [*root.glob("*.md"), *root.glob("docs/*.md"), *MODULES.values(), *root.glob("benchmarks/*.py")]:
        assert "/home/" not in path.read_text()
