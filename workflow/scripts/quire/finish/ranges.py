"""A range of the genome finished: its records read from the scratch file, marked, sorted, laid out for the BAM file."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.finish.buckets import BucketLayout, Piece, ScratchFile, place_of, reach
from quire.finish.marking.cpu import mark
from quire.io.bam.decode import records_of
from quire.io.bam.indexing import IndexEntries, entries_of
from quire.io.bam.layout import FIXED_FIELDS
from quire.io.bgzf import BLOCK_PAYLOAD, compress_blocks
from quire.sam import FLAG_DUPLICATE, FLAG_REVERSE, FLAG_SECONDARY, FLAG_SUPPLEMENTARY, FLAG_UNMAPPED
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled

LARGEST_RANGE = 1 << 28  # bytes of records at a time; the blocks of the output depend on it
LEVEL = 2  # of ISA-L, for the output
_PIECES_AT_A_TIME = 64  # of records without a position
_FLAG_OFFSET = FIXED_FIELDS.fields["flag"][1]  # type: ignore[index]


class Range(NamedTuple):
    """A part of the genome, contigs end to end, that is finished at once, or some records without a position.

    Attributes:
        low, high: places, half-open; both -1 for records without.
        pieces: that hold its records, and others.
        bytes: of the pieces' records.
        whole: whether all records of the pieces are of use.
    """

    low: int
    high: int
    pieces: list[Piece]
    bytes: int
    whole: bool


class FinishedRange(NamedTuple):
    """What comes of a range.

    Attributes:
        blocks: uint8[], BGZF.
        records: in them.
        counts: int64[libraries, 3], reads, mapped reads and duplicates, without secondary and supplementary records.
        entries: of the index; none of records without a position.
        data: uint8[], the records of the blocks end to end, duplicates marked.
    """

    blocks: NDArray[np.uint8]
    records: int
    counts: NDArray[np.int64]
    entries: IndexEntries | None
    data: NDArray[np.uint8]


def ranges(scratch: ScratchFile, genome: BucketLayout, largest: int = LARGEST_RANGE) -> Iterator[Range]:
    """All ranges in the order of the file: the buckets, those with many records in parts."""
    for bucket in range(genome.buckets):
        pieces = scratch.pieces(bucket)
        low, high = bucket * genome.width, (bucket + 1) * genome.width
        size = sum(piece.raw_bytes for piece in pieces)
        if size <= largest:
            if pieces:
                yield Range(low, high, pieces, size, whole=True)
            continue
        borders = _borders(scratch, pieces, genome, low, high, largest)
        for first, last in pairwise(borders):
            yield Range(first, last, pieces, largest, whole=False)
    unplaced = scratch.pieces(genome.buckets)
    for first in range(0, len(unplaced), _PIECES_AT_A_TIME):
        pieces = unplaced[first : first + _PIECES_AT_A_TIME]
        yield Range(-1, -1, pieces, sum(piece.raw_bytes for piece in pieces), whole=True)


def _borders(
    scratch: ScratchFile, pieces: list[Piece], genome: BucketLayout, low: int, high: int, largest: int
) -> list[int]:
    """Where a bucket is cut, both its ends among the borders; no part is larger than asked, but for one position's."""
    at_place = np.zeros(high - low, np.int64)
    for data in scratch.read(pieces):
        records = records_of(data)
        _add_sizes(data, records.starts, records.fixed, genome.contig_offsets, low, at_place)
    borders, held = [low], 0
    for place in np.flatnonzero(at_place).tolist():
        size = int(at_place[place])
        if held and held + size > largest:
            borders.append(low + place)
            held = 0
        held += size
    return [*borders, high]


def finish_range(
    part: Range, scratch: ScratchFile, genome: BucketLayout, libraries: int, index_depth: int
) -> FinishedRange:
    """Mark, sort and lay out the records of a range. Any thread may call it.

    Raises:
        QuireError: the scratch file is damaged, or a record cannot be compared.
    """
    if part.low < 0:
        return _finish_unplaced(part, scratch, libraries)
    parts, library = [], []
    for piece, data in zip(part.pieces, scratch.read(part.pieces), strict=True):
        records = records_of(data)
        if not part.whole:
            data = _choose(data, records.starts, records.fixed, genome.contig_offsets, part.low, part.high)
            records = records_of(data)
        parts.append(data)
        library.append(np.full(len(records.starts), piece.library, np.int32))
    records, library_of = records_of(np.concatenate(parts)), np.concatenate(library)
    own, keys = _sort_keys(records.starts, records.fixed, genome.contig_offsets, part.low, part.high)
    order = np.argsort(keys, kind="stable")
    duplicate = mark(records, order, library_of, str(scratch.path))
    order = order[own[order]]
    counts = np.zeros((libraries, 3), np.int64)
    _count(records.fixed, order, duplicate, library_of, counts)
    data = _lay_out(records.data, records.starts, order, duplicate)
    blocks = compress_blocks(data, LEVEL)
    entries = entries_of(records_of(data), blocks, BLOCK_PAYLOAD, index_depth)
    return FinishedRange(blocks, len(order), counts, entries, data)


def _finish_unplaced(part: Range, scratch: ScratchFile, libraries: int) -> FinishedRange:
    """Records without a position stay in the order in which they came."""
    counts, parts, total = np.zeros((libraries, 3), np.int64), [], 0
    for piece, data in zip(part.pieces, scratch.read(part.pieces), strict=True):
        records = records_of(data)
        n = len(records.starts)
        _count(records.fixed, np.arange(n), np.zeros(n, np.bool_), np.full(n, piece.library, np.int32), counts)
        parts.append(data)
        total += n
    data = np.concatenate(parts)
    return FinishedRange(compress_blocks(data, LEVEL), total, counts, None, data)


@compiled
def _add_sizes(data, starts, fixed, contig_offsets, low, at_place):
    """Add each record's bytes at its place, counted from `low`; copies from elsewhere at the nearer end."""
    for i in range(len(starts)):
        size = (starts[i + 1] if i + 1 < len(starts) else len(data)) - starts[i]
        place = place_of(fixed[i], contig_offsets) - low
        at_place[min(max(place, 0), len(at_place) - 1)] += size


@compiled
def _choose(data, starts, fixed, contig_offsets, low, high):
    """Those records that may share a fragment with one whose place is in [low, high), and those themselves."""
    kept, total = np.zeros(len(starts), np.bool_), 0
    for i in range(len(starts)):
        first, last = reach(data, starts[i], fixed[i], contig_offsets)
        kept[i] = first < high and last >= low
        if kept[i]:
            total += (starts[i + 1] if i + 1 < len(starts) else len(data)) - starts[i]
    out, at = np.empty(total, np.uint8), 0
    for i in range(len(starts)):
        if kept[i]:
            at = copy_bytes(out, at, data, starts[i], starts[i + 1] if i + 1 < len(starts) else len(data))
    return out


@compiled
def _sort_keys(starts, fixed, contig_offsets, low, high):
    """Which records have their place in [low, high), and int64[n]: by place, the forward strand first."""
    own, keys = np.empty(len(starts), np.bool_), np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        place = place_of(fixed[i], contig_offsets)
        own[i] = low <= place < high
        keys[i] = place << 1 | (fixed[i].flag & FLAG_REVERSE != 0)
    return own, keys


@compiled
def _count(fixed, order, duplicate, library, counts):
    """Add reads, mapped reads and duplicates of each library."""
    for i in order:
        flag = fixed[i].flag
        if flag & (FLAG_SECONDARY | FLAG_SUPPLEMENTARY) == 0:
            counts[library[i], 0] += 1
            counts[library[i], 1] += flag & FLAG_UNMAPPED == 0
            counts[library[i], 2] += duplicate[i]


@compiled
def _lay_out(data, starts, order, duplicate):
    """The records in order, end to end, with their flag."""
    total = 0
    for i in order:
        total += (starts[i + 1] if i + 1 < len(starts) else len(data)) - starts[i]
    out, at = np.empty(total, np.uint8), 0
    for i in order:
        begin = at
        at = copy_bytes(out, at, data, starts[i], starts[i + 1] if i + 1 < len(starts) else len(data))
        if duplicate[i]:
            out[begin + _FLAG_OFFSET] |= np.uint8(FLAG_DUPLICATE & 255)
            out[begin + _FLAG_OFFSET + 1] |= np.uint8(FLAG_DUPLICATE >> 8)
    return out
