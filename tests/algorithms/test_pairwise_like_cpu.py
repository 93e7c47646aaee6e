"""Tests of pairwise alignment on a card against the CPU, with the shapes in use and longer sequences."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU's functions are Numba's")

from quire.algorithms.pairwise import Mode, Pair, cpu, gpu
from quire.algorithms.scoring import BWA_MEM, Scoring

from tests.algorithms.test_pairwise_gpu import LARGE, edited
from tests.emulator.emulated_card import EmulatedCard
from tests.support.pairwise_cases import pair


def check(card, given: Pair) -> None:
    expected = cpu.align(given)
    found = gpu.align(card, given)
    assert found[:5] == expected[:5]
    np.testing.assert_array_equal(found.cigar, expected.cigar)
    assert found.cigar.dtype == expected.cigar.dtype


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scoring", [BWA_MEM, LARGE])
def test_edited_pairs(card, scoring: Scoring, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated = isinstance(card, EmulatedCard)
    monkeypatch.setattr(gpu, "SHORTEST_TILE", 100 if emulated else 700)
    random = np.random.default_rng(mode)
    scale = 1 if emulated else 12
    check(card, pair(*edited(random, 250 * scale, 600 * scale), scoring, mode))
    check(card, pair(*edited(random, 330 * scale, 300 * scale, 2), scoring, mode))


@pytest.mark.parametrize("mode", Mode)
def test_repeats(card, mode: Mode) -> None:
    """Many paths are equally good, and the rules for ties decide."""
    check(card, pair([0, 1, 2] * 50 + [3, 1] * 30, [1, 2, 0] * 90, Scoring(1, -1, -1, -1), mode))
    check(card, pair([0] * 70, [0] * 300, BWA_MEM, mode))
