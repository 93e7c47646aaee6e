"""Semi-global alignment with GATK's overhang strategies and ties (model.py): haplotypes to the reference, and the like.

`cpu.align` aligns many pairs at once; `cpu.align_one` aligns one from within another kernel.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.semiglobal.model import Overhang

__all__ = ["Overhang", "SemiglobalAlignments", "SemiglobalBatch"]


@dataclass(frozen=True)
class SemiglobalBatch:
    """Sequences and the pairs of them to align, of one region or of many.

    Attributes:
        references: uint8[n], codes or letters (equal bytes match, N included) of all references, end to end.
        reference_offsets: int64[references + 1] into them.
        alternates: uint8[m], likewise.
        alternate_offsets: int64[alternates + 1].
        tasks: int32[t, 2], (reference index, alternate index).
    """

    references: NDArray[np.uint8]
    reference_offsets: NDArray[np.int64]
    alternates: NDArray[np.uint8]
    alternate_offsets: NDArray[np.int64]
    tasks: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Refuse what no kernel can answer.

        Raises:
            ValueError: an empty sequence.
        """
        for name in ("reference", "alternate"):
            if np.any(np.diff(getattr(self, f"{name}_offsets")) <= 0):
                raise ValueError(f"semi-global batch: an empty {name} cannot be aligned")


@dataclass(frozen=True)
class SemiglobalAlignments:
    """Alignments of t tasks, in their order, each equal to GATK's (SmithWatermanJavaAligner, SWNativeAligner).

    Attributes:
        offsets: int32[t], 0-based reference position of the alignment's first column (negative only for IGNORE).
        cigars: uint32, CIGAR elements as in BAM (length << 4 | operation, CIGAR_* of `quire.sam`), end to end.
        cigar_offsets: int64[t + 1] into cigars.
    """

    offsets: NDArray[np.int32]
    cigars: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]

    def cigar(self, task: int) -> NDArray[np.uint32]:
        """uint32[k]: the CIGAR elements of one task."""
        return self.cigars[self.cigar_offsets[task] : self.cigar_offsets[task + 1]]
