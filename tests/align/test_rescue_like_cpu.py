"""Mate rescue of simulated pairs: the card's jobs are the CPU's, in the same order."""

import numpy as np
import pytest
from quire.align.insert_size import InsertSize, InsertSizes
from quire.align.rescue import gpu as rescue_gpu
from quire.reads.gpu import orient
from quire.reference.gpu import upload_reference

pytest.importorskip("numba", reason="compares with the CPU's functions, which are compiled by Numba")

from quire.align.rescue import cpu

from tests.support.card_builders import download_all, upload_all
from tests.support.simulated_batch import INSERT_SIZES, simulated_batch

WIDE = InsertSizes(FR=InsertSize(1000, 275, 300, 325, 300, 35, 1, 3000))
MIXED = InsertSizes(WIDE.FR, INSERT_SIZES.FR, WIDE.FR, INSERT_SIZES.FR)


@pytest.mark.parametrize(
    ("rounds", "model", "diagonals"), [(1, INSERT_SIZES, 2048), (2, WIDE, 2048), (2, WIDE, 100), (2, MIXED, 2048)]
)
def test_the_same_jobs(card, monkeypatch, rounds: int, model: InsertSizes, diagonals: int) -> None:
    batch = simulated_batch()
    monkeypatch.setattr(rescue_gpu, "MOST_DIAGONALS", diagonals)
    alignments = batch.alignments[rounds - 1]
    wanted = cpu.rescue_jobs(alignments, batch.reads, batch.reference, model)
    reference = upload_reference(card, batch.reference)
    jobs = rescue_gpu.rescue_jobs(card, upload_all(card, alignments), orient(card, *batch.mates), reference, model)
    jobs = download_all(card, jobs)
    for name, ours, theirs in zip(wanted._fields, jobs, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs), name
    assert len(wanted.read) > 25
