"""The two theorems by brute force: all atoms over tiny worlds against windows, ground and lifted, on random logs.

An atom is what every token does to it (add, delete, nothing) and its first value for each key of a START. A model needs
any set of atoms; its preconditions are independent of each other, so a log is explainable iff every refusal of an
action is explained by some atom that no success of the action contradicts.
"""

import random
from collections.abc import Hashable
from itertools import product

import pytest

from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.reference import Attempt, History, VersionSpace
from trace2strips.traces.names import Schema

Step = tuple[int, tuple[str, ...]]
KEYS = 2  # different STARTs

WORLDS: dict[str, tuple[tuple[Schema, ...], tuple[str, ...], int]] = {
    "two actions": ((("a", ()), ("b", ())), (), 0),
    "three actions": ((("a", ()), ("b", ()), ("c", ())), (), 0),
    "one argument": ((("a", (0,)), ("b", (0,))), ("x", "y"), 1),
    "two arguments": ((("a", (0,)), ("b", (0, 1))), ("x", "y"), 2),
    "one object twice": ((("a", (0,)), ("b", (0, 0)), ("b", (0, 1))), ("x", "y"), 2),
}


class BruteForce:
    """All atoms that an action may need, as bits of an int."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self.atoms = [
            [
                (signs, first)
                for signs in product((-1, 0, 1), repeat=len(tokens))
                for first in product((0, 1), repeat=KEYS)
            ]
            for tokens in projection.tokens
        ]
        self.known: dict[Hashable, int] = {}

    def false_atoms(self, schema: int, objects: tuple[str, ...], steps: tuple[Step, ...], keys: dict) -> int:  # type: ignore[type-arg]
        """Which of the atoms over arguments of this action are false after these steps."""
        mask, width = 0, 0
        for asked, positions in self.projection.queries:
            if asked != schema:
                continue
            about = tuple(objects[i] for i in positions)
            seen = tuple(
                self.projection.bit[len(about)][number, tuple(others.index(x) for x in about)]
                for number, others in steps
                if set(about) <= set(others)
            )
            found = self.false_of(len(about), seen, keys[about])
            mask |= found << width
            width += len(self.atoms[len(about)])
        return mask

    def false_of(self, r: int, seen: tuple[int, ...], key: int) -> int:
        if (r, seen, key) not in self.known:
            mask = 0
            for number, (signs, first) in enumerate(self.atoms[r]):
                value = first[key]
                for bit in seen:
                    value = value if signs[bit] == 0 else signs[bit] > 0
                mask |= (not value) << number
            self.known[r, seen, key] = mask
        return self.known[r, seen, key]


def random_log(rng: random.Random, brute: BruteForce, objects: tuple[str, ...]):  # type: ignore[no-untyped-def]
    """Attempts of a hidden model, some with wrong labels: (keys of the start, steps before, action, worked)."""
    schemas = brute.projection.schemas
    ground = [(n, args) for n, s in enumerate(schemas) for args in distinct(objects, max(s[1], default=-1) + 1)]
    hidden = {n: [rng.randrange(2**31) for _ in range(rng.randint(0, 3))] for n in range(len(schemas))}
    noise = 0.2 if rng.random() < 0.3 else 0.0
    tuples = [args for r in range(brute.projection.arity + 1) for args in distinct(objects, r)]
    for _ in range(rng.randint(1, 4)):
        keys = {about: rng.randrange(KEYS) for about in tuples}
        steps: tuple[Step, ...] = ()
        for _ in range(rng.randint(1, 7)):
            schema, args = rng.choice(ground)
            false = brute.false_atoms(schema, args, steps, keys)
            total = sum(len(brute.atoms[len(p)]) for n, p in brute.projection.queries if n == schema)
            worked = not any(false >> (atom % total) & 1 for atom in hidden[schema])
            if rng.random() < noise:
                worked = not worked
            yield keys, steps, (schema, args), worked
            if worked:
                steps = (*steps, (schema, args))


def distinct(objects: tuple[str, ...], r: int) -> list[tuple[str, ...]]:
    return [args for args in product(objects, repeat=r) if len(set(args)) == r]


def situation(projection: Projection, steps: tuple[Step, ...], action: Step, keys: dict):  # type: ignore[no-untyped-def,type-arg]
    history = History(projection)
    for schema, objects in steps:
        history.apply(schema, objects)
    return history.situation(*action, lambda about: ("key", keys[about]))


@pytest.mark.parametrize("world", WORLDS)
def test_windows_agree_with_all_models(world: str) -> None:
    schemas, objects, arity = WORLDS[world]
    brute = BruteForce(Projection(schemas, (), arity))
    projection = brute.projection
    rng = random.Random(world)
    seen = {"explainable": 0, "inexplicable": 0, "works": 0, "refused": 0, "open": 0}
    for _ in range(400):
        log = list(random_log(rng, brute, objects))
        space = VersionSpace.of(
            Attempt(action[0], situation(projection, steps, action, keys), worked)
            for keys, steps, action, worked in log
        )
        queries = list(random_log(rng, brute, objects))
        for schema in range(len(schemas)):
            false = [
                (brute.false_atoms(*action, steps, keys), worked)
                for keys, steps, action, worked in log
                if action[0] == schema
            ]
            possible = -1
            for mask, worked in false:
                if worked:
                    possible &= ~mask
            refusals = [mask for mask, worked in false if not worked]
            explainable = all(mask & possible for mask in refusals)
            assert explainable == (not [r for r in space.inexplicable() if r.schema == schema])
            seen["explainable" if explainable else "inexplicable"] += 1
            if not explainable:
                continue
            for keys, steps, action, _ in queries:
                if action[0] != schema:
                    continue
                mask = brute.false_atoms(*action, steps, keys)
                if not mask & possible:
                    expected = "works"
                elif not all(refusal & possible & ~mask for refusal in refusals):
                    expected = "refused"
                else:
                    expected = "open"
                assert space.answer(schema, situation(projection, steps, action, keys)) == expected
                seen[expected] += 1
    assert min(seen.values()) > 20, seen
