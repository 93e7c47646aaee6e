"""PairHMM batches for measurements and tests: regions of GATK's test files, repeated, and of chosen lengths."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from quire.algorithms.pairhmm import DEFAULT_GAP_CONTINUATION_QUALITY, DEFAULT_GAP_OPEN_QUALITY, PairHmmBatch
from quire.algorithms.pairhmm.items_gpu import CardBatch, CardHaplotypes, CardSequences, upload_shared
from quire.device.card import Card
from quire.ragged import offsets_from_lengths

LOWEST_QUALITY = 6  # GATK's floor
_CODES = np.full(256, 4, np.uint8)
_CODES[list(b"ACGT")] = range(4)


def read_regions(path: Path) -> list[PairHmmBatch]:
    """Read regions of a file: a line of two counts, lines of reads (bases and four qualities), lines of haplotypes."""
    lines = iter(path.read_text().splitlines())
    regions = []
    for header in lines:
        reads, haplotypes = map(int, header.split())
        bases, base, insertion, deletion, _ = zip(*(next(lines).split() for _ in range(reads)), strict=True)
        letters = [next(lines).strip() for _ in range(haplotypes)]
        regions.append(
            region_batch(
                _CODES[_bytes(bases)], np.maximum(_bytes(base) - 33, LOWEST_QUALITY), _ends(bases),
                _CODES[_bytes(letters)], _ends(letters), _bytes(insertion) - 33, _bytes(deletion) - 33,
            )
        )  # fmt: skip
    return regions


def upload(card: Card, batch: PairHmmBatch) -> CardBatch:
    """Upload a batch, without its tasks."""
    reads = (batch.read_bases, batch.base_qualities, batch.insertion_qualities, batch.deletion_qualities)
    on_card = [card.upload(np.ascontiguousarray(array, np.uint8)) for array in (*reads, batch.haplotype_bases)]
    offsets = [card.upload(np.ascontiguousarray(a, np.int64)) for a in (batch.read_offsets, batch.haplotype_offsets)]
    shared = upload_shared(card, batch, CardHaplotypes(on_card[-1], offsets[1]))
    return shared._replace(reads=CardSequences(*on_card[:-1], offsets[0]))


def repeated(batch: PairHmmBatch, times: int) -> PairHmmBatch:
    """Repeat a batch `times` times."""
    return join_batches([batch] * times)


def regions_of_length(
    read_length: int, haplotype_length: int, cells: float, haplotypes: int = 8, seed: int = 0
) -> PairHmmBatch:
    """Simulate reads with errors from the haplotypes that they are scored against; about `cells` cells in total."""
    rng = np.random.default_rng(seed)
    reads = max(1, round(cells / (read_length * haplotype_length * haplotypes)))
    letters = rng.integers(0, 4, (haplotypes, haplotype_length)).astype(np.uint8)
    letters[1:] = np.where(rng.random((haplotypes - 1, haplotype_length)) < 0.01, letters[1:], letters[0])
    start = rng.integers(0, max(1, haplotype_length - read_length + 1), reads)
    column = np.minimum(start[:, None] + np.arange(read_length), haplotype_length - 1)
    bases = letters[rng.integers(0, haplotypes, reads)[:, None], column]
    bases = np.where(rng.random(bases.shape) < 0.01, rng.integers(0, 4, bases.shape), bases).astype(np.uint8)
    return region_batch(
        bases.ravel(), rng.integers(10, 41, bases.size).astype(np.uint8), np.arange(reads + 1) * read_length,
        letters.ravel(), np.arange(haplotypes + 1) * haplotype_length,
    )  # fmt: skip


def cells_of(batch: PairHmmBatch) -> int:
    """Return the number of cells of all matrices."""
    rows, columns = np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
    return int(np.sum(rows[batch.tasks[:, 0]] * columns[batch.tasks[:, 1]]))


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
    """Pair all reads of a region with all its haplotypes, read-major: reshape the answer to (reads, haplotypes).

    The arguments are those of `PairHmmBatch`; gap qualities may be one phred for all bases.
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
    """Join batches, for example of several regions; the answers are in the same order, end to end.

    Raises:
        ValueError: no batch, or different gap continuation qualities, unless all batches have one for each base.
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
    """Return phred qualities per base (uint8) from one number or from an array."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(quality, np.uint8), (bases,)))


def _joined_offsets(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return offsets (int64) of ragged arrays joined end to end."""
    return offsets_from_lengths(np.concatenate([np.diff(part) for part in parts]))


def _bytes(texts: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(texts).encode(), np.uint8)


def _ends(texts: Sequence[str]) -> np.ndarray:
    return np.cumsum([0, *map(len, texts)])
