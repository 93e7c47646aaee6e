"""Check the scores of letters, in lanes of every width, against a comparison."""

import numpy as np
import pytest
from numba import njit
from quire.simd.letters import BOTH_BYTES, LETTERS, ROW_MARK, letter_scores, score_letters
from quire.simd.vectors import load, store

from tests.support.examples import some


@pytest.mark.parametrize("lanes", some(2, [16, 64, 32]))
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
@pytest.mark.parametrize(("equal", "different"), [(1, -4), (10, -100), (-3, 7), (-1, 0)])
def test_all_pairs_of_letters(equal: int, different: int, dtype: type, lanes: int) -> None:
    @njit
    def kernel(rows, columns, equal, different, out):
        scores = letter_scores(equal, different, lanes)
        store(out, 0, score_letters(load(rows, 0, lanes), load(columns, 0, lanes), scores))

    wide = dtype is not np.int8
    for letter in range(LETTERS):
        columns = np.arange(lanes) % LETTERS
        rows = np.full(lanes, letter) * (BOTH_BYTES if wide else 1) + (ROW_MARK if wide else 0)
        out = np.zeros(lanes, dtype)
        coded = columns * (BOTH_BYTES if wide else 1)
        kernel(rows.astype(dtype), coded.astype(dtype), dtype(equal), dtype(different), out)
        assert out.tolist() == np.where(columns == letter, equal, different).tolist()


def test_scores_of_16_bits_have_both_bytes() -> None:
    @njit
    def kernel(rows, columns, out):
        scores = letter_scores(np.int16(700), np.int16(-300), 16)
        store(out, 0, score_letters(load(rows, 0, 16), load(columns, 0, 16), scores))

    letters = (np.arange(16) % LETTERS).astype(np.int16)
    out = np.zeros(16, np.int16)
    kernel(letters * np.int16(BOTH_BYTES) + np.int16(ROW_MARK), np.full(16, 5, np.int16) * np.int16(BOTH_BYTES), out)
    assert out.tolist() == np.where(letters == 5, 700, -300).tolist()
