"""Wider bands with Numba; see `quire.align.wider` for the rules."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import (
    BAND_STEP,
    END_BONUS,
    GAP_EXTEND,
    GAP_OPEN,
    MATCH,
    MISMATCH,
    ExtensionJobs,
    Extensions,
)
from quire.algorithms.extension.cpu_arrays import JobArrays, ResultArrays
from quire.align.parameters import (
    LARGEST_GAP,
    NEAR_BEST,
    OUTER_BASES,
    OUTER_DIFFERENCES,
    SHORTEST_CLIP,
    SHORTEST_SCORE,
)
from quire.reads import Reads
from quire.reference import Reference
from quire.sequence.words import packed_word
from quire.simd.bits import count_ones
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

_PAIRS = np.uint64(0x5555555555555555)
_OUTER = _PAIRS >> np.uint64(64 - 2 * OUTER_BASES)
_NONE = np.int64(-(1 << 62))  # no diagonal


class _Reads(NamedTuple):
    """The arrays of `Reads` that the kernels read; `packed` is flat."""

    offsets: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray


class _Clip(NamedTuple):
    """A clipped end of a read.

    Attributes:
        packed: words of reads; first: index in them of the read's first base.
        length: length of the read; clip: number of bases clipped at this end.
        is_begin: True for the begin of the read, False for its end.
        own: diagonal of the alignment at this end.
        band_low, band_high: first and last diagonal of the band.
        axis_low, axis_high: begin and end of the part of the axis that may be used.
    """

    packed: np.ndarray
    first: int
    length: int
    clip: int
    is_begin: bool
    own: int
    band_low: int
    band_high: int
    axis_low: int
    axis_high: int


def wider_jobs(
    rounds: list[tuple[ExtensionJobs, Extensions]], best: np.ndarray, reads: Reads, reference: Reference
) -> tuple[ExtensionJobs, list[np.ndarray]]:
    """Return jobs for the alignments to repeat, and for each round their indices (int64[], ascending).

    Args:
        rounds: all rounds so far, with reads numbered as in `reads`.
        best: int32[n, 2], result of `best_scores`.
        reads: the batch.
        reference: the axis.
    """
    chosen, parts = [], []
    for jobs, found in rounds:
        arrays = JobArrays(jobs.read, jobs.strand, jobs.diagonal, jobs.diagonal_low, jobs.axis_low, jobs.axis_high)
        results = ResultArrays(
            found.score, found.read_begin, found.read_end, found.axis_begin, found.axis_end, found.cigar_begin,
            found.cigar_length,
        )  # fmt: skip
        read_arrays = _Reads(reads.offsets, reads.word_offsets, reads.packed.reshape(-1))
        rows, low, high = _find(arrays, jobs.diagonal_high, results, best, read_arrays, reference.text)
        chosen.append(rows)
        parts.append((jobs.read[rows], jobs.strand[rows], jobs.diagonal[rows], low, high, jobs.axis_low[rows],
                      jobs.axis_high[rows]))  # fmt: skip
    return ExtensionJobs(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), chosen


@compiled
def _find(jobs, diagonal_highs, results, best, reads, text):
    """Return the indices of the alignments to repeat, and first and last diagonals of their bands (int64[] each)."""
    jobs, results, reads = borrowed(jobs), borrowed(results), borrowed(reads)
    diagonal_high, best, text = borrowed(diagonal_highs), borrowed(best), borrowed(text)
    strand_words, count = len(reads.packed) >> 1, len(jobs.read)
    chosen, lows, highs = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    used = 0
    for i in range(count):
        read = jobs.read[i]
        length = reads.offsets[read + 1] - reads.offsets[read]
        begin, end = np.int64(results.read_begin[i]), np.int64(results.read_end[i])
        if results.score[i] < SHORTEST_SCORE or max(begin, length - end) < SHORTEST_CLIP:
            continue
        least = max(np.int64(best[read, 0]) - NEAR_BEST - results.score[i], np.int64(1))
        low, high = jobs.diagonal_low[i], diagonal_high[i]
        high += -(high - low + 1) % BAND_STEP  # as extension widens it
        first = 32 * (reads.word_offsets[read] + (strand_words if jobs.strand[i] else 0))
        own, other_own = results.axis_begin[i] - begin, results.axis_end[i] - end
        span = jobs.axis_low[i], jobs.axis_high[i]
        left = _Clip(reads.packed, first, length, begin, True, own, low, high, span[0], span[1])
        right = _Clip(reads.packed, first, length, length - end, False, other_own, low, high, span[0], span[1])
        diagonal, other = _end_diagonal(left, text, least), _end_diagonal(right, text, least)
        if diagonal != _NONE or other != _NONE:
            if diagonal != _NONE:
                low, high = min(low, diagonal), max(high, diagonal)
            if other != _NONE:
                low, high = min(low, other), max(high, other)
            chosen[used], lows[used], highs[used] = i, low, high
            used += 1
    return chosen[:used], lows[:used], highs[:used]


@inlined
def _end_diagonal(end, text, least):
    """Return the diagonal of a clipped end (`_Clip`) if its value is at least `least`, else _NONE."""
    found, most = _NONE, least - 1
    if end.clip < SHORTEST_CLIP or end.clip * MATCH + END_BONUS + GAP_OPEN + GAP_EXTEND <= most:
        return found
    outer = 0 if end.is_begin else end.length - OUTER_BASES
    bases = packed_word(end.packed, end.first + outer)
    for side in range(2):
        low, high = end.own - LARGEST_GAP, end.own + LARGEST_GAP
        if side == 0:
            high = min(high, end.band_low - 1)
        else:
            low = max(low, end.band_high + 1)
        low, high = max(low, end.axis_low - outer), min(high, end.axis_high - outer - OUTER_BASES)
        # One word of the axis covers the outermost bases on this many diagonals.
        for run in range(low, high + 1, 32 - OUTER_BASES):
            window = packed_word(text, run + outer)
            for diagonal in range(run, min(run + 32 - OUTER_BASES, high + 1)):
                difference = bases ^ window
                window >>= np.uint64(2)
                if count_ones((difference | difference >> np.uint64(1)) & _OUTER) <= OUTER_DIFFERENCES:
                    value = _value(end, text, diagonal)
                    if value > most:
                        found, most = diagonal, value
    return found


@inlined
def _value(end, text, diagonal):
    """Return the value of a diagonal for a clipped end; 0 if too few bases lie on it."""
    gap = abs(diagonal - end.own)
    matched = end.clip if (diagonal < end.own) == end.is_begin else end.clip - gap
    begin = 0 if end.is_begin else end.length - matched
    if matched < OUTER_BASES or diagonal + begin < end.axis_low or diagonal + begin + matched > end.axis_high:
        return np.int64(0)
    differing = np.int64(0)
    for place in range(begin, begin + matched, 32):
        difference = packed_word(end.packed, end.first + place) ^ packed_word(text, diagonal + place)
        difference = (difference | difference >> np.uint64(1)) & _PAIRS
        rest = begin + matched - place
        if rest < 32:
            difference &= (np.uint64(1) << np.uint64(2 * rest)) - np.uint64(1)
        differing += count_ones(difference)
    return matched * MATCH - (MATCH - MISMATCH) * differing + END_BONUS + GAP_OPEN + gap * GAP_EXTEND
