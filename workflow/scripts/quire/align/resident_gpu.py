"""A batch on a card, from its reads to what is reported of them: the steps of `engine_cpu`, all arrays on the card."""

from dataclasses import replace

import numpy as np

from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.algorithms.extension.gpu import extend
from quire.algorithms.seeding import SeedingParameters
from quire.algorithms.seeding.gpu import bytes_per_read as seeding_bytes_per_read
from quire.algorithms.seeding.gpu import find_hits
from quire.align.alignments_gpu import collect, poorly_aligned
from quire.align.candidates_gpu import find_candidates
from quire.align.insert_size import InsertSize
from quire.align.model import Alignments, Selection
from quire.align.pairing_gpu import select
from quire.align.parameters import DENSE_SEEDING, SEEDING
from quire.align.reference_gpu import CardReference
from quire.align.rescue_gpu import rescue_jobs
from quire.device.card import Card
from quire.oriented.gpu import CardReads

Parts = list[tuple[ExtensionJobs, Extensions]]
# Of a read, besides its seeds: what its codes, words, candidates and alignments take, and the rows of one of the batch
# before, which are on their way down. The reads of the demo take two thirds of what `bytes_per_read` says; a batch that
# takes more all the same is halved.
BYTES_A_READ, BYTES_A_BASE = 680, 4


def bytes_per_read(length: float, pages: int, together: bool) -> int:
    """Memory of the card to plan with for a read, without the matrices of extension, which take what is free.

    Args:
        length: mean length of reads.
        pages: of the index; together: whether all of them stay on the card.
    """
    seeds = seeding_bytes_per_read(SEEDING, length, pages, together)
    return BYTES_A_READ + int(BYTES_A_BASE * length) + seeds


def find_alignments(card: Card, reads: CardReads, pages, reference: CardReference) -> tuple[Parts, Alignments]:
    """Seeds, candidates and extensions of a batch, and a second look at the reads that aligned poorly.

    Args:
        card: where everything lies.
        reads: the batch.
        pages: `CardPage`s of the whole axis in order (a sequence, or a `CardPages` that makes them resident in turn).
        reference: the axis.

    Returns:
        The rounds of extension, and the alignments that they led to.
    """
    parts = [_seed_and_extend(card, reads, pages, reference, SEEDING)]
    alignments = collect(card, parts, reads, reference)
    poor = card.xp.flatnonzero(poorly_aligned(card, alignments, reads))
    if len(poor):
        few = reads.subset(card, poor)
        jobs, extensions = _seed_and_extend(card, few, pages, reference, DENSE_SEEDING)
        parts.append((replace(jobs, read=poor[jobs.read].astype(np.int32)), extensions))
        alignments = collect(card, parts, reads, reference)
    return parts, alignments


def _seed_and_extend(
    card: Card, reads: CardReads, pages, reference: CardReference, seeding: SeedingParameters
) -> tuple[ExtensionJobs, Extensions]:
    offsets, hits = find_hits(card, pages, reads, reference.text, seeding)
    jobs = find_candidates(card, offsets, hits, reads, reference, seeding.stride)
    return jobs, extend(card, jobs, reads, reference.text, reference.ambiguous)


def choose(
    card: Card, found: tuple[Parts, Alignments], reads: CardReads, paired: bool, reference: CardReference,
    insert_size: InsertSize,
) -> tuple[Alignments, Selection]:  # fmt: skip
    """Rescue and pairing of a batch.

    Args:
        card: where everything lies.
        found: as `find_alignments` gives it.
        reads: the batch; paired: whether it holds mates r and n + r of n pairs.
        reference: the axis.
        insert_size: the unit's model.

    Returns:
        All alignments, rescued ones included, and which of them are reported.
    """
    parts, alignments = found
    if paired:
        jobs = rescue_jobs(card, alignments, reads, reference, insert_size)
        if len(jobs):
            rescued = extend(card, jobs, reads, reference.text, reference.ambiguous)
            alignments = collect(card, [*parts, (jobs, rescued)], reads, reference)
    return alignments, select(card, alignments, reads, paired, insert_size)
