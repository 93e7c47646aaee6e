"""A writer of a card's arrays as .npy files: downloaded piece by piece, checksummed and written by threads."""

import io
import os
import queue
import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.device.card import Card, CardArray

PIECE = 32 << 20  # bytes of one download
MOST_WRITERS = 8
_POLYNOMIAL = 0xEDB88320  # CRC-32's polynomial, lowest bit first


class ArrayWriter:
    """A writer of a card's arrays into a directory, byte for byte as `numpy.save` writes them.

    The thread that owns the card downloads into a few buffers; other threads checksum and write them.
    """

    def __init__(self, card: Card, directory: Path, piece: int = PIECE) -> None:
        """Start the threads.

        Args:
            card: the card that holds the arrays.
            directory: the directory of the files.
            piece: bytes of one download, a multiple of 8.
        """
        self.card, self.directory, self.piece = card, directory, piece
        writers = min(MOST_WRITERS, len(os.sched_getaffinity(0)))
        self._threads = ThreadPoolExecutor(writers)
        self._buffers: queue.Queue[np.ndarray] = queue.Queue()
        for _ in range(writers + 1):
            self._buffers.put(card.staging(piece))
        self._files: dict[str, int] = {}
        self._pieces: dict[str, list[Future[tuple[int, int]]]] = {}

    def __enter__(self) -> "ArrayWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        for descriptor in self._files.values():
            os.close(descriptor)

    def write(self, name: str, array: CardArray) -> None:
        """Write an array of the card to `name`.npy; on return it is downloaded, but not yet written."""
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": np.dtype(array.dtype).str, "fortran_order": False, "shape": tuple(array.shape)}
        )
        path = self.directory / f"{name}.npy"
        file = self._files[path.name] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        pieces = self._pieces[path.name] = []
        content = np.frombuffer(header.getvalue(), np.uint8)
        pieces.append(self._threads.submit(_write_piece, file, content, 0))
        at, flat, step = content.size, array.reshape(-1), self.piece // np.dtype(array.dtype).itemsize
        for first in range(0, len(flat), step):
            part = flat[first : first + step]
            pieces.append(self._threads.submit(self._write_buffer, file, self._download(part), part.nbytes, at))
            at += part.nbytes

    def checksums(self) -> dict[str, str]:
        """Wait until everything is written, and return the checksum of each file by its name.

        Raises:
            OSError: a file cannot be written.
        """
        checksums = {}
        for name, pieces in self._pieces.items():
            total = 0
            for piece in pieces:
                checksum, size = piece.result()
                total = combine(total, checksum, size)
            checksums[name] = f"{total:08x}"
        return checksums

    def _download(self, part: CardArray) -> np.ndarray:
        buffer = self._buffers.get()
        self.card.download_into(part, buffer[: part.nbytes].view(part.dtype))
        return buffer

    def _write_buffer(self, file: int, buffer: np.ndarray, size: int, at: int) -> tuple[int, int]:
        try:
            return _write_piece(file, buffer[:size], at)
        finally:
            self._buffers.put(buffer)


def _write_piece(file: int, content: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Write at an offset of a file; return checksum and size."""
    view = memoryview(content)  # type: ignore[arg-type]
    checksum, left = zlib.crc32(view), view
    while left:
        written = os.pwrite(file, left, at)
        left, at = left[written:], at + written
    return checksum, content.size


def combine(first: int, second: int, size: int) -> int:
    """Return the CRC-32 of two concatenated contents, from the CRC-32 of each and the size of the second.

    Appending `size` zero bytes is a linear map of the 32 bits of a checksum (zlib's crc32_combine).
    """
    return _apply(_zero_bytes(size), first) ^ second


@lru_cache(maxsize=64)
def _zero_bytes(size: int) -> Sequence[int]:
    """Return the images (uint32[32]) of a checksum's bits under the appending of `size` zero bytes."""
    if size == 0:
        return [1 << bit for bit in range(32)]
    if size == 1:
        after = [1 << bit for bit in range(32)]
        for _ in range(8):
            after = [value >> 1 ^ (_POLYNOMIAL if value & 1 else 0) for value in after]
        return after
    half, rest = _zero_bytes(size // 2), _zero_bytes(size % 2)
    return [_apply(rest, _apply(half, value)) for value in half]


def _apply(images: Sequence[int], value: int) -> int:
    """Return the sum (exclusive or) of the images of the bits of a value."""
    total = 0
    for bit in range(32):
        if value >> bit & 1:
            total ^= images[bit]
    return total
