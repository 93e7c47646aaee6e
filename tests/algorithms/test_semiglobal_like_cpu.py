"""Tests of GATK's aligner on a card against the CPU, with sequences as long as haplotypes and longer."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU's functions are Numba's")

from quire.algorithms.scoring import HAPLOTYPE_TO_REFERENCE, Scoring
from quire.algorithms.semiglobal import cpu
from quire.algorithms.semiglobal.gpu import align
from quire.algorithms.semiglobal.shapes import SHAPES

from tests.support.semiglobal_cases import SCORINGS, batch_of, edited_pairs

pytestmark = pytest.mark.full


def check(card, pairs, scoring: Scoring) -> None:
    batch = batch_of(pairs)
    found, expected = align(card, batch, scoring), cpu.align(batch, scoring)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.cigar_offsets, expected.cigar_offsets)
    np.testing.assert_array_equal(found.cigars, expected.cigars)
    for name in ("offsets", "cigar_offsets", "cigars"):
        assert getattr(found, name).dtype == getattr(expected, name).dtype


@pytest.mark.parametrize("scoring", SCORINGS)
def test_edited_pairs(card, scoring: Scoring) -> None:
    random = np.random.default_rng(abs(sum(scoring)))
    check(card, edited_pairs(random, 24, (1, 300), gap=30), scoring)


@pytest.mark.parametrize("letters", [b"ACGT", b"ACGTNRY"])
def test_longer_than_any_shape(card, letters: bytes) -> None:
    longest = SHAPES[-2].capacity
    pairs = edited_pairs(np.random.default_rng(4), 5, (longest - 40, longest + 200), letters, gap=60)
    check(card, pairs, HAPLOTYPE_TO_REFERENCE)
