"""Pieces of the genome for jobs: of about one size, cut at fixed positions, small contigs together."""

from collections.abc import Sequence
from pathlib import Path

from quire.io.bed import Interval, read_bed
from quire.reference import Reference

UNIT_BASES = 250_000  # most bases that a process calls at a time
_LEAST_UNIT_BASES = 4_000  # take 7 % more processor time than 30,000
_UNITS = 64  # at least, so that the processes of a job end at about the same time
_JOINED_GAP = 10_000  # islands this close become one interval, since nothing is called between them


def pieces_of(reference: Reference, bed: str | Path | None, interval_size: int) -> list[list[Interval]]:
    """Split a reference, or the regions of a BED, into pieces; see `split`."""
    contigs = list(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    islands = [
        (reference.contig_names[island["contig"]], island["start"], island["start"] + island["length"])
        for island in reference.manifest["islands"]
    ]
    return split(contigs, islands, bed, interval_size)


def split(
    contigs: Sequence[tuple[str, int]], islands: Sequence[Interval], bed: str | Path | None, interval_size: int
) -> list[list[Interval]]:
    """Split the genome into pieces of one or more disjoint intervals, in genome order.

    `islands` are stretches of sequence between long runs of N. Intervals, those of `bed` if given, are cut at multiples
    of `interval_size`, and a piece has at most about this many bases.

    Raises:
        InputError: a BED with unknown contigs, bad lines or nothing in it.
    """
    wanted = _join(islands, _JOINED_GAP)
    if bed is not None:
        ranks = {name: rank for rank, (name, _) in enumerate(contigs)}
        given = sorted(read_bed(bed, dict(contigs)), key=lambda interval: (ranks[interval[0]], *interval[1:]))
        wanted = _intersect(wanted, _join(given, 0))
    return cut_at_multiples(wanted, interval_size)


def cut_into_units(intervals: Sequence[Interval]) -> list[list[Interval]]:
    """Cut the intervals of a calling job into the parts that its processes share: smaller ones of a small genome."""
    bases = sum(end - start for _, start, end in intervals)
    size = min(max(bases // _UNITS, _LEAST_UNIT_BASES), UNIT_BASES)
    return cut_at_multiples(intervals, size)


def cut_at_multiples(intervals: Sequence[Interval], size: int) -> list[list[Interval]]:
    """Cut intervals at multiples of `size`, in groups of at most about that many bases."""
    groups: list[list[Interval]] = []
    held = size
    for contig, start, end in intervals:
        while start < end:
            cut = min(end, (start // size + 1) * size)
            if held + cut - start > size:
                groups.append([])
                held = 0
            groups[-1].append((contig, start, cut))
            held += cut - start
            start = cut
    return groups


def _join(intervals: Sequence[Interval], gap: int) -> list[Interval]:
    """Join sorted intervals that are at most `gap` apart."""
    joined: list[Interval] = []
    for contig, start, end in intervals:
        if joined and joined[-1][0] == contig and start - joined[-1][2] <= gap:
            joined[-1] = contig, joined[-1][1], max(end, joined[-1][2])
        elif end > start:
            joined.append((contig, start, end))
    return joined


def _intersect(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Return the intersection of two sorted lists, in the order of the first."""
    by_contig: dict[str, list[Interval]] = {}
    for interval in right:
        by_contig.setdefault(interval[0], []).append(interval)
    found: list[Interval] = []
    for contig, start, end in left:
        for _, other_start, other_end in by_contig.get(contig, []):
            low, high = max(start, other_start), min(end, other_end)
            if low < high:
                found.append((contig, low, high))
    return found
