"""Writing of indexes, BAI, CSI and TBI (SAM specification, section 5), from the records while they are written.

`entries_of` returns the entries of a stretch of the file, in any thread; an `IndexBuilder` joins the stretches in the
order of the file.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bai import BAI_DEPTH, WINDOW_SHIFT, first_bin
from quire.io.bam.bins_cpu import smallest_bin
from quire.io.bam.decode_cpu import Records, cigar_begin, cigar_element
from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END
from quire.sam import CIGAR_MASK, CIGAR_SHIFT, CONSUMES_REFERENCE, FLAG_UNMAPPED
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

_OFFSET_BITS = 16  # bits of a virtual offset for the position in the inflated block
AHEAD = 8  # distance of the prefetch of CIGARs, in records; each is in another cache line
_CSI_MARGIN = 256  # bases that htslib lets an alignment reach beyond its contig
# Of the Tabix specification: VCF, columns of contig, position and end (none), mark of the header, lines to skip.
_VCF_COLUMNS = 2, 1, 2, 0, ord("#"), 0


CHUNK = np.dtype([("contig", np.int64), ("bin", np.int64), ("begin", np.int64), ("end", np.int64)])
"""Consecutive records of one bin: virtual offsets of the first record and after the last."""
WINDOW = np.dtype([("contig", np.int64), ("number", np.int64), ("begin", np.int64)])
"""A window of the linear index: virtual offset of the first record that overlaps it."""
CONTIG = np.dtype([(name, np.int64) for name in ("contig", "begin", "end", "mapped", "unmapped")])
"""A contig: virtual offsets of its first record and after its last, and its numbers of records."""


class IndexEntries(NamedTuple):
    """Index entries of a stretch of sorted records; virtual offsets count from the stretch's first block.

    Attributes:
        chunks: CHUNK[], chunks of bins.
        windows: WINDOW[], windows of the linear index.
        contigs: CONTIG[], contigs with records.
    """

    chunks: NDArray[np.void]
    windows: NDArray[np.void]
    contigs: NDArray[np.void]


NO_ENTRIES = IndexEntries(np.empty(0, CHUNK), np.empty(0, WINDOW), np.empty(0, CONTIG))
"""Those of a stretch without records."""


def depth_of(kind: str, contig_lengths: list[int]) -> int:
    """Return the number of levels of bins of an index, "bai", "tbi" or "csi", as htslib chooses it for BAM."""
    if kind != "csi":
        return BAI_DEPTH
    depth, span = 0, 1 << WINDOW_SHIFT
    while max(contig_lengths, default=0) + _CSI_MARGIN > span:
        depth, span = depth + 1, span << 3
    return depth


def entries_of(records: Records, blocks: NDArray[np.uint8], block_payload: int, depth: int) -> IndexEntries:
    """Return the index entries of sorted records with positions.

    `records` are in the order of the file, and `blocks` (uint8[]) its BGZF blocks; `depth` is that of `depth_of`.
    """
    offsets = block_offsets(blocks, -(-len(records.data) // block_payload))
    ends = np.empty(len(records.starts), np.int64)
    windows = _find_ends(records, ends)
    return entries_at(records, ends, windows, offsets, np.arange(len(offsets)) * block_payload, depth)


def entries_at(
    records: Records,
    ends: NDArray[np.int64],
    most_windows: int,
    offsets: NDArray[np.int64],
    borders: NDArray[np.int64],
    depth: int,
) -> IndexEntries:
    """Return the index entries of sorted records with positions.

    Args:
        records: of their fields, contig, position and flag are read.
        ends: int64[records], positions after their ends.
        most_windows: how many windows they overlap at most.
        offsets: int64[blocks + 1], where each block begins in the file, and where the last one ends.
        borders: int64[blocks + 1], the same of the blocks' text, counted from the beginning of the records' data.
        depth: levels of bins.
    """
    # Most records overlap one window; a record may overlap several.
    rows = IndexEntries(np.empty(len(ends), CHUNK), np.empty(most_windows, WINDOW), np.empty(len(ends), CONTIG))
    counts = _entries(records, ends, offsets, borders, depth, rows)
    return IndexEntries(*(kind[:count].copy() for kind, count in zip(rows, counts, strict=True)))


@compiled
def block_offsets(blocks, count):
    """Return where each block begins, and their end (int64[count + 1])."""
    offsets = np.empty(count + 1, np.int64)
    at = np.int64(0)
    for block in range(count):
        offsets[block] = at
        at += (np.int64(blocks[at + 16]) | np.int64(blocks[at + 17]) << 8) + 1
    offsets[count] = at
    return offsets


@inlined
def reference_end(data, start, fields):
    """Return the position after the last aligned base; a record without one counts as one base long."""
    begin, end = cigar_begin(start, fields), np.int64(fields.position)
    if fields.flag & FLAG_UNMAPPED == 0:
        for k in range(np.int64(fields.operations)):
            element = cigar_element(data, begin, k)
            if CONSUMES_REFERENCE >> (element & CIGAR_MASK) & 1:
                end += np.int64(element >> CIGAR_SHIFT)
    return max(end, np.int64(fields.position) + 1)


@compiled
def _find_ends(records, ends):
    """Fill `ends` (int64[n]) with each record's `reference_end`; return an upper bound of their windows."""
    data, starts, fixed = records
    total = np.int64(0)
    contig, last = np.int64(-1), np.int64(-1)
    for i in range(len(starts)):
        if i + AHEAD < len(starts):
            prefetch(data, cigar_begin(starts[i + AHEAD], fixed[i + AHEAD]))
        if fixed[i].contig != contig:
            contig, last = np.int64(fixed[i].contig), np.int64(-1)
        ends[i] = reference_end(data, starts[i], fixed[i])
        end = ends[i] - 1 >> WINDOW_SHIFT
        if end > last:
            total += end - max(last, (np.int64(fixed[i].position) >> WINDOW_SHIFT) - 1)
            last = end
    return total


@compiled
def _entries(records, ends, offsets, borders, depth, rows):
    """Fill the rows (IndexEntries) and return the number of each kind; see `entries_at`."""
    data, starts, fixed = records
    chunks, windows, contigs = rows
    chunk = window = contig = -1
    last_window = np.int64(-1)
    block, close = np.int64(0), np.int64(0)
    for i in range(len(starts)):
        fields = fixed[i]
        own, position = np.int64(fields.contig), np.int64(fields.position)
        after = starts[i + 1] if i + 1 < len(starts) else np.int64(len(data))
        if i == 0:
            block = _block_at(borders, block, starts[0])
            close = offsets[block] << _OFFSET_BITS | starts[0] - borders[block]
        begin = close
        block = _block_at(borders, block, after)
        close = offsets[block] << _OFFSET_BITS | after - borders[block]
        number = smallest_bin(position, ends[i], depth)
        if contig < 0 or contigs[contig].contig != own:
            contig += 1
            contigs[contig].contig, contigs[contig].begin = own, begin
            contigs[contig].mapped = contigs[contig].unmapped = 0
            last_window = np.int64(-1)
        contigs[contig].end = close
        if fields.flag & FLAG_UNMAPPED:
            contigs[contig].unmapped += 1
        else:
            contigs[contig].mapped += 1
        if chunk < 0 or chunks[chunk].contig != own or chunks[chunk].bin != number:
            chunk += 1
            chunks[chunk].contig, chunks[chunk].bin, chunks[chunk].begin = own, number, begin
        chunks[chunk].end = close
        for k in range(max(last_window + 1, position >> WINDOW_SHIFT), (ends[i] - 1 >> WINDOW_SHIFT) + 1):
            window += 1
            windows[window].contig, windows[window].number, windows[window].begin = own, k, begin
            last_window = k
    return chunk + 1, window + 1, contig + 1


@inlined
def _block_at(borders, block, at):
    """Return the block in whose text a place is, `block` or a later one; the one after the last for the end of all."""
    while block + 1 < len(borders) and at >= borders[block + 1]:
        block += 1
    return block


class IndexBuilder:
    """Builder of an index from the entries of all stretches of a file.

    Args:
        kind: "bai" or "csi", or "tbi" for VCF.
        contig_lengths: lengths of the contigs in bases.
        vcf_names: names of the contigs of a VCF. Its index has only those with records.
    """

    def __init__(self, kind: str, contig_lengths: list[int], vcf_names: Sequence[str] | None = None) -> None:
        self.kind, self.contigs, self._names = kind, len(contig_lengths), vcf_names
        self.depth = depth_of(kind, contig_lengths)
        self._entries: list[IndexEntries] = []

    def add(self, entries: IndexEntries, offset: int) -> None:
        """Add the entries of the next stretch, whose first block begins at byte `offset` of the file."""
        moved = IndexEntries(*(rows.copy() for rows in entries))
        for rows in moved:
            for name in {"begin", "end"}.intersection(rows.dtype.names or ()):
                rows[name] += offset << _OFFSET_BITS
        self._entries.append(moved)

    def write(self, path: Path, unplaced: int) -> None:
        """Write the index; `unplaced` is the number of records without a position at the end of the file."""
        chunks, windows, totals = (np.concatenate(rows) for rows in zip(NO_ENTRIES, *self._entries, strict=True))
        chunks = _joined(chunks[np.lexsort((chunks["begin"], chunks["bin"], chunks["contig"]))])
        contigs = np.arange(self.contigs) if self._names is None else np.unique(totals["contig"])
        parts = [self._head(contigs.tolist())]
        # Rows of a contig are adjacent in all arrays.
        borders = [
            [np.searchsorted(rows["contig"], contigs, side).tolist() for side in ("left", "right")]
            for rows in (chunks, windows, totals)
        ]
        without_records = self._contig(chunks[:0], _linear(windows[:0]), totals[:0])
        for contig in range(len(contigs)):
            own, filled, counted = (
                rows[first[contig] : end[contig]]
                for rows, (first, end) in zip((chunks, windows, totals), borders, strict=True)
            )
            parts += self._contig(own, _linear(filled), counted) if len(counted) else without_records
        parts.append(struct.pack("<Q", unplaced))
        content = b"".join(parts)
        if self.kind != "bai":
            # CSI and TBI files are bgzip files.
            content = compress_blocks(content).tobytes() + BGZF_END
        path.write_bytes(content)

    def _head(self, contigs: Sequence[int]) -> bytes:
        """Return what precedes the index of the first of the contigs."""
        columns = b""
        if self._names is not None:
            names = b"".join(self._names[contig].encode() + b"\0" for contig in contigs)
            columns = struct.pack("<7i", *_VCF_COLUMNS, len(names)) + names
        number = struct.pack("<i", len(contigs))
        if self.kind == "csi":
            return b"CSI\1" + struct.pack("<iii", WINDOW_SHIFT, self.depth, len(columns)) + columns + number
        return self.kind.upper().encode() + b"\1" + number + columns

    def _contig(self, chunks: NDArray[np.void], linear: NDArray[np.int64], totals: NDArray[np.void]) -> list[bytes]:
        """Return the index of one contig."""
        numbers, firsts = np.unique(chunks["bin"], return_index=True)
        parts = [struct.pack("<i", len(numbers) + (len(totals) > 0))]
        spans = np.stack([chunks["begin"], chunks["end"]], axis=1).astype("<i8")
        for number, rows in zip(numbers.tolist(), np.split(spans, firsts[1:]), strict=False):
            parts.append(self._bin(number, linear, len(rows)) + rows.tobytes())
        if len(totals):
            # As in htslib, a bin beyond the last holds the contig's extent and its numbers of records.
            extent = totals["begin"][0], totals["end"][-1], totals["mapped"].sum(), totals["unmapped"].sum()
            metadata = first_bin(self.depth + 1) + 1
            parts.append(self._bin(metadata, None, 2) + struct.pack("<4Q", *extent))
        if self.kind != "csi":
            parts.append(struct.pack("<i", len(linear)) + np.ascontiguousarray(linear, "<i8").tobytes())
        return parts

    def _bin(self, number: int, linear: NDArray[np.int64] | None, chunks: int) -> bytes:
        """Return the bytes of a bin that precede its chunks."""
        if self.kind != "csi":
            return struct.pack("<Ii", number, chunks)
        offset = 0
        if linear is not None:
            level = next(n for n in range(self.depth, -1, -1) if number >= first_bin(n))
            window = number - first_bin(level) << 3 * (self.depth - level)
            offset = int(linear[window])
        return struct.pack("<IQi", number, offset, chunks)


def _joined(chunks: NDArray[np.void]) -> NDArray[np.void]:
    """Join consecutive sorted chunks of a bin if the second begins in the block where the first ends."""
    if not len(chunks):
        return chunks
    left, right = chunks[:-1], chunks[1:]
    apart = (left["contig"] != right["contig"]) | (left["bin"] != right["bin"])
    apart |= right["begin"] >> _OFFSET_BITS > left["end"] >> _OFFSET_BITS
    first = np.flatnonzero(np.concatenate([[True], apart]))
    last = np.concatenate([first[1:], [len(chunks)]]) - 1
    joined = chunks[first].copy()
    joined["end"] = chunks["end"][last]
    return joined


def _linear(windows: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the virtual offsets of all windows to the last that has records; an empty one gets the next one's."""
    if not len(windows):
        return np.empty(0, np.int64)
    numbers, first = np.unique(windows["number"], return_index=True)
    linear: NDArray[np.int64] = windows["begin"][first][np.searchsorted(numbers, np.arange(numbers[-1] + 1))]
    return linear
