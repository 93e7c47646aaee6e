"""What PairHMM is asked: reads, haplotypes and (read, haplotype) tasks as flat arrays, of one region or of many."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quire.ragged import offsets_from_lengths

DEFAULT_GAP_OPEN_QUALITY = 45  # GATK's HaplotypeCaller without a PCR indel model
DEFAULT_GAP_CONTINUATION_QUALITY = 10


@dataclass(frozen=True)
class PairHmmBatch:
    """Reads, haplotypes and the pairs of them to score.

    Attributes:
        read_bases: uint8[n], codes A0 C1 G2 T3 N4 of all reads, end to end.
        base_qualities: uint8[n], phred, capped and floored by the caller already.
        insertion_qualities: uint8[n], phred of opening an insertion at each base.
        deletion_qualities: uint8[n], phred of opening a deletion at each base.
        read_offsets: int64[reads + 1] into the four arrays above.
        haplotype_bases: uint8[m], codes of all haplotypes, end to end.
        haplotype_offsets: int64[haplotypes + 1] into haplotype_bases.
        tasks: int32[t, 2], (read index, haplotype index).
        gap_continuation_quality: phred of making a gap one base longer, >= 1, one for the batch.
        gap_continuation_qualities: uint8[n], the same at each base of the reads; where given it stands for the one.
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
        """Refuse what no kernel can answer.

        Raises:
            ValueError: arrays that do not fit each other, an empty read or haplotype, a continuation quality below 1.
        """
        bases = int(self.read_offsets[-1])
        for name in ("read_bases", "base_qualities", "insertion_qualities", "deletion_qualities"):
            if len(getattr(self, name)) != bases:
                raise ValueError(f"PairHMM batch: {name} has {len(getattr(self, name))} entries for {bases} bases")
        if len(self.haplotype_bases) != int(self.haplotype_offsets[-1]):
            raise ValueError("PairHMM batch: haplotype_offsets do not end where haplotype_bases ends")
        if self.gap_continuation_quality < 1:
            raise ValueError("PairHMM batch: the gap continuation quality must be at least 1")
        if self.gap_continuation_qualities is not None:
            if len(self.gap_continuation_qualities) != bases:
                raise ValueError("PairHMM batch: gap_continuation_qualities are not as many as the bases")
            if bases and np.min(self.gap_continuation_qualities) < 1:
                raise ValueError("PairHMM batch: every gap continuation quality must be at least 1")
        for name in ("read", "haplotype"):
            if np.any(np.diff(getattr(self, f"{name}_offsets")) <= 0):
                raise ValueError(f"PairHMM batch: an empty {name} has no likelihood")


def region_batch(
    read_bases: np.ndarray,
    base_qualities: np.ndarray,
    read_offsets: np.ndarray,
    haplotype_bases: np.ndarray,
    haplotype_offsets: np.ndarray,
    insertion_qualities: np.ndarray | int = DEFAULT_GAP_OPEN_QUALITY,
    deletion_qualities: np.ndarray | int = DEFAULT_GAP_OPEN_QUALITY,
    gap_continuation_quality: int = DEFAULT_GAP_CONTINUATION_QUALITY,
) -> PairHmmBatch:
    """All reads of a region against all its haplotypes, read-major: reshape the answer to (reads, haplotypes).

    Args:
        read_bases: uint8[n] codes; likewise base_qualities, read_offsets and the haplotypes (see `PairHmmBatch`).
        insertion_qualities: one phred for all bases, or uint8[n]; likewise deletion_qualities.
        gap_continuation_quality: phred.
    """
    reads, haplotypes = len(read_offsets) - 1, len(haplotype_offsets) - 1
    tasks = np.empty((reads * haplotypes, 2), np.int32)
    tasks[:, 0] = np.repeat(np.arange(reads), haplotypes)
    tasks[:, 1] = np.tile(np.arange(haplotypes), reads)
    return PairHmmBatch(
        read_bases,
        base_qualities,
        _per_base(insertion_qualities, len(read_bases)),
        _per_base(deletion_qualities, len(read_bases)),
        read_offsets,
        haplotype_bases,
        haplotype_offsets,
        tasks,
        gap_continuation_quality,
    )


def join_batches(batches: Sequence[PairHmmBatch]) -> PairHmmBatch:
    """One batch of several (of several regions, say); answers come in the same order, end to end.

    Raises:
        ValueError: no batch, or batches of different gap continuation quality, unless all have their own at each base.
    """
    per_base = [batch.gap_continuation_qualities for batch in batches]
    if len({batch.gap_continuation_quality for batch in batches}) != 1 or len({one is None for one in per_base}) != 1:
        raise ValueError("PairHMM batches to join must exist and share one gap continuation quality")
    first_read = np.cumsum([0] + [len(batch.read_offsets) - 1 for batch in batches])
    first_haplotype = np.cumsum([0] + [len(batch.haplotype_offsets) - 1 for batch in batches])
    shifts = np.stack([first_read, first_haplotype], axis=1).astype(np.int32)
    return PairHmmBatch(
        np.concatenate([batch.read_bases for batch in batches]),
        np.concatenate([batch.base_qualities for batch in batches]),
        np.concatenate([batch.insertion_qualities for batch in batches]),
        np.concatenate([batch.deletion_qualities for batch in batches]),
        _joined_offsets([batch.read_offsets for batch in batches]),
        np.concatenate([batch.haplotype_bases for batch in batches]),
        _joined_offsets([batch.haplotype_offsets for batch in batches]),
        np.concatenate([batch.tasks + shift for batch, shift in zip(batches, shifts, strict=False)]),
        batches[0].gap_continuation_quality,
        None if per_base[0] is None else np.concatenate([one for one in per_base if one is not None]),
    )


def _per_base(quality: np.ndarray | int, bases: int) -> np.ndarray:
    """Phred qualities per base (uint8) from one number or from an array."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(quality, np.uint8), (bases,)))


def _joined_offsets(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Offsets (int64) of ragged arrays laid end to end."""
    return offsets_from_lengths(np.concatenate([np.diff(part) for part in parts]))
