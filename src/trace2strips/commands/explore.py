"""`trace2strips explore`: see, try and question a learned world in the browser."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trace2strips.commands.terminal import PlannerOption, RunArgument
from trace2strips.errors import FileError, UserError

if TYPE_CHECKING:
    from trace2strips.explorer.contents import HiddenModel, Surroundings
    from trace2strips.learners.learner import Learned
    from trace2strips.traces import Dataset

PAGE = "explore.html"
LARGEST = 2_000_000  # bytes of the page
MOST_TRACES = 2_000  # of a log that is read again
VARIABLES = ("x", "y", "z", *(f"x{i}" for i in range(3, 100)))


def explore(
    run: RunArgument,
    no_open: Annotated[bool, typer.Option("--no-open", help="Write the page, open no browser.")] = False,
    serve: Annotated[bool, typer.Option("--serve", help="Serve it on this machine alone, with real planners.")] = False,
    planner: PlannerOption = "mimir",
    port: Annotated[int, typer.Option(help="Of --serve; 0: any that is free.")] = 0,
) -> None:
    """See, try and question a learned world in the browser.

    Writes RUN/explore.html, one page that needs no network.
    """
    from trace2strips.files import writing_text
    from trace2strips.learners.learning import load
    from trace2strips.planning.plans import get_planner

    learned = load(run)
    get_planner(planner)
    path = run / PAGE
    with writing_text(path, force=True, follow=False) as stream:
        stream.write(page_of(learned, surroundings(learned, run)))
    link_from_card(learned, run)
    print(path)
    if serve:
        serve_run(learned, run, planner, port, not no_open)
    elif not no_open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            print("trace2strips: no browser could be opened: open the file yourself", file=sys.stderr)


def link_from_card(learned: Learned, run: Path) -> None:
    """The card of a run shows the way to the page, now that there is one."""
    from dataclasses import replace

    from trace2strips.files import writing_text

    card = replace(learned.card(), explorer=PAGE)
    for name, text in (("card.html", card.html()), ("card.md", card.markdown())):
        if (run / name).exists():
            with writing_text(run / name, force=True, follow=False) as stream:
                stream.write(text)


def serve_run(learned: Learned, run: Path, planner: str, port: int, is_opened: bool) -> None:
    """Until the user ends it."""
    from trace2strips.explorer.serving import Server

    page = page_of(learned, surroundings(learned, run, (planner,)))
    with Server(page, lambda question: find_plan(learned, planner, question), port) as server, ExitStack() as at_end:
        print(f"{server.address}  (this machine alone; ctrl-C ends it)", flush=True)
        if is_opened:
            import webbrowser

            way = way_to(server.address, run)
            at_end.callback(way.unlink, missing_ok=True)
            webbrowser.open(way.resolve().as_uri())
        server.serve_forever()


def way_to(address: str, run: Path) -> Path:
    """A page that leads to another and that only this user can read: the address has the token, and what a browser is
    started with every user of the machine can see."""
    import os
    import tempfile

    try:
        handle, name = tempfile.mkstemp(prefix="explore-", suffix=".html", dir=run)  # with mode 600
        with os.fdopen(handle, "w") as stream:
            stream.write(f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">explorer</a>\n')
    except OSError as error:
        raise FileError(error.strerror or str(error), file=run) from None
    return Path(name)


def find_plan(learned: Learned, planner: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """A plan that begins after a trace; `question` has the trace as the page writes it, and the goal."""
    from trace2strips.model.goals import START, Goal, initial_state, pose
    from trace2strips.planning.plans import solve

    told = question["trace"]
    steps = [(str(name), bool(ok)) for name, ok in told["steps"]]
    init = None if told["init"] is None else [str(atom) for atom in told["init"]]
    true, false = ([str(atom) for atom in question[name]] for name in ("true", "false"))
    world = learned.learner.world_about(learned, [*true, *false, *(init or ())])
    model = world.model
    state = world.start(str(told["state"] or START)) if init is None else initial_state(world, init)
    for name, ok in steps:
        action = model.action(name)
        state = (state - action.delete) | action.add if ok else state
    goal = Goal(model.state(true), model.state(false))
    result = solve(pose(model, state, goal), planner)
    return {"plan": None if result.plan is None else list(result.plan), "status": str(result.status)}


def page_of(learned: Learned, around: Surroundings) -> str:
    text = learned.explore(around).html()
    if (size := len(text.encode())) > LARGEST:
        raise UserError(f"the page has {size:,} bytes, at most {LARGEST:,} are meant to be", hint="please report this")
    return text


def surroundings(learned: Learned, run: Path, planners: tuple[str, ...] | None = None) -> Surroundings:
    """What a run folder has beside what was learned."""
    from trace2strips.explorer.contents import Surroundings
    from trace2strips.learners.runs import training_rows

    links = [("model card", "card.html")] if (run / "card.html").exists() else []
    log = None if learned.summary is not None else read_log(learned, run)
    return Surroundings(
        run.resolve().name, log, "kept traces" if log is None else "training traces", tuple(training_rows(run)),
        hidden_model(learned), tuple(links), planners,
    )  # fmt: skip


def read_log(learned: Learned, run: Path) -> Dataset | None:
    """The traces that were learned from, where their file is still there: of learners that keep none."""
    from trace2strips.traces import read_traces

    if learned.figures.file is None:
        return None
    named = Path(learned.figures.file)
    for path in (named, run.parent / named.name, run / named.name):
        if path.is_file():
            try:
                dataset = read_traces(str(path), kept=learned.columns)
                learned.check_names(dataset)
            except UserError:
                return None
            return dataset.first(MOST_TRACES)
    return None


def hidden_model(learned: Learned) -> HiddenModel | None:
    from trace2strips.commands.sources import hidden_domain_or_none
    from trace2strips.explorer.contents import HiddenModel, rows_of_model

    domain = hidden_domain_or_none(learned.figures)
    if domain is None:
        return None
    if learned.lifted is None:
        return HiddenModel(domain.name, rows_of_model(domain.model))
    rows = []
    for schema in domain.lifted.schemas:
        names = dict(zip((name for name, _ in schema.parameters), VARIABLES, strict=False))

        def call(word: str, arguments: Any, names: dict[str, str] = names) -> str:
            inside = ", ".join(names.get(name, name) for name in arguments)
            return f"{word}({inside})" if inside else word

        parts = (("needs", schema.pre), ("adds", schema.add), ("deletes", schema.delete))
        row = {title: [call(x.predicate, x.arguments) for x in literals] for title, literals in parts}
        rows.append({"action": call(schema.name, names), **row})
    return HiddenModel(domain.name, tuple(rows))
