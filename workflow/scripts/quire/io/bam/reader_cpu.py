"""Reading of the BAM records that overlap a span, as bytes, by any number of threads in parallel.

ISA-L inflates the blocks and a kernel selects the records, both without the interpreter's lock. The result is the
records of `samtools view` for the span, in the same order.
"""

import os
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bai import WINDOW_SHIFT
from quire.io.bam.bounds_cpu import fault_of_fields, int32_at
from quire.io.bam.decode_cpu import uint32_at
from quire.io.bam.index import open_index
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS, OPERATION_BYTES, SIZE_BYTES
from quire.io.files import lacks_bgzip_end
from quire.io.inflate_cpu import DamagedBlock, inflate_blocks
from quire.sam import CIGAR_MASK, CIGAR_SHIFT, CONSUMES_REFERENCE, FLAG_UNMAPPED
from quire.simd.compiled import compiled, inlined

SPAN_OF_INDEX = 1 << WINDOW_SHIFT  # bases; the resolution of an index
FIRST_READ, MOST_READ = 1 << 18, 1 << 23  # compressed bytes read at a time
MOST_INFLATED = 1 << 26  # approximate bytes inflated at a time
FIRST_BEYOND = 1 << 16  # compressed bytes read beyond the estimate; doubled with each read
_CONTIG, _POSITION, _NAME_BYTES, _OPERATIONS, _FLAG = (
    FIXED_FIELDS.fields[name][1]  # type: ignore[index]
    for name in ("contig", "position", "name_bytes", "operations", "flag")
)  # offsets in a record
_NO_RECORD = -1  # returned instead of the number of runs


class BamReader:
    """Reader of a coordinate-sorted and indexed BAM file for several threads, which is closed when it is dropped."""

    def __init__(self, path: str | Path, contigs: int | None = None) -> None:
        """Open the file and its index, which must have the `contigs` of the file's header, if given."""
        # Raises InputError if the file, its index or its closing block is missing. Without the check for the closing
        # block, a file truncated after a block would be read as complete.
        self.path = Path(path)
        self._index = open_index(self.path)
        if contigs not in (None, len(self._index)):
            raise InputError(
                f"{path}: has {contigs} contigs and its index {len(self._index)}; run samtools index on it again."
            )
        self._most = FIRST_READ
        try:
            self._file = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); check the path and its permissions."
            ) from None
        weakref.finalize(self, os.close, self._file)
        if lacks_bgzip_end(path):
            raise InputError(f"{path}: lacks the empty block that closes it; it is truncated, copy it again.")

    def records(self, contig: int, start: int, end: int) -> NDArray[np.uint8]:
        """Return the records (uint8[]) that overlap a span, end to end in the order of the file.

        `start` is 0-based, and `end` the position after the last.
        """
        first = self._index.first_offset(contig, start)
        if first is None:
            return np.empty(0, np.uint8)
        place, skip = first >> 16, first & 0xFFFF
        found: list[NDArray[np.uint8]] = []
        text = np.empty(0, np.uint8)  # inflated, begins with a record
        expected, beyond = max(place, self._expected_end(contig, end)), FIRST_BEYOND
        while True:
            if place > expected:
                beyond *= 2
            content = self._read(place, min(max(expected - place, 0) + beyond, self._most))
            left = len(text)
            text, taken = self._inflate(content, place, text)
            if taken == 0:
                if len(content) or left:
                    raise InputError(f"{self.path}: ends in the middle of a record; it is truncated, copy it again.")
                if place == first >> 16:
                    raise self._no_record()
                break
            if skip > len(text):
                raise self._no_record()
            place += taken
            # Similar records compress well, so this read's compression ratio determines the size of the next.
            self._most = min(MOST_READ, max(FIRST_BEYOND, MOST_INFLATED * taken // max(len(text) - left, 1)))
            text, skip = text[skip:], 0
            runs = np.empty((len(text) // FIXED_BYTES + 1, 2), np.int64)
            at, count, done = _choose(text, contig, start, end, len(self._index), runs)
            if count == _NO_RECORD:
                raise self._no_record()
            if count:
                found.append(text[_close_up(text, runs[:count]) : runs[count - 1, 1]])
            if done:
                break
            text = text[at:]
        if not found:
            return np.empty(0, np.uint8)
        return found[0] if len(found) == 1 else _joined(found)

    def _no_record(self) -> InputError:
        """Return the error for a place where the index or the previous record wrongly promises a record."""
        return InputError(
            f"{self.path}: no record begins where one should; it is damaged, or the index belongs to another file; "
            "run samtools index again, or copy the file again."
        )

    def _expected_end(self, contig: int, end: int) -> int:
        """Estimate from the index the byte where records at a position begin in the file; 0 if unknown."""
        # The index resolves SPAN_OF_INDEX bases, in which records are assumed to be evenly distributed.
        before = self._index.first_offset(contig, end)
        if before is None:
            return 0
        after = self._index.first_offset(contig, end + SPAN_OF_INDEX)
        between = 0 if after is None else (after >> 16) - (before >> 16)
        return (before >> 16) + between * (end % SPAN_OF_INDEX) // SPAN_OF_INDEX

    def bytes_over(self, contig: int, start: int, end: int, length: int) -> int:
        """Estimate from the index the compressed bytes of a span's records; too high for spans below 16 kb.

        `start` is 0-based, and `end` the position after the last; `length` is the contig's.
        """
        first = self._index.first_offset(contig, start)
        if first is None:
            return 0
        after = end + SPAN_OF_INDEX
        last = self._index.first_offset(contig, after) if after < length else None
        while last is None and (contig := contig + 1) < len(self._index):
            last = self._index.first_offset(contig, 0)
        return (self.path.stat().st_size if last is None else last >> 16) - (first >> 16)

    def compressed_bytes(self, contig: int, start: int, end: int) -> int | None:
        """Estimate the compressed bytes of a span's records; None if the index has no later offset on the contig."""
        first, last = self._index.first_offset(contig, start), self._index.first_offset(contig, end)
        if first is None:
            return 0
        return None if last is None else (last >> 16) - (first >> 16)

    def _read(self, place: int, size: int) -> NDArray[np.uint8]:
        """Return up to `size` bytes of the file."""
        try:
            content = np.empty(size, np.uint8)
            return content[: os.preadv(self._file, [content.data], place)]
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror}); check the disk.") from None

    def _inflate(
        self, content: NDArray[np.uint8], place: int, before: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], int]:
        try:
            return inflate_blocks(content, before)
        except DamagedBlock as error:
            raise InputError(
                f"{self.path}: the block at byte {place + error.offset} is damaged, or the index belongs to another "
                "file; run samtools index again, or copy the file again."
            ) from None


def _joined(parts: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Concatenate parts, releasing each as soon as it is copied."""
    whole = np.empty(sum(map(len, parts)), np.uint8)
    parts.reverse()
    at = 0
    while parts:
        part = parts.pop()
        whole[at : at + len(part)] = part
        at += len(part)
    return whole


@compiled
def _choose(text, contig, start, end, contigs, runs):
    """Find runs of consecutive records that overlap the span."""
    # Fill `runs` (int64[n, 2]) with begin and end of each run in `text`. Return the first byte not examined, the number
    # of runs, and True at the end of the span. The number is _NO_RECORD if bytes are not a record on a known contig.
    at, count = 0, 0
    while at + FIXED_BYTES <= len(text):
        size = int32_at(text, at) + SIZE_BYTES
        reference, position = int32_at(text, at + _CONTIG), int32_at(text, at + _POSITION)
        # With an index of another file, reading may begin inside a record, and its size may seem to be up to 2 GB.
        if fault_of_fields(text, at, contigs):
            return at, _NO_RECORD, False
        if reference > contig or reference < 0 or (reference == contig and position >= end):
            return at, count, True
        if at + size > len(text):
            break
        # An offset of the index may be in the previous contig.
        if reference == contig and _record_end(text, at, position) > start:
            if count and runs[count - 1, 1] == at:
                runs[count - 1, 1] = at + size
            else:
                runs[count, 0], runs[count, 1] = at, at + size
                count += 1
        at += size
    return at, count, False


@compiled
def _close_up(text, runs):
    """Move runs (of `_choose`) in place to directly before the last one; return where the first begins."""
    # Only records that begin before the span may not overlap it. Gaps are therefore before the span, and the last run
    # is the longest.
    at = runs[-1, 0]
    for run in range(len(runs) - 2, -1, -1):
        first, last = runs[run, 0], runs[run, 1]
        for k in range(1, last - first + 1):  # from the end, since a run may overlap its new place
            text[at - k] = text[last - k]
        at -= last - first
    return at


@inlined
def _record_end(text, at, position):
    """Return where the alignment ends; as in htslib, a record without aligned bases counts as one base long."""
    name_length = np.int64(text[at + _NAME_BYTES])
    operations = np.int64(text[at + _OPERATIONS]) | np.int64(text[at + _OPERATIONS + 1]) << 8
    unmapped = text[at + _FLAG] & FLAG_UNMAPPED
    length = np.int64(0)
    for i in range(operations):
        element = np.int64(uint32_at(text, at + FIXED_BYTES + name_length + OPERATION_BYTES * i))
        if CONSUMES_REFERENCE >> (element & CIGAR_MASK) & 1:
            length += element >> CIGAR_SHIFT
    return position + (1 if length == 0 or unmapped else length)
