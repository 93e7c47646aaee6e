"""From hits to candidates, with Numba: hits on close diagonals of an island are one place where the read may align.

The *estimated score* of a candidate is the larger of the number of read bases that its seeds cover and its score
without gaps on its most frequent diagonal. A read keeps the MOST_CANDIDATES with the highest estimated scores; ties go
to the smallest hash of read name and axis position. If there are more candidates, all kept ones are of the same part of
the read as the best one, and its score leaves room for a supplementary alignment, then the best candidate of another
part replaces the last one. So the copies of a repeat do not hide the rest of a read that spans a breakpoint. A
candidate's part reaches from the start of its bundle's first seed to the end of its last seed; parts differ if they
share less than half of the shorter one.

Candidates on alternate contigs are kept in addition, up to the same number. They do not change which candidates on the
primary assembly are kept.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import JOB_TYPES, MATCH, MISMATCH, ExtensionJobs
from quire.algorithms.seeding import SeedingParameters
from quire.align.candidates.bundles_cpu import BUNDLE, IslandAxis, Query, bundle_hits, compare_alone, find_island
from quire.align.candidates.joining_cpu import (
    CANDIDATE,
    are_apart,
    estimate,
    join,
    keep,
    leave_out_half,
    part_of,
    take_alone,
)
from quire.align.parameters import BAND_MARGIN, MOST_CANDIDATES, SHORTEST_SCORE
from quire.reads import Reads
from quire.reference import Reference
from quire.sequence.ties.cpu import tie_hash
from quire.simd.bits import count_ones
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

# Reads, and approximately their hits, that are bundled before the first bundle is compared with the axis; few enough
# that the prefetched words stay in the first-level cache.
READS_TOGETHER, HITS_TOGETHER = 16, 256


class _Hits(NamedTuple):
    """Sorted hits of all reads (offsets int64[n + 1], hits uint64[]), and least length and stride of the seeds."""

    offsets: np.ndarray
    hits: np.ndarray
    seed_length: int
    stride: int


class _Reads(NamedTuple):
    """The arrays of `Reads` that the kernels read."""

    offsets: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray  # flat: all reads on the strand as read, then on the other one
    name_hash: np.ndarray


class _Scratch(NamedTuple):
    """Memory for `_cluster`: BUNDLE[], CANDIDATE[1], the best candidates on each assembly, and two int64[].

    `numbers` has one item more than the longest read has bases, `listed` one more than a read has hits at most.
    """

    bundles: np.ndarray
    candidate: np.ndarray
    best: np.ndarray
    others: np.ndarray
    numbers: np.ndarray
    listed: np.ndarray


def find_candidates(
    offsets: np.ndarray, hits: np.ndarray, reads: Reads, reference: Reference, seeding: SeedingParameters
) -> ExtensionJobs:
    """Cluster the hits of each read and keep the candidates with the highest estimated scores.

    `offsets` and `hits` are the result of `quire.algorithms.seeding.cpu.find_hits` for these reads and this seeding.
    """
    has_alternate = len(reference.alternate) > 0
    most = 2 * MOST_CANDIDATES if has_alternate else MOST_CANDIDATES
    most_hits = int(np.diff(offsets).max(initial=0))
    # Sized for the maximum, since unwritten pages take no memory.
    room = int(np.minimum(np.diff(offsets), most).sum())
    jobs = ExtensionJobs(*(np.empty(room, dtype) for dtype in JOB_TYPES))
    read_arrays = _Reads(reads.offsets, reads.word_offsets, reads.packed.reshape(-1), reads.name_hash)
    used = _cluster(
        _Hits(offsets, hits, seeding.seed_length, seeding.stride),
        read_arrays,
        IslandAxis(
            reference.text,
            reference.island_axis,
            reference.alternate[reference.island_contig] if has_alternate else np.empty(0, np.uint8),
        ),
        _Scratch(
            np.empty(most_hits + HITS_TOGETHER, BUNDLE),
            np.empty(1, CANDIDATE),
            np.empty(2 * MOST_CANDIDATES, CANDIDATE),
            np.empty(MOST_CANDIDATES if has_alternate else 0, CANDIDATE),
            np.empty(int(np.diff(reads.offsets).max(initial=0)) + 1, np.int64),
            np.empty(most_hits + 1, np.int64),
        ),
        jobs,
    )
    return ExtensionJobs(*(column[:used] for column in jobs))


@compiled
def _cluster(hits, reads, axis, scratch, jobs):
    """Write the candidates of each read as extension jobs, read after read; return their number."""
    # Candidates on the primary assembly come first, then those on alternate contigs, both best first. The hits of
    # several reads are bundled before the first bundle is compared with the axis, so that prefetching it has time to
    # finish.
    hits, reads, axis = borrowed(hits), borrowed(reads), borrowed(axis)
    scratch, jobs = borrowed(scratch), borrowed(jobs)
    # Strands are found by offset, since a separate array for each would count references in each comparison.
    strand_words = len(reads.packed) >> 1
    count = len(reads.offsets) - 1
    begins = np.zeros(READS_TOGETHER + 1, np.int64)
    used, first = np.int64(0), 0
    while first < count:
        last = first
        limit = hits.offsets[first] + HITS_TOGETHER
        while last < count and last < first + READS_TOGETHER and hits.offsets[last] < limit:
            query = _query_of(reads, last, strand_words, hits)
            begins[last - first + 1] = bundle_hits(
                hits.hits, hits.offsets[last], hits.offsets[last + 1], query, axis, scratch.bundles,
                begins[last - first],
            )  # fmt: skip
            last += 1
        for read in range(first, last):
            own = scratch.bundles[begins[read - first] : begins[read - first + 1]]
            kept = _choose(own, _query_of(reads, read, strand_words, hits), axis, scratch)
            for i in range(kept):
                _append(jobs, used + i, read, scratch.best[i])
            used += kept
        first = last
    return used


@inlined
def _query_of(reads, read, strand_words, hits):
    """Return the `Query` of a read; all reads together have `strand_words` words per strand."""
    return Query(
        reads.offsets[read + 1] - reads.offsets[read], reads.name_hash[read], reads.packed, reads.word_offsets[read],
        reads.word_offsets[read] + strand_words, hits.seed_length, hits.stride,
    )  # fmt: skip


@inlined
def _append(jobs, place, read, candidate):
    """Write one candidate as an extension job."""
    jobs.read[place], jobs.strand[place], jobs.diagonal[place] = read, candidate.strand, candidate.diagonal
    jobs.diagonal_low[place] = candidate.lowest - BAND_MARGIN
    jobs.diagonal_high[place] = candidate.highest + BAND_MARGIN
    jobs.axis_low[place], jobs.axis_high[place] = candidate.axis_low, candidate.axis_high


@inlined
def _choose(bundles, query, axis, scratch):
    """Write the candidates that the bundles of a read form to `scratch.best`; return their number."""
    length, alternate, island_axis = query.length, axis.alternate, axis.island_axis
    candidate, best, others, listed = scratch.candidate, scratch.best, scratch.others, scratch.listed
    # If a candidate leaves no room for a supplementary alignment, another one with less than half of its estimated
    # score changes neither the choice nor the mapping quality, unless the other is on the primary assembly and the
    # better one on an alternate contig. The bundle with the most seeds usually is such a candidate.
    strongest, most_seeds = 0, np.int64(0)
    for i in range(len(bundles)):
        seeds = count_ones(bundles[i].seeds)
        if seeds > most_seeds and (bundles[i].island >= 0 or find_island(bundles, i, query, island_axis)):
            strongest, most_seeds = i, seeds
    least = np.int64(0)
    if most_seeds > 0 and len(bundles) > 1 and len(alternate) == 0:
        covered = join(bundles, strongest, query, candidate)
        if covered >= 0:
            estimate(candidate, covered, query, axis, bundles[strongest].island, least)
            if candidate[0].estimated_score > length - SHORTEST_SCORE:
                least = (candidate[0].estimated_score + 1) >> 1
    bound, are_compared, left = least, least > query.seed_length, len(bundles)
    if are_compared:
        limit = (length - least) // (MATCH - MISMATCH)
        near = (candidate[0].axis_low, candidate[0].axis_high)
        left, enough = compare_alone(bundles, query, axis, near, limit, scratch.numbers, listed)
        if enough < limit:
            bound = length - (MATCH - MISMATCH) * enough
    found, seen, other_found, other_seen = 0, 0, 0, 0
    for item in range(left):
        i = listed[item] if are_compared else item
        if are_compared and bundles[i].differing >= 0:
            if take_alone(bundles, i, query, island_axis, bound, candidate):
                found = keep(best, MOST_CANDIDATES, found, candidate, query.name_hash)
                bound = _raised(bound, best, found)
            continue
        if bundles[i].island < 0 and not find_island(bundles, i, query, island_axis):
            continue
        covered = join(bundles, i, query, candidate)
        if covered < 0:
            continue
        estimate(candidate, covered, query, axis, bundles[i].island, bound)
        if candidate[0].estimated_score >= bound:
            if _is_alternate(alternate, bundles[i].island):
                other_found = keep(others, len(others), other_found, candidate, query.name_hash)
                other_seen += 1
            else:
                found = keep(best, MOST_CANDIDATES, found, candidate, query.name_hash)
                seen += 1
                bound = _raised(bound, best, found)
    highest = np.int64(0)
    if found > 0:
        highest = best[0].estimated_score
    if highest > length - SHORTEST_SCORE:
        found = leave_out_half(best, found, highest)
    elif seen > MOST_CANDIDATES:
        _reserve(bundles, query, axis, False, candidate, best)
    if other_found > 0:
        highest = max(highest, others[0].estimated_score)
        if highest > length - SHORTEST_SCORE:
            other_found = leave_out_half(others, other_found, highest)
        elif other_seen > MOST_CANDIDATES:
            _reserve(bundles, query, axis, True, candidate, others)
    for i in range(other_found):
        best[found + i] = others[i]
    return found + other_found


@inlined
def _raised(bound, best, found):
    """Return the estimate that further candidates need: once MOST_CANDIDATES are kept, at least the last one's."""
    # A bound of 0 is returned unchanged.
    if bound > 0 and found == MOST_CANDIDATES:
        return max(bound, best[MOST_CANDIDATES - 1].estimated_score)
    return bound


@inlined
def _is_alternate(alternate, island):
    """Return True if an island is on an alternate contig."""
    return len(alternate) > 0 and alternate[island] != 0


@compiled
def _reserve(bundles, query, axis, on_alternate, candidate, best):
    """Replace the last kept candidate by the best whose part of the read differs from the first one's, if none does."""
    # All are on the primary assembly, or all `on_alternate` contigs.
    part = part_of(best[0], query)
    for i in range(1, MOST_CANDIDATES):
        if are_apart(part, part_of(best[i], query)):
            return
    last, is_reserved = MOST_CANDIDATES - 1, False
    for i in range(len(bundles)):
        if bundles[i].island < 0 or _is_alternate(axis.alternate, bundles[i].island) != on_alternate:
            continue
        covered = join(bundles, i, query, candidate)
        if covered < 0 or not are_apart(part, part_of(candidate[0], query)):
            continue
        estimate(candidate, covered, query, axis, bundles[i].island, np.int64(0))
        score, held = candidate[0].estimated_score, best[last].estimated_score
        if is_reserved and score == held:
            rank = tie_hash(query.name_hash, candidate[0].diagonal)
            is_better = rank < tie_hash(query.name_hash, best[last].diagonal)
        else:
            is_better = score > held
        if not is_reserved or is_better:
            best[last], is_reserved = candidate[0], True
