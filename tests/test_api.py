"""`import trace2strips as t2s`: the front door."""

import ast
import doctest
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trace2strips as t2s
from trace2strips.errors import ModelError, TraceError
from trace2strips.pddl import format_model

DOOR = [
    [("open", True), ("open", False), ("close", True), ("close", False)],
    [("close", False), ("open", True), ("close", True), ("open", True)],
]
LAMP = t2s.StripsModel(
    ("dark", "lit up"),
    (
        t2s.StripsAction("press", frozenset({"dark"}), frozenset({"lit up"}), frozenset({"dark"})),
        t2s.StripsAction("turn off", frozenset({"lit up"}), frozenset({"dark"}), frozenset({"lit up"})),
    ),
    "lamp",
)
DARK = frozenset({"dark"})


@pytest.fixture(scope="module")
def door() -> t2s.Learned:
    return t2s.learn(DOOR, "completion")


@pytest.fixture(scope="module")
def blocks() -> t2s.Learned:
    return t2s.learn(t2s.sample("blocksworld:2", t2s.SampleSettings(300, 10)), "completion")


def test_the_tour_says_what_happens() -> None:
    found = doctest.testmod(t2s)
    assert (found.failed, found.attempted > 10) == (0, True)


FRESH = """
import sys
import trace2strips as t2s
before = sorted({"numpy", "numba", "jaxtyping", "torch", "typer", "rich"} & set(sys.modules))
names = t2s.UserError.__name__, len(t2s.learner_names()), t2s.__version__
after = sorted({"numpy", "numba", "jaxtyping", "torch", "typer", "rich"} & set(sys.modules))
print(before, names, after)
for call in (lambda: t2s.plan(42, 'p'), lambda: t2s.learn(42)):
    try:
        call()
    except t2s.UserError as error:
        print(error)
print("torch" in sys.modules)
"""


def test_a_fresh_import_loads_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    first, second, third, torch = done.stdout.splitlines()
    assert first == "[] ('UserError', 8, '1.0.0rc1') []"
    assert second.startswith("42 is no model (hint: what learn returned, a StripsModel")
    assert third.startswith("42 are no traces (hint: a path, a Dataset")
    assert torch == "False"


def test_every_name_is_there_and_has_one_home() -> None:
    homes = {f"trace2strips.{home}": set(names) for home, names in t2s.HOMES.items()}
    assert sorted(name for names in homes.values() for name in names) == sorted(t2s.__all__)
    assert set(t2s.__all__) <= set(dir(t2s))
    for name in t2s.__all__:
        assert getattr(t2s, name).__doc__, name
    tree = ast.parse(Path(str(t2s.__file__)).read_text())
    (typed,) = [node for node in tree.body if isinstance(node, ast.If)]  # what type checkers see is the same
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    assert {str(node.module): {alias.name for alias in node.names} for node in imports} == homes


def test_no_module_hides_a_name() -> None:
    """Importing a submodule sets an attribute of the package, which would come before `__getattr__`."""
    folder = Path(str(t2s.__file__)).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert modules & set(t2s.__all__) == set()


def test_help_suffices() -> None:
    text = pydoc.render_doc(t2s, renderer=pydoc.plaintext)
    text = re.sub(r"\(\s+", "(", text)  # from Python 3.13 on a long signature has a line for each parameter
    assert "Five minutes" in text
    for words in (
        "learn(traces:",
        "compare(a:",
        "plan(model:",
        "accuracy(model:",
        "class StickBreaking",
        "read_pddl(path:",
    ):
        assert words in text


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        _ = t2s.lern  # type: ignore[attr-defined]


# --- traces --------------------------------------------------------------------------------------------------------


def test_traces_in_every_form(door: t2s.Learned, tmp_path: Path) -> None:
    """A path, a dataset, traces, lists of pairs: the same traces, the same accuracy, the same model."""
    half = [DOOR[0], [("open", True), ("open", True)]]  # the second is wrong
    traces = [t2s.Trace(tuple(a for a, _ in one), tuple(ok for _, ok in one)) for one in half]
    path = tmp_path / "half.csv"
    t2s.write_traces(half, path)
    assert list(t2s.read_traces(path)) == traces
    for given in (half, traces, path, str(path), t2s.read_traces(path)):
        assert t2s.accuracy(door, given) == 0.5
    t2s.write_traces(DOOR, tmp_path / "door.jsonl")
    assert t2s.learn(tmp_path / "door.jsonl", "completion").model == door.model


def test_written_traces_tell_no_more_than_they_were_told(tmp_path: Path) -> None:
    t2s.write_traces(DOOR, tmp_path / "door.txt")
    assert (tmp_path / "door.txt").read_text() == "open !open close !close\n!close open close open\n"
    with pytest.raises(t2s.UserError, match="exists already"):
        t2s.write_traces(DOOR, tmp_path / "door.txt")
    t2s.write_traces(DOOR[:1], tmp_path / "door.txt", force=True)
    assert len(t2s.read_traces(tmp_path / "door.txt")) == 1


# --- accuracy ------------------------------------------------------------------------------------------------------


def test_accuracy_of_everything_that_names_a_model(tmp_path: Path, door: t2s.Learned) -> None:
    traces = [
        t2s.Trace(("press", "press", "turn off"), (True, False, True), DARK),
        t2s.Trace(("turn off",), (True,), DARK),  # wrong: it is dark
        t2s.Trace(("press",), (True,), DARK, final={"lit up": True}),
        t2s.Trace(("press",), (True,), DARK, final={"lit up": False}),  # wrong
    ]
    assert t2s.accuracy(LAMP, traces) == 0.5
    (tmp_path / "lamp.pddl").write_text(format_model(LAMP))
    assert t2s.read_pddl(tmp_path / "lamp.pddl") == LAMP
    assert t2s.accuracy(tmp_path / "lamp.pddl", traces) == 0.5
    door.save(tmp_path / "run")
    assert t2s.accuracy(tmp_path / "run", DOOR) == t2s.accuracy(t2s.load(tmp_path / "run"), DOOR) == 1.0
    train = t2s.sample("ferry-5c", t2s.SampleSettings(20, 5))
    assert t2s.accuracy("ferry-5c", train) == t2s.accuracy(t2s.get_domain("ferry-5c"), train) == 1.0


def test_accuracy_needs_starts_and_known_names() -> None:
    with pytest.raises(TraceError, match="1 traces do not say what is true at their start"):
        t2s.accuracy(LAMP, [[("press", True)]])
    with pytest.raises(TraceError, match="unknown action 'pres'"):
        t2s.accuracy(LAMP, [t2s.Trace(("pres",), (True,), DARK)])
    with pytest.raises(TraceError, match="no trace"):
        t2s.accuracy(LAMP, [])
    with pytest.raises(t2s.UserError, match="no domain"):
        t2s.accuracy("nothing", [t2s.Trace(("press",), (True,), DARK)])


# --- compare -------------------------------------------------------------------------------------------------------


def test_compare_takes_whatever_names_a_model(blocks: t2s.Learned, tmp_path: Path) -> None:
    blocks.save(tmp_path / "run")
    for first in (blocks, tmp_path / "run"):
        for second in ("blocksworld:2", t2s.get_domain("blocksworld:2")):
            found = t2s.compare(first, second)
            assert found.verdict == "equivalent"
            assert "generated initial states of blocksworld:2" in str(found)
            assert "shown by" in str(found)


def test_a_comparison_prints_what_tells_models_apart(tmp_path: Path) -> None:
    broken = t2s.StripsModel(LAMP.atoms, (LAMP.actions[0], t2s.StripsAction("turn off")), "broken")
    (tmp_path / "lamp.pddl").write_text(format_model(LAMP))
    found = t2s.compare(tmp_path / "lamp.pddl", broken, init=["dark"])
    assert (found.verdict, found.trace) == ("different", ("turn off",))
    assert str(found).splitlines()[0] == "different"
    assert "turn off   refused by A (lit up is false), accepted by B" in str(found)
    with pytest.raises(ModelError, match="unknown atom 'drak'"):
        t2s.compare(LAMP, broken, init="drak")


# --- plan ----------------------------------------------------------------------------------------------------------


def test_a_plan_prints_itself(door: t2s.Learned) -> None:
    found = t2s.plan(LAMP, ["lit up"], init="dark")
    assert (found.plan, str(found)) == (("press",), "press")
    assert str(t2s.plan(LAMP, "!dark", init=["dark"])) == "press"
    assert str(t2s.plan(LAMP, "dark", init=["dark"])) == "nothing to do: the goal holds already"
    assert str(t2s.plan(LAMP, ["!lit up", "!dark"], init="dark")) == "no plan: unsolvable"
    (closed,) = door.model.action("open").pre
    assert str(door.plan("!" + closed)) == str(t2s.plan(door, "!" + closed)) == "open"
    assert str(door.plan("!" + closed, init="start")) == "open"


def test_atoms_that_a_model_does_without_may_be_told(blocks: t2s.Learned) -> None:
    """With two blocks the hand need not be remembered; a user cannot know that."""
    assert "handempty" not in blocks.model.atoms
    table = "ontable_b1 ontable_b2 clear_b1 clear_b2 handempty"
    assert blocks.plan("on_b1_b2", table).plan == ("pick-up_b1", "stack_b1_b2")
    with pytest.raises(ModelError, match="unknown atom 'handfull'"):
        blocks.plan("on_b1_b2", table + " handfull")


def test_a_plan_needs_a_start_and_known_atoms(blocks: t2s.Learned) -> None:
    with pytest.raises(ModelError, match="where to start is not said"):
        t2s.plan(LAMP, "dark")
    with pytest.raises(ModelError, match="where to start is not said"):
        blocks.plan("on_b1_b2")
    with pytest.raises(ModelError, match="unknown atom 'lit'"):
        t2s.plan(LAMP, "lit", init="dark")
    with pytest.raises(t2s.UserError, match="unknown planner"):
        t2s.plan(LAMP, "dark", init="dark", planner="nobody")
