"""A moving window of a FASTQ file's text."""

from io import BufferedIOBase, RawIOBase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io import sniff
from quire.io.fastq.parser import NEWLINE, after_lines

DAMAGE_CHUNK = 1 << 20  # bytes read at a time when text is only checked for damage
MOST_RECORD_BYTES = 64 << 20  # no FASTQ record is larger
LONG_LINE = 4096  # bytes; a FASTQ of short reads has shorter lines on average


class TextWindow:
    """A window of a file's text; data[start:end] is not parsed yet.

    Attributes:
        path: path of the file, for messages.
        data: uint8[], with room for more text after `end`.
        start, end: range of the unparsed text.
        at_end: True if nothing follows `data[end - 1]` in the file.

    Raises:
        InputError: the text begins like another format.
    """

    def __init__(self, path: str | Path, stream: BufferedIOBase | RawIOBase, chunk_bytes: int) -> None:
        self.path = path
        self.stream = stream
        self.chunk_bytes = chunk_bytes
        self.data = np.empty(chunk_bytes + 1, np.uint8)
        self.start = self.end = 0
        self.at_end = False
        self._failure: Exception | None = None
        self._unused: list[NDArray[np.uint8]] = []
        self._read_some()
        head = self.data[: min(self.end, sniff.LONGEST_MAGIC)].tobytes()
        if head.startswith(sniff.GZIP_MAGIC):
            raise InputError(f"{path}: this is not FASTQ but compressed twice; decompress it once.")
        other = sniff.file_type(head)
        if other is not None:
            raise InputError(f"{path}: this is not FASTQ but {other.description}; {other.remedy}.")

    def _read_some(self) -> None:
        """Append a chunk to the window; at the end of the file, append a missing last newline."""
        if self._failure is not None:
            raise self._failure
        count = self.stream.readinto(self.data.data[self.end : self.end + self.chunk_bytes])
        self.at_end = not count
        if self.at_end and self.end > self.start and self.data[self.end - 1] != NEWLINE:
            self.data[self.end] = NEWLINE
            count = 1
        self.end += count

    def raise_damage(self, most: int) -> None:
        """Read and discard up to `most` bytes of text, to raise the error of a damaged file if there is one."""
        if self._failure is not None:
            raise self._failure
        while most > 0 and (lost := self.stream.read(DAMAGE_CHUNK)):
            most -= len(lost)

    def more(self) -> None:
        """Move the unparsed text to the front, and append a chunk."""
        left = self.end - self.start
        target = self.data if left + self.chunk_bytes < len(self.data) else np.empty(2 * len(self.data), np.uint8)
        if self.start > 0 or target is not self.data:
            target[:left] = self.data[self.start : self.end].copy()
        self.data, self.start, self.end = target, 0, left
        self._read_some()

    def take_lines(self, lines: int) -> NDArray[np.uint8] | None:
        """Remove the next `lines` lines and return them; None if there are fewer, or they are too long for reads.

        An error while reading is raised later, when the window needs more text again.
        """
        # Number of lines in the examined bytes of the window, and of these bytes.
        lines_found, scanned = 0, 0
        while True:
            after, found = after_lines(self.data, self.start + scanned, self.end, lines - lines_found)
            if after >= 0:
                break
            lines_found, scanned = lines_found + found, self.end - self.start
            if self.at_end or self._failure or scanned > max(MOST_RECORD_BYTES, LONG_LINE * lines_found):
                return None
            try:
                self.more()
            except Exception as error:  # raised after the text that was read before it
                self._failure = error
        left = self.end - after
        target = self._unused.pop() if self._unused else np.empty(0, np.uint8)
        if len(target) < max(len(self.data), left + self.chunk_bytes + 1):
            target = np.empty(max(len(self.data), left + self.chunk_bytes + 1), np.uint8)
        target[:left] = self.data[after : self.end]
        taken = self.data[self.start : after]
        self.data, self.start, self.end = target, 0, left
        return taken

    def put_back(self, taken: list[NDArray[np.uint8]]) -> None:
        """Put taken lines back; `taken` has them in order."""
        parts = [*taken, self.data[self.start : self.end]]
        size = sum(map(len, parts))
        self.data = np.concatenate([*parts, np.empty(self.chunk_bytes + 1, np.uint8)])
        self.start, self.end = 0, size
        self._unused.clear()

    def reuse(self, taken: NDArray[np.uint8]) -> None:
        """Reuse the memory of taken lines that are no longer needed."""
        if taken.base is not None:
            self._unused.append(taken.base)
