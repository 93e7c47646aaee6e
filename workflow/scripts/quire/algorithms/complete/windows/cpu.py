"""Windows with Numba: candidates become windows, and windows ends."""

import numpy as np

from quire.algorithms.complete import Axis, Ends
from quire.algorithms.complete.windows import DIAGONALS, FIRST_SHIFT, ORIENTED_SHIFT, EndWindows
from quire.reads import Reads
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind, interval_of

CELLS = np.uint64(0x5555555555555555)  # the bit of each diagonal
ONE, TWO = np.uint64(1), np.uint64(2)
WIDTH = np.uint64((1 << FIRST_SHIFT) - 1)
PLACE = np.uint64((1 << (ORIENTED_SHIFT - FIRST_SHIFT)) - 1)


@inlined
def encode_candidate(oriented, first, last):
    """A candidate, see the package's text."""
    return (
        np.uint64(oriented) << np.uint64(ORIENTED_SHIFT)
        | np.uint64(first) << np.uint64(FIRST_SHIFT)
        | np.uint64(last - first)
    )


@inlined
def candidate_at(islands, oriented, base, end, differences):
    """The candidate of a read that would end at `end` without gaps, `base` being a base of the axis that it aligns.

    Returns it and whether there is one: ends are of the island of the base.
    """
    island = interval_of(islands, base)
    first = max(end - differences, islands[island] + 1)
    last = min(end + differences, islands[island + 1])
    if first > last:
        return np.uint64(0), False
    return encode_candidate(oriented, first, last), True


def windows_of(candidates: np.ndarray, differences: int) -> EndWindows:
    """Windows of candidates.

    Args:
        candidates: uint64[n], sorted.
        differences: k.
    """
    arrays = (np.empty(len(candidates), np.int64) for _ in EndWindows._fields)
    windows = EndWindows(*arrays)
    count = _join(candidates, DIAGONALS - 2 * differences, *windows)
    return EndWindows._make(array[:count] for array in windows)


@compiled
def _join(candidates, most, oriented, first, count):
    """Join candidates that touch to windows of at most `most` ends; returns how many windows there are."""
    used = 0
    for candidate in candidates:
        owner = np.int64(candidate >> np.uint64(ORIENTED_SHIFT))
        begin = np.int64(candidate >> np.uint64(FIRST_SHIFT) & PLACE)
        end = begin + np.int64(candidate & WIDTH) + 1
        if used and oriented[used - 1] == owner:
            reached = first[used - 1] + count[used - 1]
            if end <= reached:
                continue
            # Candidates of two islands never overlap, but they may touch.
            if begin < reached:
                begin = reached
                room = most - count[used - 1]
                if end - begin <= room:
                    count[used - 1] += end - begin
                    continue
        oriented[used], first[used], count[used] = owner, begin, end - begin
        used += 1
    return used


def find_ends(windows: EndWindows, reads: Reads, axis: Axis, differences: int) -> Ends:
    """The ends of windows, in their order.

    Args:
        windows: to look at.
        reads: the batch that they speak of.
        axis: what is searched.
        differences: k, at most 5.
    """
    room = int(windows.ends.sum())
    ends = Ends(np.empty(room, np.int64), np.empty(room, np.uint8), np.empty(room, np.int64), np.empty(room, np.uint8))
    count = _fill(
        *windows, reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, *axis, differences,
        *ends,
    )  # fmt: skip
    return Ends._make(array[:count] for array in ends)


@inlined
def _cells_from(text, base):
    """32 bases from `base` on, which may lie before the axis: bases there are anything."""
    if base >= 0:
        index = base >> 5
        shift = np.uint64(2 * (base & 31))
        return text[index] >> shift | (text[index + 1] << ONE) << (np.uint64(63) - shift)
    return text[0] << np.uint64(-2 * base) if base > -32 else np.uint64(0)


@inlined
def _unknown_cells(ambiguous, run, base):
    """Which of 32 bases from `base` on are ambiguous; spans before `run` end before them."""
    cells = np.uint64(0)
    while run < ambiguous.shape[0] and ambiguous[run, 0] < base + 32:
        for position in range(max(ambiguous[run, 0], base), min(ambiguous[run, 1], base + 32)):
            cells |= ONE << np.uint64(2 * (position - base))
        run += 1
    return cells


@compiled
def _fill(
    window_oriented, window_first, window_count, offsets, codes, word_offsets, packed, read_ambiguous, text, ambiguous,
    islands, k, read_of, strand_of, end_of, distance_of,
):  # fmt: skip
    """See `find_ends`; returns how many ends there are."""
    used = 0
    for window in range(window_oriented.size):
        oriented, first, count = window_oriented[window], window_first[window], window_count[window]
        read, strand = oriented >> 1, oriented & 1
        length = offsets[read + 1] - offsets[read]
        # Diagonal x begins at base + x of the axis, and ends at first - k + x.
        base = first - k - length
        begin = max(islands[interval_of(islands, first - 1)], 0)
        alive = CELLS if count + 2 * k >= DIAGONALS else ((ONE << np.uint64(2 * (count + 2 * k))) - ONE) & CELLS
        if begin > base:  # alignments begin within the island
            alive = (
                alive >> np.uint64(2 * (begin - base)) << np.uint64(2 * (begin - base))
                if begin - base < 32
                else np.uint64(0)
            )
        r0 = r1 = r2 = r3 = r4 = r5 = alive
        run = first_behind(ambiguous, base)
        # The last base that a diagonal can read is that before its end.
        some_unknown = run < ambiguous.shape[0] and ambiguous[run, 0] < first + count + k
        row = packed[strand]
        for i in range(length):
            code = row[word_offsets[read] + (i >> 5)] >> np.uint64(2 * (i & 31))
            # All ones in the bits in which a base differs from the read's.
            other = _cells_from(text, base + i) ^ (np.uint64(0) - (code & ONE) & CELLS)
            other ^= np.uint64(0) - (code >> ONE & ONE) & (CELLS << ONE)
            equal = ~(other | other >> ONE) & CELLS
            if some_unknown:
                while run < ambiguous.shape[0] and ambiguous[run, 1] <= base + i:
                    run += 1
                equal &= ~_unknown_cells(ambiguous, run, base + i)
            if read_ambiguous[read] and codes[strand, offsets[read] + i] > 3:
                equal = np.uint64(0)
            # Of the row before with one difference less: over both bases, or over the read's alone. Of this row with
            # one less: over the axis's alone.
            before = r0
            r0 &= equal
            if k >= 1:
                old = r1
                r1 = (r1 & equal) | before | before >> TWO | r0 << TWO
                before = old
            if k >= 2:
                old = r2
                r2 = (r2 & equal) | before | before >> TWO | r1 << TWO
                before = old
            if k >= 3:
                old = r3
                r3 = (r3 & equal) | before | before >> TWO | r2 << TWO
                before = old
            if k >= 4:
                old = r4
                r4 = (r4 & equal) | before | before >> TWO | r3 << TWO
                before = old
            if k >= 5:
                r5 = (r5 & equal) | before | before >> TWO | r4 << TWO
            alive = r0 if k == 0 else r1 if k == 1 else r2 if k == 2 else r3 if k == 3 else r4 if k == 4 else r5
            if alive == 0:
                break
        if alive == 0:
            continue
        for x in range(k, k + count):
            bit = ONE << np.uint64(2 * x)
            if alive & bit == 0:
                continue
            distance = 0 if r0 & bit else 1 if r1 & bit else 2 if r2 & bit else 3 if r3 & bit else 4 if r4 & bit else 5
            read_of[used], strand_of[used] = read, strand
            end_of[used], distance_of[used] = first - k + x, distance
            used += 1
    return used
