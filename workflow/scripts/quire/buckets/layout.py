"""The division of the genome into buckets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths

MOST_BUCKETS = 4096
LEAST_WIDTH = 1 << 17  # bases; wide enough that few records are copied to other buckets
SPAN = 1 << 12
"""Largest span of a record on the reference in bases, clipped bases included. Reads have at most 1,024 bases, and a
deletion costs more than its bases could score, so that Quire's alignments span at most half of this."""


class BucketLayout(NamedTuple):
    """The division of a genome.

    Attributes:
        contig_offsets: int64[contigs + 1], where each contig begins when all lie end to end.
        width: bases of a bucket.
        buckets: number of buckets for records with positions; one more holds the others.
    """

    contig_offsets: NDArray[np.int64]
    width: int
    buckets: int


def layout(contig_lengths: Sequence[int]) -> BucketLayout:
    """Return the buckets of a genome, which depend only on the contig lengths."""
    offsets = offsets_from_lengths(contig_lengths)
    width = max(LEAST_WIDTH, -(-int(offsets[-1]) // MOST_BUCKETS))
    return BucketLayout(offsets, width, max(1, -(-int(offsets[-1]) // width)))
