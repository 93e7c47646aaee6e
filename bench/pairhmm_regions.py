"""Inputs of PairHMM's measurements: regions of GATK's test files, repeated, and regions of chosen lengths."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from quire.algorithms.pairhmm.batch import PairHmmBatch, join_batches, region_batch

LOWEST_QUALITY = 6  # GATK's floor
_CODES = np.full(256, 4, np.uint8)
_CODES[list(b"ACGT")] = range(4)


def read_regions(path: Path) -> list[PairHmmBatch]:
    """Regions of a file: a line of two counts, lines of reads (bases and four qualities), lines of haplotypes."""
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


def repeated(batch: PairHmmBatch, times: int) -> PairHmmBatch:
    """The batch several times over, as if there were so many times its regions."""
    return join_batches([batch] * times)


def regions_of_length(
    read_length: int, haplotype_length: int, cells: float, haplotypes: int = 8, seed: int = 0
) -> PairHmmBatch:
    """Reads that come, with errors, from the haplotypes that they are scored against; about so many cells in all."""
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
    """Cells of all matrices."""
    rows, columns = np.diff(batch.read_offsets), np.diff(batch.haplotype_offsets)
    return int(np.sum(rows[batch.tasks[:, 0]] * columns[batch.tasks[:, 1]]))


def _bytes(texts: Sequence[str]) -> np.ndarray:
    return np.frombuffer("".join(texts).encode(), np.uint8)


def _ends(texts: Sequence[str]) -> np.ndarray:
    return np.cumsum([0, *map(len, texts)])
