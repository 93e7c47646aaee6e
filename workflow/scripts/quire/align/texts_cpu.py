"""Texts in records: numbers and names of contigs."""

from typing import NamedTuple

import numpy as np

from quire.ragged import pack_bytes
from quire.reference import Reference
from quire.simd.compiled import compiled, inlined


class ContigNames(NamedTuple):
    """Names of the contigs: concatenated letters uint8[] and offsets int64[contigs + 1]."""

    letters: np.ndarray
    offsets: np.ndarray


def names_of(reference: Reference) -> ContigNames:
    """Return the names of a reference's contigs."""
    return ContigNames(*pack_bytes([name.encode() for name in reference.contig_names]))


@inlined
def write_number(text, used, value):
    """Write the decimal digits of a non-negative number to text[used:]; return their end."""
    digits = 1
    rest = value
    while rest >= 10:
        rest //= 10
        digits += 1
    for i in range(used + digits - 1, used - 1, -1):
        text[i] = 48 + value % 10
        value //= 10
    return used + digits


@compiled
def enlarged(text, needed):
    """Return the array, or a larger copy if it has fewer than `needed` bytes."""
    if needed <= len(text):
        return text
    larger = np.empty(2 * needed, np.uint8)
    larger[: len(text)] = text
    return larger
