"""The numbers of bases of a read or pair to keep, in plain Python; see `quire.align.read_ends` for the rules."""

from collections.abc import Sequence

from quire.align.read_ends import (
    BASES_PER_OTHER,
    COMPARED,
    MOST_DIFFERENCES,
    MOST_OTHER,
    SHORTEST_OVERLAP,
    SHORTEST_POLY_G,
    G,
)


def kept_before_poly_g(read: Sequence[int]) -> int:
    """Return the number of bases of a read (codes) before its run of G."""
    run, others, first = 0, 0, len(read)
    for place in range(len(read) - 1, -1, -1):
        others += read[place] != G
        run += 1
        if others > MOST_OTHER or (others > run // BASES_PER_OTHER and run >= SHORTEST_POLY_G):
            run -= 1
            break
        if read[place] == G:
            first = place
    return first if run >= SHORTEST_POLY_G else len(read)


def kept_of_insert(mate1: Sequence[int], mate2: Sequence[int]) -> int | None:
    """Return the length of the insert, from the overlap of the mates; None without an overlap."""
    turned = [3 - code if code < 4 else code for code in reversed(mate2)]
    for shift in [*range(len(mate1) - SHORTEST_OVERLAP + 1), *range(-1, SHORTEST_OVERLAP - len(mate2) - 1, -1)]:
        one, other = mate1[max(shift, 0) :], turned[max(-shift, 0) :]
        if _agree(one, other):
            return len(mate2) + shift if 3 * min(len(one), len(other)) > len(mate1) else None
    return None


def _agree(one: Sequence[int], other: Sequence[int]) -> bool:
    overlap = min(len(one), len(other))
    if overlap < SHORTEST_OVERLAP:
        return False
    differences = sum(a != b for a, b in zip(one[:COMPARED], other[:COMPARED], strict=False))
    return differences <= MOST_DIFFERENCES
