"""A sweep over gVCFs: the positions at which any file starts a record, and the current record of each file."""

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.rescore.joint.inputs import Gvcf, GvcfRecord


class Span(NamedTuple):
    """Consecutive positions; records start only at the first.

    Attributes:
        start, end: 0-based, half-open.
        is_site: True if a record with a named alternate starts at `start`.
        current: for each file the record that started last, None before the first; overwritten by the next span.
    """

    start: int
    end: int
    is_site: bool
    current: Sequence[GvcfRecord | None]

    def reaching(self, position: int) -> list[GvcfRecord | None]:
        """Return for each file the record that covers a position of the span, or None."""
        return [record if record is not None and record.end > position else None for record in self.current]


def spans(gvcfs: Sequence[Gvcf], contig: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans of a contig from the first record that overlaps [start, end) up to `end`.

    Only one record of each file is held, so memory does not grow with the span.
    """
    current: list[GvcfRecord | None] = [None] * len(gvcfs)

    def numbered(number: int) -> Iterator[tuple[int, int, GvcfRecord]]:
        for record in gvcfs[number].records(contig, start, end):
            yield record.start, number, record

    position, is_site = -1, False
    # Only one item of each file is in the heap, so (start, number) decides and records are never compared.
    for at, number, record in heapq.merge(*map(numbered, range(len(gvcfs)))):
        if at != position:
            if position >= 0:
                yield Span(position, at, is_site, current)
            position, is_site = at, False
        current[number] = record
        is_site = is_site or record.is_variant
    if position >= 0:
        yield Span(position, max(end, position), is_site, current)
