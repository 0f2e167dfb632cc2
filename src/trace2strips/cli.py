"""The command line: knows the commands, one file each in `commands/`, and turns errors into one line, exit code 2.

A command is imported when it is asked for, and imports what it needs when it runs: help and version come at once.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from trace2strips.errors import UserError, shorten, suggest
from trace2strips.screen import screened

COMMANDS = {  # name → the first line of its help; the function of that name in the module of that name does it
    "domains": "The benchmark domains: atoms, actions, reachable states.",
    "sample": "Sample labelled random traces of a hidden domain.",
    "check": "Statistics of a trace file, or what is wrong with it and where.",
    "ground": "The hidden model of a domain as propositional PDDL.",
    "learn": "Learn a STRIPS world model from traces.",
    "evaluate": "How well a learned model predicts traces, and plans.",
    "next": "What works after a trace, for certain or perhaps.",
    "why": "Why an action works or not, with the lines that prove it.",
    "suggest": "What to try next: the attempts that decide most.",
    "judge": "What is surprising or impossible in a new log.",
    "explain": "What an atom of a learned model seems to mean.",
    "export": "A learned model as PDDL, JSON, objects or a picture.",
    "explore": "See, try and question a learned world in the browser.",
    "plan": "Plan with a learned, written or benchmark model.",
    "compare": "Do two models accept the same traces?",
    "brasp": "The B-RASP program of a model, run on a trace.",
    "reproduce": "Do the runs behind the paper's results.",
    "report": "Tables, plots and a page: our figures beside the paper's.",
    "demo": "Learn a hidden blocksworld from 20 traces, plan in a larger one.",
}
PLAIN: dict[str, Any] = {  # help is plain text: rich takes longer to import than to print it
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


class CommandGroup(TyperGroup):
    """The commands by name, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:
        if name not in COMMANDS:
            raise UserError(f"unknown command {shorten(name)!r}", hint=suggest(name, COMMANDS, "commands"))
        alone = typer.Typer(**PLAIN)
        alone.command(name)(getattr(import_module(f"trace2strips.commands.{name}"), name))
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=CommandGroup,
    help="Learn STRIPS world models from sequences of actions that worked or did not.",
    **PLAIN,
)


def print_version(wanted: bool) -> bool:
    if wanted:
        from trace2strips import __version__

        print(f"trace2strips {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Options of all commands."""


def discard_output() -> None:
    """Python writes what is left in its buffer when it ends; it must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Entry point: whatever the user can get wrong becomes one line and exit code 2."""
    words = sys.argv[1:]
    try:
        with screened():
            code = app(words or ["--help"], prog_name="trace2strips", standalone_mode=False)
        sys.stdout.flush()
        code = code if words else 2  # the help is no answer to a question that was not asked
    except UserError as error:
        print(f"trace2strips: {error}", file=sys.stderr)
        code = 2
    except typer.TyperException as error:  # unknown option, missing argument, wrong type
        message = UserError(error.format_message(), hint="trace2strips COMMAND --help")
        print(f"trace2strips: {message}", file=sys.stderr)
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        print("trace2strips: stopped", file=sys.stderr)
        code = 130
    except BrokenPipeError:  # `trace2strips … | head`
        discard_output()
        code = 0
    except OSError as error:  # what no file of the user's explains: the output cannot be written
        print(f"trace2strips: {UserError(error.strerror or str(error), file=error.filename)}", file=sys.stderr)
        discard_output()
        code = 2
    except MemoryError:
        print("trace2strips: not enough memory (hint: fewer or shorter traces)", file=sys.stderr)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
