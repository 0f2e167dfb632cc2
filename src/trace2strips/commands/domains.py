"""`trace2strips domains`: what is known of the benchmark domains."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from trace2strips.commands.terminal import JsonOption, plain_console


def domains(
    names: Annotated[list[str] | None, typer.Argument(metavar="DOMAIN", help="Which; all ten by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """The benchmark domains: atoms, actions, reachable states."""
    from rich.table import Table

    from trace2strips.worlds import BENCHMARKS, get_domain

    rows = []
    for name in names or BENCHMARKS:
        domain = get_domain(name)
        rows.append({
            "domain": name, "atoms": len(domain.model.atoms), "actions": len(domain.model.actions),
            "ever_applicable": len(domain.reachable_actions), "states": domain.family.count_states(),
            "init_atoms": len(domain.initial_atoms), "goal_atoms": len(domain.goal_atoms),
        })  # fmt: skip
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    table = Table("domain", title="Benchmark domains")
    for title in ("atoms", "actions", "ever applicable", "reachable states", "init-p", "test-p (goal)"):
        table.add_column(title, justify="right")
    for row in rows:
        keys = ("atoms", "actions", "ever_applicable", "states", "init_atoms", "goal_atoms")
        table.add_row(str(row["domain"]), *("?" if row[k] is None else f"{row[k]:,}" for k in keys))
    plain_console().print(table)
