"""GATK's Smith-Waterman: haplotypes to the reference and reads to haplotypes, with its overhang strategies and ties."""

from dataclasses import dataclass

import numpy as np

from quire.algorithms.smith_waterman.model import (
    ALIGNMENT_TO_BEST_HAPLOTYPE,
    NEW_SW_PARAMETERS,
    OPERATIONS,
    ORIGINAL_DEFAULT,
    STANDARD_NGS,
    Parameters,
    Strategy,
)
from quire.device import require_cpu

__all__ = [
    "ALIGNMENT_TO_BEST_HAPLOTYPE",
    "NEW_SW_PARAMETERS",
    "ORIGINAL_DEFAULT",
    "STANDARD_NGS",
    "Alignments",
    "Parameters",
    "Strategy",
    "align",
    "align_batch",
    "cigar_string",
]


@dataclass(frozen=True)
class Alignments:
    """What `align_batch` answers for t tasks.

    Attributes:
        offsets: int32[t], 0-based reference position of the alignment's first column (negative only for IGNORE).
        cigars: uint32, CIGAR elements as in BAM (length << 4 | operation, MIDNS = 0..4), end to end.
        cigar_offsets: int64[t + 1] into cigars.
    """

    offsets: np.ndarray
    cigars: np.ndarray
    cigar_offsets: np.ndarray

    def cigar(self, task: int) -> np.ndarray:
        """uint32[k]: the CIGAR elements of one task."""
        return self.cigars[self.cigar_offsets[task] : self.cigar_offsets[task + 1]]


def align_batch(
    references: np.ndarray,
    reference_offsets: np.ndarray,
    alternates: np.ndarray,
    alternate_offsets: np.ndarray,
    tasks: np.ndarray,
    parameters: Parameters,
    strategy: Strategy,
    device: str = "cpu",
) -> Alignments:
    """Align alternates to references, many at once: 16 tasks run in lockstep, so hand over many regions together.

    Args:
        references: uint8, codes or letters (equal bytes match, N included), end to end; int64[references + 1] offsets.
        alternates: likewise.
        tasks: int32[t, 2], (reference index, alternate index).
        parameters: scores; their sum over the longest sequence must stay within 2**30.
        strategy: what becomes of overhangs (model.py).
        device: "cpu".

    Returns:
        Alignments in the order of tasks, each equal to GATK's (SmithWatermanJavaAligner, SWNativeAligner).

    Raises:
        ValueError: an empty sequence, or an unknown device.
    """
    require_cpu("Smith-Waterman", device)
    for name, offsets in (("reference", reference_offsets), ("alternate", alternate_offsets)):
        if np.any(np.diff(offsets) <= 0):
            raise ValueError(f"Smith-Waterman: an empty {name} cannot be aligned")
    from quire.algorithms.smith_waterman import cpu

    return Alignments(
        *cpu.align_batch(
            references, reference_offsets, alternates, alternate_offsets, tasks, Parameters(*parameters), strategy
        )
    )


def align(
    reference: np.ndarray,
    alternate: np.ndarray,
    parameters: Parameters,
    strategy: Strategy,
    device: str = "cpu",
) -> tuple[int, np.ndarray]:
    """Offset and CIGAR elements (uint32[k]) of one alternate; see `align_batch`, which is much faster for many."""
    reference, alternate = (np.frombuffer(bytes(sequence), np.uint8) for sequence in (reference, alternate))
    answer = align_batch(
        reference,
        np.array([0, len(reference)]),
        alternate,
        np.array([0, len(alternate)]),
        np.zeros((1, 2), np.int32),
        parameters,
        strategy,
        device,
    )
    return int(answer.offsets[0]), answer.cigar(0)


def cigar_string(elements: np.ndarray) -> str:
    """CIGAR elements as text, "10M1I5M"."""
    return "".join(f"{int(element) >> 4}{OPERATIONS[int(element) & 15]}" for element in elements)
