"""The chain STRIPS model → B-RASP program → STRIPS Transformer on one trace, as data: every vector of the program and
every score, choice, value and output of the attention heads at θ_M. `report.illustration` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from trace2strips.brasp import Program, evaluate, strips_program
from trace2strips.errors import BraspError
from trace2strips.learners.transformer.parameters import SHARED, Layout, theta_of
from trace2strips.learners.transformer.references import expand, head_steps
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Vocabulary

LONGEST = 500  # positions; a table has the square of it


@dataclass(frozen=True)
class HeadView:
    """One attention head on one trace; the score of i and j is query[i] · key[j], for j < i."""

    atom: str
    query: list[int]
    key: list[int]
    value: list[int]
    chosen: list[int | None]  # the rightmost of the best earlier positions
    attended: list[bool]  # whether its score is 1, so that all weight is there
    output: list[int]

    @property
    def idle(self) -> bool:
        return not any(self.query) and not any(self.key)


@dataclass(frozen=True)
class Illustration:
    """A string, the vectors of a program on it in blocks, and, for a STRIPS model, its attention heads."""

    name: str
    string: tuple[str, ...]
    blocks: list[dict[str, list[bool]]]  # symbols, then what the program defines, then its result
    inapplicable: list[bool]
    verdict: str
    heads: list[HeadView]

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "string": list(self.string),
            "vectors": {name: [int(x) for x in vector] for block in self.blocks for name, vector in block.items()},
            "verdict": self.verdict,
            "inapplicable": [i for i, flag in enumerate(self.inapplicable) if flag],
            "heads": [vars(head) for head in self.heads],
        }

    def shown(self, everything: bool) -> Illustration:
        """Without the symbols that do not occur, and without the atoms that no action of the trace names."""
        if everything:
            return self
        symbols, *middle, last = self.blocks
        if self.heads:
            middle = [block for block, head in zip(middle, self.heads, strict=True) if not head.idle]
        symbols = {name: vector for name, vector in symbols.items() if any(vector)}
        return replace(self, blocks=[symbols, *middle, last], heads=[head for head in self.heads if not head.idle])


def illustrate_program(program: Program, string: Sequence[str], name: str) -> Illustration:
    """Any program on any string."""
    refuse_long(string)
    found = evaluate(program, [string])
    vectors = found.of(0)
    names = program.vectors
    first, last = len(program.alphabet), len(program.vectors) - len(program.output_vectors)
    blocks = [{name: vectors[name] for name in part} for part in (names[:first], names[first:last], names[last:])]
    if program.output:
        verdict = "output " + " ".join(found.outputs()[0])
    else:
        verdict = "accepted" if found.accepted()[0] else "rejected"
    return Illustration(name, tuple(string), blocks, [False] * len(string), verdict, [])


def illustrate_model(model: StripsModel, trace: Sequence[str], running: bool = False) -> Illustration:
    """The program of a model on a trace, one block for each atom, and the heads of the STRIPS Transformer at θ_M."""
    refuse_long(trace)
    tokens = np.array([model.action_index[model.action(name).name] for name in trace], dtype=np.int64)
    program = strips_program(model, running)
    found = evaluate(program, [trace])
    vectors = found.of(0)
    names = iter(vectors)
    groups = [len(model.actions), *(4 for _ in model.atoms), 2]
    blocks = [{name: vectors[name] for name in islice(names, size)} for size in groups]
    layout = Layout(Vocabulary(program.alphabet), np.full(len(model.atoms), SHARED, dtype=np.int64))
    at = expand(theta_of(model, layout), layout, tokens)
    heads = []
    for number, atom in enumerate(model.atoms):
        steps = head_steps(at, number, np.zeros(len(tokens), dtype=bool))
        chosen = [i - 1 - int(np.argmax(row[:i][::-1])) if i else None for i, row in enumerate(steps.scores)]
        heads.append(HeadView(
            atom, whole(steps.query), whole(steps.key), whole(steps.value), chosen,
            [j is not None and bool(steps.weights[i, j] == 1) for i, j in enumerate(chosen)], whole(steps.output),
        ))  # fmt: skip
    verdict = "negative" if found.accepted()[0] else "positive"
    return Illustration(model.name, tuple(trace), blocks, vectors["Y"], verdict, heads)


def refuse_long(string: Sequence[str]) -> None:
    if len(string) > LONGEST:
        raise BraspError(f"{len(string):,} positions are too many to be shown", hint=f"at most {LONGEST}")


def whole(values: np.ndarray) -> list[int]:
    return [int(value) for value in values]
