"""Check that borrowed views have the contents of their arrays, alone and in tuples."""

from typing import NamedTuple

import numpy as np
import pytest
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled


class Pair(NamedTuple):
    """Two arrays, one of them in a tuple, and a number."""

    first: np.ndarray
    nested: tuple[np.ndarray]
    number: int


@compiled
def first_and_sum(array):
    """Return the first item and the sum of a borrowed array."""
    view = borrowed(array)
    total = view[0] * 0
    for i in range(len(view)):
        total += view[i]
    return view[0], total


@compiled
def sums_of(pair):
    """Return the sums of a tuple's arrays, and its number; write to one of them."""
    view = borrowed(pair)
    sums = view.first.sum(), view.nested[0].sum(), view.number
    view.first[0] = 100
    return sums


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_a_view_holds_the_same(dtype: type) -> None:
    array = np.arange(5, 12).astype(dtype)
    assert first_and_sum(array) == (5, 56)
    assert first_and_sum(array[2:5]) == (7, 24)
    assert first_and_sum(array[::2]) == (5, 32)


def test_the_arrays_of_a_tuple_are_borrowed_too() -> None:
    pair = Pair(np.arange(4), (np.arange(6).reshape(2, 3)[:, 1:],), 7)
    assert sums_of(pair) == (6, 12, 7)
    assert pair.first[0] == 100
