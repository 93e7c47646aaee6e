"""The scores of the aligners: one type, and the convention for the score of a gap."""

from typing import NamedTuple


class Scoring(NamedTuple):
    """Scores of an affine alignment: `match` is positive, the others are negative.

    A gap of k bases scores gap_open + (k - 1) * gap_extend: gap_open is the price of the gap's first base, as in GATK
    and parasail. Where a program adds the price of the first base to that of opening, gap_open is their sum: bwa's
    -O 6 -E 1 is -7 and -1 here.
    """

    match: int
    mismatch: int
    gap_open: int
    gap_extend: int


BWA_MEM = Scoring(1, -4, -7, -1)
"""Reads to the reference; bwa mem's defaults (Li 2013)."""
HAPLOTYPE_TO_REFERENCE = Scoring(200, -150, -260, -11)
"""Assembled haplotypes to the reference; SmithWatermanAlignmentConstants.NEW_SW_PARAMETERS of GATK 4."""
READ_TO_HAPLOTYPE = Scoring(10, -15, -30, -5)
"""Reads to the haplotypes that explain them best; ALIGNMENT_TO_BEST_HAPLOTYPE_SW_PARAMETERS of GATK 4."""
DANGLING_END = Scoring(25, -50, -110, -6)
"""Dangling ends of an assembly graph to its reference path; STANDARD_NGS of GATK 4."""
