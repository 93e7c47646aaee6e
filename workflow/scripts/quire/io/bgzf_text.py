"""The text of a bgzip file as a stream of bytes, inflated in order by several threads.

Illumina's converters write FASTQ as bgzip: independent blocks of at most 64 kB. A task inflates a stretch of whole
blocks and verifies their checksums (`quire.io.inflate`); a few tasks run ahead of the reader.
"""

import io
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from gzip import BadGzipFile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.io.bytes_read import CountedFile
from quire.io.files import gzip_text
from quire.io.inflate import DamagedBlock, inflate_blocks, whole_blocks

STRETCH_BYTES = 1 << 20  # compressed bytes of a task; more than one block
THREADS = 4


class BgzfText(io.RawIOBase):
    """Stream of the inflated bytes of a bgzip file. Plain gzip members after its blocks are inflated by one thread.

    Raises:
        BadGzipFile: a block is damaged, or bytes are not gzip; raised by reading, after the text before them.
        EOFError: the file ends within a block; raised by reading, after the text before it.
    """

    def __init__(self, path: str | Path, threads: int = THREADS) -> None:
        super().__init__()
        self._file = CountedFile(path)
        self._pool = ThreadPoolExecutor(threads, "quire-inflate")
        self._most = 2 * threads
        self._waiting: deque[tuple[int, Future[NDArray[np.uint8]]]] = deque()  # tasks, with their offsets in the file
        self._place = 0  # offset of the first byte in no task
        self._left = np.empty(0, np.uint8)  # the incomplete block from `_place` on
        self._asked_for_all = False
        self._plain: io.BufferedIOBase | None = None  # plain gzip after the blocks
        self._failure: Exception | None = None
        self._current = np.empty(0, np.uint8)

    def readable(self) -> bool:
        """Return True; see io.RawIOBase."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and return the number of bytes, which is smaller at the end of the file."""
        view = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        filled = 0
        while filled < len(view):
            if not len(self._current):
                self._ask()
                if not self._waiting:
                    return filled or self._after_blocks(view)
                self._current = self._next(filled)
                if not len(self._current) and self._failure:
                    return filled
            taken = min(len(view) - filled, len(self._current))
            view[filled : filled + taken] = self._current[:taken]
            self._current = self._current[taken:]
            filled += taken
        return filled

    def close(self) -> None:
        """Close the file and let the threads, which do not use it, end."""
        if not self.closed:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._file.close()
        super().close()

    def _next(self, filled: int) -> NDArray[np.uint8]:
        """Return the result of the next task; nothing if it failed and the buffer already holds `filled` bytes."""
        place, future = self._waiting.popleft()
        try:
            return future.result()
        except DamagedBlock as error:
            self._failure = BadGzipFile(f"a damaged block at byte {place + error.offset}")
        self._waiting.clear()
        self._asked_for_all = True
        if not filled:
            raise self._failure
        return np.empty(0, np.uint8)

    def _after_blocks(self, view: NDArray[np.uint8]) -> int:
        """Read plain gzip after the blocks into a buffer."""
        if self._failure is not None:
            raise self._failure
        return 0 if self._plain is None else self._plain.readinto(view.data)

    def _ask(self) -> None:
        """Submit stretches until enough tasks are waiting."""
        while len(self._waiting) < self._most and not self._asked_for_all:
            content = np.empty(len(self._left) + STRETCH_BYTES, np.uint8)
            content[: len(self._left)] = self._left
            size = self._file.readinto(content[len(self._left) :].data) or 0
            content = content[: len(self._left) + size]
            self._asked_for_all = size == 0
            if size == 0 and len(content):
                self._failure = EOFError("the file ends within a block")
            try:
                used = whole_blocks(content)
            except DamagedBlock as error:
                used = error.offset
                self._asked_for_all = True
                self._file.seek(self._place + used)
                self._plain = gzip_text(self._file)
            if used:
                self._waiting.append((self._place, self._pool.submit(_inflated, content[:used])))
            self._place += used
            self._left = content[used:]


def _inflated(blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return inflate_blocks(blocks)[0]
