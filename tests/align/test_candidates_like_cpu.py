"""Candidates of simulated reads: the card finds those of the CPU."""

from dataclasses import replace

import numpy as np
import pytest
from quire.align.candidates.gpu import find_candidates
from quire.reads.gpu import orient
from quire.reference.gpu import upload_reference

pytest.importorskip("numba", reason="compares with the CPU's functions, which are compiled by Numba")

from quire.align.candidates import cpu

from tests.support.card_builders import download_all
from tests.support.simulated_batch import simulated_batch

pytestmark = pytest.mark.full


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("round_number", [0, 1, 2])
def test_candidates(card, round_number: int, alternate: bool) -> None:
    batch = simulated_batch()
    step = batch.rounds[round_number]
    assert len(step.candidates.read) > 100
    wanted, reference = step.candidates, batch.reference
    if alternate:
        contigs = np.arange(len(reference.contig_names), dtype=np.uint8) % 2
        reference = replace(reference, alternate=contigs)
        wanted = cpu.find_candidates(step.offsets, step.hits, step.reads, reference, step.seeding)
        assert len(wanted.read) >= len(step.candidates.read)
    reads = orient(card, *batch.mates).subset(card, card.upload(step.chosen))
    found = find_candidates(card, card.upload(step.offsets), card.upload(step.hits), reads,
                            upload_reference(card, reference), step.seeding)  # fmt: skip
    found = download_all(card, found)
    for name, ours, theirs in zip(wanted._fields, found, wanted, strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.tolist() == theirs.tolist(), name
