"""Reading of a whole BAM file in order, in stretches that several threads inflate ahead of the reader."""

import gzip
import re
import shutil
import struct
from collections.abc import Iterator
from concurrent.futures import Executor
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import QuireError
from quire.io.bam.bounds_cpu import WrongRecord, checked_records
from quire.io.bam.decode_cpu import Records, header_bytes
from quire.io.bam.layout import FIXED_BYTES, SIZE_BYTES
from quire.io.bam.writer import binary_header
from quire.io.bgzf_cpu import HEADER_BYTES, compress_blocks
from quire.io.bytes_read import CountedFile
from quire.io.files import lacks_bgzip_end
from quire.io.inflate_cpu import DamagedBlock, inflate_ahead, inflate_blocks
from quire.io.sniff import BAM_MAGIC
from quire.simd.compiled import compiled

_FIRST_READ = 1 << 18  # compressed bytes read for the header; doubled until it is complete


class RecordStretch(NamedTuple):
    """Consecutive whole records: `head`, whose last record may continue in `text`, then the rest of `text`.

    Attributes:
        head, text: uint8[], bytes of records.
        first: number of records before them in the file.
        stream: the stream they are from.
    """

    head: NDArray[np.uint8]
    text: NDArray[np.uint8]
    first: int
    stream: "BamStream"

    def bytes(self) -> NDArray[np.uint8]:
        """Return the records end to end."""
        return np.concatenate([self.head, self.text]) if len(self.head) else self.text

    def records(self) -> Records:
        """Return the records after a check of their bounds (QuireError); any thread may call it."""
        try:
            return checked_records(self.bytes(), len(self.stream.contig_names))
        except WrongRecord as error:
            raise self.stream.wrong_record(self.first + error.index + 1, error) from None


class BamStream:
    """Reader of a BAM file from beginning to end.

    Attributes:
        path: path of the file.
        header_text: text of its header.
        contig_names, contig_lengths: contigs of its header; lengths in bases.
    """

    def __init__(
        self,
        path: str | Path,
        error: type[QuireError] = QuireError,
        remedy: str = "align the unit again",
        name: Path | None = None,
    ) -> None:
        """Open the file and read its header.

        Errors are of the class `error`; they name the file `name` and end with the advice `remedy`.
        """
        self.path = Path(path)
        self._name = name or self.path
        self._error, self._remedy = error, remedy
        try:
            if lacks_bgzip_end(self.path):
                raise self._not_whole("its closing block is missing")
            with CountedFile(self.path) as file:
                self._read_header(file)
        except OSError as error:
            raise self._not_whole(error.strerror) from error

    def stretches(self, executor: Executor, size: int, ahead: int) -> Iterator[RecordStretch]:
        """Yield all records in the order of the file.

        The arguments are those of `inflate_ahead`. A wrong record is an error when its stretch is read.
        """
        carry, first = self._rest, 0
        for text in self._inflated(executor, size, ahead):
            whole, count = self._whole_records(carry, text)
            end = whole - len(carry)
            if end <= 0:
                carry = np.concatenate([carry, text])
                continue
            yield RecordStretch(carry, text[:end], first, self)
            first += count
            carry = text[end:].copy()
        nothing = np.empty(0, np.uint8)
        if self._whole_records(carry, nothing)[0] < len(carry):
            raise self._not_whole("it ends in the middle of a record")
        if len(carry):
            yield RecordStretch(nothing, carry, first, self)

    def copy(self, output: Path, header_text: str) -> None:
        """Write a copy with another text of the header; whole blocks of records stay as they are."""
        header, content = binary_header(header_text, self.contig_names, self.contig_lengths), b""
        with open(self.path, "rb") as file, open(output, "wb") as copy:
            while header_bytes(content) > len(content):
                start = file.read(HEADER_BYTES)
                content += gzip.decompress(start + file.read(int.from_bytes(start[16:], "little") + 1 - HEADER_BYTES))
            for part in filter(None, (header, content[header_bytes(content) :])):
                copy.write(compress_blocks(part, 1).data)
            shutil.copyfileobj(file, copy)

    def _inflated(self, executor: Executor, size: int, ahead: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the text of the blocks after the header's."""
        try:
            with CountedFile(self.path) as file:
                file.seek(self._place)
                yield from inflate_ahead(file, executor, size, ahead)
        except DamagedBlock as error:
            raise self._damaged(error) from None
        except EOFError:
            raise self._not_whole("it ends in the middle of a block") from None
        except OSError as error:
            raise self._not_whole(error.strerror) from error

    def _read_header(self, file: FileIO) -> None:
        size = _FIRST_READ
        while True:
            file.seek(0)
            content = np.frombuffer(bytearray(file.read(size)), np.uint8)
            try:
                text, used = inflate_blocks(content)
            except DamagedBlock as error:
                raise self._damaged(error) from None
            if text[: len(BAM_MAGIC)].tobytes() != BAM_MAGIC:
                raise self._not_whole("it does not begin like one")
            try:
                end = header_bytes(text.data)
            except ValueError as error:
                raise self._not_whole(str(error)) from None
            if end <= len(text):
                break
            if len(content) < size:
                raise self._not_whole("it ends in its header")
            size *= 2
        self._place, self._rest = used, text[end:].copy()
        header = text[:end].tobytes()
        try:
            text_bytes = struct.unpack_from("<i", header, 4)[0]
            self.header_text = header[8 : 8 + text_bytes].rstrip(b"\0").decode()
            contigs, at = struct.unpack_from("<i", header, 8 + text_bytes)[0], 12 + text_bytes
            self.contig_names: list[str] = []
            self.contig_lengths: list[int] = []
            for _ in range(contigs):
                size = struct.unpack_from("<i", header, at)[0]
                self.contig_names.append(header[at + 4 : at + 3 + size].decode())
                self.contig_lengths.append(struct.unpack_from("<i", header, at + 4 + size)[0])
                at += 8 + size
        except UnicodeDecodeError:
            raise self._not_whole("its header is not text") from None
        if any(length < 0 for length in self.contig_lengths):
            raise self._not_whole("its header has a contig of negative length")
        if re.search(r"[\x00-\x1f\x7f]", "".join(self.contig_names)):
            raise self._not_whole("its header has a contig's name with a control character")
        if any(line and not line.startswith("@") for line in self.header_text.split("\n")):
            raise self._not_whole("its header has a line without '@'")

    def _whole_records(self, head: NDArray[np.uint8], text: NDArray[np.uint8]) -> tuple[int, int]:
        end, count = _whole_records(head, text)
        if end < 0:
            raise self._not_whole("a record has an impossible size")
        return int(end), int(count)

    def wrong_record(self, number: int, fault: WrongRecord) -> QuireError:
        """Return the error for a wrong record, counted from 1."""
        name = f" ({fault.name})" if fault.name else ""
        return self._error(f"{self._name}: record {number}{name} {fault}; {self._remedy}.")

    def _damaged(self, error: DamagedBlock) -> QuireError:
        return self._not_whole(f"the block at byte {error.offset} is damaged")

    def _not_whole(self, why: str | None) -> QuireError:
        return self._error(f"{self._name}: is not a complete BAM file ({why}); {self._remedy}.")


@compiled
def _whole_records(head, text):
    """Return bytes and number of whole records in `head` followed by `text`; -1 if one has an impossible size."""
    total, at, count = len(head) + len(text), 0, 0
    while at + SIZE_BYTES <= total:
        record = np.int64(0)
        for i in range(SIZE_BYTES):
            place = at + i
            byte = head[place] if place < len(head) else text[place - len(head)]
            record |= np.int64(byte) << (8 * i)
        if record < FIXED_BYTES - SIZE_BYTES or record >= 1 << 31:
            return -1, count
        if at + SIZE_BYTES + record > total:
            break
        at += SIZE_BYTES + record
        count += 1
    return at, count
