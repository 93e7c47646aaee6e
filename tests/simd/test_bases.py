"""Check the comparison of thirty-two bases at a time."""

import numpy as np
import pytest
from quire.sequence.packing import pack
from quire.simd.bases import LANES, differing_bases


def one_by_one(
    codes: np.ndarray, first: int, last: int, reverse: bool, place: int, count: int, text: np.ndarray
) -> int:
    read = codes[first:last].tolist()
    if reverse:
        read = [code if code == 4 else 3 - code for code in reversed(read)]
    return sum(1 << i for i in range(count) if read[place + i] != text[i])


@pytest.mark.parametrize("reverse", [False, True])
def test_random_reads_at_all_ends_of_the_batch(reverse: bool) -> None:
    generator = np.random.default_rng(7)
    compared = 0
    for _ in range(4000):
        codes = generator.choice(
            np.array([0, 1, 2, 3, 4], np.uint8), int(generator.integers(1, 120)), p=[0.24] * 4 + [0.04]
        )
        first = int(generator.integers(0, len(codes)))
        last = int(generator.integers(first + 1, len(codes) + 1))
        place = int(generator.integers(0, last - first + 1))
        count = int(generator.integers(0, min(LANES, last - first - place) + 1))
        oriented = codes[first:last][::-1] ^ 3 if reverse else codes[first:last]
        text = np.resize(oriented[place : place + count], LANES) & 3 if count else np.zeros(LANES, np.uint8)
        changed = generator.random(LANES) < 0.1
        text[changed] = generator.integers(0, 4, int(changed.sum()))
        text[count:] = generator.integers(0, 4, LANES - count)
        word = pack(text)[0]
        found = int(differing_bases(codes, first, last, reverse, place, count, word))
        assert found == one_by_one(codes, first, last, reverse, place, count, text)
        compared += found.bit_count()
    assert compared > 1000


@pytest.mark.parametrize("reverse", [False, True])
def test_an_unknown_base_differs_from_all(reverse: bool) -> None:
    codes = np.full(96, 4, np.uint8)
    for code in range(4):
        word = pack(np.full(LANES, code, np.uint8))[0]
        assert int(differing_bases(codes, 32, 64, reverse, 0, LANES, word)) == (1 << LANES) - 1
