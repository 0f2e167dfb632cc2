"""`trace2strips export`: a learned model for other programs and for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import ForceOption, RunArgument
from trace2strips.errors import UserError, suggest, with_file
from trace2strips.files import check_writable, writing_text

if TYPE_CHECKING:
    from trace2strips.learners.learner import Learned

FORMATS = ("pddl", "json", "unified-planning", "dot", "svg")
DRAWN = ("dot", "svg")


def export(
    run: RunArgument,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")] = "pddl",
    out: Annotated[Path | None, typer.Option(help="Write it here; default: standard output.")] = None,
    init: Annotated[
        list[str] | None, typer.Option(metavar="ATOMS", help="Of dot and svg: where it begins; default: as traces do.")
    ] = None,
    max_states: Annotated[
        int | None, typer.Option(help="Of dot and svg: refuse to draw more states than that; default: 60.")
    ] = None,
    lifted: Annotated[
        bool,
        typer.Option("--lifted", help="Of pddl: schemas with variables, from a ground model whose names allow it."),
    ] = False,
    separator: Annotated[
        str | None,
        typer.Option(help="With --lifted: what stands between a name and its arguments; default: found out."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """A learned model as PDDL, JSON, objects or a picture.

    pddl: the domain, lifted where it is; the run folder has problems for it. With --lifted a ground model is lifted if
    all groundings of each action agree; otherwise what disagrees is said. json: actions, atoms and
    how sure each rule is. unified-planning: the problem as that library prints it; in Python the object is
    learned.to_unified_planning(). dot and svg: the state graph of a small world.
    """
    from trace2strips.learners.learning import load
    from trace2strips.model.state_graph import MOST_DRAWN

    if form not in FORMATS:
        raise UserError(f"unknown format {form!r}", hint=suggest(form, FORMATS, "formats"))
    if init is not None and form not in DRAWN:
        raise UserError(f"--init says where a picture begins, and {form} is none", hint="--format svg")
    if lifted and form != "pddl":
        raise UserError(f"--lifted is about PDDL, not {form}", hint="--format pddl")
    if separator is not None and not lifted:
        raise UserError("--separator says how names are read to lift them", hint="--lifted")
    if out is not None:
        check_writable(out, force)
    learned = load(run)
    most = MOST_DRAWN if max_states is None else max_states
    text = with_file(run, lambda: as_schemas(learned, separator) if lifted else written(learned, form, init, most))
    if out is None:
        print(text, end="")
        return
    with writing_text(out, force=force) as stream:
        stream.write(text)


def written(learned: Learned, form: str, init: list[str] | None, most: int) -> str:
    writers: dict[str, Callable[[], str]] = {
        "pddl": lambda: learned.pddl() if learned.lifted is None else learned.lifted.pddl(),
        "json": lambda: as_json(learned),
        "unified-planning": lambda: f"{learned.to_unified_planning()}\n",
        "dot": lambda: learned.state_graph(init, most).dot(),
        "svg": lambda: learned.state_graph(init, most).svg(),
    }
    return writers[form]()


def as_schemas(learned: Learned, separator: str | None) -> str:
    """The lifted domain, of a ground model too."""
    from trace2strips.learners.windows.lifting import lift_model

    lifted = learned.lifted
    return (lift_model(learned.need_world(), separator) if lifted is None else lifted).pddl()


def as_json(learned: Learned) -> str:
    """The model in words, for programs."""
    rules = learned.rules
    record = {
        "learner": learned.learner.name,
        "assumptions": list(learned.figures.assumptions),
        "actions": [
            {"action": action, **{part: rules.of_action(action, part) for part in ("needs", "adds", "deletes")}}
            for action in rules.actions
        ],
        "atoms": [{**asdict(atom), "meaning": rules.explain(atom.name).meaning} for atom in rules.atoms],
        "rules": [asdict(rule) for rule in rules.rules],
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"
