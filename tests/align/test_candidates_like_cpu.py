"""Candidates of simulated reads: a card finds the CPU's."""

from dataclasses import fields

import pytest
from quire.align.candidates.gpu import find_candidates
from quire.reads.gpu import orient
from quire.reference.gpu import upload_reference

pytest.importorskip("numba", reason="compares with the CPU's functions, which are compiled by Numba")

from tests.support.card_builders import download_all
from tests.support.simulated_batch import simulated_batch


@pytest.mark.parametrize("round_number", [0, 1, 2])
def test_candidates(card, round_number: int) -> None:
    batch = simulated_batch()
    step = batch.rounds[round_number]
    assert len(step.candidates) > 100
    reads = orient(card, *batch.mates).subset(card, card.upload(step.chosen))
    found = find_candidates(card, card.upload(step.offsets), card.upload(step.hits), reads,
                            upload_reference(card, batch.reference), step.seeding)  # fmt: skip
    found = download_all(card, found)
    for field in fields(step.candidates):
        ours, theirs = getattr(found, field.name), getattr(step.candidates, field.name)
        assert ours.dtype == theirs.dtype, field.name
        assert ours.tolist() == theirs.tolist(), field.name
