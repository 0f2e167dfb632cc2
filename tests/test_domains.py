"""The benchmark families: sizes, counts, initial states and goals."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace2strips.errors import DomainError
from trace2strips.model.strips import State, state_of
from trace2strips.worlds import BENCHMARKS, FAMILIES, Domain, get_domain
from trace2strips.worlds.domain import SPLIT_BUCKETS, bucket
from trace2strips.worlds.maze import Maze, open_doors, open_doors_slowly

SIZES = {  # atoms, actions, ever applicable
    "blocksworld-5b": (36, 50, 50), "blocksworld-8b": (81, 128, 128), "ferry-5c": (36, 70, 70),
    "ferry-8c": (72, 154, 154), "npuzzle-5t": (36, 70, 70), "npuzzle-8t": (81, 192, 192), "maze-5x5": (50, 80, 48),
    "maze-7x7": (98, 168, 96), "logistics-3c": (29, 48, 48), "logistics-5c": (79, 150, 150),
}  # fmt: skip
SMALL = ["blocksworld:3", "blocksworld:4", "ferry:2x3", "npuzzle:2x2", "npuzzle:2x3", "maze:3x5", "maze:5x5",
         "logistics:2x1", "logistics:3x2"]  # fmt: skip


def test_all_ten_have_the_sizes_of_the_paper() -> None:
    assert tuple(SIZES) == BENCHMARKS
    for name, sizes in SIZES.items():
        domain = get_domain(name)
        assert (len(domain.model.atoms), len(domain.model.actions), len(domain.reachable_actions)) == sizes


def explore(domain: Domain, starts: set[State]) -> set[State]:
    """All states that can be reached, by breadth-first search over readable sets."""
    seen, queue = set(starts), deque(starts)
    while queue:
        state = queue.popleft()
        for action in domain.model.actions:
            if action.applicable(state):
                after = action.progress(state)
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
    return seen


@pytest.mark.parametrize("name", SMALL)
def test_counted_states_are_those_that_search_reaches(name: str) -> None:
    domain = get_domain(name)
    rows = domain.draw_states(np.random.default_rng(0), 20_000)
    starts = {state_of(domain.model, row) for row in np.unique(rows, axis=0)}
    reached = explore(domain, starts)
    assert len(reached) == domain.family.count_states()
    used = {a.name for a in domain.model.actions if any(a.applicable(s) for s in reached)}
    assert used == set(domain.reachable_actions)
    assert frozenset().union(*starts) == set(domain.initial_atoms)


@pytest.mark.parametrize("name", SMALL)
def test_goals_can_be_reached_and_use_goal_atoms(name: str) -> None:
    domain = get_domain(name)
    for problem in domain.problems(4):
        assert problem.goal
        assert problem.goal <= set(domain.goal_atoms)
        assert any(problem.goal <= state for state in explore(domain, {problem.init}))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_problems_start_where_no_training_trace_starts(name: str) -> None:
    domain = get_domain(name)
    problems = domain.problems(100)
    assert len(problems) == 100
    assert len({(p.init, p.goal) for p in problems}) > 50
    train = domain.draw_states(np.random.default_rng(1), 20_000, "train")
    test = domain.draw_states(np.random.default_rng(2), 5_000, "test")
    starts = {state_of(domain.model, row) for row in train}
    assert not starts & {p.init for p in problems}
    assert not starts & {state_of(domain.model, row) for row in test}
    assert problems == domain.problems(100)
    assert problems != domain.problems(100, seed=1)


def test_the_split_covers_all_buckets_once() -> None:
    assert sorted(b for buckets in SPLIT_BUCKETS.values() for b in buckets) == list(range(16))
    states = get_domain("ferry-8c").draw_states(np.random.default_rng(0), 16_000)
    shares = np.bincount(bucket(states), minlength=16) / 16_000
    assert abs(shares - 1 / 16).max() < 0.01


@pytest.mark.parametrize("name", ["blocksworld-5b", "maze-7x7"])
def test_the_state_set_is_fixed_and_shared(name: str) -> None:
    domain = get_domain(name)
    states = domain.state_set(50)
    assert len(np.unique(states, axis=0)) == 50
    assert (states == Domain(name, domain.family).state_set(50)).all()
    pool = {state_of(domain.model, row) for row in states}
    assert {p.init for p in domain.problems(100, init="states:50")} <= pool


def test_mazes_are_trees_over_the_rooms() -> None:
    domain = get_domain("maze-7x7")
    rows = domain.draw_states(np.random.default_rng(0), 50)
    for row in rows:
        state = state_of(domain.model, row)
        free = {atom for atom in state if atom.startswith("free")}
        assert len(free) == 16 + 15
        reached = {next(a for a in s if a.startswith("at")) for s in explore(domain, {state})}
        assert {f"free{atom.removeprefix('at')}" for atom in reached} == free


@settings(max_examples=50)
@given(st.sampled_from([3, 5, 7]), st.sampled_from([3, 5, 7]), st.integers(0, 1000))
def test_doors_open_as_the_slow_reference_says(height: int, width: int, seed: int) -> None:
    doors = Maze(height, width).doors
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(len(doors)), (3, 1)), axis=1)
    fast, slow = np.zeros((2, 3, height * width), dtype=bool)
    open_doors(doors, order, fast)
    open_doors_slowly(doors, order, slow)
    assert (fast == slow).all()
    assert (slow.sum(axis=1) == (height + 1) * (width + 1) // 4 - 1).all()


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 1000))
def test_half_of_all_puzzles_can_be_sorted_and_only_those_are_drawn(height: int, width: int, seed: int) -> None:
    """The invariant of the 15 puzzle, computed here by cycles where the domain counts inversions."""
    domain = get_domain(f"npuzzle:{height}x{width}")
    row = domain.draw_states(np.random.default_rng(seed), 1)[0]
    cells = domain.family.cells  # type: ignore[attr-defined]
    place = {}
    for atom in state_of(domain.model, row):
        words = domain.task.origin[atom]
        tile = len(cells) - 1 if words[0] == "empty" else int(words[1][1:]) - 1
        place[tile] = cells.index(words[-1])
    assert sorted(place.values()) == list(range(len(cells)))
    cycles, seen = 0, set()
    for start in place:
        cycles += start not in seen
        while start not in seen:
            seen.add(start)
            start = place[start]
    blank = place[len(cells) - 1]
    moves = (height - 1 - blank // width) + (width - 1 - blank % width)
    assert (len(cells) - cycles + moves) % 2 == 0


@pytest.mark.parametrize("name", ["blocksworld:12", "npuzzle:4x4", "maze:9x9", "ferry:10x8", "logistics:6x5"])
def test_other_sizes(name: str) -> None:
    domain = get_domain(name)
    state = state_of(domain.model, domain.draw_states(np.random.default_rng(0), 1, "train")[0])
    assert any(action.applicable(state) for action in domain.model.actions)
    assert len(domain.problems(3)) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("blockworld-5b", "unknown domain 'blockworld-5b' (hint: did you mean 'blocksworld-5b'?"),
        ("blocksworld-6b", "unknown domain"),
        ("chess:8", "unknown family 'chess'"),
        ("blocksworld:x", "'x' is no size of blocksworld (hint: write blocksworld:BLOCKS)"),
        ("blocksworld:3x3", "is no size"),
        ("ferry:5", "is no size of ferry (hint: write ferry:CARSxPORTS)"),
        ("blocksworld:1", "too small (hint: the smallest is blocksworld:2)"),
        ("maze:4x5", "both numbers must be odd"),
        ("npuzzle:1000x2", "too large"),
        ("blocksworld:-3", "is no size"),
        ("", "unknown domain"),
    ],
)
def test_unknown_domains_are_explained(name: str, message: str) -> None:
    with pytest.raises(DomainError) as caught:
        get_domain(name)
    assert message in str(caught.value)


def test_a_domain_with_too_few_states_says_so() -> None:
    with pytest.raises(DomainError, match="blocksworld:2 has only 3 initial states, not 50"):
        get_domain("blocksworld:2").state_set(50)


def test_tiny_domains_share_their_states_between_the_splits() -> None:
    domain = get_domain("blocksworld:2")
    for split in ("train", "test", "plan"):
        assert len(domain.draw_states(np.random.default_rng(0), 10, split)) == 10


def test_every_family_is_a_benchmark_in_two_sizes() -> None:
    assert all(len(family.sizes) == 2 for family in FAMILIES.values())
