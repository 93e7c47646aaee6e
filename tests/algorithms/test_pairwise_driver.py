"""The driver of pairwise alignment: the oracle's matrices cut into tiles give the oracle's alignment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairwise import Mode, Pair, oracle
from quire.algorithms.pairwise.driver import joined, trace, without_matrix
from quire.algorithms.pairwise.tiling import Tiling
from quire.algorithms.scoring import BWA_MEM, Scoring

from tests.support.pairwise_cases import OracleSweep, as_oracle, pair, pairs, rescored


@settings(max_examples=150, deadline=None)
@given(pairs(longest=24), st.integers(1, 9), st.integers(1, 9))
def test_any_tiles_give_the_same_alignment(pair: Pair, tile_rows: int, tile_columns: int) -> None:
    expected = oracle.align(pair)
    assert rescored(pair, expected) == expected[0]
    alignment = without_matrix(pair)
    if alignment is None:
        tiling = Tiling(len(pair.query), len(pair.target), tile_rows, tile_columns)
        alignment = trace(pair, OracleSweep(pair, tiling))
    assert as_oracle(alignment) == expected


def test_gaps_stand_as_far_left_as_they_can() -> None:
    answer = oracle.align(pair([0, 1, 1, 2], [0, 1, 1, 1, 1, 2], Scoring(2, -3, -3, -1), Mode.GLOBAL))
    assert answer[5] == [("M", 1), ("D", 2), ("M", 3)]


def test_of_equal_ends_the_first_on_the_target_counts() -> None:
    assert oracle.align(pair([0, 1, 2], [3, 0, 1, 2, 3, 0, 1, 2], BWA_MEM, Mode.LOCAL))[:5] == (3, 0, 3, 1, 4)
    assert oracle.align(pair([0, 1, 2], [3, 0, 1, 2, 3, 0, 1, 2], BWA_MEM, Mode.GLOCAL))[:5] == (3, 0, 3, 1, 4)


def test_ambiguous_bases_match_nothing() -> None:
    assert oracle.align(pair([4, 4], [4, 4], BWA_MEM, Mode.GLOBAL))[0] == 2 * BWA_MEM.mismatch


def test_joined_elements() -> None:
    parts = [np.array([16, 33], np.uint32), np.array([], np.uint32), np.array([17, 16], np.uint32)]
    assert joined(parts).tolist() == [16, 49, 16]


@pytest.mark.parametrize(
    "scoring", [Scoring(0, -1, -2, -1), Scoring(1, 1, -2, -1), Scoring(1, -1, -1, -2), Scoring(1, -1, -2, 0)]
)
def test_refuses_scores_of_the_wrong_sign(scoring: Scoring) -> None:
    with pytest.raises(ValueError, match="needs match > 0"):
        pair([0], [0], scoring, Mode.LOCAL)


def test_refuses_scores_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="32 bits"):
        pair([0], [0], Scoring(1 << 28, -1, -2, -1), Mode.LOCAL)
