"""Only the diagonals that the alignment can be on: the bound by brute force, and the answers against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairwise import Memory, Mode, Pair, cpu_band, cpu_diagonals, oracle
from quire.algorithms.pairwise.cpu import align
from quire.algorithms.scoring import BWA_MEM, HAPLOTYPE_TO_REFERENCE, Scoring

from tests.support.pairwise_cases import SCORINGS, as_oracle, pair, pairs


@settings(max_examples=150, deadline=None)
@given(pairs(longest=30))
def test_no_alignment_on_a_diagonal_has_more_than_is_said(given_pair: Pair) -> None:
    """Of all alignments through a cell, from the matrices of both sequences forwards and backwards."""
    query, target, scoring, mode = given_pair.query, given_pair.target, given_pair.scoring, given_pair.mode
    rows, columns = len(query), len(target)
    if rows == 0 or columns == 0:
        return
    best = through_cells(given_pair)
    for diagonal in range(-rows, columns + 1):
        found = best.diagonal(diagonal).max()
        assert found <= cpu_diagonals.most_on(diagonal, rows, columns, scoring, int(mode))
    least = cpu_diagonals.score_at_least(query, target, scoring, int(mode))
    assert least <= best.max()
    low, high = cpu_diagonals.diagonals(rows, columns, scoring, int(mode), least)
    outside = [best.diagonal(k).max() for k in range(-rows, columns + 1) if not low <= k <= high]
    assert max(outside, default=least - 1) < least
    if mode == Mode.LOCAL and least > 0:
        bounds = [cpu_diagonals.most_on(k, rows, columns, scoring, int(mode)) for k in (low - 1, high + 1)]
        assert all(bound < least for bound in bounds)


def through_cells(given_pair: Pair) -> np.ndarray:
    """int64[m + 1, n + 1]: the best score of an alignment through each cell, in a gap or not."""
    before = [np.array(matrix) for matrix in oracle.matrices(given_pair)]
    backwards = Pair(given_pair.query[::-1].copy(), given_pair.target[::-1].copy(), given_pair.scoring, given_pair.mode)
    behind = [np.array(matrix)[::-1, ::-1] for matrix in oracle.matrices(backwards)]
    again = given_pair.scoring.gap_extend - given_pair.scoring.gap_open  # a gap on both sides is opened once
    return np.max([before[0] + behind[0], before[1] + behind[1] + again, before[2] + behind[2] + again], axis=0)


@settings(max_examples=200, deadline=None)
@given(pairs(longest=90), st.integers(0, 2))
def test_a_band_is_as_the_oracle(given_pair: Pair, wider: int) -> None:
    """Of sequences of any kind: those diagonals that the bound leaves, and some more."""
    query, target, scoring, mode = given_pair.query, given_pair.target, given_pair.scoring, given_pair.mode
    if len(query) == 0 or len(target) == 0:
        return
    sizes = len(query), len(target)
    least = cpu_diagonals.score_at_least(query, target, scoring, int(mode))
    if not cpu_band.fits_in_band(*sizes, scoring, int(mode), least):
        least = oracle.align(given_pair)[0]
    low, high = cpu_diagonals.diagonals(*sizes, scoring, int(mode), least)
    first = (low - wider) // 2 * 2
    vectors = (high - first) // 2 // cpu_band.LANES + 1 + wider // 2
    score, row, column, begin_row, begin_column, cigar = cpu_band.align_within(
        query, target, scoring, int(mode), first, vectors
    )
    expected = oracle.align(given_pair)
    operations = [("MID"[int(x) & 15], int(x) >> 4) for x in cigar[::-1]]
    assert (score, begin_row, row, begin_column, column, operations) == expected


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scoring", [*SCORINGS, HAPLOTYPE_TO_REFERENCE])
@pytest.mark.parametrize("length", [130, 250, 500])
def test_alike_sequences_are_as_in_tiles(length: int, scoring: Scoring, mode: Mode) -> None:
    """Through the entry: edits in plenty, repeats, and ends that differ."""
    random = np.random.default_rng(length)
    for unit in (2, 5, length):
        target = np.resize(random.integers(0, 4, unit), length)
        query = np.delete(target, random.integers(0, length, 3)).tolist()
        for at in sorted(random.integers(0, len(query), 4).tolist()):
            query[at : at + random.integers(3)] = random.integers(0, 5, random.integers(3)).tolist()
        for one, other in ((query, target.tolist()), (target.tolist(), query)):
            given_pair = pair(one, other, scoring, mode)
            assert as_oracle(align(given_pair)) == as_oracle(align(given_pair, memory=Memory.WHOLE))


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("scoring", SCORINGS[:4])
@pytest.mark.parametrize("length", [100, 300, 700, 1100])
def test_half_alike_sequences_are_as_in_tiles(length: int, scoring: Scoring, rate: float) -> None:
    """Scores around what bytes hold, and paths through blocks of strips, or a band."""
    random = np.random.default_rng(length)
    target = random.integers(0, 4, length)
    change = random.random(length) < rate
    query = np.repeat(np.where(change, random.integers(0, 4, length), target), np.where(change, length % 3 + 1, 1))
    query = np.delete(query, np.flatnonzero(random.random(len(query)) < rate / 3))
    given_pair = pair(query.tolist(), target.tolist(), scoring, Mode.LOCAL)
    assert as_oracle(align(given_pair)) == as_oracle(align(given_pair, memory=Memory.WHOLE))
    assert as_oracle(align(given_pair, memory=Memory.LINEAR)) == as_oracle(align(given_pair))


def test_alike_sequences_take_a_band_and_others_do_not() -> None:
    random = np.random.default_rng(6)
    one, other = (random.integers(0, 4, 300).astype(np.uint8) for _ in range(2))
    edited = np.delete(one, [50, 200])
    edited[100] ^= 1
    for mode in Mode:
        least = cpu_diagonals.score_at_least(one, edited, BWA_MEM, int(mode))
        assert least == 298 - 5 - 7 - 7
        assert cpu_band.align_band(one, edited, BWA_MEM, int(mode), least, 60_000, 1 << 20)[0]
        assert not cpu_band.align_band(one, edited, BWA_MEM, int(mode), least, 60_000, 1000)[0]
        assert not cpu_band.align_band(one, edited, BWA_MEM, int(mode), least, 10_000, 1 << 20)[0]
        unlike = cpu_diagonals.score_at_least(one, other, BWA_MEM, int(mode))
        assert not cpu_band.align_band(one, other, BWA_MEM, int(mode), unlike, 60_000, 1 << 20)[0]


def test_scores_that_a_band_does_not_hold() -> None:
    """In 16 bits: of long sequences, and what does not exist must stay below what counts."""
    for mode, length, fits in ((Mode.LOCAL, 32_000, True), (Mode.LOCAL, 32_001, False), (Mode.GLOBAL, 16_001, False)):
        assert cpu_band.fits_in_band(length, length, BWA_MEM, int(mode), 0) == fits
    assert cpu_band.fits_in_band(16_001, 16_001, BWA_MEM, int(Mode.GLOBAL), 3)
    assert not cpu_band.fits_in_band(10, 10, Scoring(1, -701, -2, -1), int(Mode.LOCAL), 0)
    assert not cpu_band.fits_in_band(10, 10, Scoring(1, -1, -600, -101), int(Mode.LOCAL), 0)
