"""Overlap of upload and computation: while one piece of work is computed, the next ones are staged and uploaded.

Pinned buffers are kept for reuse, since allocating them takes long.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from quire.device.card import Card, CardArray, OutOfDeviceMemory, Upload, bytes_of, places_in

Piece = TypeVar("Piece")
AHEAD = 2  # pieces in staging memory ahead of the computed one: one is copied there, one is uploaded
_ROOM = 1.1  # size of a buffer relative to its first content; later ones may be a little larger
_BYTES_PER_COPY = 1 << 21  # copied at a time by a thread of the host


class Buffers:
    """Unused pinned buffers. Any thread may take one and put it back."""

    def __init__(self) -> None:
        self._free: SimpleQueue[NDArray[np.uint8]] = SimpleQueue()

    def take(self, size: int, make: Callable[[int], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """Return a buffer of at least `size` bytes; `make` allocates one if needed, and may fail."""
        try:
            buffer = self._free.get_nowait()
        except Empty:
            buffer = np.empty(0, np.uint8)
        return buffer if len(buffer) >= size else make(int(size * _ROOM))

    def put(self, buffer: NDArray[np.uint8]) -> None:
        """Give a buffer back."""
        self._free.put(buffer)


class Staged(Generic[Piece]):
    """A piece of work whose arrays are being uploaded; keep it until the card has used them."""

    def __init__(self, card: Card, piece: Piece, sources: list[NDArray[Any]], pool: Executor) -> None:
        self.piece, self._card = piece, card
        self._uploads: list[Upload] | None = None
        self._targets = places_in(card.staging(bytes_of(sources)), sources)
        self._copies = [
            pool.submit(np.copyto, target[begin : begin + rows], source[begin : begin + rows])
            for source, target in zip(sources, self._targets, strict=True)
            for rows in [max(1, _BYTES_PER_COPY * len(source) // max(1, source.nbytes))]
            for begin in range(0, len(source), rows)
        ]

    @property
    def copied(self) -> bool:
        """Return True if everything is in staging memory."""
        return all(copy.done() for copy in self._copies)

    def upload(self) -> None:
        """Begin the uploads, unless they have begun; raise OutOfDeviceMemory, after which a second call may succeed."""
        if self._uploads is not None:
            return
        for copy in self._copies:
            copy.result()
        mark = self._card.mark()
        begun: list[Upload] = []
        try:
            begun += (self._card.upload_ahead(target, mark) for target in self._targets)
        except OutOfDeviceMemory:
            self._card.synchronize()  # before the memory of uploads in progress is reused
            raise
        self._uploads = begun

    def arrays(self) -> list[CardArray]:
        """Return the arrays on the card; raise OutOfDeviceMemory, after which a second call may succeed."""
        self.upload()
        assert self._uploads is not None
        return [upload.array() for upload in self._uploads]

    def wait(self) -> None:
        """Wait until the staging memory can be reused, because no upload reads it any more."""
        for upload in self._uploads or ():
            upload.wait()


def staged_pieces(
    card: Card, pool: Executor, waiting: list[Piece], arrays_of: Callable[[Piece], list[NDArray[Any]]]
) -> Iterator[Staged[Piece]]:
    """Yield staged pieces; compute each before the next is requested.

    `waiting` holds the pieces, the last one first; the caller may append more, such as halves of a piece that did not
    fit. `arrays_of` returns contiguous one- or two-dimensional arrays of a piece, which must not change meanwhile.
    """
    staged: deque[Staged[Piece]] = deque()
    while waiting or staged:
        while waiting and len(staged) <= AHEAD:
            piece = waiting.pop()
            staged.append(Staged(card, piece, arrays_of(piece), pool))
        now = staged.popleft()
        try:
            now.upload()
            if staged and staged[0].copied:
                staged[0].upload()
        except OutOfDeviceMemory:
            pass  # `arrays` tries again, and raises if memory is still short
        yield now
        # The host can be pieces ahead of the card. The upload waits only for kernels launched before the piece.
        now.wait()
