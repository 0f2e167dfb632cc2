"""Shards on a Ray cluster: a task each, and tasks that merge what they give, in a tree.

Every node reads the files by the same paths, as from a shared file system. Ray does a task again whose worker or node
is lost, and what was on that node only is made again too. What comes out is what one machine gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from trace2strips.errors import FileError, UserError
from trace2strips.learners.windows.parts import fold
from trace2strips.ray_cluster import RETRIES, code_version, last_line
from trace2strips.traces.shards import Shard

FAN = 8  # results that one task merges
Value = TypeVar("Value")


@dataclass(frozen=True)
class OnRay:
    """`ray` is connected. A shard has a thread of its own."""

    ray: Any
    threads: int | None = 1

    def __call__(
        self,
        task: Callable[[Shard], Value | None],
        join: Callable[[Value, Value], Value],
        shards: Sequence[Shard],
        known: Callable[[int], Value | None],
        done: Callable[[int, Value | None], None],
    ) -> Value | None:
        ray = self.ray
        leaf = ray.remote(do_shard).options(num_cpus=1, max_retries=RETRIES)
        merging = ray.remote(do_merge).options(num_cpus=1, max_retries=RETRIES)
        level: list[Any] = []
        busy: dict[Any, int] = {}
        for number, shard in enumerate(shards):
            if (found := known(number)) is not None:
                level.append(ray.put(found))
            else:
                level.append(leaf.remote(task, shard, code_version()))
                busy[level[-1]] = number
        while len(level) > 1:
            level = [merging.remote(join, *level[i : i + FAN]) for i in range(0, len(level), FAN)]
        while busy:
            for reference in ray.wait(list(busy), num_returns=1)[0]:
                done(busy.pop(reference), self.get(reference))
        return self.get(level[0]) if level else None

    def get(self, reference: Any) -> Any:
        try:
            found = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            hint = "is the same version installed there?"
            raise UserError(f"node {error.ip} cannot learn: {last_line(error)}", hint=hint) from None
        except self.ray.exceptions.RayError as error:  # lost too often
            raise UserError(f"a shard was lost too often: {last_line(error)}", hint="start the run again") from None
        if isinstance(found, UserError):
            raise found
        return found


def do_shard(task: Callable[[Shard], Value | None], shard: Shard, version: str) -> Value | UserError | None:
    """On a node. What is wrong with a file comes back as it is."""
    import ray

    node = ray.util.get_node_ip_address()
    if code_version() != version:
        versions = f"{code_version()}, here is {version}"
        return UserError(f"node {node} has another trace2strips: {versions}", hint="install this one there")
    try:
        return task(shard)
    except FileError as error:
        error.message += f" on node {node}"
        error.hint = "all nodes read the files by the same paths: use a shared folder"
        return error
    except UserError as error:
        return error


def do_merge(join: Callable[[Any, Any], Any], *found: Any) -> Any:
    """In order; an error is passed on."""
    wrong = next((value for value in found if isinstance(value, UserError)), None)
    return fold(found, join) if wrong is None else wrong
