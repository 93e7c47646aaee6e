"""Batches for tests of PairHMM, and the recurrence of model.py in NumPy, operation by operation."""

import math
import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, tables

from bench.pairhmm_regions import region_batch

VECTORS = Path(__file__).parents[1] / "data" / "kernel_vectors"
FLOAT32 = np.dtype(np.float32)
SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal
# Smaller likelihoods underflow even in scaled float64, to subnormal numbers or zero.
LEAST_OF_FLOAT64 = -math.log10(2) * (1022 + SCALE_EXPONENT[np.dtype(np.float64)])


def ends(sequences: Sequence) -> np.ndarray:
    return np.cumsum([0, *map(len, sequences)])


def region_of(
    rng: np.random.Generator, read_lengths: Sequence[int], haplotype_lengths: Sequence[int], letters: int = 5,
    qualities: tuple[int, int] = (6, 42), continuation: int = 10,
) -> PairHmmBatch:  # fmt: skip
    """Pair all reads with all haplotypes; half of the reads are pieces of a haplotype. 5 letters include N."""
    haplotypes = [rng.integers(0, letters, length).astype(np.uint8) for length in haplotype_lengths]
    reads = []
    for length in read_lengths:
        read = rng.integers(0, letters, length).astype(np.uint8)
        source = haplotypes[rng.integers(len(haplotypes))]
        if rng.random() < 0.5:
            piece = source[rng.integers(len(source)) :][:length]
            read[: len(piece)] = piece
        reads.append(read)
    scores = rng.integers(*qualities, (3, sum(read_lengths))).astype(np.uint8)
    return region_batch(
        np.concatenate(reads), scores[0], ends(reads), np.concatenate(haplotypes), ends(haplotypes), scores[1],
        scores[2], continuation,
    )  # fmt: skip


def flushed(values: np.ndarray) -> np.ndarray:
    """Replace subnormal numbers by zeros."""
    return np.where(np.abs(values) < SMALLEST_NORMAL, np.copysign(np.float32(0), values), values)


def rounded(exact: np.ndarray, flush: bool) -> np.ndarray:
    """Round extended precision to float32; with `flush`, results that are subnormal at 24 bits become zero.

    Products of float32 are exact in extended precision, and its extra bits make a second rounding harmless here.
    """
    result = np.asarray(exact, np.float32)
    if not flush:
        return result
    below = np.abs(np.asarray(exact * np.longdouble(2) ** 24, np.float32)) < SMALLEST_NORMAL * np.float32(2) ** 24
    return np.where(below, np.copysign(np.float32(0), result), result)


def model_sums(batch: PairHmmBatch, flush: bool = True) -> np.ndarray:
    """Return sums over the last row (float32[t]), with or without subnormal numbers; equal tasks are computed once."""
    return _model_sums(pickle.dumps(batch), flush).copy()


@cache  # every schedule of the emulated card requests the same
def _model_sums(pickled: bytes, flush: bool) -> np.ndarray:
    batch: PairHmmBatch = pickle.loads(pickled)
    tasks, places = np.unique(batch.tasks, axis=0, return_inverse=True)
    with np.errstate(all="ignore"):
        return np.array([_model_sum(batch, *task, flush) for task in tasks], np.float32)[places]


def _model_sum(batch: PairHmmBatch, read: int, haplotype: int, flush: bool) -> np.float32:
    def fma(a, b, c):
        a, b, c = (np.longdouble(flushed(value) if flush else value) for value in (a, b, c))
        return rounded(a * b + c, flush)

    def add(a, b):
        return fma(a, np.float32(1), b)

    table = tables(batch.gap_continuation_quality, FLOAT32)
    bases = slice(batch.read_offsets[read], batch.read_offsets[read + 1])
    letters = batch.haplotype_bases[batch.haplotype_offsets[haplotype] : batch.haplotype_offsets[haplotype + 1]]
    insertions, deletions = batch.insertion_qualities[bases].astype(int), batch.deletion_qualities[bases].astype(int)
    columns, zero = len(letters) + 1, np.float32(0)
    match, inserted = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
    deleted, opening = np.full(columns, table.start), np.float32(1)
    for i, (base, quality) in enumerate(zip(batch.read_bases[bases], batch.base_qualities[bases], strict=True)):
        above_match, above_inserted, above_deleted = match, inserted, deleted
        agree = (letters == base) | (letters > 3) | (base > 3)
        emission = np.where(agree, table.agree[quality], table.differ[quality]).astype(np.float32)
        gaps = fma(opening, above_deleted[:-1], above_inserted[:-1])
        stay = table.stay[insertions[i] * 256 + deletions[i]]
        match = np.concatenate([[zero], fma(emission, fma(stay, above_match[:-1], gaps), zero)])
        inserted = fma(table.opening[insertions[i]], above_match, fma(table.continuation, above_inserted, zero))
        inserted[0] = 0
        deleted = np.zeros(columns, np.float32)
        for j in range(1, columns):
            deleted[j] = fma(table.continuation, deleted[j - 1], match[j - 1])
        opening = table.opening[deletions[i]]
    total = zero
    for column in range(1, columns):
        total = add(total, add(match[column], inserted[column]))
    return np.float32(total)
