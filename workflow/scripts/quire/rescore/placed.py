"""The reads of regions where their best haplotypes place them, beside how well every haplotype explains them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quire.rescore.engines import CallingEngine
from quire.rescore.genotyping.rank_sums import PlacedReads, as_aligned
from quire.rescore.haplotypes.likelihoods import RegionLikelihoods
from quire.rescore.reads.clipping import RegionReads
from quire.rescore.reference_confidence.columns import Placement, placement_spans
from quire.rescore.reference_confidence.realignment import realigned_placement
from quire.rescore.regions import AssembledRegion, Window


class ScoredReads(NamedTuple):
    """The reads of a region, scored, and where their best haplotypes place them.

    Attributes:
        likelihoods: `start` and `end` as the reads are placed.
        placed: the same reads; those that are not used have no bases.
    """

    likelihoods: RegionLikelihoods
    placed: PlacedReads


def placed_by_haplotypes(
    reads: RegionReads,
    regions: Sequence[AssembledRegion],
    scored: Sequence[RegionLikelihoods],
    window: Window,
    engine: CallingEngine,
) -> tuple[list[ScoredReads], Placement]:
    """Place the reads of regions by way of their best haplotypes.

    Args:
        reads: clipped reads of all regions.
        regions: at least one.
        scored: the reads of each.
        window: the reference, holding all regions.
        engine: aligns the reads.

    Returns:
        The reads of each region, and the placement of all that are used.
    """
    modelled = [~np.isnan(own.matrix[:, 0]) for own in scored]
    placement = realigned_placement(
        reads,
        [own.source[use] for own, use in zip(scored, modelled, strict=True)],
        [region.haplotypes for region in regions],
        [own.matrix[use] for own, use in zip(scored, modelled, strict=True)],
        np.array([region.span for region in regions], np.int64),
        window,
        engine,
    )
    starts, ends = placement_spans(placement)
    moved = []
    for r, (own, use) in enumerate(zip(scored, modelled, strict=True)):
        placed = slice(placement.span_offsets[r], placement.span_offsets[r + 1])
        start, end = own.start.copy(), own.end.copy()
        start[use], end[use] = starts[placed], ends[placed]
        first, size, at = (np.zeros(len(use), np.int64) for _ in range(3))
        first[use], at[use] = placement.first_base[placed], placement.position_offsets[:-1][placed]
        size[use] = np.diff(placement.position_offsets)[placed]
        runs = PlacedReads(own.source, first, size, at, placement.positions)
        moved.append(ScoredReads(own._replace(start=start, end=end), runs))
    return moved, placement


def placed_where_indels(
    reads: RegionReads,
    regions: Sequence[AssembledRegion],
    scored: Sequence[RegionLikelihoods],
    window: Window,
    engine: CallingEngine,
) -> list[ScoredReads]:
    """Place the reads of the regions that have an indel; in all others the mapper's alignment is as good.

    Args:
        reads, regions, scored, window, engine: as of `placed_by_haplotypes`.
    """
    found = [ScoredReads(own, as_aligned(reads, own.source)) for own in scored]
    with_indels = [r for r, region in enumerate(regions) if any(len(h.cigar) > 1 for h in region.haplotypes)]
    if with_indels:
        own_regions, own_scored = [regions[r] for r in with_indels], [scored[r] for r in with_indels]
        moved, _ = placed_by_haplotypes(reads, own_regions, own_scored, window, engine)
        for r, one in zip(with_indels, moved, strict=True):
            found[r] = one
    return found
