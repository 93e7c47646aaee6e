"""Definition of GATK's aligner: the matrix, the overhang strategies, and the rules for ties.

GATK calls it Smith-Waterman, but the alignment is semi-global: the whole alternate is aligned, and the strategies
differ in how its overhangs are scored. H[i,j] aligns a prefix of the reference that ends at base i with a prefix of the
alternate that ends at base j, and is never raised to zero. Row 0 and column 0 are zero (overhangs are free) for
SOFTCLIP and IGNORE, and hold the price of one gap for INDEL and LEADING_INDEL. A cell takes the best of the
diagonal, the insertion (from the left) and the deletion (from above), the earlier of these three on a tie. A gap that
could be opened or extended at the same price is extended. The traceback starts

- INDEL: in the last row and column;
- LEADING_INDEL: at the best cell of the last column, the lowest one on a tie;
- SOFTCLIP, IGNORE: at the same cell, unless the last row has a better one, or an equal one nearer to the main diagonal
  through the matrix's start (the first of several); the alternate's bases beyond it overhang.

and ends in row 0 or column 0. Bases of the alternate that overhang on the left or right are clipped (SOFTCLIP), counted
as aligned (IGNORE, which can give a negative offset) or, on the left, written as an insertion (INDEL, LEADING_INDEL,
which write a remaining part of the reference as a deletion, and always start at offset 0). SOFTCLIP and IGNORE first
look for exact occurrences of the alternate in the reference and take the last one, without a matrix.
"""

from enum import IntEnum


class Overhang(IntEnum):
    """Treatment of overhanging bases (GATK's SWOverhangStrategy)."""

    SOFTCLIP = 0
    INDEL = 1
    LEADING_INDEL = 2
    IGNORE = 3
