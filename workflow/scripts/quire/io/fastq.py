"""FASTQ in: one or two files become batches of flat arrays, and whatever is wrong with them becomes one sentence.

Each file is read and decompressed ahead of the consumer in a thread of its own, and stretches of four lines a record
are parsed by others (isal and the kernels release the GIL). From the first stretch on that is not so plain, the text is
parsed in turn by the careful parser, which also words what is wrong. Two files advance in lockstep and their reads must
carry the same names.
"""

import logging
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io import fastq_kernel as kernel
from quire.io.ahead import ahead
from quire.io.files import lacks_bgzip_end, open_input, read_errors

CHUNK_BYTES = 4 << 20
MOST_RECORD_BYTES = 64 << 20  # a record larger than this is no FASTQ record
LONG_LINE = 4096  # bytes; text whose lines are longer on average is no FASTQ of short reads
PARSERS = 2  # threads that parse a file
BATCHES_AHEAD = 2
OTHER_FORMATS = (
    (b"BAM\x01", "a BAM file; give the FASTQ files it was made from, or convert it with `samtools fastq`"),
    (b"CRAM", "a CRAM file; give the FASTQ files it was made from, or convert it with `samtools fastq`"),
    (b">", "a FASTA file; FASTQ with qualities is needed here"),
    (b"BZh", "compressed with bzip2; compress it with gzip or bgzip instead"),
    (b"\xfd7zXZ", "compressed with xz; compress it with gzip or bgzip instead"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; compress it with gzip or bgzip instead"),
    (b"PK\x03\x04", "a zip archive; compress it with gzip or bgzip instead"),
    (b"\x1f\x8b", "compressed twice; decompress it once"),
)
LONGEST_MAGIC = max(len(magic) for magic, _ in OTHER_FORMATS)
log = logging.getLogger("quire.fastq")


@dataclass(frozen=True)
class ReadBatch:
    """Consecutive reads of one file.

    Attributes:
        names: uint8, flat; a name ends at the first white space and has lost a trailing /1 or /2.
        name_offsets: int64[n + 1].
        bases: uint8, flat codes: A 0, C 1, G 2, T and U 3, any other IUPAC letter or '.' 4; lower case as upper case.
        qualities: uint8, flat, phred 0..93; shares `offsets` with `bases`.
        offsets: int64[n + 1].
        first_ordinal: 0-based ordinal of the first read in its file.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    first_ordinal: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, begin: int, end: int) -> "ReadBatch":
        """Reads [begin, end) as a batch of their own, on the same memory."""
        first, last = self.offsets[begin], self.offsets[end]
        first_letter, last_letter = self.name_offsets[begin], self.name_offsets[end]
        return ReadBatch(
            self.names[first_letter:last_letter],
            self.name_offsets[begin : end + 1] - first_letter,
            self.bases[first:last],
            self.qualities[first:last],
            self.offsets[begin : end + 1] - first,
            self.first_ordinal + begin,
        )

    def name(self, i: int) -> str:
        """Name of read `i` of the batch."""
        return self.names[self.name_offsets[i] : self.name_offsets[i + 1]].tobytes().decode("ascii")


@dataclass(frozen=True)
class PairBatch:
    """Reads of the first file and, if there is one, their mates: read `i` of both has the same name."""

    mate1: ReadBatch
    mate2: ReadBatch | None

    def __len__(self) -> int:
        return len(self.mate1)

    def part(self, begin: int, end: int) -> "PairBatch":
        """Reads or pairs [begin, end) as a batch of their own, on the same memory."""
        return PairBatch(self.mate1.part(begin, end), self.mate2 and self.mate2.part(begin, end))


def read_batches(
    fq1: str | Path,
    fq2: str | Path | None,
    reads_per_batch: int,
    maximum_length: int = 1024,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[PairBatch]:
    """Read one FASTQ file, or two in lockstep, in batches of `reads_per_batch` reads (pairs); the last may be smaller.

    Args:
        fq1: FASTQ, plain, gzip or bgzip.
        fq2: the mates, or None for single-end reads.
        reads_per_batch: reads of `fq1` a batch.
        maximum_length: longest read that is accepted, in bases.
        chunk_bytes: text held at a time; more when a record is larger.

    Raises:
        InputError: one sentence naming file, record, what is wrong and what to do.
    """
    if fq2 is not None and os.path.exists(fq1) and os.path.exists(fq2) and os.path.samefile(fq1, fq2):
        raise InputError(f"{fq1}: the same file is given as R1 and as R2; give the file of the mates as R2.")
    first = ahead(lambda: _file_batches(fq1, reads_per_batch, maximum_length, chunk_bytes), BATCHES_AHEAD)
    if fq2 is None:
        try:
            for batch in first:
                yield PairBatch(batch, None)
        finally:
            first.close()
        return
    second = ahead(lambda: _file_batches(fq2, reads_per_batch, maximum_length, chunk_bytes), BATCHES_AHEAD)
    try:
        while True:
            mate1, mate2 = next(first, None), next(second, None)
            _require_mates(fq1, fq2, mate1, mate2)
            if mate1 is None:
                return
            if mate1.first_ordinal == 0:
                _require_different_reads(fq1, fq2, mate1, mate2)
            yield PairBatch(mate1, mate2)
    finally:
        first.close()
        second.close()


def _require_mates(fq1: str | Path, fq2: str | Path, mate1: ReadBatch | None, mate2: ReadBatch | None) -> None:
    """Refuse batches of different size or with different names."""
    counts = [0 if mate is None else len(mate) for mate in (mate1, mate2)]
    if mate1 is not None and mate2 is not None:
        different = kernel.first_difference(
            mate1.names, mate1.name_offsets, mate2.names, mate2.name_offsets, min(counts)
        )
        if different >= 0:
            raise InputError(
                f"{fq2}: record {mate1.first_ordinal + different + 1} is named {mate2.name(different)} but its mate in "
                f"{fq1} is named {mate1.name(different)}; give the two files of one run, in the same order."
            )
    if counts[0] != counts[1]:
        short, longer = (fq1, fq2) if counts[0] < counts[1] else (fq2, fq1)
        held = mate1 if mate1 is not None else mate2
        assert held is not None
        raise InputError(
            f"{short}: ends after record {held.first_ordinal + min(counts)} while {longer} has more reads; "
            "R1 and R2 must hold the same pairs, so copy both files again."
        )


def _require_different_reads(fq1: str | Path, fq2: str | Path, mate1: ReadBatch, mate2: ReadBatch) -> None:
    """Refuse a copy of R1 as R2: the reads of the first batch are the same, letter for letter."""
    same = np.array_equal(mate1.offsets, mate2.offsets) and np.array_equal(mate1.bases, mate2.bases)
    if same and (mate1.bases < 4).any() and np.array_equal(mate1.qualities, mate2.qualities):
        raise InputError(f"{fq2}: holds the same reads as {fq1}; give the file of the mates as R2.")


def _file_batches(path: str | Path, reads_per_batch: int, maximum_length: int, chunk_bytes: int) -> Iterator[ReadBatch]:
    """Batches of one file; at least one read, or an InputError."""
    with read_errors(path), open_input(path) as stream:
        if lacks_bgzip_end(path):
            log.warning("%s: the closing block of bgzip is missing; the file may be truncated.", path)
        text = _Text(path, stream, chunk_bytes)
        first_ordinal = 0
        for batch in _plain_batches(text, reads_per_batch, maximum_length):
            yield batch
            first_ordinal += len(batch)
        while True:  # what is left is not plain, or nothing
            batch = _next_batch(text, first_ordinal, reads_per_batch, maximum_length)
            if len(batch):
                yield batch
            first_ordinal += len(batch)
            if len(batch) < reads_per_batch:
                break
        if first_ordinal == 0:
            raise InputError(f"{path}: holds no reads; an empty FASTQ file cannot be aligned, check how it was made.")


def _plain_batches(text: "_Text", wanted: int, maximum_length: int) -> Iterator[ReadBatch]:
    """Batches as long as records have four lines and nothing is wrong with them; the rest stays in `text`."""
    parsing: deque[tuple[NDArray[np.uint8], Future[ReadBatch | None]]] = deque()
    ordinal = 0
    with ThreadPoolExecutor(PARSERS, "quire-parse") as pool:
        while True:
            while len(parsing) <= PARSERS and (lines := text.take_lines(4 * wanted)) is not None:
                parsing.append((lines, pool.submit(_parse_plain, lines, ordinal, wanted, maximum_length)))
                ordinal += wanted
            if not parsing:
                return
            lines, future = parsing.popleft()
            batch = future.result()
            if batch is None:
                text.put_back([lines, *(later for later, _ in parsing)])
                return
            yield batch
            text.reuse(lines)


def _parse_plain(text: NDArray[np.uint8], ordinal: int, wanted: int, maximum_length: int) -> ReadBatch | None:
    """The records of some lines; None if they are not `wanted` whole records, or something is wrong with one."""
    name_offsets, offsets = np.zeros(wanted + 1, np.int64), np.zeros(wanted + 1, np.int64)
    # Room is only address space until it is written.
    names, bases, qualities = (np.empty(len(text), np.uint8) for _ in range(3))
    status, _, position = kernel.parse(
        text, 0, len(text), False, wanted, maximum_length, 0,
        names, name_offsets, bases, qualities, offsets, np.zeros(2, np.int64),
    )  # fmt: skip
    if status != kernel.DONE or position != len(text):
        return None
    return ReadBatch(names[: name_offsets[-1]], name_offsets, bases[: offsets[-1]], qualities[: offsets[-1]], offsets,
                     ordinal)  # fmt: skip


class _Text:
    """The text of a file, a window at a time: `data[start:end]` is not parsed yet."""

    def __init__(self, path: str | Path, stream: BinaryIO, chunk_bytes: int) -> None:
        self.path = path
        self.stream = stream
        self.chunk_bytes = chunk_bytes
        self.data = np.empty(chunk_bytes + 1, np.uint8)
        self.start = self.end = 0
        self.at_end = False
        self.room_for_letters = self.room_for_bases = 4 * chunk_bytes  # as the batch before needed it
        self._failure: Exception | None = None
        self._unused: list[NDArray[np.uint8]] = []
        self._read_some()
        head = self.data[: min(self.end, LONGEST_MAGIC)].tobytes()
        for magic, what in OTHER_FORMATS:
            if head.startswith(magic):
                raise InputError(f"{path}: this is not FASTQ but {what}.")

    def _read_some(self) -> None:
        """Append a chunk to the window, or at the end of the file a last newline if it is missing."""
        if self._failure is not None:
            raise self._failure
        count = self.stream.readinto(memoryview(self.data)[self.end : self.end + self.chunk_bytes])
        self.at_end = not count
        if self.at_end and self.end > self.start and self.data[self.end - 1] != kernel.NEWLINE:
            self.data[self.end] = kernel.NEWLINE
            count = 1
        self.end += count

    def more(self) -> None:
        """Move the unparsed text to the front, with room for another chunk, and read it."""
        left = self.end - self.start
        target = self.data if left + self.chunk_bytes < len(self.data) else np.empty(2 * len(self.data), np.uint8)
        if self.start > 0 or target is not self.data:
            target[:left] = self.data[self.start : self.end].copy()
        self.data, self.start, self.end = target, 0, left
        self._read_some()

    def take_lines(self, lines: int) -> NDArray[np.uint8] | None:
        """The next `lines` lines, no longer in the window; None if there are fewer, or they are too long for reads.

        What goes wrong while reading is raised when the window needs more text again.
        """
        counted, scanned = 0, 0  # of the window
        while True:
            behind, found = kernel.behind_lines(self.data, self.start + scanned, self.end, lines - counted)
            if behind >= 0:
                break
            counted, scanned = counted + found, self.end - self.start
            if self.at_end or self._failure or scanned > max(MOST_RECORD_BYTES, LONG_LINE * counted):
                return None
            try:
                self.more()
            except Exception as error:  # whatever it is, what was read before it comes first
                self._failure = error
        left = self.end - behind
        target = self._unused.pop() if self._unused else np.empty(0, np.uint8)
        if len(target) < max(len(self.data), left + self.chunk_bytes + 1):
            target = np.empty(max(len(self.data), left + self.chunk_bytes + 1), np.uint8)
        target[:left] = self.data[behind : self.end]
        taken = self.data[self.start : behind]
        self.data, self.start, self.end = target, 0, left
        return taken

    def put_back(self, taken: list[NDArray[np.uint8]]) -> None:
        """Put lines back that were taken, in order."""
        parts = [*taken, self.data[self.start : self.end]]
        size = sum(map(len, parts))
        self.data = np.concatenate([*parts, np.empty(self.chunk_bytes + 1, np.uint8)])
        self.start, self.end = 0, size
        self._unused.clear()

    def reuse(self, taken: NDArray[np.uint8]) -> None:
        """Use the memory of lines that were taken and are needed no longer."""
        self._unused.append(taken.base)


def _next_batch(text: _Text, first_ordinal: int, wanted: int, maximum_length: int) -> ReadBatch:
    """Parse up to `wanted` records."""
    name_offsets, offsets = np.zeros(wanted + 1, np.int64), np.zeros(wanted + 1, np.int64)
    # Room is only address space until it is written; it grows by copying when that of earlier batches does not suffice.
    names = np.empty(text.room_for_letters, np.uint8)
    bases, qualities = np.empty(text.room_for_bases, np.uint8), np.empty(text.room_for_bases, np.uint8)
    detail = np.zeros(2, np.int64)
    count = 0
    while True:
        room = text.end - text.start
        names = _with_room(names, name_offsets[count] + room)
        bases, qualities = _with_room(bases, offsets[count] + room), _with_room(qualities, offsets[count] + room)
        status, count, text.start = kernel.parse(
            text.data, text.start, text.end, text.at_end, wanted, maximum_length, count,
            names, name_offsets, bases, qualities, offsets, detail,
        )  # fmt: skip
        if status == kernel.MORE and not text.at_end and text.end - text.start < MOST_RECORD_BYTES:
            text.more()
        elif status in (kernel.DONE, kernel.END):
            break
        else:
            raise InputError(_sentence(status, text, first_ordinal + count + 1, detail, maximum_length))
    name_total, total = name_offsets[count], offsets[count]
    text.room_for_letters, text.room_for_bases = len(names), len(bases)
    return ReadBatch(
        names[:name_total],
        name_offsets[: count + 1],
        bases[:total],
        qualities[:total],
        offsets[: count + 1],
        first_ordinal,
    )


def _with_room(array: NDArray[np.uint8], needed: int) -> NDArray[np.uint8]:
    if needed <= len(array):
        return array
    larger = np.empty(2 * needed, np.uint8)
    larger[: len(array)] = array
    return larger


def _sentence(status: int, text: _Text, record: int, detail: NDArray[np.int64], maximum_length: int) -> str:
    """What a user reads about a record that the kernel refused."""
    line = text.data[text.start : min(text.end, text.start + 300)].tobytes().split(b"\n")[0].decode("ascii", "replace")
    words = line[1:].split()
    name = words[0] if words else ""
    here = f"{text.path}: record {record}" + (f" ({name})" if status not in (kernel.NOT_AT, kernel.NO_NAME) else "")
    repair = "repair the file or copy it again."
    first, second = int(detail[0]), int(detail[1])
    return {
        kernel.MORE: f"{here} does not end within {MOST_RECORD_BYTES >> 20} MiB; this is no FASTQ file of short reads.",
        kernel.NOT_AT: f"{here} starts with {line[:40]!r} where a title line with '@' should stand; {repair}",
        kernel.TRUNCATED: f"{here} is incomplete at the end of the file (truncated file); copy it again.",
        kernel.NO_NAME: f"{here} has no name behind its '@'; {repair}",
        kernel.LONG_NAME: f"{here} has a name longer than the {kernel.LONGEST_NAME} characters that BAM allows; "
        "shorten the names.",
        kernel.BAD_NAME: f"{here} has a character in its name that SAM does not allow; {repair}",
        kernel.NO_PLUS: f"{here} has no line starting with '+' behind its sequence; {repair}",
        kernel.BAD_BASE: f"{here} has {_character(first)} in its sequence, which is no base; {repair}",
        kernel.TOO_LONG: f"{here} is {first} bases long, and the longest read accepted is {maximum_length}; "
        "remove longer reads, this workflow is for short reads.",
        kernel.OTHER_NAME: f"{here} has another name on its '+' line; {repair}",
        kernel.BAD_QUALITY: f"{here} has {_character(first)} among its qualities, which must be '!' to '~'; {repair}",
        kernel.QUALITY_COUNT: f"{here} has {first} bases but {second} qualities; {repair}",
    }[status]


def _character(code: int) -> str:
    names = {0: "a NUL byte", 9: "a tab", 32: "a space"}
    return names.get(code, repr(chr(code)) if 32 < code < 127 else f"the byte 0x{code:02x}")
