"""The text of a gzip file as a stream of bytes: one thread reads the file, and another only inflates.

Only one thread can inflate plain gzip, from beginning to end, so this thread must not wait: a kernel calls ISA-L for
megabytes at a time. python-isal would take the interpreter's lock for each piece of the file: see
docs/decisions/0020-isa-l-from-kernels.md.

A file consists of members (RFC 1952), and zeros after the last one are padding. Checksum and size of each member
are checked.
"""

import gzip
import io
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from quire.io.ahead import ahead
from quire.io.bgzf import TRAILER_BYTES
from quire.io.bytes_read import CountedFile
from quire.io.isa_l import call_checksum, call_with_state, new_stream
from quire.io.sniff import GZIP_MAGIC
from quire.simd.compiled import compiled
from quire.time_spent import TimeSpent

# Between two chunks the inflating thread needs the interpreter's lock. With chunks of 4 MB (8 ms of work) it waited for
# the lock about as long as it worked while other threads ran Python.
READ_BYTES = 1 << 22  # bytes of the file read at a time
CHUNK_BYTES = 1 << 24  # bytes of a chunk of text
READS_AHEAD, CHUNKS_AHEAD = 4, 3
_REGISTER = 8  # bytes after a member's end that ISA-L may have read
_FIXED_HEADER = 10
_LEAST_LOGGED = 1 << 28  # bytes of text; smaller files are not logged
log = logging.getLogger("quire.fastq")
_PADDING = 512  # zeros that are compared at a time
_CHECKSUM, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16  # flags of a member's header
_ENDED, _WANTS_INPUT, _WANTS_ROOM, _DAMAGED = range(4)


class GzipText(io.RawIOBase):
    """Stream of the inflated bytes of a gzip file.

    Raises:
        BadGzipFile: a member is damaged, or bytes are not gzip; raised by reading, after the text before them.
        EOFError: the file ends within a member; raised by reading, after the text before it.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file."""
        super().__init__()
        self._file = CountedFile(path)
        self._used: SimpleQueue[NDArray[np.uint8]] = SimpleQueue()  # chunks whose memory may be reused
        self._chunks = ahead(lambda: _texts(self._file, READ_BYTES, CHUNK_BYTES, self._used), CHUNKS_AHEAD)
        self._chunk = self._rest = np.empty(0, np.uint8)

    def readable(self) -> bool:
        """Return True; see io.RawIOBase."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read available bytes into a buffer and return their number, 0 at the end of the file."""
        view = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        while not len(self._rest):
            self._used.put(self._chunk)
            chunk = next(self._chunks, None)
            if chunk is None:
                self._chunk = np.empty(0, np.uint8)
                return 0
            self._chunk = self._rest = chunk
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        """Stop the threads and close the file."""
        if not self.closed:
            self._chunks.close()
            self._file.close()
        super().close()


class _Source:
    """Buffer of a file's bytes.

    Attributes:
        data: uint8[], used and unused bytes.
        at: index of the first unused byte in `data`.
    """

    def __init__(self, file: BinaryIO | io.RawIOBase, size: int) -> None:
        self._pieces = ahead(lambda: _pieces(file, size), READS_AHEAD)
        self.data, self.at = np.empty(0, np.uint8), 0

    def more(self) -> bool:
        """Append the next piece of the file to the unused bytes; return False at the end of the file.

        The last used bytes are kept before them, since ISA-L may give some back.
        """
        piece = next(self._pieces, None)
        if piece is None:
            return False
        kept = self.data[max(0, self.at - _REGISTER) :]
        used = min(self.at, _REGISTER)
        if len(kept) > _REGISTER:
            piece = np.concatenate([kept, piece[_REGISTER:]])
        else:
            piece = piece[_REGISTER - len(kept) :]
            piece[: len(kept)] = kept
        self.data, self.at = piece, used
        return True

    def has(self, size: int) -> bool:
        """Return True if there are `size` unused bytes, after reading more if needed."""
        while len(self.data) - self.at < size:
            if not self.more():
                return False
        return True

    def close(self) -> None:
        """Stop the reading thread."""
        self._pieces.close()


def _pieces(file: BinaryIO | io.RawIOBase, size: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of a file in pieces, each after _REGISTER bytes of room."""
    while True:
        piece = np.empty(_REGISTER + size, np.uint8)
        got = file.readinto(piece[_REGISTER:].data)  # type: ignore[union-attr]
        if not got:
            return
        yield piece[: _REGISTER + got]


def _texts(
    file: BinaryIO | io.RawIOBase, size: int, chunk_bytes: int, used: SimpleQueue[Any]
) -> Iterator[NDArray[np.uint8]]:
    """Yield the text of all members in chunks; chunks in `used` may be overwritten."""
    source, stream = _Source(file, size), new_stream("isal_inflate_init", "isal_inflate")
    spent, begun, inflated = TimeSpent(), time.monotonic(), 0
    try:
        while _at_member(source):
            _skip_header(source)
            _begin(stream)
            checksum, total, status = np.uint32(0), 0, _WANTS_ROOM
            while status != _ENDED:
                out = _buffer(used, chunk_bytes)
                filled, status = 0, _WANTS_INPUT
                while status == _WANTS_INPUT:
                    with spent.on("inflating"):
                        taken, filled, status, checksum = _inflate(
                            stream, source.data, source.at, out, filled, checksum
                        )
                    source.at += taken
                    if status == _DAMAGED:
                        yield out[:filled]
                        raise gzip.BadGzipFile("a damaged member")
                    with spent.on("waiting for the file"):
                        ended = status == _WANTS_INPUT and not source.more()
                    if ended:
                        yield out[:filled]
                        raise EOFError("the file ends within a member")
                total += filled
                with spent.on("waiting for the consumer"):
                    yield out[:filled]
            if not source.has(TRAILER_BYTES):
                raise EOFError("the file ends within a member")
            trailer = source.data[source.at : source.at + TRAILER_BYTES].tobytes()
            source.at += TRAILER_BYTES
            expected = int(checksum).to_bytes(4, "little") + (total & 0xFFFFFFFF).to_bytes(4, "little")
            if trailer != expected:
                raise gzip.BadGzipFile("its data do not match its checksum")
            inflated += total
        _log_speed(file, inflated, spent, time.monotonic() - begun)
    finally:
        source.close()


def _log_speed(file: BinaryIO | io.RawIOBase, inflated: int, spent: TimeSpent, seconds: float) -> None:
    """Log how fast a large file was inflated per processor time of this thread, and how the time was spent."""
    if inflated >= _LEAST_LOGGED:
        name, on_processor = getattr(file, "name", ""), max(time.thread_time(), 1e-9)
        log.info(
            "%s: %d MB of text, %.0f MB/s of this thread's processor; %s",
            name, inflated // 10**6, inflated / 1e6 / on_processor, spent.shares(seconds),
        )  # fmt: skip


def _buffer(used: SimpleQueue[Any], size: int) -> NDArray[np.uint8]:
    """Return memory for a chunk, if possible that of a used one."""
    try:
        chunk: NDArray[np.uint8] = used.get_nowait()
    except Empty:
        return np.empty(size, np.uint8)
    whole = chunk if chunk.base is None else chunk.base
    return whole if isinstance(whole, np.ndarray) and len(whole) == size else np.empty(size, np.uint8)


def _at_member(source: _Source) -> bool:
    """Skip padding; return True if a member follows, False at the end of the file."""
    while source.has(1):
        letters = np.flatnonzero(source.data[source.at : source.at + _PADDING])
        if len(letters):
            source.at += int(letters[0])
            return True
        source.at = min(source.at + _PADDING, len(source.data))
    return False


def _skip_header(source: _Source) -> None:
    """Skip the header of a member (RFC 1952, section 2.3)."""
    if not source.has(_FIXED_HEADER):
        raise EOFError("the file ends within a header")
    header = source.data[source.at : source.at + _FIXED_HEADER].tobytes()
    if not header.startswith(GZIP_MAGIC + b"\x08"):
        raise gzip.BadGzipFile("bytes that are not gzip where a member should begin")
    source.at += _FIXED_HEADER
    flags = header[3]
    if flags & _EXTRA:
        _skip(source, 2)
        low, high = source.data[source.at - 2 : source.at].tolist()
        _skip(source, low | high << 8)
    for flag in (_NAME, _COMMENT):
        while flags & flag:
            _skip(source, 1)
            if source.data[source.at - 1] == 0:
                break
    if flags & _CHECKSUM:
        _skip(source, 2)


def _skip(source: _Source, size: int) -> None:
    if not source.has(size):
        raise EOFError("the file ends within a header")
    source.at += size


@compiled
def _begin(stream):
    """Initialise the stream for a member."""
    call_with_state(stream.initialise, np.uint64(stream.words.ctypes.data))


@compiled
def _inflate(stream, data, at, out, filled, checksum):
    """Inflate data[at:] into out[filled:]; return the bytes taken, the new `filled`, a status and the new checksum.

    See `quire.io.inflate` for the words of the state; the upper halves of two of them belong to ISA-L.
    """
    state = stream.words
    pointer, half = np.uint64(state.ctypes.data), np.uint64(0xFFFFFFFF)
    room, held = np.uint64(len(out) - filled), np.uint64(len(data) - at)
    target = np.uint64(out.ctypes.data) + np.uint64(filled)
    state[0], state[2] = target, np.uint64(data.ctypes.data) + np.uint64(at)
    state[1] = (state[1] & ~half) | room
    state[4] = (state[4] & ~half) | held
    status = call_with_state(stream.run, pointer)
    room_left, held_left = state[1] & half, state[4] & half
    taken, written = np.int64(held - held_left), np.int64(room - room_left)
    checksum = call_checksum(stream.checksum, checksum, target, np.uint64(written))
    if status < 0:
        return taken, filled + written, _DAMAGED, checksum
    if room_left == 0:
        return taken, filled + written, _WANTS_ROOM, checksum
    # Room and input are left, so the member has ended. The rest of ISA-L's register belongs to the bytes that follow.
    if held_left > 0:
        return taken - np.int64(state[4] >> np.uint64(32)) // 8, filled + written, _ENDED, checksum
    return taken, filled + written, _WANTS_INPUT, checksum
