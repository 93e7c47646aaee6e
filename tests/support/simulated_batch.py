"""A batch of hard pairs mapped by the CPU, step by step, for comparisons with a card (needs Numba)."""

import random
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.algorithms.extension.cpu import extend
from quire.algorithms.seeding import SeedingParameters
from quire.algorithms.seeding.cpu import find_hits
from quire.align.alignments.cpu import best_scores, collect, poorly_aligned
from quire.align.candidates.cpu import find_candidates
from quire.align.insert_size import InsertSize, InsertSizes
from quire.align.model import Alignments
from quire.align.parameters import LATER_PASSES, SEEDING
from quire.align.rescue.cpu import rescue_jobs
from quire.index import open_page
from quire.reads import ReadBatch, Reads
from quire.reads.cpu import orient, subset
from quire.reference import Reference

from tests.support.awkward_genomes import awkward_genome, awkward_pairs
from tests.support.builders import write_fasta
from tests.support.card_builders import make_batch
from tests.support.read_builders import build_index

PAIRS = 250
INSERT_SIZES = InsertSizes(FR=InsertSize(1000, 275, 300, 325, 300, 35, 150, 450))


@dataclass
class SimulatedBatch:
    """The mates, and the CPU's steps: three rounds of seeding and one of rescue, each followed by `collect`.

    Attributes:
        parts: jobs and extensions of the four rounds; jobs index reads of the whole batch.
    """

    mates: tuple[ReadBatch, ReadBatch]
    reads: Reads
    reference: Reference
    parts: list[tuple[ExtensionJobs, Extensions]]
    alignments: list[Alignments]


@cache
def simulated_batch() -> SimulatedBatch:
    """Return the batch, which is computed once."""
    generator = random.Random(8)
    genome = awkward_genome(generator)
    with tempfile.TemporaryDirectory() as folder:
        indexed = build_index(Path(folder), write_fasta(Path(folder) / "genome.fa", genome))
        reference = indexed.open()
        pages = [open_page(page, reference) for page in indexed.pages]
    pairs = awkward_pairs(generator, genome, PAIRS)
    mates = tuple(
        make_batch([["ACGTN".find(base) % 5 for base in pair[side].bases] for pair in pairs]) for side in (0, 1)
    )
    reads = orient(*mates)
    parts = [_round(pages, reads, np.arange(len(reads)), reference, SEEDING)]
    alignments = [collect(parts, reads, reference)]
    for seeding_pass in LATER_PASSES:
        best = best_scores(parts, reads, reference)
        chosen = np.flatnonzero(poorly_aligned(best, reads, seeding_pass))
        parts.append(_round(pages, reads, chosen, reference, seeding_pass.seeding))
        alignments.append(collect(parts, reads, reference))
    jobs = rescue_jobs(alignments[-1], reads, reference, INSERT_SIZES)
    parts.append((jobs, extend(jobs, reads, reference.text, reference.ambiguous)))
    alignments.append(collect(parts, reads, reference))
    return SimulatedBatch(mates, reads, reference, parts, alignments)


def _round(
    pages, reads: Reads, chosen: np.ndarray, reference: Reference, seeding: SeedingParameters
) -> tuple[ExtensionJobs, Extensions]:
    part = subset(reads, chosen)
    offsets, hits = find_hits(pages, part, reference.text, seeding)
    candidates = find_candidates(offsets, hits, part, reference, seeding)
    extensions = extend(candidates, part, reference.text, reference.ambiguous)
    return candidates._replace(read=chosen[candidates.read].astype(np.int32)), extensions
