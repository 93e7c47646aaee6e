"""Pieces of work on their way to a card: while one is computed, the next are copied to staging memory and uploaded."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from quire.device.card import Card, CardArray, OutOfDeviceMemory, Upload, bytes_of, places_in

Piece = TypeVar("Piece")
AHEAD = 2  # pieces in staging memory besides the one that is computed: one that is copied there, one that goes up
_BYTES_PER_COPY = 1 << 21  # that a thread of the host copies at a time


class Staged(Generic[Piece]):
    """A piece of work whose arrays are on their way; keep it until the card has used them.

    Attributes:
        piece: as it was given.
    """

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
        """Whether all is in staging memory."""
        return all(copy.done() for copy in self._copies)

    def upload(self) -> None:
        """Begin the uploads, unless they have begun. Raises OutOfDeviceMemory, and may be tried again then."""
        if self._uploads is not None:
            return
        for copy in self._copies:
            copy.result()
        mark = self._card.mark()
        begun: list[Upload] = []
        try:
            begun += (self._card.upload_ahead(target, mark) for target in self._targets)
        except OutOfDeviceMemory:
            self._card.synchronize()  # before the memory of those that have begun is somebody else's
            raise
        self._uploads = begun

    def arrays(self) -> list[CardArray]:
        """The arrays on the card. Raises OutOfDeviceMemory, and may be asked again then."""
        self.upload()
        assert self._uploads is not None
        return [upload.array() for upload in self._uploads]

    def wait(self) -> None:
        """Return when staging memory is free, for whoever asks for some next: nothing of it is on its way any more."""
        for upload in self._uploads or ():
            upload.wait()


def staged_pieces(
    card: Card, pool: Executor, waiting: list[Piece], arrays_of: Callable[[Piece], list[NDArray[Any]]]
) -> Iterator[Staged[Piece]]:
    """Yield pieces, each to be computed before the next is asked for.

    Args:
        card: where to.
        pool: of threads of the host, which copy.
        waiting: the last is the first to go; the caller may put more there, halves of one that found no room.
        arrays_of: gives contiguous one- or two-dimensional arrays of a piece, which must not change meanwhile.
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
            pass  # `arrays` will say so, or there is room by then
        yield now
        # The host can be pieces ahead of the card. The copy waits for no more than what was launched before the piece.
        now.wait()
