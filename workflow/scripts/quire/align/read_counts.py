"""Counts of mapped and unmapped reads for the ledger."""

from dataclasses import dataclass

import numpy as np

from quire.sam import FLAG_PAIRED, FLAG_PROPER_PAIR, FLAG_SUPPLEMENTARY, FLAG_UNMAPPED


@dataclass
class ReadCounts:
    """Counts of a unit's reads. Each mate counts as one read; supplementary records are counted separately."""

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unmapped: int = 0
    properly_paired: int = 0
    supplementary: int = 0

    def add(self, other: "ReadCounts") -> None:
        """Add the counts of another batch."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def count_reads(flag: np.ndarray, offsets: np.ndarray) -> ReadCounts:
    """Count the reads of a batch by the flags of its records (uint16[]); `offsets` is int64[n + 1], in bases."""
    primary = flag[(flag & FLAG_SUPPLEMENTARY) == 0]
    unmapped = int(((primary & FLAG_UNMAPPED) != 0).sum())
    proper = FLAG_PAIRED | FLAG_PROPER_PAIR
    return ReadCounts(
        reads=len(offsets) - 1,
        bases=int(offsets[-1]),
        mapped=len(primary) - unmapped,
        unmapped=unmapped,
        properly_paired=int(((primary & proper) == proper).sum()),
        supplementary=len(flag) - len(primary),
    )
