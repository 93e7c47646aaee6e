"""Buffered writer of bgzip text files."""

from pathlib import Path

from quire.io.bgzf import compress_blocks
from quire.io.files import BGZF_END

BYTES_AT_A_TIME = 1 << 20


class BgzipText:
    """Buffered writer of a bgzip text file."""

    def __init__(self, path: Path) -> None:
        """Create an empty file."""
        self._path = path
        self._held: list[bytes] = []
        self._bytes = 0
        path.write_bytes(b"")

    def write(self, text: str) -> None:
        """Append text."""
        self._held.append(text.encode())
        self._bytes += len(self._held[-1])
        if self._bytes >= BYTES_AT_A_TIME:
            self._flush()

    def close(self) -> None:
        """Write the buffered text and the BGZF end-of-file block."""
        self._flush()
        with self._path.open("ab") as stream:
            stream.write(BGZF_END)

    def _flush(self) -> None:
        data = b"".join(self._held)
        self._held, self._bytes = [], 0
        if data:
            with self._path.open("ab") as stream:
                stream.write(compress_blocks(data).tobytes())
