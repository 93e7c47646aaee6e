"""PairHMM: likelihoods of reads given haplotypes, by GATK's model (Durbin et al. 1998, chapter 4).

`cpu.log10_likelihoods` and `gpu.log10_likelihoods` score a `PairHmmBatch`. The module `model` defines the recurrence
and the order of operations that all kernels follow.
"""

from dataclasses import dataclass

import numpy as np

DEFAULT_GAP_OPEN_QUALITY = 45  # GATK's HaplotypeCaller without a PCR indel model
DEFAULT_GAP_CONTINUATION_QUALITY = 10


@dataclass(frozen=True)
class PairHmmBatch:
    """Reads, haplotypes and the pairs of them to score.

    Attributes:
        read_bases: uint8[n], codes A0 C1 G2 T3 N4 of all reads, end to end.
        base_qualities: uint8[n], phred, already capped and floored.
        insertion_qualities: uint8[n], phred of opening an insertion at each base.
        deletion_qualities: uint8[n], phred of opening a deletion at each base.
        read_offsets: int64[reads + 1] into the four arrays above.
        haplotype_bases: uint8[m], codes of all haplotypes, end to end.
        haplotype_offsets: int64[haplotypes + 1] into haplotype_bases.
        tasks: int32[t, 2], (read index, haplotype index).
        gap_continuation_quality: phred of extending a gap by one base, >= 1, for the whole batch.
        gap_continuation_qualities: uint8[n], the same for each base of the reads; if given, it overrides the former.
    """

    read_bases: np.ndarray
    base_qualities: np.ndarray
    insertion_qualities: np.ndarray
    deletion_qualities: np.ndarray
    read_offsets: np.ndarray
    haplotype_bases: np.ndarray
    haplotype_offsets: np.ndarray
    tasks: np.ndarray
    gap_continuation_quality: int = DEFAULT_GAP_CONTINUATION_QUALITY
    gap_continuation_qualities: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for inconsistent lengths, an empty read or haplotype, or a continuation quality below 1."""
        bases = int(self.read_offsets[-1])
        names = ["read_bases", "base_qualities", "insertion_qualities", "deletion_qualities"]
        continuation: int | np.ndarray = self.gap_continuation_quality
        if self.gap_continuation_qualities is not None:
            names, continuation = [*names, "gap_continuation_qualities"], self.gap_continuation_qualities
        for name in names:
            if len(getattr(self, name)) != bases:
                raise ValueError(f"PairHMM batch: {name} has {len(getattr(self, name))} entries for {bases} bases")
        if np.any(np.less(continuation, 1)):
            raise ValueError("PairHMM batch: every gap continuation quality must be at least 1")
        if len(self.haplotype_bases) != int(self.haplotype_offsets[-1]):
            raise ValueError("PairHMM batch: haplotype_offsets must end at the length of haplotype_bases")
        for name in ("read", "haplotype"):
            if np.any(np.diff(getattr(self, f"{name}_offsets")) <= 0):
                raise ValueError(f"PairHMM batch: an empty {name} has no likelihood")
