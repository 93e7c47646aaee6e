"""From hits to candidates: hits on neighbouring diagonals of one island are one place where the read may lie.

A candidate's *estimated score* is the larger of the read bases that its seeds cover and the score without gaps on its
best diagonal. A read keeps its candidates of highest estimated score (ties: smallest hash of read name and axis
position). Where there are more than it keeps, none of the kept ones is of another part of the read than the best, and
that one leaves room for a supplementary alignment, the last place goes to the best candidate of another part: so the
copies of a repeat do not crowd out where the rest of a read at a breakpoint lies. The part of a bundle is from the
begin of its first seed to the end of its last; those are others that share less than half of the shorter one.

Where contigs are alternate, places on them are kept beside those on the primary assembly, as many again: what is kept
of the primary assembly is what it is without them.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH, ExtensionJobs
from quire.algorithms.extension.cpu import mismatches
from quire.algorithms.seeding import DIAGONAL_BIAS, SeedingParameters
from quire.algorithms.seeding.cpu_steps import seed_end
from quire.align.candidates.best import are_apart, keep, leave_out_half, part_of
from quire.align.parameters import (
    BAND_MARGIN,
    BUNDLE_GAP,
    LARGEST_GAP,
    MOST_CANDIDATES,
    SHORTEST_SCORE,
    WIDEST_BUNDLE,
)
from quire.ragged import offsets_from_lengths
from quire.reads import Reads
from quire.reference import Reference
from quire.sequence.ties.cpu import tie_hash
from quire.simd.bits import count_ones, prefetch, trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.search import interval_of

READS_TOGETHER = 16  # whose hits are bundled before the first bundle is compared with the axis
_NO_DIAGONAL = np.int64(-(1 << 62))

# Hits on close diagonals of one strand and island.
BUNDLE = np.dtype(
    [
        ("seeds", np.uint64),  # a bit for each seed of the read
        ("strand", np.int64),
        ("island", np.int64),
        ("lowest", np.int64),  # diagonals
        ("highest", np.int64),
        ("most_frequent", np.int64),
    ]
)

# A place where a read may lie.
CANDIDATE = np.dtype(
    [
        ("estimated_score", np.int64),
        ("strand", np.int64),
        ("diagonal", np.int64),
        ("lowest", np.int64),  # diagonals of its bundles
        ("highest", np.int64),
        ("axis_low", np.int64),  # its island
        ("axis_high", np.int64),
        ("seeds", np.uint64),  # of the bundle itself
    ]
)


class _Hits(NamedTuple):
    """Of every read, sorted: offsets int64[n + 1], hits uint64[], and how the seeds lie: least length and stride."""

    offsets: np.ndarray
    hits: np.ndarray
    seed_length: int
    stride: int


class _Reads(NamedTuple):
    """The arrays of `Reads` that the kernels read."""

    offsets: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray  # flat: those as read, then those of the other strand
    name_hash: np.ndarray


def find_candidates(
    offsets: np.ndarray, hits: np.ndarray, reads: Reads, reference: Reference, seeding: SeedingParameters
) -> ExtensionJobs:
    """Cluster the hits of each read and keep the places of highest estimated score.

    Args:
        offsets: int64[n + 1]; hits: uint64[], as `quire.algorithms.seeding.cpu.find_hits` gives them.
        reads: the batch.
        reference: the axis.
        seeding: how the reads were seeded.
    """
    room = np.minimum(np.diff(offsets), MOST_CANDIDATES if len(reference.alternate) == 0 else 2 * MOST_CANDIDATES)
    starts = offsets_from_lengths(room)
    candidates = np.empty(int(starts[-1]), CANDIDATE)
    read_arrays = _Reads(reads.offsets, reads.word_offsets, reads.packed.reshape(-1), reads.name_hash)
    counts = _cluster(
        _Hits(offsets, hits, seeding.seed_length, seeding.stride),
        read_arrays,
        reference.text,
        reference.island_axis,
        reference.alternate[reference.island_contig] if len(reference.alternate) else np.empty(0, np.uint8),
        starts,
        candidates,
    )
    found = candidates[np.arange(len(candidates)) - np.repeat(starts[:-1], room) < np.repeat(counts, room)]
    return ExtensionJobs(
        read=np.repeat(np.arange(len(room), dtype=np.int32), counts),
        strand=found["strand"].astype(np.uint8),
        diagonal=np.ascontiguousarray(found["diagonal"]),
        diagonal_low=found["lowest"] - BAND_MARGIN,
        diagonal_high=found["highest"] + BAND_MARGIN,
        axis_low=np.ascontiguousarray(found["axis_low"]),
        axis_high=np.ascontiguousarray(found["axis_high"]),
    )


@compiled
def _cluster(hits, reads, text, island_axis, alternate, starts, candidates):
    """Write the candidates of each read from candidates[starts[read]] on; returns how many each has.

    Those on the primary assembly come first, then those on alternate contigs (uint8[islands], or none is), both best
    first.

    The hits of some reads are bundled before the first of these bundles is compared with the axis, so that what
    is compared arrives from memory meanwhile.
    """
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    hit_offsets, hit, seed_length, stride = hits
    lying = (seed_length, stride)
    offsets, word_offsets, packed, name_hash = reads
    # Of one strand. A strand's words as an array of their own would cost references for each comparison.
    strand_words = len(packed) >> 1
    count = len(starts) - 1
    kept = np.zeros(count, np.int64)
    most = np.int64(0)
    for first in range(0, count, READS_TOGETHER):
        most = max(most, hit_offsets[min(first + READS_TOGETHER, count)] - hit_offsets[first])
    bundles = np.empty(most, BUNDLE)
    begins = np.zeros(READS_TOGETHER + 1, np.int64)
    candidate = np.empty(1, CANDIDATE)
    others = np.empty(MOST_CANDIDATES if len(alternate) > 0 else 0, CANDIDATE)
    for first in range(0, count, READS_TOGETHER):
        last = min(first + READS_TOGETHER, count)
        for read in range(first, last):
            length = offsets[read + 1] - offsets[read]
            begins[read - first + 1] = _bundle(
                hit, hit_offsets[read], hit_offsets[read + 1], length, lying, island_axis, text, bundles,
                begins[read - first],
            )  # fmt: skip
        for read in range(first, last):
            length = offsets[read + 1] - offsets[read]
            own = bundles[begins[read - first] : begins[read - first + 1]]
            best = candidates[starts[read] : starts[read + 1]]
            words = (word_offsets[read], word_offsets[read] + strand_words)
            kept[read] = _choose(
                own, length, lying, packed, words, text, island_axis, alternate, name_hash[read], candidate, best,
                others,
            )  # fmt: skip
    return kept


@inlined
def _choose(bundles, length, lying, packed, words, text, island_axis, alternate, name_hash, candidate, best, others):
    """Write the candidates that the bundles of a read make to `best`; returns how many. `others` is scratch."""
    # Beside a place that leaves no room for a supplementary alignment, one of half its estimated score changes
    # neither the choice nor the mapping quality, unless it lies on the primary assembly and the better one on an
    # alternate contig. The bundle of most seeds mostly is such a place.
    strongest, most_seeds = 0, np.int64(0)
    for i in range(len(bundles)):
        seeds = count_ones(bundles[i].seeds)
        if seeds > most_seeds:
            strongest, most_seeds = i, seeds
    least = np.int64(0)
    if len(bundles) > 1 and len(alternate) == 0:
        covered = _join(bundles, strongest, length, lying, candidate)
        if covered >= 0:
            _estimate(candidate, covered, packed, words, length, text, island_axis, bundles[strongest].island, least)
            if candidate[0].estimated_score > length - SHORTEST_SCORE:
                least = (candidate[0].estimated_score + 1) >> 1
    most = min(len(best), MOST_CANDIDATES)
    found, seen, other_found, other_seen = 0, 0, 0, 0
    for i in range(len(bundles)):
        covered = _join(bundles, i, length, lying, candidate)
        if covered < 0:
            continue
        _estimate(candidate, covered, packed, words, length, text, island_axis, bundles[i].island, least)
        if candidate[0].estimated_score >= least:
            if _is_alternate(alternate, bundles[i].island):
                other_found = keep(others, len(others), other_found, candidate, name_hash)
                other_seen += 1
            else:
                found = keep(best, most, found, candidate, name_hash)
                seen += 1
    highest = np.int64(0)
    if found > 0:
        highest = best[0].estimated_score
    if highest > length - SHORTEST_SCORE:
        found = leave_out_half(best, found, highest)
    elif seen > MOST_CANDIDATES:
        _reserve(bundles, length, lying, packed, words, text, island_axis, alternate, False, name_hash, candidate, best)
    if other_found > 0:
        highest = max(highest, others[0].estimated_score)
        if highest > length - SHORTEST_SCORE:
            other_found = leave_out_half(others, other_found, highest)
        elif other_seen > MOST_CANDIDATES:
            _reserve(
                bundles, length, lying, packed, words, text, island_axis, alternate, True, name_hash, candidate, others
            )
    for i in range(other_found):
        best[found + i] = others[i]
    return found + other_found


@inlined
def _is_alternate(alternate, island):
    """Whether an island lies on an alternate contig."""
    return len(alternate) > 0 and alternate[island] != 0


@compiled
def _reserve(
    bundles, length, lying, packed, words, text, island_axis, alternate, on_alternate, name_hash, candidate, best
):
    """Give the last place of `best`, which is full, to the best candidate of another part than that of its first.

    All are of the primary assembly, or `on_alternate`.
    """
    part = part_of(best[0], length, lying)
    for i in range(1, MOST_CANDIDATES):
        if are_apart(part, part_of(best[i], length, lying)):
            return
    last, is_reserved = MOST_CANDIDATES - 1, False
    for i in range(len(bundles)):
        if _is_alternate(alternate, bundles[i].island) != on_alternate:
            continue
        covered = _join(bundles, i, length, lying, candidate)
        if covered < 0 or not are_apart(part, part_of(candidate[0], length, lying)):
            continue
        _estimate(candidate, covered, packed, words, length, text, island_axis, bundles[i].island, np.int64(0))
        score, held = candidate[0].estimated_score, best[last].estimated_score
        if is_reserved and score == held:
            is_better = tie_hash(name_hash, candidate[0].diagonal) < tie_hash(name_hash, best[last].diagonal)
        else:
            is_better = score > held
        if not is_reserved or is_better:
            best[last], is_reserved = candidate[0], True


@inlined
def _bundle(hits, first, last_hit, length, lying, island_axis, text, bundles, used):
    """Group the sorted hits of a read on close diagonals of one strand and island.

    Bundles are written from bundles[used] on, and what they will be compared with is asked for; returns their end.
    """
    begin = used
    used -= 1
    seed_length, stride = lying
    current, current_count, best_count = _NO_DIAGONAL, 0, 0
    for i in range(first, last_hit):
        strand, diagonal = np.int64(hits[i] >> np.uint64(63)), _diagonal(hits[i])
        ordinal = np.int64(hits[i] & np.uint64(255))
        last = diagonal + seed_end(ordinal, length, seed_length, stride)
        if last < seed_length or last > island_axis[-1]:
            continue
        if used < begin or not _belongs(bundles[used], strand, diagonal, last - seed_length, last, island_axis):
            island = interval_of(island_axis, last - seed_length)
            if last > island_axis[island + 1]:  # a match across the border of two islands is none
                continue
            used += 1
            bundles[used].strand, bundles[used].island = strand, island
            bundles[used].lowest, bundles[used].most_frequent = diagonal, diagonal
            bundles[used].seeds = np.uint64(0)
            current, current_count, best_count = diagonal, 0, 0
            prefetch(text, diagonal >> 5)
            prefetch(text, (diagonal + length) >> 5)
        bundles[used].highest = diagonal
        bundles[used].seeds |= np.uint64(1) << np.uint64(ordinal)
        current_count = current_count + 1 if diagonal == current else 1
        current = diagonal
        if current_count > best_count:
            bundles[used].most_frequent, best_count = diagonal, current_count
    return used + 1


@inlined
def _belongs(bundle, strand, diagonal, begin, last, island_axis):
    """Whether a hit, whose seed lies at [begin, last) on the axis, belongs to the bundle of the hit before it."""
    if strand != bundle.strand or diagonal - bundle.highest > BUNDLE_GAP or diagonal - bundle.lowest > WIDEST_BUNDLE:
        return False
    return begin >= island_axis[bundle.island] and last <= island_axis[bundle.island + 1]


@inlined
def _join(bundles, i, length, lying, candidate):
    """Extend bundle i by those that continue it across a gap; write strand and diagonals of candidate[0].

    An insertion or deletion leaves different seeds of the read on two diagonals; a tandem repeat leaves the same seeds
    on both, and its copies must stay candidates of their own. Of joined bundles the one that covers least is absorbed;
    where it covers too little to pay for the gap, it stays a candidate by itself, for a supplementary alignment, and
    what it covers counts for itself alone.

    Returns:
        The bases of the read that the seeds of all cover; -1 if another bundle absorbs this one.
    """
    own = bundles[i]
    low, high, together = own.lowest, own.highest, own.seeds
    own_covered = _covered(own.seeds, length, lying)
    absorbed, pays = False, False
    for step in (-1, 1):
        j = i + step
        while 0 <= j < len(bundles):
            other = bundles[j]
            if other.strand != own.strand or other.island != own.island:
                break
            gap = max(other.lowest - own.highest, own.lowest - other.highest)
            if gap > LARGEST_GAP:
                break
            shared = count_ones(own.seeds & other.seeds)
            if 4 * shared <= min(count_ones(own.seeds), count_ones(other.seeds)):
                low, high = min(low, other.lowest), max(high, other.highest)
                other_covered, cost = _covered(other.seeds, length, lying), abs(GAP_OPEN) + gap * abs(GAP_EXTEND)
                if min(own_covered, other_covered) > cost:
                    together |= other.seeds
                if other_covered > own_covered or (other_covered == own_covered and j < i):
                    absorbed, pays = True, pays or own_covered > cost
            j += step
    if absorbed:
        if pays:
            return np.int64(-1)
        low, high, together = own.lowest, own.highest, own.seeds
    candidate[0].strand, candidate[0].diagonal, candidate[0].seeds = own.strand, own.most_frequent, own.seeds
    candidate[0].lowest, candidate[0].highest = low, high
    return _covered(together, length, lying)


@inlined
def _estimate(candidate, covered, packed, words, length, text, island_axis, island, least):
    """Write the island and the estimated score of candidate[0], or less than `least` where it is less.

    The read has `length` bases, `covered` of them under the candidate's seeds, and begins at words[strand] of `packed`.
    """
    axis_low, axis_high = island_axis[island], island_axis[island + 1]
    diagonal, score = candidate[0].diagonal, covered
    if diagonal >= axis_low and diagonal + length <= axis_high:
        # Up to this many mismatches the score without gaps can exceed what the seeds cover, and matters.
        limit = (length - max(covered, least)) // (MATCH - MISMATCH)
        word = words[0] if candidate[0].strand == 0 else words[1]
        differing = mismatches(packed, word, length, text, diagonal, limit)
        score = max(score, length - (MATCH - MISMATCH) * differing)
    candidate[0].axis_low, candidate[0].axis_high, candidate[0].estimated_score = axis_low, axis_high, score


@inlined
def _diagonal(hit):
    return np.int64((hit << np.uint64(1)) >> np.uint64(9)) - DIAGONAL_BIAS


@inlined
def _covered(seeds, length, lying):
    """Bases of the read under at least one of the seeds (a bit each); lying: their least length and stride."""
    seed_length, stride = lying
    covered, reached = np.int64(0), np.int64(0)
    while seeds:
        end = np.int64(seed_end(trailing_zeros(seeds), length, seed_length, stride))
        covered += min(np.int64(seed_length), end - reached)
        reached = end
        seeds &= seeds - np.uint64(1)
    return covered
