"""Extension on a card: a comparison without gaps, one thread per job, then banded matrices, each on lanes of a warp.

Directions are kept for the traceback, four bits per cell. Jobs are aligned in chunks whose matrices fit in the card's
memory. The operations of all jobs in bands are kept until the last chunk.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import (
    AMBIGUOUS,
    BAND_STEP,
    END_BONUS,
    EXTENSION_TYPES,
    GAP_EXTEND,
    GAP_OPEN,
    MATCH,
    MISMATCH,
    ExtensionJobs,
    Extensions,
)
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_MATCH, CIGAR_SHIFT

SOURCE = "quire/algorithms/extension/extension.cu"
COLUMNS = 8  # of a block: their directions, four bits each, fill a word
HEADER_WORDS = 2  # before an alignment's letters: the read's length, the columns of its band
LENGTH_BITS = 24  # of a read's length in the key by which jobs are sorted
WIDTHS = 32  # number of layout widths that a key can hold
HEAD_WORDS = 4  # of letters before the read: a lane begins up to 31 rows before it
DEFINES = {
    "AMBIGUOUS": AMBIGUOUS,
    "BAND_STEP": BAND_STEP,
    "CIGAR_DELETION": CIGAR_DELETION,
    "CIGAR_INSERTION": CIGAR_INSERTION,
    "CIGAR_MASK": CIGAR_MASK,
    "CIGAR_MATCH": CIGAR_MATCH,
    "CIGAR_SHIFT": CIGAR_SHIFT,
    "COLUMNS": COLUMNS,
    "END_BONUS": END_BONUS,
    "GAP_EXTEND": GAP_EXTEND,
    "GAP_OPEN": GAP_OPEN,
    "HEADER_WORDS": HEADER_WORDS,
    "HEAD_WORDS": HEAD_WORDS,
    "LENGTH_BITS": LENGTH_BITS,
    "MATCH": MATCH,
    "MISMATCH": MISMATCH,
}
# More than enough to fill any card: a chunk of 700,000 reads of 150 bases in bands of 32 diagonals.
MOST_BYTES = 2 << 30
_WARP = 32
_TABLE_BYTES = 16 * 16


class Band(NamedTuple):
    """Layout of the alignments of one launch (band.cuh: Band)."""

    width: int
    lanes: int
    blocks: int
    groups: int
    steps: int
    query_words: int
    words: int
    operations: int

    @property
    def state_numbers(self) -> int:
        """Count of numbers that a warp keeps between the rows of a wide band."""
        return self.blocks * 2 * COLUMNS * _WARP if self.blocks > 1 else 0

    @property
    def bytes_per_warp(self) -> int:
        """Bytes that the alignments of a warp take on the card."""
        alignment = 4 * self.words + 4 * self.operations + 8 + 4 + 8
        return self.steps * self.blocks * _WARP * 4 + 4 * self.state_numbers + self.groups * alignment


def band_of(length: int, width: int) -> Band:
    """Return the layout for reads of up to `length` bases in bands of up to `width` diagonals, BAND_STEP * 2**i."""
    blocks = -(-width // (_WARP * COLUMNS))
    lanes = width // COLUMNS if blocks == 1 else _WARP
    steps = -(-(length + lanes - 1) // 8) * 8
    # One word more than the last step needs is read ahead.
    query_words = steps // 8 + HEAD_WORDS + 2
    target_words = steps // 8 + blocks * lanes + 3
    # The score of a path is positive everywhere, so its matches bound the number of its gaps.
    gaps = (length * MATCH + END_BONUS) // -(GAP_OPEN + GAP_EXTEND)
    words = HEADER_WORDS + query_words + target_words
    return Band(width, lanes, blocks, _WARP // lanes, steps, query_words, words, 2 * gaps + 1)


def extend(
    card: Card,
    jobs: ExtensionJobs,
    reads: CardReads,
    text: CardArray,
    ambiguous: CardArray,
    budget: int | None = None,
) -> Extensions:
    """Align each job's read inside its band, as `quire.algorithms.extension.cpu.extend` does; all arrays on the card.

    `budget` limits the bytes of matrices at a time, though at least one warp's; None takes half of the free memory, but
    not more than MOST_BYTES. Slots of operations are not limited (180 bytes per job in a band, for 150 bases). `cigar`
    has another order than the CPU's; `cigar_begin` gives the places.

    Raises:
        OutOfDeviceMemory: not enough for the results, or for one warp's matrices.
    """
    count = len(jobs.read)
    results = Extensions(*(card.empty(count, dtype) for dtype in EXTENSION_TYPES))
    if count == 0:
        return results
    marks = card.empty(count, np.uint8)
    card.kernel(SOURCE, "ungapped", **DEFINES).for_each(
        count, jobs, count, reads, text, ambiguous, len(ambiguous), results, marks
    )
    unsolved = card.nonzero(marks)
    if len(unsolved) == 0:
        return results
    order, widths = _alike_together(card, jobs, reads, unsolved)
    if budget is None:
        budget = min(card.free_bytes() // 2, MOST_BYTES)
    numbers = card.empty(len(order), np.int32)  # of operations
    traced = []
    for begin, end, longest, width in widths:
        band = band_of(longest, width)
        chunk = max(budget // band.bytes_per_warp, 1) * band.groups
        for first in range(begin, end, chunk):
            part = slice(first, min(first + chunk, end))
            slots = _align(card, band, order[part], jobs, _Sequences(reads, text, ambiguous), results, numbers[part])
            traced.append((part, band, slots))
    begins, totals = card.offsets_and_totals(numbers)
    cigar = card.empty(count + totals.wait()[0], np.uint32)
    cigar[:count] = results.cigar
    results = results._replace(cigar=cigar)
    gather = card.kernel(SOURCE, "gather_operations", **DEFINES)
    for part, band, slots in traced:
        size = part.stop - part.start
        gather.for_each(size, order[part], size, band, slots, begins[part.start :], count, results)
    return results


def _alike_together(
    card: Card, jobs: ExtensionJobs, reads: CardReads, unsolved: CardArray
) -> tuple[CardArray, list[tuple[int, int, int, int]]]:
    """Return jobs sorted by layout width and length, and (begin, end, longest read, width) of each width."""
    count = len(unsolved)
    keys, order, widths = card.empty(count, np.int32), card.empty(count, np.int64), card.numbers(2 * WIDTHS)
    card.kernel(SOURCE, "shapes", **DEFINES).for_each(count, jobs, unsolved, count, reads, keys)
    alike = card.xp.argsort(keys)
    card.kernel(SOURCE, "order_by_shape", **DEFINES).for_each(count, keys, alike, unsolved, count, order, widths.memory)
    ends_and_lengths, found, begin = widths.wait(), [], 0
    for doublings in range(WIDTHS):
        end, longest = ends_and_lengths[2 * doublings : 2 * doublings + 2]
        if end:
            found.append((begin, end, longest, BAND_STEP << doublings))
            begin = end
    return order, found


class _Sequences(NamedTuple):
    """The reads, the packed axis, and its ambiguous spans, on the card."""

    reads: CardReads
    text: CardArray
    ambiguous: CardArray


def _align(
    card: Card,
    band: Band,
    order: CardArray,
    jobs: ExtensionJobs,
    sequences: _Sequences,
    results: Extensions,
    numbers: CardArray,
) -> CardArray:
    """Align the jobs `order` (int64[]) of one width.

    Fill all results but `cigar_begin`, and the number of operations of each job (int32[]); return their slots of
    operations (uint32[jobs * band.operations]).
    """
    reads, text, ambiguous = sequences
    count = len(order)
    warps = -(-count // band.groups)
    letters = card.empty(count * band.words, np.uint32)
    card.kernel(SOURCE, "write_letters", **DEFINES).for_each(
        count * band.words, jobs, order, count, band, reads, text, ambiguous, len(ambiguous), letters
    )
    directions = card.empty(warps * band.steps * band.blocks * _WARP, np.uint32)
    best_keys = card.empty(count, np.int64)
    if band.blocks == 1:
        fill = card.kernel(SOURCE, "fill_bands", **DEFINES)
        fill(warps, _WARP, count, band, letters, directions, best_keys, shared_bytes=_TABLE_BYTES)
    else:
        state = card.empty(warps * band.state_numbers, np.int32)
        fill = card.kernel(SOURCE, "fill_wide_bands", **DEFINES)
        fill(warps, _WARP, band, letters, directions, best_keys, state, shared_bytes=_TABLE_BYTES)
    slots = card.empty(count * band.operations, np.uint32)
    card.kernel(SOURCE, "trace", **DEFINES).for_each(
        count, jobs, order, count, band, reads, directions, best_keys, results, slots, numbers
    )
    return slots
