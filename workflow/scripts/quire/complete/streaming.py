"""Ends of a batch in shares of whole reads, and the records of a read with more ends than are held at once."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from quire.algorithms.complete import Ends, Hits
from quire.complete.records_cpu import build_records
from quire.complete.selection_cpu import Chosen, CompleteSettings, CountedReads, choose, join, of_report, take
from quire.io.bam.encode import RecordBatch
from quire.reference import Reference

MOST_ENDS = 1 << 20  # that a thread holds at once; a read with more is searched again, a few hits at a time


class WholeReads(NamedTuple):
    """Reads of a batch with all their ends.

    Attributes:
        first, last: the reads are [first, last) of the batch.
        ends: ends, whose reads count from `first`. None if there are too many to hold; the share is then one read.
    """

    first: int
    last: int
    ends: Ends | None


def whole_reads(parts: Iterable[Ends], count: int, most_reads: int) -> Iterator[WholeReads]:
    """Yield the ends (`PartsOfEnds`) of a batch of `count` reads in shares, each as soon as it is complete."""
    nothing = Ends._make(np.empty(0, dtype) for dtype in (np.int64, np.uint8, np.int64, np.uint8))
    held, first = nothing, 0
    dropping = False  # the ends of read `first`, which has too many
    for part in parts:
        new = _from_read(part, first + dropping)
        if not len(new.read):
            continue
        if dropping:
            yield WholeReads(first, first + 1, None)
            first, dropping = first + 1, False
        held = Ends._make(np.concatenate([held[column], new[column]]) for column in range(len(held)))
        whole = int(held.read[-1])  # the reads before this one are complete
        while first < whole and (whole - first >= most_reads or len(held.read) > MOST_ENDS):
            share = _first_share(held, first, whole, most_reads)
            yield share
            first = share.last
            held = _from_read(held, first)
        dropping = first == whole and len(held.read) > MOST_ENDS
        if dropping:
            held = nothing
    if dropping:
        yield WholeReads(first, first + 1, None)
        first += 1
    while first < count:
        share = _first_share(held, first, count, most_reads)
        yield share
        first = share.last
        held = _from_read(held, first)


def _first_share(ends: Ends, first: int, last: int, most_reads: int) -> WholeReads:
    """Return a share of reads from `first` on, at most to `last`; `ends` begin with those of `first`."""
    last = min(first + most_reads, last)
    number = int(np.searchsorted(ends.read, last))
    if number > MOST_ENDS:
        last = max(int(ends.read[MOST_ENDS]), first + 1)
        number = int(np.searchsorted(ends.read, last))
    if number > MOST_ENDS:
        return WholeReads(first, last, None)
    taken = Ends._make(values[:number] for values in ends)
    return WholeReads(first, last, taken._replace(read=taken.read - first))


def _from_read(ends: Ends, first: int) -> Ends:
    """Return the ends of read `first` and of later ones."""
    begin = int(np.searchsorted(ends.read, first))
    return Ends._make(values[begin:] for values in ends)


def records_of_read(
    search: Callable[[], Iterable[Hits]], read: CountedReads, reference: Reference, settings: CompleteSettings
) -> Iterator[RecordBatch]:
    """Yield the records of one read: the first `max_hits`, or without a limit its first hit and the others by distance.

    `search` finds all hits of the read, in parts. It is called once, and without a limit again for each distance. About
    MOST_ENDS are held at once.
    """
    number = settings.max_hits or 1
    kept: list[Hits] = []
    held = 0
    for hits in search():
        kept.append(of_report(hits, read.counts, settings))
        held += len(kept[-1].read)
        if held > MOST_ENDS + number:
            kept = [choose(join(kept), read.reads.name_hash, number).hits]
            held = len(kept[0].read)
    chosen = choose(join(kept), read.reads.name_hash, number)
    yield build_records(chosen, read, reference, settings)
    if settings.max_hits:
        return
    done, first = 1, (int(chosen.hits.strand[0]), int(chosen.hits.begin[0]))
    for distance in np.flatnonzero(read.counts[0]):
        for hits in search():
            hits = of_report(hits, read.counts, settings)
            others = (hits.distance == distance) & ((hits.strand != first[0]) | (hits.begin != first[1]))
            chosen = Chosen(take(hits, others), np.zeros(int(others.sum()), np.bool_))
            yield build_records(chosen, read, reference, settings, done)
            done += len(chosen.is_first)
