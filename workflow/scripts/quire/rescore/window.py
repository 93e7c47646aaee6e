"""A window of the reference."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Window:
    """A window of a contig of the reference: uint8 codes A0 C1 G2 T3, 4 elsewhere, from `start` (0-based) on."""

    contig: str
    contig_length: int
    start: int
    codes: NDArray[np.uint8]

    @property
    def end(self) -> int:
        """Position after the last code."""
        return self.start + len(self.codes)

    def between(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the codes of [start, end), cut at the window's end; `start` must lie in the window."""
        return self.codes[start - self.start : end - self.start]
