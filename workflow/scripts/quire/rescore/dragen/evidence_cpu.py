"""Properties of the reads over a site that the models of base-quality dropout and of foreign reads need."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads
from quire.simd.compiled import compiled

# DRAGENMappingQualityReadTransformer: mapping qualities, and the corresponding phreds of a read from elsewhere.
_MAPPING_QUALITIES = np.array([0, 30, 60, 100, 200, 256])
_MISPLACED = np.array([0, 30, 40, 45, 50, 50])
NO_BASE = -1


class SiteEvidence(NamedTuple):
    """The reads that touch a site.

    Attributes:
        cycle: int64[n], sequencing cycle of the base over the site.
        base_quality: int64[n], quality of that base; NO_BASE if the read does not reach the site.
        misplaced: float64[n], phred that the read comes from elsewhere.
    """

    sample: NDArray[np.int64]
    reverse: NDArray[np.uint8]
    cycle: NDArray[np.int64]
    base_quality: NDArray[np.int64]
    misplaced: NDArray[np.float64]


def site_evidence(reads: RegionReads, chosen: NDArray[np.int64], position: int) -> SiteEvidence:
    """Collect the evidence of some reads (int64[n], indices of `reads`) over a position."""
    cycle, base_quality = _at_site(reads, chosen, position)
    misplaced = np.interp(reads.mapping_quality[chosen], _MAPPING_QUALITIES, _MISPLACED)
    return SiteEvidence(reads.sample[chosen].astype(np.int64), reads.reverse[chosen], cycle, base_quality, misplaced)


@compiled
def _at_site(reads, chosen, position):
    """Return cycle and quality of each read's base at a position, or of the next base if the position is deleted."""
    cycles = np.empty(len(chosen), np.int64)
    qualities = np.full(len(chosen), NO_BASE, np.int64)
    for n in range(len(chosen)):
        read = chosen[n]
        first, last = reads.base_offsets[read], reads.base_offsets[read + 1]
        offset = np.int64(-1)
        if reads.start[read] <= position < reads.end[read]:
            base = first
            while reads.positions[base] == INSERTED or reads.positions[base] < position:
                base += 1
            offset = base - first
            qualities[n] = reads.qualities[base]
        ahead = reads.before[read] + offset
        cycles[n] = reads.behind[read] + last - first - offset if reads.reverse[read] else ahead
    return cycles, qualities
