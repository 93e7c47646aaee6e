"""Seeds: exact matches that end at fixed offsets of a read, on both strands, found in every page of the reference.

A seed ends at offset e = s, s + stride, ... of the oriented read, and at the read's end; it may be s (`seed_length`) to
64 bases deep. For each seed the occurrences at fixed depths (s, and those of DEPTHS that are longer) are counted over
all pages, each hit owned by the page its first base lies in, and the shortest depth with at most `maximum_hits`
occurrences is used; a seed too frequent at every depth is dropped. A read left without a hit locates its rarest dropped
seed and keeps the `maximum_hits` hits of smallest hash(read name, axis position). So does a read left with few hits
whose rarest dropped seed is not much too frequent: one base of a repeat that differs makes the seeds over it rare, and
where the other copies are not known the read seems to have one place. So the hits of a read are a property of the read
and the whole axis, never of how it was cut into pages. `cpu.find_hits` and `gpu.find_hits` locate them.

A hit is one uint64: strand in bit 63, (diagonal + DIAGONAL_BIAS) in bits 8..62, the seed's ordinal in bits 0..7. The
diagonal is the axis position of base 0 of the oriented read if the alignment had no gap.
"""

from dataclasses import dataclass

import numpy as np

DEPTHS = np.array([20, 24, 28, 32, 40, 48, 64], np.int64)
DEEPEST = int(DEPTHS[-1])
SEED_LENGTHS = (16, 20)  # what `seed_length` may be: at least as long as an index's prefix table is deep
MAXIMUM_SEEDS = 64
DIAGONAL_BIAS = 1 << 20
# Occurrences up to which the rarest dropped seed of a read is located: of one without a hit, and of one with fewer than
# FEW_HITS, which need not be those of its best places.
RAREST_LIMIT = 65536
FEW_HITS = 8
RAREST_LIMIT_BESIDE = 128


@dataclass(frozen=True)
class SeedingParameters:
    """How densely a read is seeded and how frequent a seed may be.

    Attributes:
        stride: bases between the ends of neighbouring seeds.
        maximum_hits: occurrences on the axis up to which a seed is located.
        seed_length: least bases of a seed, one of SEED_LENGTHS.
    """

    stride: int
    maximum_hits: int
    seed_length: int = 20

    def depths(self) -> np.ndarray:
        """int64[]: the depths at which a seed is counted, ascending."""
        return np.concatenate([[self.seed_length], DEPTHS[self.seed_length < DEPTHS]]).astype(np.int64)
