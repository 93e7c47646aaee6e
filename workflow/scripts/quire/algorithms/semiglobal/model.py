"""GATK's aligner in words: the matrix, what becomes of overhangs, and the rules for ties.

GATK calls it Smith-Waterman, but H[i,j], which aligns a prefix of the reference that ends at base i with a prefix of
the alternate that ends at base j, is never cut off at zero: the alternate is aligned as a whole, and the strategies
differ in how its overhangs count, which makes the alignment semi-global. Row 0 and column 0 are zero (overhangs are
free) for SOFTCLIP and IGNORE, and hold one gap's price for INDEL and LEADING_INDEL. A cell takes the best of the
diagonal, the insertion (from the left) and the deletion (from above), the earlier of these three on a tie. A gap that
could be opened or made longer at the same price is made longer. The traceback starts

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


class Overhang(IntEnum):
    """What becomes of bases that stick out (GATK's SWOverhangStrategy)."""

    SOFTCLIP = 0
    INDEL = 1
    LEADING_INDEL = 2
    IGNORE = 3
