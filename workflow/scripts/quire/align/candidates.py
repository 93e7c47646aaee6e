"""From hits to candidates: hits on neighbouring diagonals of one island are one place where the read may lie.

A candidate's *promise* is the larger of the read bases that its seeds cover and the score without gaps on its best
diagonal. A read keeps its most promising candidates (ties: smallest hash of read name and axis position).
"""

import numpy as np
from numba import njit

from quire.algorithms.extension import MATCH, MISMATCH, ExtensionJobs
from quire.algorithms.extension.cpu import mismatches
from quire.algorithms.seeding import DIAGONAL_BIAS, SEED_LENGTH
from quire.algorithms.seeding.cpu_steps import seed_end
from quire.align.parameters import (
    BAND_MARGIN,
    BUNDLE_GAP,
    LARGEST_GAP,
    MOST_CANDIDATES,
    SHORTEST_SCORE,
    WIDEST_BUNDLE,
)
from quire.batch import offsets_from_lengths
from quire.device.bits import count_ones
from quire.oriented import Reads
from quire.oriented.cpu import tie_hash

_NO_DIAGONAL = np.int64(-(1 << 62))


def find_candidates(offsets: np.ndarray, hits: np.ndarray, reads: Reads, reference, stride: int) -> ExtensionJobs:
    """Cluster the hits of each read and keep the most promising places.

    Args:
        offsets: int64[n + 1]; hits: uint64[], as `quire.algorithms.seeding.find_hits` gives them.
        reads: the batch.
        reference: `quire.reference.Reference`.
        stride: of the seeds.
    """
    room = np.minimum(np.diff(offsets), MOST_CANDIDATES)
    starts = offsets_from_lengths(room)
    columns = np.zeros((7, int(starts[-1])), np.int64)
    counts = _cluster(offsets, hits, starts, reads.offsets, reads.word_offsets, reads.packed, reads.name_hash,
                      reference.text, reference.island_axis, stride, columns)  # fmt: skip
    columns = columns[:, np.arange(columns.shape[1]) - np.repeat(starts[:-1], room) < np.repeat(counts, room)]
    read = np.repeat(np.arange(len(room), dtype=np.int32), counts)
    strand, diagonal, low, high, axis_low, axis_high, _ = columns
    return ExtensionJobs(
        read,
        strand.astype(np.uint8),
        np.ascontiguousarray(diagonal),
        low - BAND_MARGIN,
        high + BAND_MARGIN,
        np.ascontiguousarray(axis_low),
        np.ascontiguousarray(axis_high),
    )


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
    """Fill `columns` (rows as unpacked in find_candidates) with the candidates of each read; returns their counts."""
    count = len(offsets) - 1
    kept = np.zeros(count, np.int64)
    most = np.int64(0)
    for read in range(count):
        most = max(most, offsets[read + 1] - offsets[read])
    bundles = np.empty((5, most), np.int64)
    seeds = np.empty(most, np.uint64)
    for read in range(count):
        length = read_offsets[read + 1] - read_offsets[read]
        best = columns[:, starts[read] : starts[read + 1]]
        bundled = _bundle(hits, offsets[read], offsets[read + 1], length, stride, island_axis, bundles, seeds)
        found = 0
        for i in range(bundled):
            low, high, covered, absorbed = _join(bundles, seeds, bundled, i, length, stride)
            if absorbed:
                continue
            strand, diagonal, island = bundles[0, i], bundles[3, i], bundles[4, i]
            promise = covered
            axis_low, axis_high = island_axis[island], island_axis[island + 1]
            if diagonal >= axis_low and diagonal + length <= axis_high:
                # Up to this many mismatches the score without gaps can exceed what the seeds cover.
                limit = (length - covered) // (MATCH - MISMATCH)
                differing = mismatches(packed[strand], word_offsets[read], length, text, diagonal, limit)
                promise = max(promise, length - (MATCH - MISMATCH) * differing)
            found = _keep(best, found, strand, diagonal, low, high, axis_low, axis_high, promise, name_hash[read])
        # Beside a place that leaves no room for a supplementary alignment, one of half its promise changes neither the
        # choice nor the mapping quality.
        if found > 0 and best[6, 0] > length - SHORTEST_SCORE:
            while best[6, found - 1] * 2 < best[6, 0]:
                found -= 1
        kept[read] = found
    return kept


@njit(cache=True, nogil=True)
def _bundle(hits, begin, end, length, stride, island_axis, bundles, seeds):
    """Group sorted hits on close diagonals of one strand and island; returns the number of bundles.

    bundles: rows strand, lowest, highest and most frequent diagonal, island; seeds: a bit for each seed of the read.
    """
    used = -1
    current, current_count, best_count = _NO_DIAGONAL, 0, 0
    for i in range(begin, end):
        strand, diagonal = np.int64(hits[i] >> np.uint64(63)), _diagonal(hits[i])
        ordinal = np.int64(hits[i] & np.uint64(255))
        last = diagonal + seed_end(ordinal, length, stride)
        if last < SEED_LENGTH or last > island_axis[-1]:
            continue
        same = used >= 0 and strand == bundles[0, used] and diagonal - bundles[2, used] <= BUNDLE_GAP
        same = same and diagonal - bundles[1, used] <= WIDEST_BUNDLE
        same = (
            same and last - SEED_LENGTH >= island_axis[bundles[4, used]] and last <= island_axis[bundles[4, used] + 1]
        )
        if not same:
            island = island_of(island_axis, last - SEED_LENGTH)
            if last > island_axis[island + 1]:  # a match across the border of two islands is none
                continue
            used += 1
            bundles[0, used], bundles[1, used], bundles[3, used], bundles[4, used] = strand, diagonal, diagonal, island
            seeds[used] = np.uint64(0)
            current, current_count, best_count = diagonal, 0, 0
        bundles[2, used] = diagonal
        seeds[used] |= np.uint64(1) << np.uint64(ordinal)
        current_count = current_count + 1 if diagonal == current else 1
        current = diagonal
        if current_count > best_count:
            bundles[3, used], best_count = diagonal, current_count
    return used + 1


@njit(cache=True, nogil=True)
def _join(bundles, seeds, bundled, i, length, stride):
    """Extend bundle i by those that continue it across a gap: (lowest diagonal, highest, covered bases, absorbed).

    An insertion or deletion leaves different seeds of the read on two diagonals; a tandem repeat leaves the same seeds
    on both, and its copies must stay candidates of their own. Of joined bundles the one that covers least is absorbed.
    """
    low, high, together = bundles[1, i], bundles[2, i], seeds[i]
    own = _covered(seeds[i], length, stride)
    absorbed = False
    for step in (-1, 1):
        j = i + step
        while 0 <= j < bundled and bundles[0, j] == bundles[0, i] and bundles[4, j] == bundles[4, i]:
            if max(bundles[1, j] - bundles[2, i], bundles[1, i] - bundles[2, j]) > LARGEST_GAP:
                break
            shared = count_ones(seeds[i] & seeds[j])
            if 4 * shared <= min(count_ones(seeds[i]), count_ones(seeds[j])):
                low, high = min(low, bundles[1, j]), max(high, bundles[2, j])
                together |= seeds[j]
                other = _covered(seeds[j], length, stride)
                absorbed = absorbed or other > own or (other == own and j < i)
            j += step
    return low, high, _covered(together, length, stride), absorbed


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
