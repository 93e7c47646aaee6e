"""The reads of one FASTQ file in batches.

While records have four lines, several threads parse stretches of text while another one reads (kernels release the
interpreter's lock). From the first stretch with another record on, the careful parser reads the text sequentially and
reports errors.
"""

import logging
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import BufferedIOBase, RawIOBase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import quire.io.fastq.parser as parser
from quire.errors import InputError
from quire.io.bgzf_text import BgzfText
from quire.io.fastq.text import MOST_RECORD_BYTES, TextWindow
from quire.io.files import lacks_bgzip_end, open_input, read_errors
from quire.io.gzip_text import GzipText
from quire.io.sniff import is_bgzip, is_gzip
from quire.reads import ReadBatch

CHUNK_BYTES = 4 << 20
CHECKED_BEYOND = 1 << 28  # bytes of text after a wrong record that are searched for damage
PARSERS = 2  # threads that parse a file
LINES_PER_RECORD = 4
log = logging.getLogger("quire.fastq")


def file_batches(path: str | Path, reads_per_batch: int, maximum_length: int, chunk_bytes: int) -> Iterator[ReadBatch]:
    """Yield batches of `reads_per_batch` reads; the last may be smaller.

    Args:
        path: FASTQ, plain, gzip or bgzip.
        reads_per_batch: reads in a batch.
        maximum_length: longest read that is accepted, in bases.
        chunk_bytes: bytes of text in memory at a time; more for larger records.

    Raises:
        InputError: a record is wrong, or the file has no reads.
    """
    with read_errors(path), _open_text(path) as stream:
        if lacks_bgzip_end(path):
            log.warning("%s: the closing block of bgzip is missing; the file may be truncated.", path)
        text = TextWindow(path, stream, chunk_bytes)
        try:
            yield from _batches(path, text, reads_per_batch, maximum_length)
        except InputError:
            # A damaged gzip file yields wrong records before its checksum is read.
            if is_gzip(path):
                text.raise_damage(CHECKED_BEYOND)
            raise


def _batches(path: str | Path, text: TextWindow, reads_per_batch: int, maximum_length: int) -> Iterator[ReadBatch]:
    """Yield the batches of a text; raise as `file_batches` does."""
    first_ordinal = 0
    for batch in _plain_batches(text, reads_per_batch, maximum_length):
        yield batch
        first_ordinal += len(batch)
    for batch in _careful_batches(text, first_ordinal, reads_per_batch, maximum_length):
        yield batch
        first_ordinal += len(batch)
    if first_ordinal == 0:
        raise InputError(f"{path}: holds no reads; an empty FASTQ file cannot be aligned, check how it was made.")


def _open_text(path: str | Path) -> BufferedIOBase | RawIOBase:
    """Open the file's text; several threads inflate bgzip, and one inflates plain gzip."""
    stream = open_input(path)
    if is_bgzip(path):
        stream.close()
        return BgzfText(path)
    if is_gzip(path):
        stream.close()
        return GzipText(path)
    return stream


def _plain_batches(text: TextWindow, wanted: int, maximum_length: int) -> Iterator[ReadBatch]:
    """Yield batches while records have four lines and no errors; the rest stays in `text`."""
    parsing: deque[tuple[NDArray[np.uint8], Future[ReadBatch | None]]] = deque()
    ordinal = 0
    with ThreadPoolExecutor(PARSERS, "quire-parse") as pool:
        while True:
            while len(parsing) <= PARSERS and (lines := text.take_lines(LINES_PER_RECORD * wanted)) is not None:
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
    """Parse lines; return None unless they are `wanted` whole and correct records."""
    reads = _empty_reads(wanted, len(text), len(text))
    status, _, position = parser.parse(text, 0, len(text), False, maximum_length, 0, reads)
    return _batch(reads, wanted, ordinal) if status == parser.DONE and position == len(text) else None


def _careful_batches(text: TextWindow, first_ordinal: int, wanted: int, maximum_length: int) -> Iterator[ReadBatch]:
    """Yield batches of the rest of the text, parsed record by record."""
    room_for_letters = room_for_bases = 4 * text.chunk_bytes
    while True:
        reads = _empty_reads(wanted, room_for_letters, room_for_bases)
        count, status = 0, parser.MORE
        while status == parser.MORE:
            reads = _with_room(reads, count, text.end - text.start)
            status, count, text.start = parser.parse(
                text.data, text.start, text.end, text.at_end, maximum_length, count, reads
            )
            if status == parser.MORE and not text.at_end and text.end - text.start < MOST_RECORD_BYTES:
                text.more()
            elif status not in (parser.DONE, parser.END):
                raise InputError(_sentence(status, text, first_ordinal + count + 1, reads.detail, maximum_length))
        room_for_letters, room_for_bases = len(reads.names), len(reads.bases)
        if count:
            yield _batch(reads, count, first_ordinal)
        first_ordinal += count
        if count < wanted:
            return


def _empty_reads(wanted: int, letters: int, bases: int) -> parser.ParsedReads:
    """Return arrays for `wanted` reads; unwritten pages of the flat arrays take no memory."""
    return parser.ParsedReads(
        names=np.empty(letters, np.uint8),
        name_offsets=np.zeros(wanted + 1, np.int64),
        bases=np.empty(bases, np.uint8),
        qualities=np.empty(bases, np.uint8),
        offsets=np.zeros(wanted + 1, np.int64),
        detail=np.zeros(2, np.int64),
    )


def _with_room(reads: parser.ParsedReads, count: int, more: int) -> parser.ParsedReads:
    """Return the arrays with room for `more` bytes after the first `count` reads; copy arrays that are too short."""

    def larger(array: NDArray[np.uint8], used: int) -> NDArray[np.uint8]:
        if used + more <= len(array):
            return array
        longer = np.empty(2 * (used + more), np.uint8)
        longer[:used] = array[:used]
        return longer

    letters, bases = int(reads.name_offsets[count]), int(reads.offsets[count])
    return reads._replace(
        names=larger(reads.names, letters), bases=larger(reads.bases, bases), qualities=larger(reads.qualities, bases)
    )


def _batch(reads: parser.ParsedReads, count: int, ordinal: int) -> ReadBatch:
    """Return the first `count` reads."""
    letters, bases = reads.name_offsets[count], reads.offsets[count]
    return ReadBatch(
        reads.names[:letters],
        reads.name_offsets[: count + 1],
        reads.bases[:bases],
        reads.qualities[:bases],
        reads.offsets[: count + 1],
        ordinal,
    )


def _sentence(status: int, text: TextWindow, record: int, detail: NDArray[np.int64], maximum_length: int) -> str:
    """Return the error message for a record that the kernel refused."""
    line = text.data[text.start : min(text.end, text.start + 300)].tobytes().split(b"\n")[0].decode("ascii", "replace")
    words = line[1:].split()
    name = words[0] if words else ""
    here = f"{text.path}: record {record}" + (f" ({name})" if status not in (parser.NOT_AT, parser.NO_NAME) else "")
    repair = "repair the file or copy it again."
    first, second = int(detail[0]), int(detail[1])
    return {
        parser.MORE: f"{here} does not end within {MOST_RECORD_BYTES >> 20} MiB; this is not a FASTQ file of short "
        "reads.",
        parser.NOT_AT: f"{here} starts with {line[:40]!r} instead of a title line with '@'; {repair}",
        parser.TRUNCATED: f"{here} is incomplete at the end of the file (truncated file); copy it again.",
        parser.NO_NAME: f"{here} has no name after its '@'; {repair}",
        parser.LONG_NAME: f"{here} has a name longer than the {parser.LONGEST_NAME} characters that BAM allows; "
        "shorten the names.",
        parser.BAD_NAME: f"{here} has a character in its name that SAM does not allow; {repair}",
        parser.NO_PLUS: f"{here} has no line starting with '+' after its sequence; {repair}",
        parser.BAD_BASE: f"{here} has {_character(first)} in its sequence, which is not a base; {repair}",
        parser.TOO_LONG: f"{here} is {first} bases long, and the longest read accepted is {maximum_length}; "
        "remove longer reads, this workflow is for short reads.",
        parser.OTHER_NAME: f"{here} has another name on its '+' line; {repair}",
        parser.BAD_QUALITY: f"{here} has {_character(first)} among its qualities, which must be '!' to '~'; {repair}",
        parser.QUALITY_COUNT: f"{here} has {first} bases but {second} qualities; {repair}",
    }[status]


def _character(code: int) -> str:
    names = {0: "a NUL byte", 9: "a tab", 32: "a space"}
    return names.get(code, repr(chr(code)) if 32 < code < 127 else f"the byte 0x{code:02x}")
