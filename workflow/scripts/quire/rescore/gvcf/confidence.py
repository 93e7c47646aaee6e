"""Reference confidence of the positions of a chunk, from the reads of each position's region.

For regions that are not active or have no call, the reads count as they were aligned. In a region with calls, the
positions from its first to its last variant are judged by the reads as their haplotypes place them; the rest on either
side is treated as a region of its own (AssemblyRegionTrimmer).
"""

import numpy as np
from numpy.typing import NDArray

from quire.rescore.chunks import padded_spans
from quire.rescore.reads.clipping import RegionReads
from quire.rescore.reference_confidence import ReadColumns, reference_confidence
from quire.rescore.reference_confidence.columns import Placement, clipped_columns, placed_columns
from quire.rescore.window import Window


class ChunkConfidence:
    """Confidence of consecutive positions, filled in region by region.

    Attributes:
        start: first position.
        depth, phreds: as in `Confidence`; 0 for positions without reads.
    """

    def __init__(self, start: int, end: int, ploidy: int, window: Window) -> None:
        """Start with zeros for [start, end).

        Args:
            start: 0-based.
            end: position after the last.
            ploidy: of the sample.
            window: the reference around the positions.
        """
        self.start = start
        self.depth = np.zeros(end - start, np.int32)
        self.phreds = np.zeros((end - start, ploidy + 1), np.int32)
        self._ploidy, self._window = ploidy, window

    def add_aligned(
        self, reads: RegionReads, regions: NDArray[np.int64], bounds: NDArray[np.int64], spans: NDArray[np.int64]
    ) -> None:
        """Compute spans from their region's reads as they were aligned.

        Args:
            reads: clipped reads of the regions.
            regions: int64[n], the region of each span.
            bounds: int64[n, 2], the padded span of the region, to which its reads were clipped.
            spans: int64[n, 2].
        """
        if len(spans):
            padded = padded_spans(spans, self._window)
            padded = np.stack([np.maximum(padded[:, 0], bounds[:, 0]), np.minimum(padded[:, 1], bounds[:, 1])], 1)
            columns = clipped_columns(reads, regions, padded)
            self._put(columns, spans, padded)

    def add_placed(
        self, reads: RegionReads, placement: Placement, padded: NDArray[np.int64], spans: NDArray[np.int64]
    ) -> None:
        """Compute the spans of variants from reads as their haplotypes place them.

        Args:
            reads: clipped reads of the regions.
            placement: of the reads of each span.
            padded: int64[n, 2], the spans to which reads and haplotypes were cut.
            spans: int64[n, 2].
        """
        columns = placed_columns(reads, placement)
        self._put(columns, spans, padded)

    def _put(self, columns: ReadColumns, spans: NDArray[np.int64], padded: NDArray[np.int64]) -> None:
        window = self._window
        confidence = reference_confidence(columns, spans, padded, window.codes, window.start, self._ploidy)
        sizes = spans[:, 1] - spans[:, 0]
        ends = np.cumsum(sizes)
        at = np.arange(ends[-1]) + np.repeat(spans[:, 0] - self.start - (ends - sizes), sizes)
        self.depth[at] = confidence.depth
        self.phreds[at] = confidence.phreds
