"""Gap qualities of each base of a read, from the repeats in it (DragstrPairHMMInputScoreImputator)."""

import numpy as np
from numpy.typing import NDArray

from quire.rescore.dragen.repeats_cpu import repeats_in_read
from quire.rescore.dragen.tables import LONGEST_PERIOD, MOST_REPEATS, RepeatTables
from quire.simd.compiled import compiled

_OPENING, _CONTINUATION = range(2)  # first axis of `gap_tables`
_LARGEST_GAP_OPEN = 40.0  # MAX_GOP_IN_READ
_LAST_GAP_OPEN, _LAST_GAP_CONTINUATION = 45, 10  # at the last base of a read


def gap_tables(tables: RepeatTables) -> NDArray[np.uint8]:
    """Return gap open and gap continuation qualities (uint8[2, 8, 20]) for PairHMM, halves rounded up."""
    opening = np.floor(np.minimum(tables.gap_open, _LARGEST_GAP_OPEN) + 0.5)
    continuation = np.floor(tables.gap_continuation + 0.5)
    tables_of_both: NDArray[np.uint8] = np.maximum(np.stack([opening, continuation]), 1.0).astype(np.uint8)
    return tables_of_both


@compiled
def gap_qualities(bases, base_offsets, sample, tables):
    """Return gap open and gap continuation qualities (uint8[n] each) at each base of some reads.

    Reads are uint8 codes end to end with int64[reads + 1] offsets and int32[reads] samples; tables are `gap_tables` of
    each sample (uint8[samples, 2, 8, 20]).
    """
    opening, continuation = np.empty(len(bases), np.uint8), np.empty(len(bases), np.uint8)
    longest = 0
    for r in range(len(sample)):
        longest = max(longest, base_offsets[r + 1] - base_offsets[r])
    periods, repeats = np.empty(longest, np.uint8), np.empty(longest, np.int32)
    for r in range(len(sample)):
        start, end = base_offsets[r], base_offsets[r + 1]
        repeats_in_read(bases[start:end], periods, repeats)
        for i in range(end - start - 1):
            row, column = min(periods[i], LONGEST_PERIOD) - 1, min(repeats[i], MOST_REPEATS) - 1
            opening[start + i] = tables[sample[r], _OPENING, row, column]
            continuation[start + i] = tables[sample[r], _CONTINUATION, row, column]
        opening[end - 1] = _LAST_GAP_OPEN
        continuation[end - 1] = _LAST_GAP_CONTINUATION
    return opening, continuation
