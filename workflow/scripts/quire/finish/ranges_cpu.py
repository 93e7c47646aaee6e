"""Finishing of one genome range: its records are read from the units' buckets, sorted, marked and compressed."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.buckets.cpu import place_of, reach
from quire.buckets.file import BucketFile, Piece
from quire.buckets.layout import BucketLayout
from quire.finish.marking import DUPLICATE, OPTICAL, UNREADABLE_NAME, Marking
from quire.finish.marking.cpu import mark
from quire.io.bam.decode_cpu import Records, records_of
from quire.io.bam.indexing_cpu import IndexEntries, entries_of
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS
from quire.io.bgzf_cpu import BLOCK_PAYLOAD, compress_blocks
from quire.ragged import offsets_from_lengths
from quire.sam import FLAG_DUPLICATE, FLAG_REVERSE, FLAG_SECONDARY, FLAG_SUPPLEMENTARY, FLAG_UNMAPPED
from quire.simd.bits import copy_items, prefetch
from quire.simd.compiled import compiled, inlined

LARGEST_RANGE = 1 << 28  # bytes of records in a range; the BGZF blocks of the output depend on it
COUNTED = 5  # columns of `count_marked`
LEVEL = 2  # ISA-L compression level of the output
# Prefetching of records in random order: records ahead, cache lines per record, bytes per line.
_AHEAD, _LINES, _LINE_BYTES = 4, 6, 64
_FLAG_OFFSET = FIXED_FIELDS.fields["flag"][1]  # type: ignore[index]


class UnitPieces(NamedTuple):
    """Pieces of a unit's file with the records of a range, and the number of the unit's library."""

    file: BucketFile
    pieces: list[Piece]
    library: int


class Range(NamedTuple):
    """A part of the genome that is finished as one job, or a piece of records without a position.

    Attributes:
        low, high: half-open range of places on the concatenated contigs; both -1 for records without a position.
        units: units with records in the range, in the order that decides ties.
        bytes: bytes of the range's records and of the neighbours that marking needs.
        span: most reference bases that a record of the pieces spans; None if all records of the pieces are used.
    """

    low: int
    high: int
    units: list[UnitPieces]
    bytes: int
    span: int | None


class FinishedRange(NamedTuple):
    """Result of finishing a range.

    Attributes:
        blocks: uint8[], BGZF blocks of the records.
        records: the sorted records, with duplicates marked.
        counts: int64[libraries, COUNTED], see `count_marked`.
        entries: index entries; None for records without a position.
    """

    blocks: NDArray[np.uint8]
    records: Records
    counts: NDArray[np.int64]
    entries: IndexEntries | None


def ranges(
    units: Sequence[tuple[BucketFile, int]], genome: BucketLayout, largest: int = LARGEST_RANGE
) -> Iterator[Range]:
    """Yield all ranges in the order of the output file: one per bucket, several if a bucket has over `largest` bytes.

    The units are files with the numbers of their libraries, in the order that decides ties.
    """
    for bucket in range(genome.buckets):
        held = [UnitPieces(file, pieces, library) for file, library in units if (pieces := file.pieces(bucket))]
        low, high = bucket * genome.width, (bucket + 1) * genome.width
        size = sum(piece.size for unit in held for piece in unit.pieces)
        if size <= largest:
            if held:
                yield Range(low, high, held, size, None)
            continue
        yield from _parts(held, genome, low, high, largest)
    for file, library in units:
        for piece in file.pieces(genome.buckets):
            yield Range(-1, -1, [UnitPieces(file, [piece], library)], piece.size, None)


def _parts(units: list[UnitPieces], genome: BucketLayout, low: int, high: int, largest: int) -> Iterator[Range]:
    """Split a bucket into parts of at most `largest` bytes of records; records of one position stay together."""
    # A part is read together with the neighbours of its records, which in a deep target can be many times larger than
    # the part. `Range.bytes` counts both, because the memory limit would otherwise be exceeded.
    sizes, span = np.zeros((3, high - low), np.int64), 1
    for unit in units:
        for records in (unit.file.read([piece]) for piece in unit.pieces):
            span = max(span, _add_sizes(records.data, records.starts, records.fixed, genome.contig_offsets, low, sizes))
    borders, held = [low], 0
    for place in np.flatnonzero(sizes[0]).tolist():
        size = int(sizes[0, place])
        if held and held + size > largest:
            borders.append(low + place)
            held = 0
        held += size
    # Bytes of the records that begin, and of those that end, before each place.
    begun, ended = (np.concatenate([[0], np.cumsum(column)]) for column in sizes[1:])
    for first, last in pairwise([*borders, high]):
        needed = begun[min(last + span, high) - low] - ended[max(first - span, low) - low]
        yield Range(first, last, units, int(needed), span)


def finish_range(
    part: Range, genome: BucketLayout, libraries: int, index_depth: int, marking: Marking
) -> FinishedRange:
    """Sort, mark and compress the records of a range; thread-safe.

    QuireError is raised if a unit's file is damaged or a record cannot be compared.
    """
    if part.low < 0:
        return _finish_unplaced(part, libraries)
    parts = [_records_of_unit(unit, part, genome) for unit in part.units]
    libraries_of = np.array([unit.library for unit in part.units], np.int32)
    library_of = np.repeat(libraries_of, [len(some.starts) for some in parts])
    records = parts[0] if len(parts) == 1 else _joined(parts)
    fixed = records.fixed
    # By place, then forward before reverse strand.
    places = genome.contig_offsets[fixed["contig"]] + fixed["position"]
    keys = places << 1 | (fixed["flag"] & FLAG_REVERSE != 0)
    order = np.argsort(keys, kind="stable")
    own = slice(*np.searchsorted(keys, [part.low << 1, part.high << 1], sorter=order).tolist())
    # Neighbours are copied too, so that all later steps read memory sequentially.
    data, starts, fixed = _lay_out(records.data, records.starts, order)
    records, library_of = Records(data, starts, fixed.view(FIXED_FIELDS)), library_of[order]
    del parts  # frees the unsorted records
    source = ", ".join(str(unit.file.path) for unit in part.units)
    marks = mark(records, library_of, source, marking)
    marked = np.flatnonzero(marks)
    records.fixed["flag"][marked] |= FLAG_DUPLICATE
    records.data[records.starts[marked] + _FLAG_OFFSET + 1] |= FLAG_DUPLICATE >> 8
    finished = _some(records, own)
    counts = count_marked(finished.fixed, marks[own], library_of[own], libraries)
    blocks = compress_blocks(finished.data, LEVEL)
    entries = entries_of(finished, blocks, BLOCK_PAYLOAD, index_depth)
    return FinishedRange(blocks, finished, counts, entries)


def _some(records: Records, some: slice) -> Records:
    """Return a slice of the records; their bytes are copied if that frees more than half of the buffer."""
    first, last = np.append(records.starts, len(records.data))[[some.start, some.stop]].tolist()
    data = records.data[first:last]
    return Records(data.copy() if 2 * len(data) < len(records.data) else data, records.starts[some] - first,
                   records.fixed[some])  # fmt: skip


def _records_of_unit(unit: UnitPieces, part: Range, genome: BucketLayout) -> Records:
    """Read the unit's records that a range needs, concatenated."""
    if part.span is None:
        return unit.file.read(unit.pieces)
    chosen = []
    # One piece at a time: a range may need few of them.
    for data, starts, fixed in (unit.file.read([piece]) for piece in unit.pieces):
        bounds = part.low, part.high, part.span
        chosen.append(_choose(data, starts, fixed, genome.contig_offsets, *bounds))
    return records_of(np.concatenate(chosen))


def _joined(parts: Sequence[Records]) -> Records:
    """Concatenate records."""
    begins = offsets_from_lengths([len(part.data) for part in parts])
    starts = [part.starts + begin for part, begin in zip(parts, begins.tolist(), strict=False)]
    data, fixed = np.concatenate([part.data for part in parts]), np.concatenate([part.fixed for part in parts])
    return Records(data, np.concatenate(starts), fixed)


def _finish_unplaced(part: Range, libraries: int) -> FinishedRange:
    """Finish records without a position, which keep their order."""
    (unit,) = part.units
    records = unit.file.read(unit.pieces)
    n = len(records.starts)
    counts = count_marked(records.fixed, np.zeros(n, np.uint8), np.full(n, unit.library, np.int32), libraries)
    return FinishedRange(compress_blocks(records.data, LEVEL), records, counts, None)


@inlined
def _end_of(data, starts, i):
    """Return where record i ends."""
    return starts[i + 1] if i + 1 < len(starts) else len(data)


@compiled
def _add_sizes(data, starts, fixed, contig_offsets, low, sizes):
    """Add each record's bytes to `sizes` and return the longest unclipped span in bases."""
    # Rows of `sizes` (int64[3, places], from `low` on) are the record's place, its unclipped start and its unclipped
    # end. Places outside are added at the nearer end.
    longest, end = 0, sizes.shape[1] - 1
    for i in range(len(starts)):
        size = _end_of(data, starts, i) - starts[i]
        place = place_of(fixed[i], contig_offsets) - low
        first, last = reach(data, starts[i], fixed[i], contig_offsets, 0)
        longest = max(longest, last - first + 1)
        sizes[0, min(max(place, 0), end)] += size
        sizes[1, min(max(first - low, 0), end)] += size
        sizes[2, min(max(last - low, 0), end)] += size
    return longest


@compiled
def _choose(data, starts, fixed, contig_offsets, low, high, span):
    """Return the bytes of the records in [low, high) and of those that may share a fragment with one of them."""
    kept, total = np.zeros(len(starts), np.bool_), 0
    for i in range(len(starts)):
        first, last = reach(data, starts[i], fixed[i], contig_offsets, span)
        kept[i] = first < high and last >= low
        if kept[i]:
            total += _end_of(data, starts, i) - starts[i]
    out, at = np.empty(total, np.uint8), 0
    for i in range(len(starts)):
        if kept[i]:
            at = copy_items(out, at, data, starts[i], _end_of(data, starts, i))
    return out


def count_marked(
    fixed: NDArray[np.void], marks: NDArray[np.uint8], library: NDArray[np.int32], libraries: int
) -> NDArray[np.int64]:
    """Count the primary reads of each library (int64[libraries, COUNTED]).

    The columns are all reads, mapped ones, duplicates, optical duplicates, and duplicates with unreadable names.
    """
    primary, mapped = fixed["flag"] & (FLAG_SECONDARY | FLAG_SUPPLEMENTARY) == 0, fixed["flag"] & FLAG_UNMAPPED == 0
    marked = [marks & bit != 0 for bit in (DUPLICATE, OPTICAL, UNREADABLE_NAME)]
    groups = [primary, *(primary & group for group in (mapped, *marked))]
    return np.stack([np.bincount(library[group], minlength=libraries) for group in groups], axis=1)


@compiled
def _lay_out(data, starts, order):
    """Return the records concatenated in order, their starts, and the bytes of their fixed fields."""
    out, new_starts = np.empty(len(data), np.uint8), np.empty(len(order), np.int64)
    fixed = np.empty(len(order) * FIXED_BYTES, np.uint8)
    at = np.int64(0)
    for k in range(len(order)):
        if k + _AHEAD < len(order):
            for line in range(_LINES):
                prefetch(data, starts[order[k + _AHEAD]] + _LINE_BYTES * line)
        i, new_starts[k] = order[k], at
        at = copy_items(out, at, data, starts[i], _end_of(data, starts, i))
        copy_items(fixed, k * FIXED_BYTES, out, new_starts[k], new_starts[k] + FIXED_BYTES)
    return out, new_starts, fixed
