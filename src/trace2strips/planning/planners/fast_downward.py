"""Fast Downward's search on a SAS task that is written here.

Its translator needs seconds for a hundred actions without parameters, and there is nothing to translate: each atom
is a variable with two values, 0 for true and 1 for false.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from trace2strips.planning.planners import Action, Answer, Atoms, Status
from trace2strips.processes import die_with_parent

TRUE, FALSE, ANY = 0, 1, -1

# https://www.fast-downward.org/ExitCodes
STATUS = {
    0: Status.SOLVED,
    11: Status.UNSOLVABLE,
    12: Status.UNSOLVABLE,  # "incomplete" search: dead ends of FF and LM-cut are safe, so what it says is proven
    22: Status.OUT_OF_MEMORY,
    23: Status.OUT_OF_TIME,
}


class Search:
    def __init__(self, atoms: int, actions: Sequence[Action], optimal: bool) -> None:
        self.command = [
            str(find_binary()),
            "--search", "astar(lmcut())" if optimal else "eager_greedy([ff()])",
            "--internal-plan-file", "/dev/stderr",
        ]  # fmt: skip
        self.atoms = atoms
        self.head = format_variables(atoms)
        self.tail = format_operators(actions)

    def solve(self, init: Atoms, goal: Atoms, states: int | None, seconds: float | None) -> Answer:
        if set(goal) <= set(init):
            return Answer(Status.SOLVED, (), 0)  # SAS knows no task without goal or variables
        task = self.head + format_start(self.atoms, init, goal) + self.tail
        try:
            done = subprocess.run(
                self.command,
                input=task,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
                preexec_fn=die_with_parent,  # safe here: the worker has one thread
            )
        except subprocess.TimeoutExpired:
            return Answer(Status.OUT_OF_TIME)
        status = STATUS.get(done.returncode, Status.CRASHED)
        if status is Status.CRASHED:
            return Answer(status, message=f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")
        generated = read_number(done.stdout, r"Generated (\d+) state")
        seen = read_number(done.stdout, r"Number of registered states: (\d+)")
        if status in (Status.SOLVED, Status.UNSOLVABLE) and states is not None and seen is not None and seen > states:
            # Fast Downward has no such limit: it is not stopped, but what it finds beyond the limit does not count
            return Answer(Status.OUT_OF_STATES, None, generated)
        plan = None
        if status is Status.SOLVED:
            plan = tuple(int(number) for number in re.findall(r"^\(a(\d+)\)$", done.stderr, flags=re.MULTILINE))
        return Answer(status, plan, generated)


def find_binary() -> Path:
    """The search component inside the wheel. The package itself is not imported: that takes half a second."""
    spec = find_spec("up_fast_downward")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'up_fast_downward'")
    binary = Path(spec.origin).parent / "downward" / "builds" / "release" / "bin" / "downward"
    if not binary.is_file():
        raise ImportError(f"up_fast_downward has no search component at {binary}")
    return binary


find_binary()  # a worker that cannot search says so when it starts


def read_number(text: str, pattern: str) -> int | None:
    match = re.search(pattern, text)
    return int(match[1]) if match else None


def format_variables(atoms: int) -> str:
    lines = ["begin_version", "3", "end_version", "begin_metric", "0", "end_metric", str(atoms)]
    for atom in range(atoms):
        lines += ["begin_variable", f"p{atom}", "-1", "2", f"Atom p{atom}()", f"NegatedAtom p{atom}()", "end_variable"]
    return "\n".join([*lines, "0"]) + "\n"  # no mutex groups


def format_start(atoms: int, init: Atoms, goal: Atoms) -> str:
    true = set(init)
    state = [str(TRUE if atom in true else FALSE) for atom in range(atoms)]
    return "\n".join(
        ["begin_state", *state, "end_state", "begin_goal", str(len(goal)), *(f"{atom} {TRUE}" for atom in goal),
         "end_goal"]
    ) + "\n"  # fmt: skip


def format_operators(actions: Sequence[Action]) -> str:
    """A precondition that the action deletes stands with the effect, every other one is a prevail condition.
    Adding what is required changes nothing, and an action that changes nothing is left out: SAS has no such operator.
    """
    blocks = []
    for number, (pre, add, delete) in enumerate(actions):
        required, deleted = set(pre), set(delete)
        prevail = [f"{atom} {TRUE}" for atom in pre if atom not in deleted]
        effects = [f"0 {atom} {ANY} {TRUE}" for atom in add if atom not in required]
        effects += [f"0 {atom} {TRUE if atom in required else ANY} {FALSE}" for atom in delete]
        if effects:
            lines = ["begin_operator", f"a{number}", str(len(prevail)), *prevail, str(len(effects)), *effects, "1"]
            blocks.append("\n".join([*lines, "end_operator"]))
    return "\n".join([str(len(blocks)), *blocks, "0"]) + "\n"  # no axioms
