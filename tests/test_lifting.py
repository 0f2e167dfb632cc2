"""A ground model whose names hold arguments is lifted if all groundings agree; grounded again it is the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.errors import ModelError
from trace2strips.learners.learning import learn
from trace2strips.learners.windows.lifting import lift_model
from trace2strips.model.lifted import Literal, Schema
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.pddl import parse_domain
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DIFFERENT = "different"


def ground_world(model: StripsModel) -> WorldModel:
    return WorldModel(model, Vocabulary(tuple(a.name for a in model.actions), model.atoms, has_init_false=True))


@pytest.mark.parametrize(
    "name",
    ["blocksworld:3", "blocksworld-5b", "ferry:2x3", "ferry-5c", "npuzzle-5t", "maze-5x5", "logistics-3c"],
)
def test_grounded_again_it_is_the_same(name: str) -> None:
    """The hidden models of all five families, which SB's extracted ones are equal to."""
    model = get_domain(name).model
    world = ground_world(model)
    lifted = lift_model(world)
    assert lifted.world(world.vocabulary).model.actions == model.actions
    assert len(lifted.actions) == len({action.name.split("_")[0] for action in model.actions})
    assert parse_domain(lifted.pddl()).schemas == lifted.domain().schemas


def conditions(schema: Schema) -> tuple[set[Literal], set[Literal], set[Literal]]:
    return {x for x in schema.pre if x.predicate != DIFFERENT}, set(schema.add), set(schema.delete)


def test_listing_c_of_the_paper() -> None:
    schemas = {s.name: s for s in lift_model(ground_world(get_domain("blocksworld-8b").model)).domain().schemas}
    x, y = "?x", "?y"
    assert conditions(schemas["stack"]) == (
        {Literal("clear", (y,)), Literal("holding", (x,))},
        {Literal("clear", (x,)), Literal("handempty"), Literal("on", (x, y))},
        {Literal("clear", (y,)), Literal("holding", (x,))},
    )


def test_a_map_becomes_a_relation() -> None:
    lifted = lift_model(ground_world(get_domain("maze-5x5").model))
    (relation,) = lifted.relations
    model = get_domain("maze-5x5").model
    assert {f"move_{'_'.join(pair)}" for pair in relation.tuples} == set(model.action_index)


def changed(model: StripsModel, name: str, **parts: frozenset[str]) -> StripsModel:
    actions = tuple(replace(a, **parts) if a.name == name else a for a in model.actions)
    return StripsModel(model.atoms, actions, model.name)


def test_what_disagrees_is_said() -> None:
    model = get_domain("blocksworld:3").model
    one = changed(model, "stack_b1_b3", pre=frozenset({"clear_b3"}))
    with pytest.raises(ModelError, match=r"'stack' needs \(holding \?1\) in 5 of 6 groundings, not in 'stack_b1_b3' "):
        lift_model(ground_world(one))
    other = changed(one, "pick-up_b2", add=frozenset({"holding_b2", "clear_b1"}))
    with pytest.raises(ModelError, match=r"'pick-up_b2' adds 'clear_b1', which is not about its .*, and 1 more such"):
        lift_model(ground_world(other))


def test_invented_atoms_without_arguments_do_not_lift() -> None:
    """As those of a ground STRIPS Transformer, listing (a)."""
    model = get_domain("blocksworld:3").model
    number = {atom: f"p{i}" if atom.startswith("holding") else atom for i, atom in enumerate(model.atoms)}
    renamed = StripsModel(
        tuple(number.values()),
        tuple(
            replace(a, **{part: frozenset(number[x] for x in getattr(a, part)) for part in ("pre", "add", "delete")})
            for a in model.actions
        ),
    )
    with pytest.raises(ModelError, match=r"'pick-up' adds \(p\d\) in 1 of 3 groundings"):
        lift_model(ground_world(renamed))


def test_one_name_for_several_predicates_does_not_lift() -> None:
    model = get_domain("blocksworld:3").model
    more = StripsModel((*model.atoms, "on_b1"), model.actions, model.name)
    with pytest.raises(ModelError, match="'on' is said of different numbers of objects"):
        lift_model(ground_world(more))


def test_command(run: Run, tmp_path: Path) -> None:
    """A decoder that tells all final values rightly has the hidden model read out of it; here it is put in its place."""
    domain = get_domain("blocksworld:3")
    traces = sample(domain, SampleSettings(50, 10, suffix="all", seed=1))
    learned = learn(traces, "completion")
    model = StripsModel(domain.model.atoms, tuple(domain.model.action(a.name) for a in learned.model.actions))
    replace(learned, world=replace(learned.need_world(), model=model)).save(tmp_path / "run")
    made = run("export", "run", "--lifted", "--out", "domain.pddl")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    stack = next(s for s in parse_domain((tmp_path / "domain.pddl").read_text()).schemas if s.name == "stack")
    assert conditions(stack)[0] == {Literal("clear", ("?y",)), Literal("holding", ("?x",))}
    learned.save(tmp_path / "other")
    for words, message in (
        (("run", "--lifted", "--format", "json"), "--lifted is about PDDL, not json"),
        (("run", "--separator", "_"), "--separator says how names are read to lift them"),
        (("other", "--lifted"), "other: the model cannot be lifted: "),
    ):
        result = run("export", *words)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert message in result.stderr
