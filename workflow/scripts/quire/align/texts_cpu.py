"""Texts in records: names of contigs, and room for text."""

from typing import NamedTuple

import numpy as np

from quire.ragged import pack_bytes
from quire.reference import Reference
from quire.simd.compiled import compiled


class ContigNames(NamedTuple):
    """Names of the contigs: concatenated letters uint8[] and offsets int64[contigs + 1]."""

    letters: np.ndarray
    offsets: np.ndarray


def names_of(reference: Reference) -> ContigNames:
    """Return the names of a reference's contigs."""
    return ContigNames(*pack_bytes([name.encode() for name in reference.contig_names]))


@compiled
def enlarged(text, needed):
    """Return the array, or a larger copy if it has fewer than `needed` bytes."""
    if needed <= len(text):
        return text
    larger = np.empty(2 * needed, np.uint8)
    larger[: len(text)] = text
    return larger
