"""Extension: the best alignment of a read near a diagonal of the axis, with bwa mem's scores, soft clips and affine
gaps.

The score of a path is +1 a match, -4 a mismatch, -1 where the read or the reference is ambiguous, -6 to open a gap
and -1 for each gap base. An end of the read that is reached earns END_BONUS for choosing the path (bwa mem's clipping
penalty seen from the other side); the bonus is not part of the reported score. Ties: the earliest end in the read,
then the lowest diagonal.

Jobs are flat arrays, one entry for each candidate; the same result for every grouping of jobs. `cpu.extend` and
`gpu.extend` align them.
"""

from dataclasses import dataclass

import numpy as np

from quire.algorithms.scoring import BWA_MEM

MATCH, MISMATCH, GAP_EXTEND = BWA_MEM.match, BWA_MEM.mismatch, BWA_MEM.gap_extend
GAP_OPEN = BWA_MEM.gap_open - BWA_MEM.gap_extend  # what a gap costs besides GAP_EXTEND for each of its bases
AMBIGUOUS = -1
END_BONUS = 5
BAND_STEP = 16


@dataclass
class ExtensionJobs:
    """What to align: n entries.

    Attributes:
        read: int32[n], index into the `Reads`.
        strand: uint8[n].
        diagonal: int64[n], the most promising diagonal; a read with at most one mismatch there and no ambiguous base is
            aligned there, which is optimal; only among equally good diagonals does it make a difference.
        diagonal_low, diagonal_high: int64[n], the band's first and last diagonal (axis position minus position in the
            oriented read), inclusive; the band is widened upwards to a multiple of BAND_STEP diagonals.
        axis_low, axis_high: int64[n], the span of the axis (half-open) that may be used: an island or less.
    """

    read: np.ndarray
    strand: np.ndarray
    diagonal: np.ndarray
    diagonal_low: np.ndarray
    diagonal_high: np.ndarray
    axis_low: np.ndarray
    axis_high: np.ndarray

    def __len__(self) -> int:
        return len(self.read)


@dataclass
class Extensions:
    """Alignments in the order of their jobs.

    Attributes:
        score: int32[n]; 0 where nothing scores above zero.
        read_begin, read_end: int32[n], half-open in the oriented read.
        axis_begin, axis_end: int64[n], half-open on the axis.
        cigar_begin: int64[n], cigar_length: int32[n]: where the operations of an alignment stand in `cigar`.
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
