"""Words of bits, their hashes and the random streams: each compiled function against plain integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trace2strips.bits import (
    hash_rows,
    hash_words_slowly,
    next_random,
    pack,
    random_below,
    random_below_slowly,
    random_stream,
    stable_seed,
    unpack,
)

WORDS = st.integers(0, 2**64 - 1)


def test_where_a_column_goes() -> None:
    matrix = np.zeros((2, 70), dtype=bool)
    matrix[0, [0, 63]] = matrix[1, 64] = True
    assert pack(matrix).tolist() == [[1 + 2**63, 0], [0, 1]]
    assert pack(np.zeros((3, 0), dtype=bool)).shape == (3, 1)
    assert (unpack(pack(matrix), 70) == matrix).all()


def test_the_streams_are_those_of_splitmix64() -> None:
    """Numbers published with the generator (seed 1234567)."""
    draw = random_stream(1234567)
    assert [draw() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(WORDS, st.integers(1, 2**31))
def test_streams_are_those_of_plain_integers(seed: int, bound: int) -> None:
    streams = np.array([0, seed], dtype=np.uint64)
    slow = random_stream(seed)
    assert [int(next_random(streams, 1)) for _ in range(3)] == [slow() for _ in range(3)]
    drawn = [int(random_below(streams, 1, bound)) for _ in range(3)]
    assert drawn == [random_below_slowly(slow, bound) for _ in range(3)]
    assert all(0 <= number < bound for number in drawn)
    assert streams[0] == 0


@given(st.integers(1, 3).flatmap(lambda words: st.lists(st.lists(WORDS, min_size=words, max_size=words), min_size=1)))
def test_hashes_are_those_of_plain_integers(rows: list[list[int]]) -> None:
    assert hash_rows(np.array(rows, dtype=np.uint64)).tolist() == [hash_words_slowly(row) for row in rows]


def test_hashes_stay() -> None:
    """Which initial states are for training and which for testing hangs on them."""
    assert hash_words_slowly([]) == 0
    assert hash_words_slowly([0]) == random_stream(0)() == 0xE220A8397B1DCDAF
    assert stable_seed("train") == 15782024995084201745
