"""The file of a unit's buckets: stretches of dealt records, and behind them what they are.

A stretch holds the records of many reads, bucket after bucket; it is collected until a bucket's share of it, a *piece*,
is worth a seek. Nothing is compressed: packing and unpacking took more of the processor than all that is done with the
records between mapping and the sorted file. Each piece has a checksum, and so has the directory at the end.

Records without a position are not in the stretches but in pieces of their own. Where these end depends on the records
alone, and not on the batches that they came in, so that the finished file's blocks do not either.

docs/formats.md has the layout of the bytes.
"""

import json
import os
import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from io import BufferedWriter
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from quire.buckets.cpu import Dealt, joined
from quire.buckets.layout import layout
from quire.errors import QuireError
from quire.io.bam.decode import records_of
from quire.io.files import atomic_path

MAGIC = b"QBUCKETS"
FORMAT_VERSION = 1
PIECE_BYTES = 1 << 16  # of a bucket in a stretch, on average, where the limits below allow it
LEAST_STRETCH, LARGEST_STRETCH = 1 << 23, 1 << 28  # bytes
UNPLACED_BYTES = 1 << 24  # of a piece of records without a position
_TRAILER = struct.Struct("<QQI8s")  # bytes of directory, of description, checksum of both, magic
_PIECE = np.dtype([("bytes", "<i8"), ("checksum", "<u4")])


class Piece(NamedTuple):
    """Whole records that lie end to end in the file."""

    offset: int
    size: int
    checksum: int


class BucketWriter:
    """Writes the buckets of a unit to a file, which appears when the `with` block ends without an error.

    Attributes:
        path: final name.
        genome: how records are to be dealt out.
        records: written so far, each counted once.

    Raises:
        QuireError: the folder cannot be written or the disk is full.
    """

    def __init__(
        self,
        path: str | Path,
        header_text: str,
        contig_names: Sequence[str],
        contig_lengths: Sequence[int] | NDArray[np.int64],
    ) -> None:
        self.path, self.records = Path(path), 0
        self._header_text, self._names = header_text, list(contig_names)
        self._lengths = [int(length) for length in contig_lengths]
        self.genome = layout(self._lengths)
        self._stretch_bytes = min(max(PIECE_BYTES * self.genome.buckets, LEAST_STRETCH), LARGEST_STRETCH)
        self._waiting: list[Dealt] = []
        self._unplaced = np.empty(0, np.uint8)
        self._directory: list[NDArray[np.void]] = []  # of each stretch, its pieces
        self._stretches: list[int] = []  # where each begins
        self._unplaced_pieces: list[Piece] = []
        self._stack = ExitStack()
        self._stream: BufferedWriter

    def __enter__(self) -> "BucketWriter":
        with ExitStack() as stack:
            temporary = stack.enter_context(atomic_path(self.path))
            self._stream = stack.enter_context(open(temporary, "wb"))
            self._stream.write(MAGIC)
            self._stack = stack.pop_all()
        return self

    def write(self, dealt: Dealt) -> None:
        """Append records, which follow those before in the order of the reads."""
        self._waiting.append(dealt)
        self.records += dealt.records
        if sum(len(part.data) for part in self._waiting) >= self._stretch_bytes:
            self._write_stretch()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None:
                raise error
            self._write_stretch()
            if len(self._unplaced):
                self._write_unplaced(self._unplaced)
            self._stream.write(self._tail())
            self._stream.flush()

    def _write_stretch(self) -> None:
        """Write what waits: all but the last bucket, which is that of the records without a position."""
        if not self._waiting:
            return
        data, offsets, _ = joined(self._waiting)
        self._waiting.clear()
        pieces = np.zeros(self.genome.buckets, _PIECE)
        pieces["bytes"] = np.diff(offsets[:-1])
        for bucket, (first, last) in enumerate(pairwise(offsets[:-1].tolist())):
            pieces["checksum"][bucket] = crc32(data[first:last])
        self._stretches.append(self._stream.tell())
        self._directory.append(pieces)
        self._stream.write(data[: offsets[-2]].data)
        self._unplaced = np.concatenate([self._unplaced, data[offsets[-2] :]])
        if len(self._unplaced) < UNPLACED_BYTES:
            return
        borders, begin = [*records_of(self._unplaced).starts.tolist(), len(self._unplaced)], 0
        while len(self._unplaced) - begin >= UNPLACED_BYTES:
            end = borders[bisect_left(borders, begin + UNPLACED_BYTES)]
            self._write_unplaced(self._unplaced[begin:end])
            begin = end
        self._unplaced = self._unplaced[begin:].copy()

    def _write_unplaced(self, piece: NDArray[np.uint8]) -> None:
        """Write a piece of the records without a position."""
        self._unplaced_pieces.append(Piece(self._stream.tell(), len(piece), crc32(piece)))
        self._stream.write(piece.data)

    def _tail(self) -> bytes:
        """Directory, description and trailer."""
        directory = b"".join(pieces.tobytes() for pieces in self._directory)
        description = {
            "format_version": FORMAT_VERSION,
            "header": self._header_text,
            "contigs": [[name, length] for name, length in zip(self._names, self._lengths, strict=True)],
            "width": self.genome.width,
            "records": self.records,
            "stretches": self._stretches,
            "unplaced": self._unplaced_pieces,
        }
        text = json.dumps(description).encode()
        return directory + text + _TRAILER.pack(len(directory), len(text), crc32(directory + text), MAGIC)


class BucketFile:
    """The buckets of a unit, read. Any thread may read.

    Attributes:
        path: of the file.
        header_text: of the unit's BAM header.
        contig_names, contig_lengths: its contigs.
        genome: how it is cut.
        records: in the file, each counted once.

    Raises:
        QuireError: while it is opened or read: the file is missing, cut or damaged, or of another version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._stream = open(self.path, "rb")
            size = os.path.getsize(self.path)
            directory, description, end = self._read_tail(size)
        except OSError as error:
            raise self._not_whole(error.strerror) from error
        self.header_text: str = description["header"]
        self.contig_names = [str(name) for name, _ in description["contigs"]]
        self.contig_lengths = [int(length) for _, length in description["contigs"]]
        self.genome = layout(self.contig_lengths)
        self.records = int(description["records"])
        self._unplaced = [Piece(*piece) for piece in description["unplaced"]]
        stretches = np.array(description["stretches"], np.int64)
        self._directory = np.frombuffer(directory, _PIECE).reshape(len(stretches), self.genome.buckets)
        sizes = self._directory["bytes"]
        self._offsets = stretches[:, None] + np.cumsum(sizes, axis=1) - sizes
        held = int(sizes.sum()) + sum(piece.size for piece in self._unplaced)
        if held != end - len(MAGIC) or self.genome.width != description["width"]:
            raise self._not_whole("its directory does not fit it")

    def pieces(self, bucket: int) -> list[Piece]:
        """What a bucket consists of, in the order of the reads; the last bucket's are of records without a position."""
        if bucket == self.genome.buckets:
            return self._unplaced
        entries = self._directory[:, bucket]
        columns = self._offsets[:, bucket].tolist(), entries["bytes"].tolist(), entries["checksum"].tolist()
        return [piece for piece in map(Piece, *columns) if piece.size]

    def read(self, pieces: Sequence[Piece]) -> NDArray[np.uint8]:
        """The records of some pieces, end to end.

        Raises:
            QuireError: the file cannot be read, or was changed since it was written.
        """
        out = np.empty(sum(piece.size for piece in pieces), np.uint8)
        at = 0
        for offset, size, checksum in pieces:
            part = out[at : at + size]
            if self._read_into(part, offset) < size or crc32(part) != checksum:
                raise self._not_whole(f"the piece at byte {offset} is damaged")
            at += size
        return out

    def read_each(self, pieces: Sequence[Piece]) -> Iterator[NDArray[np.uint8]]:
        """The records of pieces, one piece at a time; raises as `read` does."""
        for piece in pieces:
            yield self.read([piece])

    def _read_into(self, out: NDArray[np.uint8], place: int) -> int:
        """Fill `out` from the file, as far as it goes; returns how far."""
        got = 0
        while got < len(out):
            try:
                more = os.preadv(self._stream.fileno(), [out[got:].data], place + got)
            except OSError as error:
                raise self._not_whole(error.strerror) from error
            if more == 0:
                break
            got += more
        return got

    def _read_tail(self, size: int) -> tuple[bytes, dict[str, Any], int]:
        """Directory, description, and where the directory begins."""
        trailer = os.pread(self._stream.fileno(), _TRAILER.size, max(0, size - _TRAILER.size))
        if len(trailer) < _TRAILER.size or not trailer.endswith(MAGIC):
            raise self._not_whole("its end is missing")
        directory_bytes, description_bytes, checksum, _ = _TRAILER.unpack(trailer)
        begin = size - _TRAILER.size - directory_bytes - description_bytes
        both = np.empty(max(0, min(size, directory_bytes + description_bytes)), np.uint8)
        if begin < len(MAGIC) or self._read_into(both, begin) < len(both) or crc32(both) != checksum:
            raise self._not_whole("its directory is damaged")
        description: dict[str, Any] = json.loads(both[directory_bytes:].tobytes())
        if description["format_version"] != FORMAT_VERSION:
            raise self._not_whole(f"format version {description['format_version']}, not {FORMAT_VERSION}")
        return both[:directory_bytes].tobytes(), description, begin

    def _not_whole(self, why: str | None) -> QuireError:
        return QuireError(f"{self.path}: is no whole file of buckets ({why}); delete it and run again.")
