"""The process in which a planner searches: one JSON request a line in, one JSON reply a line out.

    python -m trace2strips.planning.planners.worker MODULE fast|optimal PARENT

A request is {"model": {"atoms", "actions"} (where it changed), "init", "goal", "states", "seconds", "memory_mb"}.
The worker ends when its input does. Why a process: a planner in C++ holds the interpreter's lock, so neither a thread
nor a signal can stop it, and it can crash.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from trace2strips.planning.planners import Answer, Search, Status
from trace2strips.processes import die_with_parent


def main() -> None:
    module, kind, parent = sys.argv[1:]
    die_with_parent()
    if os.getppid() != int(parent):  # it ended before we asked to be told
        return
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Mimir prints every atom from C++

    def reply(fields: dict[str, Any]) -> None:
        replies.write(json.dumps(fields) + "\n")
        replies.flush()

    try:
        make_search = importlib.import_module(module).Search
    except ImportError as error:
        reply({"unavailable": str(error)})
        return
    reply({"ready": True})
    search: Search | None = None
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        try:
            with memory_limit(request["memory_mb"]):
                if request["model"] is not None:
                    search = make_search(request["model"]["atoms"], request["model"]["actions"], kind == "optimal")
                assert search is not None, "the first request holds a model"
                answer = search.solve(request["init"], request["goal"], request["states"], request["seconds"])
        except MemoryError:
            answer = Answer(Status.OUT_OF_MEMORY)
        except Exception as error:  # a planner's own, whatever it is: the caller decides
            answer = Answer(Status.CRASHED, message=f"{type(error).__name__}: {error}")
        reply(
            {
                "status": answer.status.value,
                "plan": answer.plan,
                "states": answer.states,
                "seconds": time.perf_counter() - start,
                "message": answer.message,
            }
        )


@contextlib.contextmanager
def memory_limit(megabytes: int | None) -> Iterator[None]:
    """At most so much address space, here and in processes started here. The limit is soft: the reply needs memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if megabytes is not None:
        largest = sys.maxsize if hard == resource.RLIM_INFINITY else hard
        resource.setrlimit(resource.RLIMIT_AS, (min(megabytes * 2**20, largest), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


if __name__ == "__main__":
    main()
