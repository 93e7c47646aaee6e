"""Semi-global alignment with GATK's overhang strategies and ties (model.py), such as haplotypes to the reference.

`cpu.align` aligns many pairs at once; `cpu.align_one` aligns one from within another kernel.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.semiglobal.model import Overhang

__all__ = ["Overhang", "SemiglobalAlignments", "SemiglobalBatch"]


@dataclass(frozen=True)
class SemiglobalBatch:
    """Sequences and the pairs of them to align, from one region or many.

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

    def __post_init__(self) -> None:
        """Refuse empty sequences.

        Raises:
            ValueError: a sequence is empty.
        """
        for name in ("reference", "alternate"):
            if np.any(np.diff(getattr(self, f"{name}_offsets")) <= 0):
                raise ValueError(f"semi-global batch: an empty {name} cannot be aligned")


@dataclass(frozen=True)
class SemiglobalAlignments:
    """Alignments of t tasks in order, each equal to GATK's (SmithWatermanJavaAligner, SWNativeAligner).

    Attributes:
        offsets: int32[t], 0-based reference position of the alignment's first column (negative only for IGNORE).
        cigars: uint32, CIGAR elements as in BAM (length << 4 | operation, CIGAR_* of `quire.sam`), concatenated.
        cigar_offsets: int64[t + 1] into cigars.
    """

    offsets: NDArray[np.int32]
    cigars: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]

    def cigar(self, task: int) -> NDArray[np.uint32]:
        """Return uint32[k], the CIGAR elements of one task."""
        return self.cigars[self.cigar_offsets[task] : self.cigar_offsets[task + 1]]
