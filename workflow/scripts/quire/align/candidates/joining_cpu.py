"""From bundles to candidates: joining of bundles on either side of a gap, estimates of scores, and the best candidates.

Candidates are ordered by descending estimated score, then by hash.
"""

import numpy as np

from quire.algorithms.extension import GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH
from quire.algorithms.extension.cpu import mismatches
from quire.algorithms.seeding.steps_cpu import seed_end
from quire.align.candidates.bundles_cpu import find_island
from quire.align.parameters import LARGEST_GAP
from quire.sequence.ties.cpu import tie_hash
from quire.simd.bits import count_ones, leading_zeros, trailing_zeros
from quire.simd.compiled import inlined

# A place where a read may align.
CANDIDATE = np.dtype(
    [
        ("estimated_score", np.int64),
        ("strand", np.int64),
        ("diagonal", np.int64),
        ("lowest", np.int64),  # lowest and highest diagonal of its bundles
        ("highest", np.int64),
        ("axis_low", np.int64),  # start and end of its island
        ("axis_high", np.int64),
        ("seeds", np.uint64),  # seeds of the bundle itself
        ("rank", np.uint64),  # hash that breaks ties between scores, once it is kept
    ],
    align=True,  # otherwise Numba copies some fields byte by byte
)


@inlined
def join(bundles, i, query, candidate):
    """Extend bundle i by the bundles that continue it across a gap, and write it to candidate[0].

    An insertion or deletion puts different seeds of the read on two diagonals. A tandem repeat puts the same seeds on
    both, and its copies must stay separate candidates. The joined bundle that covers less is absorbed. If its seeds
    cover too little to pay for the gap, it stays a candidate for a supplementary alignment, whose estimate counts only
    its own seeds.

    Returns:
        The number of bases of the read that the seeds of the candidate cover; -1 if another bundle absorbs this one.
    """
    own = bundles[i]
    low, high, together = own.lowest, own.highest, own.seeds
    own_covered = _covered(own.seeds, query)
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
                other_covered, cost = _covered(other.seeds, query), abs(GAP_OPEN) + gap * abs(GAP_EXTEND)
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
    return _covered(together, query)


@inlined
def estimate(candidate, covered, query, axis, island, least):
    """Write the island and the estimated score of candidate[0]; an estimate below `least` may be too low.

    `covered` is the number of bases of the read under the candidate's seeds.
    """
    length = query.length
    axis_low, axis_high = axis.island_axis[island], axis.island_axis[island + 1]
    diagonal, score = candidate[0].diagonal, covered
    if diagonal >= axis_low and diagonal + length <= axis_high:
        # Only with up to this many mismatches does the score without gaps matter and exceed the covered bases.
        limit = (length - max(covered, least)) // (MATCH - MISMATCH)
        word = query.forward if candidate[0].strand == 0 else query.reverse
        differing = mismatches(query.packed, word, length, axis.text, diagonal, limit)
        score = max(score, length - (MATCH - MISMATCH) * differing)
    candidate[0].axis_low, candidate[0].axis_high, candidate[0].estimated_score = axis_low, axis_high, score


@inlined
def take_alone(bundles, i, query, island_axis, bound, candidate):
    """Write a compared lone bundle to candidate[0]; return True if its estimated score reaches `bound`.

    Only lone hits that score more than their seed covers were listed.
    """
    own, length = bundles[i], query.length
    covered = np.int64(0) if own.island < 0 else _covered(own.seeds, query)
    score = max(covered, length - (MATCH - MISMATCH) * own.differing)
    if score < bound or (own.island < 0 and not find_island(bundles, i, query, island_axis)):
        return False
    axis_low, axis_high = island_axis[own.island], island_axis[own.island + 1]
    if own.most_frequent < axis_low or own.most_frequent + length > axis_high:
        score = covered
    candidate[0].strand, candidate[0].diagonal, candidate[0].seeds = own.strand, own.most_frequent, own.seeds
    candidate[0].lowest, candidate[0].highest = own.lowest, own.highest
    candidate[0].axis_low, candidate[0].axis_high, candidate[0].estimated_score = axis_low, axis_high, score
    return score >= bound


@inlined
def _covered(seeds, query):
    """Return the number of bases of the read under at least one of the seeds (one bit each)."""
    covered, reached = np.int64(0), np.int64(0)
    while seeds:
        end = np.int64(seed_end(trailing_zeros(seeds), query.length, query.seed_length, query.stride))
        covered += min(np.int64(query.seed_length), end - reached)
        reached = end
        seeds &= seeds - np.uint64(1)
    return covered


@inlined
def keep(best, most, found, candidate, name_hash):
    """Insert candidate[0] into the `most` best; return the number of candidates kept."""
    score, rank = candidate[0].estimated_score, tie_hash(name_hash, candidate[0].diagonal)
    place = found
    while place > 0:
        other = best[place - 1].estimated_score
        if other > score or (other == score and best[place - 1].rank <= rank):
            break
        place -= 1
    if place == most:
        return found
    candidate[0].rank = rank
    if found < most:
        found += 1
    for i in range(found - 1, place, -1):
        best[i] = best[i - 1]
    best[place] = candidate[0]
    return found


@inlined
def leave_out_half(best, found, highest):
    """Keep candidates with at least half of the highest estimated score; return their number."""
    kept = 0
    for i in range(found):
        if best[i].estimated_score * 2 >= highest:
            if kept < i:
                best[kept] = best[i]
            kept += 1
    return kept


@inlined
def part_of(candidate, query):
    """Return where the part of the read that a candidate's own seeds span begins and ends, on the strand as read."""
    length, seed_length, stride = query.length, query.seed_length, query.stride
    first, last = trailing_zeros(candidate.seeds), 63 - leading_zeros(candidate.seeds)
    begin = np.int64(seed_end(first, length, seed_length, stride)) - seed_length
    end = np.int64(seed_end(last, length, seed_length, stride))
    if candidate.strand == 1:
        begin, end = length - end, length - begin
    return begin, end


@inlined
def are_apart(a, b):
    """Return True if two parts of a read share less than half of the shorter one."""
    return 2 * (min(a[1], b[1]) - max(a[0], b[0])) < min(a[1] - a[0], b[1] - b[0])
