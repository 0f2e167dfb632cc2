"""What a user may name as a model: the folder of a learned run, a propositional PDDL file, or a benchmark domain; and
as a domain: a benchmark domain, or PDDL files.

Here, with the commands, because only they and `api` turn words into models; everything below is given the models
themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

from trace2strips.errors import DomainError, FileError, PddlError, UserError, printable, shorten, with_file
from trace2strips.judging.hidden import find_hidden_domain
from trace2strips.judging.sources import Source
from trace2strips.learners.learner import Figures
from trace2strips.learners.learning import load
from trace2strips.pddl import read_domain, read_model
from trace2strips.worlds import Domain, World, domain_from_files, get_domain, world_from_files


def open_source(name: str, problem: Path | None = None) -> Source:
    """By the name of a model. A lifted PDDL domain is grounded over the objects of the problem."""
    path = Path(name)
    if path.is_dir():
        learned = load(path)
        world = with_file(path, learned.need_world)
        return Source(name, world.model, world, hidden_domain_or_none(learned.figures), learned)
    if path.suffix == ".pddl":
        if problem is None or is_ground(path):
            return Source(name, read_model(path))
        files = domain_from_files(name, [problem])
        return Source(name, files.model, domain=files)
    if path.exists():
        raise FileError("is no model", file=path, hint="a run folder, a .pddl file or a domain such as blocksworld-5b")
    try:
        domain = get_domain(name)
    except DomainError as error:
        if ":" in name:
            raise
        if "/" in name:
            raise FileError("no such file or folder", file=name) from None
        message = f"{shorten(name)!r} is no run folder, no .pddl file and no domain"
        raise DomainError(message, hint=error.hint) from None
    return Source(name, domain.model, domain=domain)


def is_ground(path: Path) -> bool:
    domain = with_file(path, lambda: read_domain(path))
    return not any(schema.parameters for schema in domain.schemas) and not any(types for _, types in domain.predicates)


def hidden_domain_or_none(figures: Figures) -> Domain | None:
    """Plans and comparisons can do without: who needs it asks `find_hidden_domain` and hears why it is not known."""
    try:
        return find_hidden_domain(figures)
    except DomainError:
        return None


def find_world(name: str | None, problems: list[Path] | None, walk: int = 0, argument: str | None = None) -> World:
    """What --domain and --problem name, alike for all commands: a benchmark domain, or PDDL files, each problem with
    objects of its own. `argument`: the same without --domain. `walk`: traces of PDDL files start up to so many random
    steps away."""
    if name is not None and argument is not None:
        raise UserError(f"two domains, {shorten(argument)!r} and --domain {shorten(name)}", hint="name one of them")
    name = argument if name is None else name
    if name is None and problems:
        raise PddlError("--problem needs --domain", hint="--domain DOMAIN.pddl --problem PROBLEM.pddl")
    if name is None:
        raise UserError("no domain is named", hint="--domain blocksworld-5b, or --domain D.pddl --problem P.pddl")
    if name.endswith(".pddl") or problems:
        return world_from_files(name, problems or [], walk)
    if Path(name).is_dir():
        raise FileError("is a folder, not a domain", file=name, hint="a run has its model in model.pddl, if it has one")
    domain = get_domain(name)
    return World(name, (domain,))


def tell_remarks(world: World, quiet: bool = False) -> None:
    """What was read but does not count, or cannot be, a line each on standard error."""
    for remark in () if quiet else world.remarks:
        print(f"trace2strips: {printable(remark)}", file=sys.stderr)
