"""Semi-global alignment with two of GATK's overhang strategies and its ties, such as of haplotypes to the reference.

`align` of `cpu` and of `gpu` align many pairs at once, with GATK's strategy SOFTCLIP. `cpu.align_one` aligns one pair
from within another kernel, with LEADING_INDEL. Calling uses no other strategies.

GATK calls it Smith-Waterman, but the alignment is semi-global: the whole alternate is aligned, and the strategies
differ in how its overhangs are scored. H[i,j] aligns a prefix of the reference that ends at base i with a prefix of the
alternate that ends at base j, and is never raised to zero. Row 0 and column 0 are zero (overhangs are free) for
SOFTCLIP, and hold the price of one gap for LEADING_INDEL. A cell takes the best of the diagonal, the insertion (from
the left) and the deletion (from above), the earlier of these three on a tie. A gap that could be opened or extended at
the same price is extended. The traceback starts

- LEADING_INDEL: at the best cell of the last column, the lowest one on a tie;
- SOFTCLIP: at the same cell, unless the last row has a better one, or an equal one nearer to the main diagonal through
  the matrix's start (the first of several); the alternate's bases beyond it overhang.

and ends in row 0 or column 0. Bases of the alternate that overhang on the left or right are clipped (SOFTCLIP) or, on
the left, written as an insertion (LEADING_INDEL, which writes a remaining part of the reference as a deletion, and
always starts at offset 0). SOFTCLIP first looks for exact occurrences of the alternate in the reference and takes the
last one, without a matrix.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SemiglobalBatch(NamedTuple):
    """Sequences, none empty, and the pairs of them to align, from one region or many. Arrays are as kernels read them.

    Attributes:
        references: uint8[n], codes or letters (equal bytes match, N included) of all references, concatenated.
        reference_offsets: int64[references + 1] into them.
        alternates: uint8[m], the same of all alternates.
        alternate_offsets: int64[alternates + 1].
        tasks: int32[t, 2], (reference index, alternate index).
    """

    references: NDArray[np.uint8]
    reference_offsets: NDArray[np.int64]
    alternates: NDArray[np.uint8]
    alternate_offsets: NDArray[np.int64]
    tasks: NDArray[np.int32]


class SemiglobalAlignments(NamedTuple):
    """Alignments of t tasks in order, each equal to GATK's (SmithWatermanJavaAligner, SWNativeAligner).

    Attributes:
        offsets: int32[t], 0-based reference position of the alignment's first column.
        cigars: uint32, CIGAR elements as in BAM (length << 4 | operation, CIGAR_* of `quire.sam`), concatenated.
        cigar_offsets: int64[t + 1] into cigars.
    """

    offsets: NDArray[np.int32]
    cigars: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]

    def cigar(self, task: int) -> NDArray[np.uint32]:
        """Return uint32[k], the CIGAR elements of one task."""
        return self.cigars[self.cigar_offsets[task] : self.cigar_offsets[task + 1]]
