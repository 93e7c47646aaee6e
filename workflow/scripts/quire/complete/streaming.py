"""Batches with more hits than are held at once: a few reads at a time, or a second search for a single read."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from quire.algorithms.complete import Axis, Ends, Hits
from quire.algorithms.complete.alignment.cpu import find_hits
from quire.complete.axis import axis_of
from quire.complete.finders import Finder
from quire.complete.records import build_records
from quire.complete.selection import Chosen, CountedReads, Wanted, choose, join, of_report, take
from quire.io.bam.encode import RecordBatch
from quire.reads import ReadBatch, Reads
from quire.reference import Reference

MOST_HITS = 1 << 20  # hits that are held at once


class WholeReads(NamedTuple):
    """Reads of a batch with all their hits.

    Attributes:
        first, last: the reads are [first, last).
        hits: hits, whose reads count from the batch's first. None if there are too many to hold; the piece is then one
            read.
    """

    first: int
    last: int
    hits: Hits | None


def whole_reads(parts: Iterable[Hits], count: int, most_hits: int) -> Iterator[WholeReads]:
    """Yield the complete reads of a batch whenever more hits than `most_hits` are held, and the rest at the end.

    Args:
        parts: the hits of the batch, in order; they are copied.
        count: number of reads of the batch.
        most_hits: most hits that are held at once, not counting one part.
    """
    kept: list[Hits] = []
    held = first = 0
    dropping = False  # the hits of read `first`, which has too many
    for part in parts:
        hits = part
        if dropping:
            hits = take(part, part.read != first)
            if len(hits.read):
                yield WholeReads(first, first + 1, None)
                first, dropping = first + 1, False
        held += len(hits.read)
        # Copied, since the arrays are views of larger ones, which have room for all ends.
        kept.append(Hits._make(values.copy() for values in hits))
        if held <= most_hits:
            continue
        joined = join(kept)
        last = int(joined.read[-1])
        whole = int(np.searchsorted(joined.read, last))
        if first < last:
            yield WholeReads(first, last, Hits._make(values[:whole] for values in joined))
            first = last
        dropping = len(joined.read) - whole > most_hits
        kept = [] if dropping else [Hits._make(values[whole:] for values in joined)]
        held = sum(len(hits.read) for hits in kept)
    if dropping:
        yield WholeReads(first, first + 1, None)
        first += 1
    if first < count:
        yield WholeReads(first, count, join(kept))


class ReadShare(NamedTuple):
    """Reads of a batch with all their ends.

    Attributes:
        first, last: the reads are [first, last) of the batch.
        ends: ends, whose reads count from `first`. None if there are too many to hold; the share is then one read.
    """

    first: int
    last: int
    ends: Ends | None


def shares_of_reads(parts: Iterable[Ends], count: int, reads: int, most_ends: int) -> Iterator[ReadShare]:
    """Yield the ends of a batch in shares of whole reads, for the threads that align them.

    Args:
        parts: `quire.algorithms.complete.PartsOfEnds` of the batch.
        count: number of reads of the batch.
        reads: most reads of a share.
        most_ends: most ends of a share.
    """
    held: Ends | None = None
    first = 0
    dropping = False  # the ends of read `first`, which has too many
    for part in parts:
        if not len(part.read):
            continue
        if dropping and part.read[-1] == first:
            continue
        if dropping:
            yield ReadShare(first, first + 1, None)
            part, first, dropping = Ends._make(values[part.read != first] for values in part), first + 1, False
        held = part if held is None else _joined(held, part)
        whole = int(held.read[-1])
        for share in _shares(held, first, whole, reads, most_ends):
            if share.last - share.first < reads and share.last == whole and share.ends is not None:
                break  # more of its reads will come
            yield share
            first = share.last
        held = _from_read(held, first)
        dropping = len(held.read) > most_ends and first == whole
        held = None if dropping else held
    if dropping:
        yield ReadShare(first, first + 1, None)
        first += 1
    no_numbers, no_bytes = np.empty(0, np.int64), np.empty(0, np.uint8)
    rest = Ends(no_numbers, no_bytes, no_numbers, no_bytes) if held is None else held
    yield from _shares(rest, first, count, reads, most_ends)


def _shares(ends: Ends, first: int, last: int, reads: int, most_ends: int) -> Iterator[ReadShare]:
    """Yield shares of the reads [first, last), whose ends are complete; `ends` may include later reads."""
    ends = _from_read(ends, first)
    while first < last:
        end = min(first + reads, last)
        number = int(np.searchsorted(ends.read, end))
        if number > most_ends:
            end = max(int(ends.read[most_ends]), first + 1)
            number = int(np.searchsorted(ends.read, end))
        share = Ends._make(values[:number] for values in ends)._replace(read=ends.read[:number] - first)
        yield ReadShare(first, end, share if number <= most_ends else None)
        ends, first = Ends._make(values[number:] for values in ends), end


def _joined(before: Ends, after: Ends) -> Ends:
    return Ends._make(np.concatenate([before[column], after[column]]) for column in range(len(before)))


def _from_read(ends: Ends, first: int) -> Ends:
    """Return the ends of read `first` and of later ones."""
    begin = int(np.searchsorted(ends.read, first))
    return Ends._make(values[begin:] for values in ends)


def hits_in_parts(finder: Finder, batch: ReadBatch, reads: Reads, axis: Axis, max_differences: int) -> Iterator[Hits]:
    """Yield the hits of a batch, in order."""
    yield from find_hits(finder.find(batch, reads), reads, axis, max_differences)


def records_in_pieces(
    finder: Finder, counted: CountedReads, reference: Reference, wanted: Wanted, most_hits: int = MOST_HITS
) -> Iterator[tuple[RecordBatch, ReadBatch]]:
    """Yield the records of reads whose hits are counted, with the batches that they refer to.

    Args:
        finder: searches the reads again.
        counted: the reads.
        reference: reference of the hits.
        wanted: settings of the report.
        most_hits: most hits that are held at once.
    """
    axis = axis_of(reference)
    totals = counted.counts.sum(axis=1)
    until = np.cumsum(totals)
    first = 0
    while first < len(counted.batch):
        before = until[first] - totals[first]
        last = max(first + 1, int(np.searchsorted(until, before + most_hits, side="right")))
        piece = counted.part(first, last)
        if totals[first] > most_hits:
            yield from _records_of_read(finder, piece, reference, wanted, most_hits)
        else:
            parts = hits_in_parts(finder, piece.batch, piece.reads, axis, wanted.max_differences)
            hits = of_report(join(parts), piece.counts, wanted)
            chosen = choose(hits, piece.reads.name_hash, wanted.max_hits)
            yield build_records(chosen, piece, reference, wanted), piece.batch
        first = last


def _records_of_read(
    finder: Finder, read: CountedReads, reference: Reference, wanted: Wanted, most_hits: int
) -> Iterator[tuple[RecordBatch, ReadBatch]]:
    """Yield the records of one read: the first `max_hits`, or without a limit its first hit and the others by distance.

    Each distance takes another search.
    """
    search = (finder, read.batch, read.reads, axis_of(reference), wanted.max_differences)
    kept = _first_hits(hits_in_parts(*search), read, wanted, wanted.max_hits or 1, most_hits)
    yield build_records(choose(kept, read.reads.name_hash, 0), read, reference, wanted), read.batch
    if wanted.max_hits:
        return
    done, first = 1, (int(kept.strand[0]), int(kept.begin[0]))
    for distance in np.flatnonzero(read.counts[0]):
        for hits in hits_in_parts(*search):
            hits = of_report(hits, read.counts, wanted)
            others = (hits.distance == distance) & ((hits.strand != first[0]) | (hits.begin != first[1]))
            chosen = Chosen(take(hits, others), np.zeros(int(others.sum()), np.bool_))
            yield build_records(chosen, read, reference, wanted, done), read.batch
            done += len(chosen.is_first)


def _first_hits(parts: Iterator[Hits], read: CountedReads, wanted: Wanted, number: int, most_hits: int) -> Hits:
    """Return the first `number` hits of one read, in any order."""
    kept: list[Hits] = []
    held = 0
    for hits in parts:
        kept.append(of_report(hits, read.counts, wanted))
        held += len(kept[-1].read)
        if held > most_hits + number:
            kept = [choose(join(kept), read.reads.name_hash, number).hits]
            held = len(kept[0].read)
    return choose(join(kept), read.reads.name_hash, number).hits
