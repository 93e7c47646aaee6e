"""From hits to candidates: hits on neighbouring diagonals of one island are one place where the read may lie.

A candidate's *promise* is the larger of the read bases that its seeds cover and the score without gaps on its best
diagonal. A read keeps its most promising candidates (ties: smallest hash of read name and axis position).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from quire.algorithms.extension import MATCH, MISMATCH, ExtensionJobs
from quire.algorithms.extension.cpu import mismatches
from quire.algorithms.seeding import DIAGONAL_BIAS, SEED_LENGTH
from quire.algorithms.seeding.cpu import seed_end
from quire.oriented import Reads, tie_hash

# Diagonals further apart than this are different places; a larger gap costs more than the half of a read it would join.
LARGEST_GAP = 64
WIDEST_CLUSTER = 128
BAND_MARGIN = 15
MOST_CANDIDATES = 16
_NO_DIAGONAL = np.int64(-(1 << 62))


@dataclass
class Candidates:
    """Candidates of a batch, as extension jobs, and their promise (int32[n])."""

    jobs: ExtensionJobs
    promise: np.ndarray


def find_candidates(offsets: np.ndarray, hits: np.ndarray, reads: Reads, reference, stride: int) -> Candidates:
    """Cluster the hits of each read and keep the most promising places.

    Args:
        offsets: int64[n + 1]; hits: uint64[], as `quire.algorithms.seeding.find_hits` gives them.
        reads: the batch.
        reference: `quire.reference.Reference`.
        stride: of the seeds.
    """
    room = np.minimum(np.diff(offsets), MOST_CANDIDATES)
    starts = np.zeros(len(room) + 1, np.int64)
    np.cumsum(room, out=starts[1:])
    columns = np.zeros((7, int(starts[-1])), np.int64)
    counts = _cluster(offsets, hits, starts, reads.offsets, reads.word_offsets, reads.packed, reads.name_hash,
                      reference.text, reference.island_axis, stride, columns)  # fmt: skip
    columns = columns[:, np.arange(columns.shape[1]) - np.repeat(starts[:-1], room) < np.repeat(counts, room)]
    read = np.repeat(np.arange(len(room), dtype=np.int32), counts)
    strand, diagonal, low, high, axis_low, axis_high, promise = columns
    jobs = ExtensionJobs(
        read,
        strand.astype(np.uint8),
        np.ascontiguousarray(diagonal),
        low - BAND_MARGIN,
        high + BAND_MARGIN,
        np.ascontiguousarray(axis_low),
        np.ascontiguousarray(axis_high),
    )
    return Candidates(jobs, promise.astype(np.int32))


@njit(cache=True, nogil=True, forceinline=True)
def island_of(island_axis, position):
    """Index of the island that holds an axis position."""
    low, high = 0, len(island_axis) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if island_axis[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _cluster(offsets, hits, starts, read_offsets, word_offsets, packed, name_hash, text, island_axis, stride, columns):
    count = len(offsets) - 1
    kept = np.zeros(count, np.int64)
    axis_length = island_axis[-1]
    for read in range(count):
        length = read_offsets[read + 1] - read_offsets[read]
        best = columns[:, starts[read] : starts[read + 1]]
        found = 0
        i = offsets[read]
        while i < offsets[read + 1]:
            i, strand, diagonal, low, high, island, covered = _next_cluster(
                hits, i, offsets[read + 1], length, stride, island_axis, axis_length
            )
            if island < 0:
                continue
            promise = covered
            axis_low, axis_high = island_axis[island], island_axis[island + 1]
            if diagonal >= axis_low and diagonal + length <= axis_high:
                # Up to this many mismatches the score without gaps can exceed what the seeds cover.
                limit = (length - covered) // (MATCH - MISMATCH)
                differing = mismatches(packed[strand], word_offsets[read], length, text, diagonal, limit)
                promise = max(promise, length - (MATCH - MISMATCH) * differing)
            found = _keep(best, found, strand, diagonal, low, high, axis_low, axis_high, promise, name_hash[read])
        kept[read] = found
    return kept


@njit(cache=True, nogil=True, forceinline=True)
def _next_cluster(hits, i, last, length, stride, island_axis, axis_length):
    """The cluster of hits that begins at i: (next i, strand, best diagonal, low, high, island, covered bases)."""
    strand = np.int64(hits[i] >> np.uint64(63))
    first = _diagonal(hits[i])
    previous = first
    island = np.int64(-1)
    seeds = np.uint64(0)
    best, best_count, current, current_count = first, 0, _NO_DIAGONAL, 0
    while i < last:
        diagonal = _diagonal(hits[i])
        if np.int64(hits[i] >> np.uint64(63)) != strand:
            break
        if diagonal - previous > LARGEST_GAP or diagonal - first > WIDEST_CLUSTER:
            break
        ordinal = np.int64(hits[i] & np.uint64(255))
        end = diagonal + seed_end(ordinal, length, stride)
        begin = end - SEED_LENGTH
        if begin < 0 or end > axis_length:
            i += 1
            continue
        if island < 0:
            island = island_of(island_axis, begin)
            if end > island_axis[island + 1]:  # a match across the border of two islands is none
                island = np.int64(-1)
                i += 1
                continue
            first = diagonal
        elif begin < island_axis[island] or end > island_axis[island + 1]:
            if begin >= island_axis[island + 1]:
                break
            i += 1
            continue
        seeds |= np.uint64(1) << np.uint64(ordinal)
        current_count = current_count + 1 if diagonal == current else 1
        current = diagonal
        if current_count > best_count:
            best, best_count = current, current_count
        previous = diagonal
        i += 1
    return i, strand, best, first, previous, island, _covered(seeds, length, stride)


@njit(cache=True, nogil=True, forceinline=True)
def _diagonal(hit):
    return np.int64((hit << np.uint64(1)) >> np.uint64(9)) - DIAGONAL_BIAS


@njit(cache=True, nogil=True, forceinline=True)
def _covered(seeds, length, stride):
    """Bases of the read under at least one of the seeds (a bit each)."""
    covered, reached, ordinal = np.int64(0), np.int64(0), np.int64(0)
    while seeds:
        if seeds & np.uint64(1):
            end = np.int64(seed_end(ordinal, length, stride))
            covered += min(np.int64(SEED_LENGTH), end - reached)
            reached = end
        seeds >>= np.uint64(1)
        ordinal += 1
    return covered


@njit(cache=True, nogil=True, forceinline=True)
def _keep(best, found, strand, diagonal, low, high, axis_low, axis_high, promise, name_hash):
    """Insert a candidate into the columns of its read, most promising first; returns how many there are."""
    rank = tie_hash(name_hash, diagonal)
    place = found
    while place > 0:
        other = best[6, place - 1]
        if other > promise or (other == promise and tie_hash(name_hash, best[1, place - 1]) <= rank):
            break
        place -= 1
    if place == best.shape[1]:
        return found
    if found < best.shape[1]:
        found += 1
    for row in range(7):
        for i in range(found - 1, place, -1):
            best[row, i] = best[row, i - 1]
    best[0, place], best[1, place], best[2, place], best[3, place] = strand, diagonal, low, high
    best[4, place], best[5, place], best[6, place] = axis_low, axis_high, promise
    return found
