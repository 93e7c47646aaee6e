"""Reading of indexes, BAI, CSI and TBI (SAM specification, section 5): where the records of a span begin in the file.

A reader starts at the first record that may overlap the span and continues in the order of the file. Only the offsets
of first records are used: the linear index of BAI and TBI, or the offsets of CSI's bins. Where parts of an index
disagree, the earliest offset counts, so that a lost part costs time and no records.

htslib crashes on damaged indexes, so files are opened with it only after `open_index`, or without their index.
"""

import gzip
import os
import re
import struct
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bai import BAI_DEPTH, WINDOW_SHIFT, first_bin
from quire.io.files import DAMAGE, open_input, read_errors

_MOST_LEVELS, _HIGHEST_SHIFT = 10, 31  # of CSI: numbers of bins have 32 bits
_CRAM_HEADER, _CRAM_END, _CRAM_2_END = 26, 38, 30  # place of the first container; sizes of the last one
_LARGEST_HEADER = 61  # bytes of a container's header besides the places of its slices
_CRAI_LINE = re.compile(rb"(-?\d{1,18}\t){3}\d{1,18}\t\d{1,18}\t\d{1,18}")
_MANY_CONTIGS = -2  # as the contig of a container
_FEWEST_COLUMNS = 8  # of a record of a VCF
_TABIX_FORMATS = (2, 1, 2), (0, 1, 4)  # of VCF and GFF3: format, columns of contig and start


class LinearIndex:
    """The linear indexes of a BAI or TBI file.

    Attributes:
        offsets: by contig, uint64[windows], a virtual offset before the records that overlap each window; 0 for none.
    """

    def __init__(self, offsets: list[NDArray[np.uint64]]) -> None:
        self.offsets = offsets

    def __len__(self) -> int:
        """Return the number of contigs."""
        return len(self.offsets)

    def first_offset(self, contig: int, start: int) -> int | None:
        """Return a virtual offset before all records that end after `start`; None if the contig has no such record."""
        windows = self.offsets[contig] if contig < len(self.offsets) else np.empty(0, np.uint64)
        window = start >> WINDOW_SHIFT
        return int(windows[window]) or None if window < len(windows) else None

    def last_offset(self) -> int:
        """Return the largest virtual offset, 0 without records; few records follow it."""
        return max((int(windows[-1]) for windows in self.offsets if len(windows)), default=0)


class BinIndex:
    """The bins of a CSI file.

    Attributes:
        shift, depth: parameters of the bins (min_shift and depth of the specification).
        bins: by contig, a map from bin to the virtual offset of the first record that overlaps it.
    """

    def __init__(self, shift: int, depth: int, bins: list[dict[int, int]]) -> None:
        self.shift, self.depth, self.bins = shift, depth, bins

    def __len__(self) -> int:
        """See `LinearIndex`."""
        return len(self.bins)

    def first_offset(self, contig: int, start: int) -> int | None:
        """See `LinearIndex`."""
        bins = self.bins[contig] if contig < len(self.bins) else {}
        if not bins:
            return None
        # As in htslib: from the smallest bin at the position to its left neighbours, then to their parents. The offset
        # of the first existing bin is before every record that overlaps the position.
        number = first_bin(self.depth) + (start >> self.shift)
        while number and number not in bins:
            first_sibling = (self._parent(number) << 3) + 1
            number = number - 1 if number > first_sibling else self._parent(number)
        return bins.get(number, min(bins.values()))

    def last_offset(self) -> int:
        """See `LinearIndex`."""
        return max((max(bins.values()) for bins in self.bins if bins), default=0)

    @staticmethod
    def _parent(number: int) -> int:
        return (number - 1) >> 3


def find_index(path: str | Path, kind: str) -> Path | None:
    """Return the first that exists of x.bam.csi, x.csi, x.bam.KIND and x.KIND; `kind` is "bai", "crai" or "tbi"."""
    names = (name for suffix in ("csi", kind) for name in (f"{path}.{suffix}", Path(path).with_suffix(f".{suffix}")))
    return next((Path(name) for name in names if os.path.exists(name)), None)


def open_index(path: str | Path, kind: str = "bai") -> LinearIndex | BinIndex:
    """Read the index (see `find_index`) of a BAM file, or of a VCF file with `kind` "tbi"; InputError without one."""
    command = "samtools index" if kind == "bai" else "bcftools index --tbi"
    found = find_index(path, kind)
    if found is None:
        raise InputError(f"{path}: has no index beside it; run {command} on it.")
    with read_errors(found), open_input(found) as stream:
        data = stream.read()
    try:
        return _parsed(data)
    except (struct.error, ValueError):
        raise InputError(
            f"{found}: is not a whole {kind.upper()} or CSI index; run {command} on {path} again."
        ) from None


def require_whole_lines(path: str | Path, index: LinearIndex | BinIndex) -> None:
    """Refuse a bgzip VCF whose last lines lack columns: indexing leaves out a line that was cut before its position."""
    last, text = index.last_offset(), b""
    if last >> 16 > os.path.getsize(path):
        raise InputError(f"{path}: its index points beyond its end; run bcftools index --tbi on it again.")
    with open(path, "rb") as stream, suppress(EOFError, *DAMAGE):  # the readers of records refuse damage
        stream.seek(last >> 16)
        text = gzip.decompress(stream.read())
    for line in text[last & 0xFFFF :].split(b"\n"):
        if line and not line.startswith(b"#") and line.count(b"\t") < _FEWEST_COLUMNS - 1:
            raise InputError(
                f"{path}: has a line with fewer than {_FEWEST_COLUMNS} columns at its end ({line[:40]!r}), "
                "as a file that was cut has; copy or make it again."
            )


def read_crai(cram: str | Path) -> NDArray[np.int64]:
    """Return contig, first position (1-based), bases and container's place of each slice, int64[slices, 4].

    They are sorted by contig, then by place. A CRAI that is damaged or lacks a slice is refused, since samtools would
    leave out its records without a word.
    """
    found = find_index(cram, "crai") or Path(f"{cram}.crai")
    with read_errors(found), open_input(found) as stream:
        lines = stream.read().splitlines()
    with open(cram, "rb") as stream:
        start = stream.read(_CRAM_HEADER + 4)
    rows = [tuple(map(int, line.split(b"\t"))) for line in lines if _CRAI_LINE.fullmatch(line)]
    slices = sorted({row[3:] for row in rows})
    counts = Counter(container for container, *_ in slices)
    end = os.path.getsize(cram) - (_CRAM_END if start[4] > 2 else _CRAM_2_END)
    places = [(_CRAM_HEADER, 0, *struct.unpack_from("<i", start, _CRAM_HEADER)), *slices, (end, 0, 0)]
    whole = len(rows) == len(lines)
    # A container has a header and slices; the next one follows the last slice (CRAM specification, sections 7 and 12).
    for (container, offset, size), (following, its_offset, _) in pairwise(places):
        if container == following:
            whole &= its_offset == offset + size
        else:
            whole &= 0 < following - container - offset - size <= _LARGEST_HEADER + 5 * counts[container]
    if not whole:
        raise InputError(f"{found}: is not a whole CRAI index of this file; run samtools index on {cram} again.")
    return np.array(sorted((contig, *row, place) for contig, *row, place, _, _ in rows), np.int64).reshape(-1, 4)


def require_containers(cram: str | Path, slices: NDArray[np.int64], contigs: range, start: int, end: int) -> None:
    """Refuse a CRAM if a container of [start, end) of `contigs` contradicts its slices from `read_crai`.

    htslib (`cram_next_slice`) ends a region at a container of another contig or after the region, and leaves out one
    before the region, without a word.
    """
    first, last = np.searchsorted(slices[:, 0], [contigs.start, contigs.stop])
    rows = slices[first:last]
    overlaps = (rows[:, 1] <= end) & (rows[:, 1] + np.maximum(rows[:, 2], 1) > start + 1)
    read = np.maximum.accumulate(overlaps) & np.maximum.accumulate(overlaps[::-1])[::-1]  # and those between
    rows, overlaps = rows[read], overlaps[read]
    with open(cram, "rb") as stream:
        places = set(rows[:, 3].tolist())
        headers = {place: _container_header(os.pread(stream.fileno(), _LARGEST_HEADER, place)) for place in places}
    for (contig, *_, place), overlapping in zip(rows.tolist(), overlaps.tolist(), strict=True):
        number, position, bases = headers[place]
        in_span = position <= end and (position + bases > start + 1 or not overlapping)
        if number != _MANY_CONTIGS and not (number == contig and in_span):
            raise InputError(
                f"{cram}: its container at byte {place} states other positions than its index; "
                "run samtools index on it, and make it again if that does not help."
            )


def _container_header(data: bytes) -> list[int]:
    """Return contig, first position and bases of a container, in ITF8 (CRAM specification, sections 2.3 and 7)."""
    numbers, at = [], 4  # after the length
    for _ in range(3):
        more = min(8 - (data[at] ^ 0xFF).bit_length(), 4)  # bytes: as many as there are leading ones
        value = int.from_bytes(data[at : at + more + 1], "big")
        # The fifth byte has four bits.
        value = value & (1 << 7 * more + 7) - 1 if more < 4 else value >> 4 & ~0xF | value & 0xF
        numbers.append((value & 0xFFFFFFFF ^ 1 << 31) - (1 << 31))
        at += more + 1
    return numbers


def _parsed(data: bytes) -> LinearIndex | BinIndex:
    """Return the index in `data`; raise ValueError or struct.error if it is cut or has impossible numbers."""
    shift, depth, at, magic = WINDOW_SHIFT, BAI_DEPTH, 8, data[:4]
    if magic == b"CSI\1":
        shift, depth, extra = struct.unpack_from("<III", data, 4)
        at = 20 + extra
    elif magic == b"TBI\1":
        at = 36 + struct.unpack_from("<I", data, 32)[0]
    if magic not in (b"BAI\1", b"CSI\1", b"TBI\1") or depth > _MOST_LEVELS or shift > _HIGHEST_SHIFT:
        raise ValueError(magic)
    (contigs,) = struct.unpack_from("<I", data, 4 if magic == b"TBI\1" else at - 4)
    if magic == b"TBI\1" and len(set(data[36:at].split(b"\0"))) != contigs + 1:
        raise ValueError("names of contigs")
    if magic == b"TBI\1" and struct.unpack_from("<III", data, 8) not in _TABIX_FORMATS:
        raise ValueError("columns")
    entry = struct.Struct("<IIQ" if magic != b"CSI\1" else "<IQIQ")  # up to the beginning of the first chunk
    metadata = first_bin(depth + 1) + 1
    all_bins: list[dict[int, int]] = []
    linear = []
    for _ in range(contigs):
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        bins: dict[int, int] = {}
        for _ in range(count):
            number, *offset, chunks, begin = entry.unpack_from(data, at)
            at += entry.size - 8 + 16 * chunks
            if number in bins or (number >= metadata - 1 and (number, chunks) != (metadata, 2)):
                raise ValueError(number)
            bins[number] = min(begin, offset[0] or begin) if offset else begin
        start, first = bins.pop(metadata, None), min(bins.values(), default=0)
        if (start is not None and start < first) or (bins and not first and magic != b"TBI\1"):  # a header is first
            raise ValueError("no bin has the contig's first record")
        all_bins.append(bins)
        if magic != b"CSI\1":
            (count,) = struct.unpack_from("<I", data, at)
            if bins and not count:
                raise ValueError("no window has the contig's records")
            linear.append(_offsets_of(np.frombuffer(data, np.dtype("<u8"), count, at + 4), first))
            at += 4 + 8 * count
    if len(data) - at not in (0, 8):  # the number of records without a position is optional
        raise ValueError(at)
    return BinIndex(shift, depth, all_bins) if magic == b"CSI\1" else LinearIndex(linear)


def _offsets_of(windows: NDArray[np.uint64], first: int) -> NDArray[np.uint64]:
    """Return the offsets of windows, with that of the window before for 0; `first` is the contig's first offset."""
    offsets = np.maximum.accumulate(np.maximum(windows, np.uint64(first)))
    if not np.array_equal(np.where(windows, windows, offsets), offsets):
        raise ValueError("offsets are not in order")
    return offsets
