"""Names of contigs for kernels that write records."""

from typing import NamedTuple

import numpy as np

from quire.ragged import pack_bytes
from quire.reference import Reference


class ContigNames(NamedTuple):
    """Names of the contigs: concatenated letters uint8[] and offsets int64[contigs + 1]."""

    letters: np.ndarray
    offsets: np.ndarray


def names_of(reference: Reference) -> ContigNames:
    """Return the names of a reference's contigs."""
    return ContigNames(*pack_bytes([name.encode() for name in reference.contig_names]))
