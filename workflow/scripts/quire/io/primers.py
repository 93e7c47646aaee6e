"""Primers of amplicons: BED with the strand as sixth column, as PrimalScheme and ARTIC publish them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bed import read_rows

FAR = 1 << 60
"""Position beyond all contigs."""
TOLERANCE = 5
"""Most bases that a fragment may reach beyond its primer, as in samtools ampliconclip."""


class Primers(NamedTuple):
    """Primers on one contig, in order. Those of a strand that overlap, or are at most TOLERANCE apart, count as one.

    Attributes:
        forward, reverse: int64[n, 2], start and end, 0-based, half-open.
    """

    forward: NDArray[np.int64]
    reverse: NDArray[np.int64]

    def inner_starts(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64[n]: the end of the forward primer in which each fragment starts; -FAR if it starts in none."""
        primer = np.searchsorted(self.forward[:, 0] - TOLERANCE, starts, "right") - 1
        ends = np.append(self.forward[:, 1], -FAR)[primer]
        return np.where(ends > starts, ends, -FAR)

    def inner_ends(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64[n]: the start of the reverse primer in which each fragment ends; FAR if it ends in none."""
        primer = np.searchsorted(self.reverse[:, 1] + TOLERANCE, ends, "left")
        starts = np.append(self.reverse[:, 0], FAR)[primer]
        return np.where(starts < ends, starts, FAR)


def read_primers(path: str | Path, lengths: Mapping[str, int]) -> dict[str, Primers]:
    """Return the primers by contig; `lengths` are those of the contigs.

    Raises:
        InputError: a line is wrong, or there is no primer.
    """
    found = dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]]()
    for where, (contig, start, end), further in read_rows(path, lengths):
        strand = further[2] if len(further) > 2 else ""
        if strand not in ("+", "-"):
            raise InputError(f"{where}: the strand of the primer, in the sixth column, is {strand!r}; give + or -.")
        if end > start:
            found.setdefault(contig, ([], []))[strand == "-"].append((start, end))
    if not found:
        raise InputError(f"{path}: holds no primers; add some, or leave its key in the configuration empty.")
    return {contig: Primers(_joined(forward), _joined(reverse)) for contig, (forward, reverse) in found.items()}


def _joined(spans: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return int64[n, 2]: the spans in order, with neighbours at most TOLERANCE apart joined."""
    joined: list[list[int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + TOLERANCE:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return np.array(joined, np.int64).reshape(-1, 2)
