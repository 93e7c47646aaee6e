"""Table of counts: a line for each read, with its hits by number of differences."""

import numpy as np
from numpy.typing import NDArray

from quire.align.texts import write_number
from quire.reads import ReadBatch
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled

MOST_DIGITS = 20
_TAB, _LINE_END = ord("\t"), ord("\n")


def header(max_differences: int) -> bytes:
    """Return the first line of the table."""
    columns = ["read", *map(str, range(max_differences + 1)), "total", "listed"]
    return ("\t".join(columns) + "\n").encode()


def lines(batch: ReadBatch, counts: NDArray[np.int64], listed: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the lines of a batch as bytes (uint8[]).

    Args:
        batch: the reads, for their names.
        counts: int64[n, k + 1], hits by number of differences.
        listed: int64[n], hits with a record.
    """
    text: NDArray[np.uint8] = write_lines(batch.names, batch.name_offsets, counts, listed)
    return text


@compiled
def write_lines(names, name_offsets, counts, listed):
    """See `lines`."""
    columns = counts.shape[1] + 2
    text = np.empty(len(names) + len(counts) * columns * (MOST_DIGITS + 1) + len(counts), np.uint8)
    at = np.int64(0)
    for read in range(len(counts)):
        at = copy_bytes(text, at, names, name_offsets[read], name_offsets[read + 1])
        total = counts[read].sum()
        for column in range(columns):
            value = counts[read, column] if column < columns - 2 else total if column < columns - 1 else listed[read]
            text[at] = _TAB
            at = write_number(text, at + 1, value)
        text[at] = _LINE_END
        at += 1
    return text[:at].copy()
