"""How much was read of the files that a job reads from their beginning to their end."""

from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Any

_bytes: dict[str, int] = {}  # by path, up to where each was read


class CountedFile(FileIO):
    """A file opened for reading, without a buffer, of which `share_read` knows how far it was read."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(str(path), "rb")
        self._path = str(path)
        _bytes[self._path] = 0

    def readinto(self, buffer: Any, /) -> int | None:
        """As FileIO has it."""
        got = super().readinto(buffer)
        _bytes[self._path] += got or 0
        return got


def note_place(path: str | Path, place: int) -> None:
    """Say up to where a file was read by other means."""
    _bytes[str(path)] = place


def share_read(paths: Iterable[str | Path]) -> float | None:
    """The share of the bytes of some files that were read, from 0 to 1.

    None before the first of them was, and where a size is not to be had: a file may be deleted while it is read, and
    what only tells how far a job is must not end it.
    """
    try:
        sizes = {str(path): Path(path).stat().st_size for path in paths}
    except OSError:
        return None
    read = sum(min(_bytes.get(path, 0), size) for path, size in sizes.items())
    return read / sum(sizes.values()) if read else None
