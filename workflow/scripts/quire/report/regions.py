"""Regions of interest of the report: the lines of a BED, or the islands of the reference where none is given.

Coordinates are 0-based and half-open. Regions are int64[n, 2] arrays by contig, sorted, overlapping and abutting
ones merged, so that no position counts twice.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quire.errors import InputError

if TYPE_CHECKING:
    from quire.reference import Reference

Regions = dict[str, np.ndarray]

HEADER_WORDS = ("#", "track", "browser")


def read_bed(path: str | Path, contig_lengths: Mapping[str, int]) -> Regions:
    """Read a BED file.

    Args:
        path: the BED, plain text; only its first three columns are used.
        contig_lengths: length of each contig that may occur.

    Returns:
        Merged regions by contig, in the order of `contig_lengths`.

    Raises:
        InputError: the file cannot be read, a line is not a BED line, names an unknown contig or ends past its contig,
            or no region is left.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a text BED ({error}); give a plain, readable BED file.") from None
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith(HEADER_WORDS):
            contig, start, end = _parse_line(f"{path}, line {number}", line, contig_lengths)
            found.setdefault(contig, []).append((start, end))
    if not found:
        raise InputError(f"{path}: the BED holds no region; add regions or leave its configuration key empty.")
    return {contig: merge(np.array(found[contig], dtype=np.int64)) for contig in contig_lengths if contig in found}


def _parse_line(place: str, line: str, contig_lengths: Mapping[str, int]) -> tuple[str, int, int]:
    fields = line.split("\t") if "\t" in line else line.split()
    if len(fields) < 3 or not (fields[1].strip().isdigit() and fields[2].strip().isdigit()):
        raise InputError(f"{place}: is not a BED line (contig, start and end, separated by tabs); correct it.")
    contig, start, end = fields[0], int(fields[1]), int(fields[2])
    if contig not in contig_lengths:
        known = ", ".join(list(contig_lengths)[:3])
        raise InputError(f"{place}: contig {contig} is not in the reference (which has {known}, ...); use its names.")
    if not start < end <= contig_lengths[contig]:
        raise InputError(
            f"{place}: {contig}:{start}-{end} is not a region of that contig (which has {contig_lengths[contig]} "
            "bases); correct it."
        )
    return contig, start, end


def merge(intervals: np.ndarray) -> np.ndarray:
    """Sort int64[n, 2] intervals and join those that overlap or touch."""
    ordered = intervals[np.lexsort((intervals[:, 1], intervals[:, 0]))]
    furthest = np.maximum.accumulate(ordered[:, 1])
    first = np.concatenate(([True], ordered[1:, 0] > furthest[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.stack((ordered[first, 0], furthest[last]), axis=1)


def islands_of(reference: "Reference") -> Regions:
    """The islands of a reference, which are all positions where a read can lie."""
    lengths = np.diff(reference.island_axis)
    regions: Regions = {}
    for number, name in enumerate(reference.contig_names):
        mine = np.flatnonzero(reference.island_contig == number)
        if mine.size:
            starts = reference.island_start[mine].astype(np.int64)
            regions[name] = np.stack((starts, starts + lengths[mine]), axis=1)
    return regions


def total_length(regions: Regions) -> int:
    """Positions in all regions."""
    return int(sum(int((intervals[:, 1] - intervals[:, 0]).sum()) for intervals in regions.values()))


def contains(intervals: np.ndarray, start: int, end: int) -> bool:
    """Whether one of the merged intervals holds all of [start, end)."""
    index = int(np.searchsorted(intervals[:, 0], start, side="right")) - 1
    return index >= 0 and end <= int(intervals[index, 1])


def write_bed(path: str | Path, regions: Regions) -> None:
    """Write regions as a three-column BED."""
    with open(path, "w", encoding="utf-8") as stream:
        for contig, intervals in regions.items():
            stream.writelines(f"{contig}\t{start}\t{end}\n" for start, end in intervals.tolist())
