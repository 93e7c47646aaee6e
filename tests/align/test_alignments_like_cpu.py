"""Alignments of simulated pairs after each round: the card collects and classifies them as the CPU does."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from quire.align.alignments.gpu import best_scores, collect, poorly_aligned, unique_template_lengths
from quire.align.model import Alignments
from quire.align.parameters import LATER_PASSES
from quire.reads.gpu import orient
from quire.reference.gpu import upload_reference

pytest.importorskip("numba", reason="compares with the CPU's functions, which are compiled by Numba")

from quire.align.alignments import cpu
from quire.align.pairing import template_length_cpu as cpu_template_length

from tests.support.card_builders import download_all, upload_all
from tests.support.simulated_batch import simulated_batch


def expected_scores(alignments: Alignments, alternate: np.ndarray) -> list[list[int]]:
    """Return the best score of each read on the primary assembly and on alternate contigs; 0 for none."""
    scores = []
    for first, last in pairwise(alignments.offsets.tolist()):
        best = [0, 0]
        for i in range(first, last):
            side = int(len(alternate) > 0 and alternate[alignments.contig[i]])
            best[side] = max(best[side], int(alignments.score[i]))
        scores.append(best)
    return scores


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
@pytest.mark.parametrize("alternate", [False, True])
def test_alignments(card, rounds: int, alternate: bool) -> None:
    batch = simulated_batch()
    parts = [tuple(upload_all(card, item) for item in part) for part in batch.parts[:rounds]]
    wanted, reference = batch.alignments[rounds - 1], batch.reference
    if alternate:
        contigs = np.arange(len(reference.contig_names), dtype=np.uint8) % 2
        reference = replace(reference, alternate=contigs)
        wanted = cpu.collect(batch.parts[:rounds], batch.reads, reference)
        behind = contigs[wanted.contig[1:]] < contigs[wanted.contig[:-1]]
        assert not (behind & (wanted.read[1:] == wanted.read[:-1])).any()
        assert wanted.axis_begin.tolist() != batch.alignments[rounds - 1].axis_begin.tolist()
    found = collect(card, parts, orient(card, *batch.mates), upload_reference(card, reference))
    best = best_scores(card, parts, orient(card, *batch.mates), upload_reference(card, reference))
    assert card.download(best).tolist() == cpu.best_scores(batch.parts[:rounds], batch.reads, reference).tolist()
    assert card.download(best).tolist() == expected_scores(wanted, reference.alternate)
    found = download_all(card, found)
    for name, ours, theirs in zip(Alignments._fields, found, wanted, strict=True):
        assert ours.dtype == theirs.dtype, name
        assert ours.tolist() == theirs.tolist(), name
    assert len(batch.parts[-1][0].read) > 10
    assert len(wanted.score) > 400


def test_poor_reads_and_template_lengths(card) -> None:
    batch = simulated_batch()
    wanted = batch.alignments[0]
    alignments, reads = upload_all(card, wanted), orient(card, *batch.mates)
    best = cpu.best_scores(batch.parts[:1], batch.reads, batch.reference)
    for seeding_pass in LATER_PASSES:
        poor = card.download(poorly_aligned(card, card.upload(best), reads, seeding_pass))
        assert poor.tolist() == cpu.poorly_aligned(best, batch.reads, seeding_pass).tolist()
    lengths = cpu_template_length.unique_template_lengths(wanted, batch.reads)
    assert (lengths > 0).sum() > 50
    assert card.download(unique_template_lengths(card, alignments, reads)).tolist() == lengths.tolist()
