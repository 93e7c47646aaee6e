"""How the genome is cut into buckets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths

MOST_BUCKETS = 4096
LEAST_WIDTH = 1 << 17  # bases: copies are few
SPAN = 1 << 12
"""Bases of the reference that a record may take, with what is clipped. Reads have at most 1,024 bases, and a deletion
costs more than its bases' scores, so that no alignment of Quire's takes more than half of it."""


class BucketLayout(NamedTuple):
    """How the genome is cut.

    Attributes:
        contig_offsets: int64[contigs + 1], where each contig begins when all lie end to end.
        width: bases of a bucket.
        buckets: with positions; one more holds the records without.
    """

    contig_offsets: NDArray[np.int64]
    width: int
    buckets: int


def layout(contig_lengths: Sequence[int]) -> BucketLayout:
    """Buckets for a genome; they depend on nothing else."""
    offsets = offsets_from_lengths(contig_lengths)
    width = max(LEAST_WIDTH, -(-int(offsets[-1]) // MOST_BUCKETS))
    return BucketLayout(offsets, width, max(1, -(-int(offsets[-1]) // width)))
