"""The benchmark domains by name: the five families of the paper in its two sizes, and any other size.

    get_domain("blocksworld-8b")    get_domain("ferry:10x8")

Each family is one file: its lifted PDDL, its random initial states, its random reachable goals.
May import `errors`, `files`, `strips`, `pddl` and `compilation`.
"""

from __future__ import annotations

from functools import lru_cache

from trace2strips.errors import DomainError, suggest
from trace2strips.worlds.blocksworld import Blocksworld
from trace2strips.worlds.domain import Domain, Family
from trace2strips.worlds.ferry import Ferry
from trace2strips.worlds.logistics import Logistics
from trace2strips.worlds.maze import Maze
from trace2strips.worlds.npuzzle import Npuzzle
from trace2strips.worlds.pddl_files import World, domain_from_files, world_from_files

FAMILIES: dict[str, type[Family]] = {family.name: family for family in (Blocksworld, Ferry, Npuzzle, Maze, Logistics)}

BENCHMARKS: tuple[str, ...] = tuple(f"{family.name}-{label}" for family in FAMILIES.values() for label in family.sizes)


@lru_cache(maxsize=32)
def get_domain(name: str) -> Domain:
    """A domain by the paper's name (`maze-5x5`) or by family and size (`maze:9x9`)."""
    family_name, colon, numbers = name.partition(":")
    if not colon:
        family_name, _, label = name.partition("-")
        family = FAMILIES.get(family_name)
        if family is None or label not in family.sizes:
            raise DomainError(
                f"unknown domain {name!r}",
                hint=suggest(name, BENCHMARKS, "domains") + "; other sizes: blocksworld:12, npuzzle:4x4, …",
            )
        return Domain(name, family(*family.sizes[label]))
    family = FAMILIES.get(family_name)
    if family is None:
        raise DomainError(f"unknown family {family_name!r}", hint=suggest(family_name, FAMILIES, "families"))
    return Domain(name, family(*family.parse_size(numbers)))


__all__ = [
    "BENCHMARKS",
    "FAMILIES",
    "Domain",
    "Family",
    "World",
    "domain_from_files",
    "get_domain",
    "world_from_files",
]
