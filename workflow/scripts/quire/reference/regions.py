"""Regions of interest: the intervals of a BED, or the islands of the reference.

Regions are int64[n, 2] by contig, 0-based and half-open, sorted and without overlaps: no position counts twice.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quire.io import bed

if TYPE_CHECKING:
    from quire.reference import Reference

Regions = dict[str, np.ndarray]


def read_regions(path: str | Path, contig_lengths: Mapping[str, int]) -> Regions:
    """Read the regions of a BED file (`quire.io.bed.read_bed`), with contigs in the order of `contig_lengths`."""
    found: dict[str, list[tuple[int, int]]] = {}
    for contig, start, end in bed.read_bed(path, contig_lengths):
        found.setdefault(contig, []).append((start, end))
    return {contig: merge(np.array(found[contig], dtype=np.int64)) for contig in contig_lengths if contig in found}


def merge(intervals: np.ndarray) -> np.ndarray:
    """Sort int64[n, 2] intervals and join those that overlap or touch."""
    ordered = intervals[np.lexsort((intervals[:, 1], intervals[:, 0]))]
    furthest = np.maximum.accumulate(ordered[:, 1])
    first = np.concatenate(([True], ordered[1:, 0] > furthest[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.stack((ordered[first, 0], furthest[last]), axis=1)


def islands_of(reference: "Reference") -> Regions:
    """Return the islands of a reference, which contain all positions where a read can align."""
    starts = reference.island_start.astype(np.int64)
    spans = np.stack((starts, starts + np.diff(reference.island_axis)), axis=1)
    borders = np.searchsorted(reference.island_contig, np.arange(len(reference.contig_names) + 1)).tolist()
    of_contigs = zip(reference.contig_names, pairwise(borders), strict=True)
    return {name: spans[first:last] for name, (first, last) in of_contigs if first < last}


def total_length(regions: Regions) -> int:
    """Count the positions in all regions."""
    return int(sum(int((intervals[:, 1] - intervals[:, 0]).sum()) for intervals in regions.values()))


def contains(intervals: np.ndarray, start: int, end: int) -> bool:
    """Return True if one of the merged intervals contains all of [start, end)."""
    index = int(np.searchsorted(intervals[:, 0], start, side="right")) - 1
    return index >= 0 and end <= int(intervals[index, 1])
