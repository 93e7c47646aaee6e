"""Table of counts: a line for each read, with its hits by number of differences."""

import numpy as np
from numpy.typing import NDArray

from quire.reads import ReadBatch
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled, inlined

MOST_DIGITS = 20
_TAB, _LINE_END, _ZERO = ord("\t"), ord("\n"), ord("0")


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
        total = np.int64(0)
        for distance in range(counts.shape[1]):
            at = _write_number(text, at, counts[read, distance])
            total += counts[read, distance]
        at = _write_number(text, at, total)
        at = _write_number(text, at, listed[read])
        text[at] = _LINE_END
        at += 1
    return text[:at].copy()


@inlined
def _write_number(text, at, value):
    """Write a tab and a number >= 0; return the end of the text."""
    text[at] = _TAB
    digits, rest = 1, value
    while rest >= 10:
        rest //= 10
        digits += 1
    for place in range(at + digits, at, -1):
        text[place] = _ZERO + value % 10
        value //= 10
    return at + digits + 1
