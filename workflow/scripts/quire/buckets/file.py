"""The folder of a unit's buckets: files of records by bucket, and a table of contents.

The records of many reads make a *stretch*, bucket after bucket. A stretch is collected until a bucket's share of it, a
*piece*, is large enough to be worth a seek. Several threads pack the pieces of stretches (`packing`) and write them,
each thread to its own file: the operating system lets one thread at a time write to a file, and most of the time goes
into copying. Any stretch may be in any file; stretches are numbered in the order of the reads. Each piece and the table
of contents have a checksum. Sizes of stretches and pieces always count unpacked records.

Records without a position are in pieces of their own. The ends of these pieces depend on the records and not on the
batches in which they came, so that the same holds for the blocks of the finished file.

See docs/formats.md for the layout of the bytes.
"""

import errno
import json
import os
import struct
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from quire.buckets.cpu import Dealt, joined
from quire.buckets.layout import layout
from quire.buckets.packing_cpu import SLACK, pack, unpack
from quire.buckets.pieces_cpu import checksums, read_pieces
from quire.errors import QuireError
from quire.io.bam.decode_cpu import Records, records_of
from quire.io.files import atomic_directory
from quire.ragged import offsets_from_lengths

MAGIC = b"QBUCKETS"
FORMAT_VERSION = 4
CONTENTS = "contents"  # name of the table of contents
PIECE_BYTES = 1 << 16  # average size of a piece, within the limits of a stretch below
LEAST_STRETCH, LARGEST_STRETCH = 1 << 23, 1 << 27  # bytes
UNPLACED_BYTES = 1 << 24  # size of a piece of records without a position
MOST_WRITERS = 6  # threads that write; more would wait for memory
MOST_FILES = MOST_WRITERS + 1  # files of records; one holds those without a position
_TRAILER = struct.Struct("<QQI8s")  # sizes of directory and description, checksum of both, magic
_PIECE = np.dtype([("packed", "<i8"), ("size", "<i8"), ("checksum", "<u4")])


class Piece(NamedTuple):
    """Whole records, packed, in one of the files.

    Attributes:
        file, offset: number of the file, and position in it.
        packed: size in the file; checksum: CRC-32 of these bytes.
        size: size of the unpacked records.
    """

    file: int
    offset: int
    packed: int
    checksum: int
    size: int


class _Stretch(NamedTuple):
    """A written stretch: its file and offset, its pieces, and its records without a position."""

    file: int
    offset: int
    pieces: NDArray[np.void]
    unplaced: NDArray[np.uint8]


class UnitFiles(NamedTuple):
    """Output files of mapping a unit: its buckets (or a BAM in read order, by its ending) and two JSON files."""

    records: Path
    ledger: Path
    insert_size: Path


def writers_of(threads: int) -> int:
    """Return the number of threads that write buckets in a job of `threads` threads."""
    return min(max(1, threads // 3), MOST_WRITERS)


def file_name(number: int) -> str:
    """Return the name of one of the files of records."""
    return f"records.{number}"


class BucketWriter:
    """Writer of a unit's buckets; see `open_buckets`.

    `records` counts those written so far, each once.
    """

    def __init__(
        self,
        header_text: str,
        contig_names: Sequence[str],
        contig_lengths: Sequence[int] | NDArray[np.int64],
        files: list[FileIO],
        pool: ThreadPoolExecutor,
    ) -> None:
        """Create a writer with a pool of threads and a file for each; the last file is for records without position."""
        self.records = 0
        self._header_text, self._names = header_text, list(contig_names)
        self._lengths = [int(length) for length in contig_lengths]
        self.genome = layout(self._lengths)
        self._stretch_bytes = min(max(PIECE_BYTES * self.genome.buckets, LEAST_STRETCH), LARGEST_STRETCH)
        self._waiting: list[Dealt] = []
        self._waiting_bytes = 0
        self._writing: deque[Future[_Stretch]] = deque()
        self._written: list[_Stretch] = []  # `unplaced` is emptied
        self._unplaced = np.empty(0, np.uint8)
        self._unplaced_pieces: list[Piece] = []
        self._files, self._pool, self._writers = files, pool, len(files) - 1
        self._free: SimpleQueue[int] = SimpleQueue()  # files that no thread writes to
        for number in range(self._writers):
            self._free.put(number)

    def write(self, dealt: Dealt) -> None:
        """Append the records of the next reads; waits while too many stretches are being written."""
        self._waiting.append(dealt)
        self._waiting_bytes += int(dealt.offsets[-1])
        self.records += dealt.records
        if self._waiting_bytes >= self._stretch_bytes:
            self._hand_out()

    def finish(self) -> bytes:
        """Write what waits; return the table of contents."""
        self._hand_out()
        while self._writing:
            self._take_back()
        if len(self._unplaced):
            self._write_unplaced(self._unplaced)
        return self._contents()

    def _hand_out(self) -> None:
        """Let a thread write the collected records as a stretch; first wait for the oldest if all threads are busy."""
        if not self._waiting:
            return
        while len(self._writing) >= self._writers:
            self._take_back()
        self._writing.append(self._pool.submit(self._write_stretch, self._waiting))
        self._waiting, self._waiting_bytes = [], 0

    def _take_back(self) -> None:
        """Wait for the oldest stretch, and collect and write its records without a position."""
        stretch = self._writing.popleft().result()
        self._unplaced = np.concatenate([self._unplaced, stretch.unplaced])
        self._written.append(stretch._replace(unplaced=np.empty(0, np.uint8)))
        if len(self._unplaced) < UNPLACED_BYTES:
            return
        borders, begin = [*records_of(self._unplaced).starts.tolist(), len(self._unplaced)], 0
        while len(self._unplaced) - begin >= UNPLACED_BYTES:
            end = borders[bisect_left(borders, begin + UNPLACED_BYTES)]
            self._write_unplaced(self._unplaced[begin:end])
            begin = end
        self._unplaced = self._unplaced[begin:].copy()

    def _write_stretch(self, parts: list[Dealt]) -> _Stretch:
        """Write all buckets to a free file, except the last one, whose records have no position."""
        data, offsets, _ = joined(parts)
        parts.clear()  # releases their memory before the stretch is written
        packed, packed_offsets = pack(data, offsets[:-1])
        unplaced = data[offsets[-2] : offsets[-1]].copy()
        del data
        pieces = np.zeros(self.genome.buckets, _PIECE)
        pieces["packed"], pieces["size"] = np.diff(packed_offsets), np.diff(offsets[:-1])
        pieces["checksum"] = checksums(packed, packed_offsets)
        number = self._free.get()
        try:
            stretch = _Stretch(number, self._files[number].tell(), pieces, unplaced)
            _write_all(self._files[number], packed)
        finally:
            self._free.put(number)
        return stretch

    def _write_unplaced(self, records: NDArray[np.uint8]) -> None:
        """Write a piece of records without a position."""
        file, size = self._files[self._writers], len(records)
        packed, _ = pack(np.concatenate([records, np.zeros(SLACK, np.uint8)]), np.array([0, size]))
        self._unplaced_pieces.append(Piece(self._writers, file.tell(), len(packed), crc32(packed), size))
        _write_all(file, packed)

    def _contents(self) -> bytes:
        """Return the table of contents: directory, description and trailer."""
        directory = b"".join(stretch.pieces.tobytes() for stretch in self._written)
        description = {
            "format_version": FORMAT_VERSION,
            "header": self._header_text,
            "contigs": [[name, length] for name, length in zip(self._names, self._lengths, strict=True)],
            "width": self.genome.width,
            "records": self.records,
            "files": [file.tell() for file in self._files],
            "stretches": [[stretch.file, stretch.offset] for stretch in self._written],
            "unplaced": self._unplaced_pieces,
        }
        text = json.dumps(description).encode()
        return directory + text + _TRAILER.pack(len(directory), len(text), crc32(directory + text), MAGIC)


def _write_all(file: FileIO, data: NDArray[np.uint8]) -> None:
    """Write all bytes to an unbuffered file, whose `write` may take only some of them."""
    view = data.data
    while len(view):
        view = view[file.write(view) or 0 :]


@contextmanager
def open_buckets(
    path: str | Path,
    header_text: str,
    contig_names: Sequence[str],
    contig_lengths: Sequence[int] | NDArray[np.int64],
    writers: int = 1,
) -> Iterator[BucketWriter]:
    """Yield the writer of a folder of buckets, with threads, which appears when the block ends without an error."""
    with ExitStack() as stack:
        folder = stack.enter_context(atomic_directory(path))
        files = [stack.enter_context(FileIO(folder / file_name(number), "w")) for number in range(writers + 1)]
        pool = stack.enter_context(ThreadPoolExecutor(writers, "quire-buckets"))
        writer = BucketWriter(header_text, contig_names, contig_lengths, files, pool)
        yield writer
        (folder / CONTENTS).write_bytes(writer.finish())


class BucketFile:
    """Reader of a unit's buckets, for any thread until the end of the `with` block closes the files.

    `records` counts each record once. The header is that of the unit's BAM.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with ExitStack() as stack:
            try:
                directory, description = self._read_contents()
                names = [file_name(number) for number in range(len(description["files"]))]
                self._files = [stack.enter_context(FileIO(self.path / name)) for name in names]
                sizes_of_files = [os.fstat(file.fileno()).st_size for file in self._files]
            except OSError as error:
                raise self._unreadable(error) from error
            self._take(directory, description, sizes_of_files)
            self._stack = stack.pop_all()

    def __enter__(self) -> "BucketFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _take(self, directory: bytes, description: dict[str, Any], sizes_of_files: list[int]) -> None:
        """Set the attributes from the table of contents, and check the sizes of the files."""
        self._descriptors = np.array([file.fileno() for file in self._files], np.int64)
        self.header_text: str = description["header"]
        self.contig_names = [str(name) for name, _ in description["contigs"]]
        self.contig_lengths = [int(length) for _, length in description["contigs"]]
        self.genome = layout(self.contig_lengths)
        self.records = int(description["records"])
        self._unplaced = [Piece(*piece) for piece in description["unplaced"]]
        stretches = np.array(description["stretches"], np.int64).reshape(-1, 2)
        self._directory = np.frombuffer(directory, _PIECE).reshape(len(stretches), self.genome.buckets)
        sizes = self._directory["packed"]
        self._file_of = stretches[:, 0]
        self._offsets = stretches[:, 1:] + np.cumsum(sizes, axis=1) - sizes
        held = int(sizes.sum()) + sum(piece.packed for piece in self._unplaced)
        fits = held == sum(sizes_of_files) and self.genome.width == description["width"]
        if not fits or sizes_of_files != description["files"]:
            raise self._not_whole("the sizes of its files have changed")

    def pieces(self, bucket: int) -> list[Piece]:
        """Return the pieces of a bucket in the order of the reads; the last bucket has the unplaced records."""
        if bucket == self.genome.buckets:
            return self._unplaced
        entries = self._directory[:, bucket]
        of_entries = (entries[name] for name in ("packed", "checksum", "size"))
        columns = self._file_of, self._offsets[:, bucket], *of_entries
        return [piece for piece in map(Piece, *(column.tolist() for column in columns)) if piece.size]

    def read(self, pieces: Sequence[Piece]) -> Records:
        """Return the records of some pieces, end to end; raise QuireError if a file has changed since."""
        offsets = offsets_from_lengths([piece.packed for piece in pieces])
        packed = np.empty(offsets[-1] + SLACK, np.uint8)
        packed[offsets[-1] :] = 0
        if pieces and not read_pieces(self._descriptors, np.array(pieces, np.int64), packed):
            # Read again one by one, to find the damaged piece.
            for piece, at in zip(pieces, offsets.tolist(), strict=False):
                part = packed[at : at + piece.packed]
                if self._read_into(part, piece.file, piece.offset) < piece.packed or crc32(part) != piece.checksum:
                    where = f"the piece at byte {piece.offset} of {file_name(piece.file)}"
                    raise self._not_whole(f"{where} is damaged")
        records = unpack(packed, offsets, sum(piece.size for piece in pieces))
        if records is None:
            raise self._not_whole("its pieces do not match its table of contents")
        return records

    def _read_into(self, out: NDArray[np.uint8], file: int, place: int) -> int:
        """Fill `out` from a file and return the number of bytes read, which is smaller at the file's end."""
        got = 0
        while got < len(out):
            try:
                more = os.preadv(self._files[file].fileno(), [out[got:].data], place + got)
            except OSError as error:
                raise self._unreadable(error) from error
            if more == 0:
                break
            got += more
        return got

    def _read_contents(self) -> tuple[bytes, dict[str, Any]]:
        """Return directory and description."""
        content = (self.path / CONTENTS).read_bytes()
        if len(content) < _TRAILER.size or not content.endswith(MAGIC):
            raise self._not_whole("its table of contents is cut")
        directory_bytes, description_bytes, checksum, _ = _TRAILER.unpack(content[-_TRAILER.size :])
        both = content[: -_TRAILER.size]
        if len(both) != directory_bytes + description_bytes or crc32(both) != checksum:
            raise self._not_whole("its table of contents is damaged")
        description: dict[str, Any] = json.loads(both[directory_bytes:])
        if description["format_version"] != FORMAT_VERSION:
            raise self._not_whole(f"format version {description['format_version']}, not {FORMAT_VERSION}")
        return both[:directory_bytes], description

    def _unreadable(self, error: OSError) -> QuireError:
        """Return the error to raise for a system error; the buckets are lost only if a file is missing."""
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return self._not_whole(error.strerror)
        remedy = "fix this"
        if error.errno in (errno.EMFILE, errno.ENFILE):
            remedy = f"allow more open files (`ulimit -n`; a unit takes up to {MOST_FILES})"
        return QuireError(f"{self.path}: cannot be read ({error.strerror}); {remedy} and run again.")

    def _not_whole(self, why: str | None) -> QuireError:
        return QuireError(f"{self.path}: is not a complete folder of buckets ({why}); delete it and run again.")
