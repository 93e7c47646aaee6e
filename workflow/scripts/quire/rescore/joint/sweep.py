"""gVCFs swept side by side: where any file starts a record, and which record each file is at."""

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.rescore.joint.inputs import Gvcf, GvcfRecord


class Span(NamedTuple):
    """Positions over which no file starts a record but at the first.

    Attributes:
        start, end: 0-based, half-open.
        is_site: whether a record that starts at `start` spells out an allele.
        current: of each file the record that started last, None before the first; it changes when the next
            span is asked for.
    """

    start: int
    end: int
    is_site: bool
    current: Sequence[GvcfRecord | None]

    def reaching(self, position: int) -> list[GvcfRecord | None]:
        """The records that say something of a position of the span."""
        return [record if record is not None and record.end > position else None for record in self.current]


def spans(gvcfs: Sequence[Gvcf], contig: str, start: int, end: int) -> Iterator[Span]:
    """The spans of a contig from the first record that overlaps [start, end) up to `end`.

    Each file holds one record at a time, so that memory does not grow with the span.
    """
    current: list[GvcfRecord | None] = [None] * len(gvcfs)

    def numbered(number: int) -> Iterator[tuple[int, int, GvcfRecord]]:
        for record in gvcfs[number].records(contig, start, end):
            yield record.start, number, record

    position, is_site = -1, False
    # Of each file one item is held at a time, so that records themselves are never compared.
    for at, number, record in heapq.merge(*map(numbered, range(len(gvcfs)))):
        if at != position:
            if position >= 0:
                yield Span(position, at, is_site, current)
            position, is_site = at, False
        current[number] = record
        is_site = is_site or record.is_variant
    if position >= 0:
        yield Span(position, max(end, position), is_site, current)
