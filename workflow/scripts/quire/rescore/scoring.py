"""Likelihoods of the reads of assembled regions under their haplotypes, and placement by the best haplotypes."""

from collections.abc import Sequence

import numpy as np

from quire.rescore.chunks import RegionBatch
from quire.rescore.haplotypes.likelihoods import region_likelihoods
from quire.rescore.job import CallingJob
from quire.rescore.reference_confidence.columns import Placement
from quire.rescore.reference_confidence.realignment import ScoredReads, realigned
from quire.rescore.regions import AssembledRegion
from quire.rescore.window import Window


def score_regions(
    job: CallingJob, window: Window, batch: RegionBatch, regions: Sequence[AssembledRegion]
) -> tuple[list[ScoredReads], Placement]:
    """Return the scored reads of each region where their best haplotypes place them, and that placement.

    Args:
        job: engine and settings.
        window: holds all regions.
        batch: with the reads of the regions.
        regions: of the batch, with their haplotypes.
    """
    scored = region_likelihoods(
        batch.reads,
        np.array([region.number for region in regions]),
        np.array([region.span for region in regions], np.int64),
        [region.haplotypes for region in regions],
        job.engine,
        job.repeat_gaps,
    )
    return realigned(batch.reads, scored, regions, window, job.engine)
