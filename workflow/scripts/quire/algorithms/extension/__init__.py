"""Extension: the best local alignment of a read near a diagonal of the axis, with the scores of bwa mem.

Gaps are affine, and ends may be clipped. A path scores +1 for a match, -4 for a mismatch, -1 where the read or the
reference is ambiguous, and -6 to open a gap plus -1 for each gap base. A path that reaches an end of the read earns
END_BONUS (the clipping penalty of bwa mem as a bonus), which decides between paths and is not part of the reported
score. Ties: the earliest end in the read, then the lowest diagonal.

Jobs are flat arrays, one entry for each candidate. The results do not depend on how jobs are grouped. `cpu.extend` and
`gpu.extend` align them.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.scoring import BWA_MEM

MATCH, MISMATCH, GAP_EXTEND = BWA_MEM.match, BWA_MEM.mismatch, BWA_MEM.gap_extend
GAP_OPEN = BWA_MEM.gap_open - BWA_MEM.gap_extend  # cost of a gap in addition to GAP_EXTEND for each of its bases
AMBIGUOUS = -1
END_BONUS = 5
BAND_STEP = 16


class ExtensionJobs(NamedTuple):
    """Jobs of extension: n entries.

    Attributes:
        read: int32[n], index into the `Reads`.
        strand: uint8[n].
        diagonal: int64[n], the most promising diagonal. A read with at most one mismatch and no ambiguous base there is
            aligned there, which is optimal; the choice matters only among equally good diagonals.
        diagonal_low, diagonal_high: int64[n], the band's first and last diagonal (axis position minus position in the
            oriented read), inclusive; the band is widened upwards to a multiple of BAND_STEP diagonals.
        axis_low, axis_high: int64[n], the usable span of the axis (half-open): an island or a part of one.
    """

    read: np.ndarray
    strand: np.ndarray
    diagonal: np.ndarray
    diagonal_low: np.ndarray
    diagonal_high: np.ndarray
    axis_low: np.ndarray
    axis_high: np.ndarray


JOB_TYPES = (np.int32, np.uint8, *[np.int64] * 5)


class Extensions(NamedTuple):
    """Alignments in the order of their jobs.

    Attributes:
        score: int32[n]; 0 if no alignment scores above zero.
        read_begin, read_end: int32[n], half-open in the oriented read.
        axis_begin, axis_end: int64[n], half-open on the axis.
        cigar_begin: int64[n], first operation of each alignment in `cigar`.
        cigar_length: int32[n], number of its operations.
        cigar: uint32[], operations as in BAM (length << 4 | operation), M, I and D only.
    """

    score: np.ndarray
    read_begin: np.ndarray
    read_end: np.ndarray
    axis_begin: np.ndarray
    axis_end: np.ndarray
    cigar_begin: np.ndarray
    cigar_length: np.ndarray
    cigar: np.ndarray


EXTENSION_TYPES = (*[np.int32] * 3, *[np.int64] * 3, np.int32, np.uint32)
