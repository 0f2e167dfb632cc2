"""The two theorems of learner `windows` by brute force, on random logs over tiny worlds, ground and lifted.

    python benchmarks/windows_theorems.py --out results/windows_theorems.json

An atom is what every token does to it (add, delete, nothing) and its first value for each way to start. All of them are
enumerated. A model needs any set of atoms; its preconditions are independent of each other, so a log is explainable iff
every refusal of an action is explained by some atom that no success of the action contradicts. Each log, explainable or
not, goes through the compiled collection and answers and through their definition; every answer is compared.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import product

from measuring import options, write_results

from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.learners.windows.reference import Attempt, History, VersionSpace
from trace2strips.learners.windows.summary import summarise
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.names import Naming, Schema

Step = tuple[int, tuple[str, ...]]  # a schema's number and its objects
Told = frozenset[str]  # objects of which the atom `k` is told; {""} if it has no argument and is told
NAMING = Naming("call")
LOGS = 2_500  # for each world

WORLDS: dict[str, tuple[tuple[Schema, ...], tuple[str, ...], int]] = {
    "two actions": ((("a", ()), ("b", ())), (), 0),
    "three actions": ((("a", ()), ("b", ()), ("c", ())), (), 0),
    "four actions": ((("a", ()), ("b", ()), ("c", ()), ("d", ())), (), 0),
    "one argument": ((("a", (0,)), ("b", (0,))), ("x", "y"), 1),
    "two arguments": ((("a", (0,)), ("b", (0, 1))), ("x", "y"), 2),
    "one object twice": ((("a", (0,)), ("b", (0, 0)), ("b", (0, 1))), ("x", "y"), 2),
}


@dataclass(frozen=True)
class Attempted:
    """One attempt of a random log: how its trace started, what worked before, and what became of it."""

    trace: int
    told: Told
    steps: tuple[Step, ...]
    action: Step
    worked: bool


class BruteForce:
    """All atoms that an action may need, as bits of an int."""

    def __init__(self, world: str) -> None:
        schemas, self.objects, arity = WORLDS[world]
        self.projection = Projection(schemas, (), arity)
        self.atoms = [
            [
                (signs, first)
                for signs in product((-1, 0, 1), repeat=len(tokens))
                for first in product((0, 1), repeat=self.ways_to_start(r))
            ]
            for r, tokens in enumerate(self.projection.tokens)
        ]
        self.known: dict[Hashable, int] = {}

    def ways_to_start(self, r: int) -> int:
        """With objects, k is told or not of each object of a tuple; without, k itself."""
        return 2**r if self.objects else 2

    def way(self, told: Told, about: tuple[str, ...]) -> int:
        return sum((x in told) << i for i, x in enumerate(about if self.objects else ("",)))

    def false_atoms(self, schema: int, objects: tuple[str, ...], steps: tuple[Step, ...], told: Told) -> int:
        """Which of the atoms over arguments of this action are false after these steps."""
        mask, width = 0, 0
        for asked, positions in self.projection.queries:
            if asked == schema:
                about = tuple(objects[i] for i in positions)
                seen = tuple(
                    self.projection.bit[len(about)][number, tuple(others.index(x) for x in about)]
                    for number, others in steps
                    if set(about) <= set(others)
                )
                mask |= self.false_of(len(about), seen, self.way(told, about)) << width
                width += len(self.atoms[len(about)])
        return mask

    def false_of(self, r: int, seen: tuple[int, ...], way: int) -> int:
        if (r, seen, way) not in self.known:
            mask = 0
            for number, (signs, first) in enumerate(self.atoms[r]):
                value = bool(first[way])
                for bit in seen:
                    value = value if signs[bit] == 0 else signs[bit] > 0
                mask |= (not value) << number
            self.known[r, seen, way] = mask
        return self.known[r, seen, way]

    def answers(self, log: list[Attempted], queries: list[Attempted]) -> tuple[list[bool], list[str]]:
        """Which schemas are explainable; and where all are, the answer to each query."""
        possible, refusals = [], []
        for schema in range(len(self.projection.schemas)):
            left, refused = -1, []
            for x in log:
                if x.action[0] == schema:
                    mask = self.false_atoms(*x.action, x.steps, x.told)
                    left &= ~mask if x.worked else -1
                    refused += [] if x.worked else [mask]
            possible.append(left)
            refusals.append(refused)
        explainable = [all(mask & left for mask in refused) for left, refused in zip(possible, refusals, strict=True)]
        found = []
        for x in queries if all(explainable) else ():
            mask, left = self.false_atoms(*x.action, x.steps, x.told), possible[x.action[0]]
            if not mask & left:
                found.append("works")
            elif all(refusal & left & ~mask for refusal in refusals[x.action[0]]):
                found.append("open")
            else:
                found.append("refused")
        return explainable, found


def random_log(rng: random.Random, brute: BruteForce) -> list[Attempted]:
    """Attempts of a hidden model, in some logs with wrong labels."""
    schemas = brute.projection.schemas
    ground = [(n, args) for n, s in enumerate(schemas) for args in distinct(brute.objects, arity_of(s))]
    hidden = {n: [rng.randrange(2**31) for _ in range(rng.randint(0, 3))] for n in range(len(schemas))}
    noise = 0.2 if rng.random() < 0.3 else 0.0
    found = []
    for trace in range(rng.randint(1, 4)):
        told = frozenset(x for x in brute.objects or ("",) if rng.random() < 0.5)
        steps: tuple[Step, ...] = ()
        for _ in range(rng.randint(1, 7)):
            schema, args = rng.choice(ground)
            false = brute.false_atoms(schema, args, steps, told)
            total = sum(len(brute.atoms[len(p)]) for n, p in brute.projection.queries if n == schema)
            worked = not any(false >> (atom % total) & 1 for atom in hidden[schema])
            if rng.random() < noise:
                worked = not worked
            found.append(Attempted(trace, told, steps, (schema, args), worked))
            if worked:
                steps = (*steps, (schema, args))
    return found


def distinct(objects: tuple[str, ...], r: int) -> list[tuple[str, ...]]:
    return [args for args in product(objects, repeat=r) if len(set(args)) == r]


def as_dataset(brute: BruteForce, log: list[Attempted]) -> Dataset:
    """The log as a user would have it."""
    traces = []
    for trace in dict.fromkeys(x.trace for x in log):
        mine = [x for x in log if x.trace == trace]
        names = []
        for x in mine:
            name, pattern = brute.projection.schemas[x.action[0]]
            names.append(NAMING.join((name, *(x.action[1][i] for i in pattern))))
        init = frozenset(NAMING.join(("k", *filter(None, [x]))) for x in mine[0].told)
        traces.append(Trace(tuple(names), tuple(x.worked for x in mine), init))
    return Dataset.of(traces)


def by_definition(brute: BruteForce, log: list[Attempted], queries: list[Attempted]) -> tuple[list[bool], list[str]]:
    def situation(x: Attempted) -> Mapping[tuple[int, int | tuple[object, ...]], int]:
        history = History(brute.projection)
        for step in x.steps:
            history.apply(*step)
        return history.situation(*x.action, lambda about: ("way", brute.way(x.told, about)))

    space = VersionSpace.of(Attempt(x.action[0], situation(x), x.worked) for x in log)
    without = {attempt.schema for attempt in space.inexplicable()}
    explainable = [schema not in without for schema in range(len(brute.projection.schemas))]
    return explainable, [space.answer(x.action[0], situation(x)) for x in queries] if all(explainable) else []


def compiled(brute: BruteForce, log: list[Attempted], queries: list[Attempted]) -> tuple[list[bool], list[str]]:
    dataset = as_dataset(brute, log)
    summary = summarise(
        collect_windows(dataset, encode(dataset, NAMING, brute.projection.arity, brute.projection)), dataset.vocabulary
    )
    without = {refusal.schema for refusal in summary.inexplicable}
    explainable = [schema not in without for schema in range(len(brute.projection.schemas))]
    if not all(explainable):
        return explainable, []
    answers = answer_all(summary, as_dataset(brute, queries), NAMING)
    return explainable, [Answer(x).name.lower() for x in answers.tolist() if x != Answer.NOT_ASKED]


def compare(world: str, logs: int) -> Counter[str]:
    """Counts of logs and answers, and how many differ from the enumeration."""
    brute = BruteForce(world)
    rng = random.Random(world)
    seen: Counter[str] = Counter()
    for _ in range(logs):
        log, queries = random_log(rng, brute), random_log(rng, brute)
        explainable, expected = brute.answers(log, queries)
        seen["explainable" if all(explainable) else "inexplicable"] += 1
        seen.update(expected)
        for found in (by_definition(brute, log, queries), compiled(brute, log, queries)):
            seen["differ"] += found[0] != explainable
            seen["differ"] += sum(a != b for a, b in zip(found[1], expected, strict=True))
    return seen


def main() -> None:
    arguments = options(__doc__)
    logs = LOGS // 100 if arguments.quick else LOGS
    rows = []
    for world in WORLDS:
        clock = time.perf_counter()
        seen = compare(world, logs)
        names = ("explainable", "inexplicable", "works", "refused", "open", "differ")
        rows.append({"world": world, "logs": logs, **{name: seen[name] for name in names},
                     "seconds": time.perf_counter() - clock})  # fmt: skip
        print(rows[-1], flush=True)
    write_results(arguments.out, "python benchmarks/windows_theorems.py", {"logs": logs}, rows)
    if any(row["differ"] for row in rows):
        sys.exit("some answers differ")


if __name__ == "__main__":
    main()
