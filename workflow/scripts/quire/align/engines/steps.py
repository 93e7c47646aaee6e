"""The order of the steps from the reads of a batch to their reported alignments, shared by both backends.

Nothing here needs Numba or CuPy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from quire.algorithms.extension import ExtensionJobs, Extensions
from quire.algorithms.seeding import SeedingParameters
from quire.align.insert_size import InsertSizes
from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import LATER_PASSES, LATER_PASSES_ALONE, SEEDING, SeedingPass
from quire.device.card import CardArray

Rounds: TypeAlias = list[tuple[ExtensionJobs, Extensions]]
Array: TypeAlias = np.ndarray | CardArray
# The types of `Reads`, `Reference` and pages differ between the backends; each step takes those of its backend.
BackendReads: TypeAlias = Any
BackendReference: TypeAlias = Any
BackendPages: TypeAlias = Any
# An array that marks the alternate contigs of a reference.
BackendAlternate: TypeAlias = Any


@dataclass(frozen=True)
class Steps:
    """The steps of one backend: functions of the CPU, or their twins on a card with the card bound as first argument.

    Attributes:
        flatnonzero: returns the indices (int64[]) of nonzero items.
        subset: returns the reads with these indices as a new batch.
        find_hits, find_candidates, extend, collect, best_scores, poorly_aligned, rescue_jobs, select,
            take_reported, unique_template_lengths: see the functions of these names.
    """

    flatnonzero: Callable[[Array], Array]
    subset: Callable[[BackendReads, Array], BackendReads]
    find_hits: Callable[[BackendPages, BackendReads, Array, SeedingParameters], tuple[Array, Array]]
    find_candidates: Callable[[Array, Array, BackendReads, BackendReference, SeedingParameters], ExtensionJobs]
    extend: Callable[[ExtensionJobs, BackendReads, Array, Array], Extensions]
    collect: Callable[[Rounds, BackendReads, BackendReference], Alignments]
    best_scores: Callable[[Rounds, BackendReads, BackendReference], Array]
    poorly_aligned: Callable[[Array, BackendReads, SeedingPass], Array]
    rescue_jobs: Callable[[Alignments, BackendReads, BackendReference, InsertSizes], ExtensionJobs]
    select: Callable[[Alignments, BackendReads, bool, InsertSizes, BackendAlternate], Selection]
    take_reported: Callable[[Alignments, Selection, BackendAlternate], Reported]
    unique_template_lengths: Callable[[Alignments, BackendReads], Array]


@dataclass
class FoundAlignments:
    """The alignments of a batch and the rounds of extension that they come from."""

    rounds: Rounds
    alignments: Alignments


def find_alignments(
    steps: Steps, reads: BackendReads, paired: bool, pages: BackendPages, reference: BackendReference
) -> FoundAlignments:
    """Find the alignments of a batch: seeds, candidates and extension, and later passes for some reads.

    If `paired`, reads r and n + r are mates. The pages are those of the whole axis, in order.
    """
    jobs = _seed(steps, reads, pages, reference, SEEDING)
    rounds = [(jobs, steps.extend(jobs, reads, reference.text, reference.ambiguous))]
    best = None
    for seeding_pass in LATER_PASSES if paired else LATER_PASSES_ALONE:
        if best is None:  # no round was added since
            best = steps.best_scores(rounds, reads, reference)
        poor = steps.flatnonzero(steps.poorly_aligned(best, reads, seeding_pass))
        if len(poor) == 0:
            continue
        few = steps.subset(reads, poor)
        jobs = _seed(steps, few, pages, reference, seeding_pass.seeding)
        jobs = jobs._replace(read=poor[jobs.read].astype(np.int32))  # `collect` removes what an earlier round found
        rounds.append((jobs, steps.extend(jobs, reads, reference.text, reference.ambiguous)))
        best = None
    return FoundAlignments(rounds, steps.collect(rounds, reads, reference))


def _seed(
    steps: Steps, reads: BackendReads, pages: BackendPages, reference: BackendReference, seeding: SeedingParameters
) -> ExtensionJobs:
    """Return the candidates of reads as extension jobs."""
    offsets, hits = steps.find_hits(pages, reads, reference.text, seeding)
    return steps.find_candidates(offsets, hits, reads, reference, seeding)


def rescue_and_select(
    steps: Steps,
    found: FoundAlignments,
    reads: BackendReads,
    paired: bool,
    reference: BackendReference,
    insert_sizes: InsertSizes,
) -> tuple[Alignments, Selection]:
    """Rescue mates; return all alignments, including rescued ones, and the selection of those that are reported."""
    alignments = found.alignments
    if paired:
        jobs = steps.rescue_jobs(alignments, reads, reference, insert_sizes)
        if len(jobs.read):
            rescued = steps.extend(jobs, reads, reference.text, reference.ambiguous)
            alignments = steps.collect([*found.rounds, (jobs, rescued)], reads, reference)
    return alignments, steps.select(alignments, reads, paired, insert_sizes, reference.alternate)
