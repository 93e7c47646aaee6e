"""Offsets and places on a card, against NumPy."""

import numpy as np
import pytest
from quire.device.scan import ITEMS, MOST_PARTS, THREADS

ROUND = THREADS * ITEMS
COUNTS = [0, 1, 31, ITEMS, THREADS + 1, ROUND - 1, ROUND, ROUND + 1, 5 * ROUND + 7]


def items(count: int, dtype: type, seed: int = 1) -> np.ndarray:
    """Return numbers of which about a third are 0."""
    generator = np.random.default_rng([seed, count])
    return (generator.integers(0, 200, count) * (generator.random(count) < 0.66)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int32, np.int64])
@pytest.mark.parametrize("count", COUNTS)
def test_offsets_and_places(card, count: int, dtype: type) -> None:
    numbers = items(count, dtype)
    offsets, total = card.offsets_and_totals(card.upload(numbers))
    assert card.download(offsets).tolist() == [0, *np.cumsum(numbers, dtype=np.int64)]
    assert total.wait() == [numbers.sum(dtype=np.int64)]
    assert card.download(card.nonzero(card.upload(numbers))).tolist() == np.flatnonzero(numbers).tolist()


@pytest.mark.parametrize("count", [0, 1, ROUND + 3])
def test_rows(card, count: int) -> None:
    rows = np.stack([items(count, np.int32, seed) for seed in range(3)])
    offsets, totals = card.offsets_and_totals(card.upload(rows))
    assert offsets.shape == (3, count + 1)
    for row, of_row in zip(rows, card.download(offsets), strict=True):
        assert of_row.tolist() == [0, *np.cumsum(row, dtype=np.int64)]
    assert totals.wait() == rows.sum(axis=1).tolist()


def test_sums_beyond_32_bits(card) -> None:
    numbers = np.array([(1 << 31) - 1, 1 << 40, 5], np.int64)
    offsets, total = card.offsets_and_totals(card.upload(numbers))
    assert card.download(offsets).tolist() == [0, *np.cumsum(numbers)]
    assert total.wait() == [numbers.sum()]


@pytest.mark.full
def test_parts_of_several_rounds(card) -> None:
    """With more than MOST_PARTS rounds a block takes several."""
    numbers = items(MOST_PARTS * ROUND + 3 * ROUND + 1, np.uint8)
    offsets, total = card.offsets_and_totals(card.upload(numbers))
    assert np.array_equal(card.download(offsets)[1:], np.cumsum(numbers, dtype=np.int64))
    assert total.wait() == [numbers.sum(dtype=np.int64)]
    assert np.array_equal(card.download(card.nonzero(card.upload(numbers))), np.flatnonzero(numbers))


def test_numbers_of_several_calls_stay_apart(card) -> None:
    calls = [card.offsets_and_totals(card.upload(np.full(9, value, np.int32)))[1] for value in range(5)]
    assert [number for call in calls for number in call.wait()] == [9 * value for value in range(5)]


def test_numbers_are_taken_again(card) -> None:
    """More numbers are asked for than a real card's ring has."""
    for value in range(3):
        for _ in range(3000):
            card.numbers(1)
        _, total = card.offsets_and_totals(card.upload(np.full(ROUND + 1, value, np.int32)))
        assert total.wait() == [value * (ROUND + 1)]
