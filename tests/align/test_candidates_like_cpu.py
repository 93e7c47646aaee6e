"""Candidates of simulated reads: the card finds those of the CPU."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from quire.algorithms.seeding import DIAGONAL_BIAS, SeedingParameters
from quire.align.candidates.gpu import find_candidates
from quire.reads.gpu import orient
from quire.reference.gpu import upload_reference

pytest.importorskip("numba", reason="compares with the CPU's functions, which are compiled by Numba")

from quire.align.candidates import cpu

from tests.support.card_builders import card_reads, download_all, pack
from tests.support.read_builders import make_reads
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


@pytest.mark.parametrize(("alternate", "kept"), [((), 2), ((0,), 4), ((0, 1), 3), ((1,), 2)])
def test_what_a_place_on_an_alternate_contig_leaves(card, alternate: tuple[int, ...], kept: int) -> None:
    """As in the card's own test, both backends keep what the definition keeps."""
    generator = random.Random(4)
    axis = generator.choices(range(4), k=900)
    hits = [(100, seed) for seed in range(5)] + [(180, 0), (180, 1), (180, 2), (400, 1), (700, 2)]
    words = np.array(sorted(diagonal + DIAGONAL_BIAS << 8 | seed for diagonal, seed in hits), np.uint64)
    reference = SimpleNamespace(
        text=pack(axis), ambiguous=np.empty((0, 2), np.int64), island_axis=np.array([0, 300, 600, 900]),
        island_contig=np.arange(3, dtype=np.int32), island_start=np.zeros(3, np.int64),
        alternate=np.isin(np.arange(3), alternate).astype(np.uint8) if alternate else np.empty(0, np.uint8),
    )  # fmt: skip
    offsets, seeding, read = np.array([0, len(hits)]), SeedingParameters(20, 32), np.array(axis[100:200], np.uint8)
    wanted = cpu.find_candidates(offsets, words, make_reads([read]), reference, seeding)
    assert len(wanted.read) == kept
    on_card = upload_reference(card, reference)
    found = find_candidates(card, card.upload(offsets), card.upload(words), card_reads(card, [read]), on_card, seeding)
    for ours, theirs in zip(download_all(card, found), wanted, strict=True):
        assert ours.tolist() == theirs.tolist()
