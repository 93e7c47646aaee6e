"""The reads of one FASTQ file in batches."""

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import quire.io.fastq.parser_cpu as parser
from quire.errors import InputError
from quire.io import sniff
from quire.io.files import lacks_bgzip_end, read_errors
from quire.io.text_chunks import text_chunks
from quire.reads import ReadBatch

CHUNK_BYTES = 4 << 20
CHECKED_BEYOND = 1 << 28  # bytes of text after a wrong record that are searched for damage
MOST_RECORD_BYTES = 64 << 20  # no FASTQ record is larger
log = logging.getLogger("quire.fastq")


def file_batches(
    path: str | Path, reads_per_batch: int, maximum_length: int, chunk_bytes: int, gzip_threads: int = 1
) -> Iterator[ReadBatch]:
    """Yield batches of `reads_per_batch` reads of a FASTQ; the last may be smaller. InputError for a wrong record."""
    with read_errors(path), closing(text_chunks(path, chunk_bytes, gzip_threads)) as chunks:
        text = _Text(path, chunks)
        if lacks_bgzip_end(path):
            log.warning("%s: the closing block of bgzip is missing; the file may be truncated.", path)
        try:
            yield from _batches(text, reads_per_batch, maximum_length, 4 * chunk_bytes)
        except InputError:
            # A damaged gzip file yields wrong records before its checksum is read.
            if sniff.is_gzip(path):
                checked = 0
                while checked < CHECKED_BEYOND and (chunk := next(chunks, None)) is not None:
                    checked += len(chunk)
            raise


class _Text:
    """The unparsed text of a file, as far as it was read.

    Attributes:
        data: uint8[], text that begins with a record.
        at_end: True if nothing follows `data` in the file; it then ends with a newline.

    Raises:
        InputError: the text begins like another format.
    """

    def __init__(self, path: str | Path, chunks: Iterator[NDArray[np.uint8]]) -> None:
        self.path = path
        self._chunks = chunks
        self.data = np.empty(0, np.uint8)
        self.at_end = False
        while len(self.data) < sniff.LONGEST_MAGIC and not self.at_end:
            self.more()
        head = self.data[: sniff.LONGEST_MAGIC].tobytes()
        if head.startswith(sniff.GZIP_MAGIC):
            raise InputError(f"{path}: this is not FASTQ but compressed twice; decompress it once.")
        other = sniff.file_type(head)
        if other is not None:
            raise InputError(f"{path}: this is not FASTQ but {other.description}; {other.remedy}.")

    def more(self) -> None:
        """Append a chunk; at the end of the file, append a missing last newline."""
        chunk = next(self._chunks, None)
        if chunk is None:
            self.at_end = True
            complete = len(self.data) == 0 or self.data[-1] == parser.NEWLINE
            chunk = np.full(0 if complete else 1, parser.NEWLINE, np.uint8)
        self.data = np.concatenate([self.data, chunk]) if len(self.data) else chunk


def _batches(text: _Text, wanted: int, maximum_length: int, room: int) -> Iterator[ReadBatch]:
    """Yield the batches of a text; `room` is the first size of a batch's flat arrays. See `file_batches`."""
    ordinal, count = 0, wanted
    while count == wanted:
        reads = parser.ParsedReads(  # unwritten pages of the flat arrays take no memory
            names=np.empty(room, np.uint8),
            name_offsets=np.zeros(wanted + 1, np.int64),
            bases=np.empty(room, np.uint8),
            qualities=np.empty(room, np.uint8),
            offsets=np.zeros(wanted + 1, np.int64),
            detail=np.zeros(2, np.int64),
        )
        count, status = 0, parser.MORE
        while status == parser.MORE:
            reads = _with_room(reads, count, len(text.data))
            status, count, used = parser.parse(text.data, text.at_end, maximum_length, count, reads)
            text.data = text.data[used:]
            if status == parser.MORE and not text.at_end and len(text.data) < MOST_RECORD_BYTES:
                text.more()
            elif status not in (parser.DONE, parser.END):
                raise InputError(_sentence(status, text, ordinal + count + 1, reads.detail, maximum_length))
        room = max(len(reads.names), len(reads.bases))
        if count:
            yield _batch(reads, count, ordinal)
        ordinal += count
    if ordinal == 0:
        raise InputError(f"{text.path}: holds no reads; an empty FASTQ file cannot be aligned, check how it was made.")


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


def _sentence(status: int, text: _Text, record: int, detail: NDArray[np.int64], maximum_length: int) -> str:
    """Return the error message for a record that the kernel refused."""
    line = text.data[:300].tobytes().split(b"\n")[0].decode("ascii", "replace")
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
