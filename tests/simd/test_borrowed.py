"""Borrowed views hold what their arrays hold, and arrays that a view could not follow are refused."""

import numpy as np
import pytest
from numba.core.errors import TypingError
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled


@compiled
def first_and_sum(array):
    """The first item and the sum of a borrowed array."""
    view = borrowed(array)
    total = view[0] * 0
    for i in range(len(view)):
        total += view[i]
    return view[0], total


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32])
def test_a_view_holds_the_same(dtype: type) -> None:
    array = np.arange(5, 12).astype(dtype)
    assert first_and_sum(array) == (5, 56)
    assert first_and_sum(array[2:5]) == (7, 24)


def test_other_orders_are_refused() -> None:
    with pytest.raises(TypingError, match="only arrays in C order can be borrowed"):
        first_and_sum(np.arange(10)[::2])
