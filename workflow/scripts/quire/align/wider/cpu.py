"""Wider bands with Numba; see `quire.align.wider` for the rules."""

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
        packed = reads.packed.reshape(-1)
        rows, low, high = _find(
            arrays, jobs.diagonal_high, results, best, reads.offsets, reads.word_offsets, packed, reference.text
        )
        chosen.append(rows)
        parts.append((jobs.read[rows], jobs.strand[rows], jobs.diagonal[rows], low, high, jobs.axis_low[rows],
                      jobs.axis_high[rows]))  # fmt: skip
    return ExtensionJobs(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), chosen


@compiled
def _find(jobs, diagonal_highs, results, best, offsets, word_offsets, packed, text):
    """Return the indices of the alignments to repeat, and first and last diagonals of their bands (int64[] each)."""
    read, strand, _, diagonal_low, axis_low, axis_high = borrowed(jobs)
    score, read_begin, read_end, axis_begin, axis_end, _, _ = borrowed(results)
    diagonal_high, best, packed, text = borrowed(diagonal_highs), borrowed(best), borrowed(packed), borrowed(text)
    offsets, word_offsets = borrowed(offsets), borrowed(word_offsets)
    strand_words = len(packed) >> 1
    chosen, lows, highs = np.empty(len(read), np.int64), np.empty(len(read), np.int64), np.empty(len(read), np.int64)
    count = 0
    for i in range(len(read)):
        r = read[i]
        length = offsets[r + 1] - offsets[r]
        begin, end = np.int64(read_begin[i]), np.int64(read_end[i])
        if score[i] < SHORTEST_SCORE or max(begin, length - end) < SHORTEST_CLIP:
            continue
        least = max(np.int64(best[r, 0]) - NEAR_BEST - score[i], np.int64(1))
        low, high = diagonal_low[i], diagonal_high[i]
        high += -(high - low + 1) % BAND_STEP  # as extension widens it
        first = 32 * (word_offsets[r] + (strand_words if strand[i] else 0))
        band, island = (low, high), (axis_low[i], axis_high[i])
        diagonal = _end_diagonal(
            packed, first, length, begin, True, text, axis_begin[i] - begin, band, island, least
        )  # fmt: skip
        other = _end_diagonal(
            packed, first, length, length - end, False, text, axis_end[i] - end, band, island, least
        )  # fmt: skip
        if diagonal != _NONE or other != _NONE:
            if diagonal != _NONE:
                low, high = min(low, diagonal), max(high, diagonal)
            if other != _NONE:
                low, high = min(low, other), max(high, other)
            chosen[count], lows[count], highs[count] = i, low, high
            count += 1
    return chosen[:count], lows[:count], highs[:count]


@inlined
def _end_diagonal(packed, first, length, clip, is_begin, text, own, band, island, least):
    """Return the diagonal of a clipped end if its value is at least `least`, else _NONE.

    Args:
        packed: words of reads.
        first: index in them of the read's first base.
        length: length of the read.
        clip: number of bases clipped at this end.
        is_begin: True for the begin of the read, False for its end.
        text: the packed axis.
        own: diagonal of the alignment at this end.
        band: first and last diagonal of the band.
        island: begin and end of the part of the axis that may be used.
        least: least value.
    """
    found, most = _NONE, least - 1
    if clip < SHORTEST_CLIP or clip * MATCH + END_BONUS + GAP_OPEN + GAP_EXTEND <= most:
        return found
    outer = 0 if is_begin else length - OUTER_BASES
    bases = packed_word(packed, first + outer)
    for side in range(2):
        low, high = own - LARGEST_GAP, own + LARGEST_GAP
        if side == 0:
            high = min(high, band[0] - 1)
        else:
            low = max(low, band[1] + 1)
        low, high = max(low, island[0] - outer), min(high, island[1] - outer - OUTER_BASES)
        # One word of the axis covers the outermost bases on this many diagonals.
        for run in range(low, high + 1, 32 - OUTER_BASES):
            window = packed_word(text, run + outer)
            for diagonal in range(run, min(run + 32 - OUTER_BASES, high + 1)):
                difference = bases ^ window
                window >>= np.uint64(2)
                if count_ones((difference | difference >> np.uint64(1)) & _OUTER) <= OUTER_DIFFERENCES:
                    value = _value(packed, first, length, clip, is_begin, text, diagonal, own, island)
                    if value > most:
                        found, most = diagonal, value
    return found


@inlined
def _value(packed, first, length, clip, is_begin, text, diagonal, own, island):
    """Return the value of a diagonal for a clipped end; 0 if too few bases lie on it."""
    gap = abs(diagonal - own)
    matched = clip if (diagonal < own) == is_begin else clip - gap
    begin = 0 if is_begin else length - matched
    if matched < OUTER_BASES or diagonal + begin < island[0] or diagonal + begin + matched > island[1]:
        return np.int64(0)
    differing = np.int64(0)
    for place in range(begin, begin + matched, 32):
        difference = packed_word(packed, first + place) ^ packed_word(text, diagonal + place)
        difference = (difference | difference >> np.uint64(1)) & _PAIRS
        rest = begin + matched - place
        if rest < 32:
            difference &= (np.uint64(1) << np.uint64(2 * rest)) - np.uint64(1)
        differing += count_ones(difference)
    return matched * MATCH - (MATCH - MISMATCH) * differing + END_BONUS + GAP_OPEN + gap * GAP_EXTEND
