"""Progress of reading the files that a job reads from beginning to end."""

from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Any

_bytes: dict[str, int] = {}  # position by path


class CountedFile(FileIO):
    """An unbuffered file opened for reading, whose position is counted for `share_read`."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(str(path), "rb")
        self._path = str(path)
        _bytes[self._path] = 0

    def readinto(self, buffer: Any, /) -> int | None:
        """Read into a buffer; see FileIO."""
        got = super().readinto(buffer)
        _bytes[self._path] += got or 0
        return got


def share_read(paths: Iterable[str | Path]) -> float | None:
    """Return the share of the files' bytes that were read, from 0 to 1; None before the first byte.

    Also return None if the size of a file is unknown: a file may be deleted while it is read, and a report of progress
    must not end the job.
    """
    try:
        sizes = {str(path): Path(path).stat().st_size for path in paths}
    except OSError:
        return None
    read = sum(min(_bytes.get(path, 0), size) for path, size in sizes.items())
    return read / sum(sizes.values()) if read else None
