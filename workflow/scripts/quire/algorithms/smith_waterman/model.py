"""GATK's Smith-Waterman in words: parameters, overhang strategies, tie rules. Standard library only.

H[i,j] aligns a prefix of the reference that ends at base i with a prefix of the alternate that ends at base j; it is
never cut off at zero. Row 0 and column 0 are zero (overhangs are free) for SOFTCLIP and IGNORE, and hold one gap's
price for INDEL and LEADING_INDEL. A cell takes the best of the diagonal, the insertion (from the left) and the
deletion (from above), the earlier of these three on a tie. A gap that could be opened or made longer at the same
price is made longer. The traceback starts

- INDEL: in the last row and column;
- LEADING_INDEL: at the best cell of the last column, the lowest one on a tie;
- SOFTCLIP, IGNORE: at the same cell, unless the last row has a better one, or an equal one nearer to the main diagonal
  through the matrix's start (the first of several); the alternate's bases beyond it overhang.

and ends in row 0 or column 0. What the alternate has over on the left or right is clipped (SOFTCLIP), counted as
aligned (IGNORE, which can give a negative offset) or, on the left, written as an insertion (INDEL, LEADING_INDEL,
which write a part of the reference that is left over as a deletion, and always start at offset 0).
SOFTCLIP and IGNORE take the last exact occurrence of the alternate in the reference, if there is one, before all this.
"""

from enum import IntEnum
from typing import NamedTuple


class Parameters(NamedTuple):
    """Scores: `match` is positive, the others negative; a gap of length k costs gap_open + (k - 1) * gap_extend."""

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int


NEW_SW_PARAMETERS = Parameters(200, -150, -260, -11)
"""Haplotypes to the reference."""
ALIGNMENT_TO_BEST_HAPLOTYPE = Parameters(10, -15, -30, -5)
"""Reads to their best haplotype."""
STANDARD_NGS = Parameters(25, -50, -110, -6)
ORIGINAL_DEFAULT = Parameters(3, -1, -4, -3)


class Strategy(IntEnum):
    """What becomes of bases that stick out (GATK's SWOverhangStrategy)."""

    SOFTCLIP = 0
    INDEL = 1
    LEADING_INDEL = 2
    IGNORE = 3


OPERATIONS = "MIDNS"
MATCH, INSERTION, DELETION, SOFT_CLIP = 0, 1, 2, 4
"""CIGAR operations as numbered in BAM."""
