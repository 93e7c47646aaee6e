"""PairHMM on a card against pairhmm/cpu.py, to the last bit of the answers."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba", reason="the CPU's functions are Numba's")

from quire.algorithms.pairhmm import cpu
from quire.algorithms.pairhmm.gpu import log10_likelihoods
from quire.algorithms.pairhmm.items_gpu import FLOAT32, FLOAT64, SHAPES, sums_of

from bench.pairhmm_regions import join_batches, read_regions, upload
from tests.support.pairhmm_cases import VECTORS, region_of

pytestmark = pytest.mark.full


@pytest.mark.parametrize("limits", [(0, 3), (6, 42), (0, 94), (30, 256)])
def test_random_regions(card, limits: tuple[int, int]) -> None:
    rng = np.random.default_rng(limits)
    parts = [
        region_of(rng, rng.integers(1, 90, 5), rng.integers(1, 80, 5), int(rng.choice([1, 2, 4, 5])), limits)
        for _ in range(4)
    ]
    batch = join_batches(parts)
    np.testing.assert_array_equal(log10_likelihoods(card, batch), cpu.log10_likelihoods(batch))


def test_real_reads(card) -> None:
    batch = join_batches(read_regions(VECTORS / "10s.in"))
    chosen = np.random.default_rng(0).permutation(len(batch.tasks))[:40]
    batch = replace(batch, tasks=batch.tasks[chosen])
    np.testing.assert_array_equal(log10_likelihoods(card, batch), cpu.log10_likelihoods(batch))


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_reads_longer_than_any_shape(card, dtype: np.dtype) -> None:
    capacity = SHAPES[dtype][-1].capacity
    assert SHAPES[dtype][-1].strips
    batch = region_of(np.random.default_rng(1), [capacity, capacity + 1, 2 * capacity + 3], [9, 100], letters=2)
    sums = card.download(sums_of(card, upload(card, batch), card.upload(batch.tasks), dtype))
    np.testing.assert_array_equal(sums, cpu.last_row_sums(batch, batch.tasks, dtype))
    np.testing.assert_array_equal(log10_likelihoods(card, batch), cpu.log10_likelihoods(batch))


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_the_same_sums(card, dtype: np.dtype) -> None:
    batch = region_of(np.random.default_rng(7), [1, 3, 31, 32, 33, 70], [1, 2, 30, 45])
    sums = card.download(sums_of(card, upload(card, batch), card.upload(batch.tasks), dtype))
    np.testing.assert_array_equal(sums, cpu.last_row_sums(batch, batch.tasks, dtype))
