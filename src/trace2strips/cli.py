"""The command line: registers the commands, one file each in `commands/`, and turns errors into one line, exit code 2.

Importing a command is cheap, so that `--help` and `--version` answer at once; what it needs is imported when it runs.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from trace2strips.commands.brasp import brasp
from trace2strips.commands.check import check
from trace2strips.commands.compare import compare
from trace2strips.commands.demo import demo
from trace2strips.commands.domains import domains
from trace2strips.commands.evaluate import evaluate
from trace2strips.commands.ground import ground
from trace2strips.commands.learn import learn
from trace2strips.commands.plan import plan
from trace2strips.commands.report import report
from trace2strips.commands.reproduce import reproduce
from trace2strips.commands.sample import sample
from trace2strips.errors import UserError

app = typer.Typer(
    help="Learn STRIPS world models from sequences of actions that worked or did not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich takes longer to import than to print it
)
COMMANDS = (domains, sample, check, ground, learn, evaluate, plan, compare, brasp, reproduce, report, demo)
for command in COMMANDS:
    app.command()(command)


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
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        print(f"trace2strips: {error}", file=sys.stderr)
        code = 2
    except typer.TyperException as error:  # unknown option, missing argument, wrong type
        if message := error.format_message():  # without any argument there is only the help, printed already
            print(f"trace2strips: {UserError(message, hint='trace2strips COMMAND --help')}", file=sys.stderr)
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
