"""Seeds: exact matches that end at fixed offsets of a read, on both strands, in all pages of the reference.

Seeds end at offsets s, s + stride, ... of the oriented read and at its end. A seed is s (`seed_length`) to 64 bases
deep. The occurrences of a seed at fixed depths (s, and longer ones of DEPTHS) are counted over all pages; the page that
contains the first base of a hit owns it. The shortest depth with at most `maximum_hits` occurrences is used, and a seed
that is too frequent at every depth is dropped. A read without any hit locates its rarest dropped seed and keeps the
`maximum_hits` hits of smallest hash(read name, axis position). So does a read with fewer than FEW_HITS hits if that
seed has at most RAREST_LIMIT_BESIDE occurrences: a single base that differs between copies of a repeat makes the seeds
over it rare, and without the other copies the read would seem to have one place. Thus the hits of a read depend on the
read and the whole axis, not on the pages.
`cpu.find_hits` and `gpu.find_hits` locate them.

A hit is a uint64: strand in bit 63, (diagonal + DIAGONAL_BIAS) in bits 8..62, ordinal of the seed in bits 0..7. The
diagonal is the axis position of base 0 of the oriented read in an alignment without gaps.
"""

from dataclasses import dataclass

import numpy as np

# Bases of longer seeds. With `seed_length` at most 8 numbers, which fit PACKED_DEPTHS of the kernels.
DEPTHS = np.array([20, 24, 28, 32, 40, 48, 64], np.int64)
DEEPEST = int(DEPTHS[-1])
# Values of `seed_length`: at least the depth of an index's prefix table (`prefix_length_of`).
SEED_LENGTHS = (16, 20)
MAXIMUM_SEEDS = 64
DIAGONAL_BIAS = 1 << 20
# The rarest dropped seed is located with up to RAREST_LIMIT occurrences in a read without hits, and with up to
# RAREST_LIMIT_BESIDE in a read with fewer than FEW_HITS hits, which may lack its best places.
RAREST_LIMIT = 65536
FEW_HITS = 8
RAREST_LIMIT_BESIDE = 128


@dataclass(frozen=True)
class SeedingParameters:
    """Density of the seeds of a read, and their largest frequency.

    Attributes:
        stride: bases between the ends of adjacent seeds.
        maximum_hits: most occurrences on the axis of a seed that is located.
        seed_length: bases of the shortest seeds (bwa mem's -k), one of SEED_LENGTHS. The kernels of a card are compiled
            for each of these.
    """

    stride: int
    maximum_hits: int
    seed_length: int = 20

    def depths(self) -> np.ndarray:
        """Return the depths at which a seed is counted, int64[], ascending."""
        return np.concatenate([[self.seed_length], DEPTHS[self.seed_length < DEPTHS]]).astype(np.int64)
