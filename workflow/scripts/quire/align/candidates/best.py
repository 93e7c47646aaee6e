"""The best candidates of a read, ordered by descending estimated score, then by hash."""

import numpy as np

from quire.algorithms.seeding.cpu_steps import seed_end
from quire.sequence.ties.cpu import tie_hash
from quire.simd.bits import leading_zeros, trailing_zeros
from quire.simd.compiled import inlined


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
