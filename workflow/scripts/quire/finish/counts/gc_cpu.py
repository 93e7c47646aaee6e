"""GC content of windows of the reference, binned as in Picard's CollectGcBiasMetrics (GcBiasUtils).

A window of 100 bases is binned by its percentage of G and C, unless it has more than four Ns. Windows begin at every
0-based position from 1 on that is more than 100 bases before the end of the contig.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.finish.counts import GC_BINS, GC_WINDOW
from quire.reference import Reference
from quire.sequence.codes import AMBIGUOUS, code_table
from quire.simd.bits import count_ones
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_above, first_behind

MOST_UNKNOWN = 4
PIECE = 1 << 22  # windows that a thread counts at a time
_LOW_BITS = np.uint64(0x5555555555555555)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_CODES = code_table({}, AMBIGUOUS)

Span = tuple[int, int, int]
"""Number of a contig, start and end on it."""


@inlined
def _strong_bases(text, start, end):
    """Count G and C in [start, end) of the axis: the bases whose two bits differ."""
    count = np.int64(0)
    first, last = start >> 5, (end - 1) >> 5
    for number in range(first, last + 1):
        word = text[number]
        strong = (word ^ word >> np.uint64(1)) & _LOW_BITS
        if number == first:
            strong &= _ALL << np.uint64(2 * (start & 31))
        if number == last:
            strong &= _ALL >> np.uint64(62 - 2 * ((end - 1) & 31))
        count += count_ones(strong)
    return count


@inlined
def window_bin(genome, contig, start):
    """Return the GC bin of a contig's window that begins at `start` (0-based, at least 1); -1 with too many Ns.

    Windows that would begin near or after the end of a contig are in bin 0, as Picard's are for a read. `genome` is
    borrowed.
    """
    first_island, island_start, island_axis = genome.first_island, genome.island_start, genome.island_axis
    text, ambiguous = genome.text, genome.ambiguous
    if start >= genome.lengths[contig] - GC_WINDOW:
        return np.int64(0)
    end, strong, known = start + GC_WINDOW, np.int64(0), np.int64(0)
    # The last island that begins at or before `start`; it may contain `start`.
    island = first_above(island_start, first_island[contig], first_island[contig + 1], start) - 1
    island = max(island, first_island[contig])
    while island < first_island[contig + 1] and island_start[island] < end:
        to_axis = island_axis[island] - island_start[island]
        first, last = max(start + to_axis, island_axis[island]), min(end + to_axis, island_axis[island + 1])
        if first < last:
            strong += _strong_bases(text, first, last)
            known += last - first
            run = first_behind(ambiguous, first)
            while run < len(ambiguous) and ambiguous[run, 0] < last:
                begin, stop = max(first, ambiguous[run, 0]), min(last, ambiguous[run, 1])
                strong -= _strong_bases(text, begin, stop)
                known -= stop - begin
                run += 1
        island += 1
    if GC_WINDOW - known > MOST_UNKNOWN:
        return np.int64(-1)
    return strong * 100 // GC_WINDOW


@compiled
def count_windows(codes, windows):
    """Add all windows within `codes` (uint8[]: 0 to 3, 4 for N) to their bins in `windows` (int64[GC_BINS])."""
    strong = unknown = np.int64(0)
    for i in range(len(codes)):
        strong += 1 if codes[i] == 1 or codes[i] == 2 else 0
        unknown += 1 if codes[i] == 4 else 0
        if i >= GC_WINDOW:
            gone = codes[i - GC_WINDOW]
            strong -= 1 if gone == 1 or gone == 2 else 0
            unknown -= 1 if gone == 4 else 0
        if i >= GC_WINDOW - 1 and unknown <= MOST_UNKNOWN:
            windows[strong * 100 // GC_WINDOW] += 1


def pieces_of(reference: Reference) -> Iterator[list[Span]]:
    """Yield disjoint spans that contain the starts of all windows with a bin, in lists of about PIECE starts.

    Spans of different islands do not overlap, because islands are further apart than the Ns that a window may have.
    """
    lengths = np.diff(reference.island_axis)
    held: list[Span] = []
    size = 0
    for island, contig in enumerate(reference.island_contig.tolist()):
        start = int(reference.island_start[island])
        end = start + int(lengths[island]) + MOST_UNKNOWN - GC_WINDOW + 1
        for first in range(start - MOST_UNKNOWN, end, PIECE):
            held.append((contig, first, min(first + PIECE, end)))
            size += held[-1][2] - first
            if size >= PIECE:
                yield held
                held, size = [], 0
    if held:
        yield held


def windows_of(reference: Reference, spans: Sequence[Span]) -> NDArray[np.int64]:
    """Return the number of windows by bin (int64[GC_BINS]), for windows that begin in the spans."""
    windows = np.zeros(GC_BINS, np.int64)
    for contig, start, end in spans:
        first, last = max(start, 1), min(end, int(reference.contig_lengths[contig]) - GC_WINDOW)
        if first < last:
            letters = np.frombuffer(reference.sequence(contig, first, last + GC_WINDOW - 1), np.uint8)
            count_windows(_CODES[letters], windows)
    return windows
