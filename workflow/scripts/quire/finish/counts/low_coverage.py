"""BED files of regions found in the order of the genome; for those of low coverage also the longest, for the report."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END

LISTED = 20
BYTES_AT_A_TIME = 1 << 20  # of text that is compressed


class RegionFile:
    """Writer of a bgzip BED file of regions; adjacent rows of consecutive batches are joined."""

    def __init__(self, path: Path, contigs: list[str], comment: str = "") -> None:
        """Create a file for regions on contigs of these names; its first line is the comment, if there is one."""
        self._path, self._contigs = path, contigs
        self._text = bytearray(f"# {comment}\n".encode() if comment else b"")
        self._last = np.empty((0, 3), np.int64)
        path.write_bytes(b"")

    def add(self, rows: NDArray[np.int64]) -> None:
        """Add the next rows (contig, start, end); the last one is held back, since it may be extended."""
        if not len(rows):
            return
        if len(self._last) and self._last[0, 0] == rows[0, 0] and self._last[0, 2] == rows[0, 1]:
            rows = rows.copy()
            rows[0, 1] = self._last[0, 1]
        else:
            self._write(self._last)
        self._write(rows[:-1])
        self._last = rows[-1:]

    def finish(self) -> None:
        """Write the last row and close the file."""
        self._write(self._last)
        self._flush(BGZF_END)

    def _write(self, rows: NDArray[np.int64]) -> None:
        self._text += "".join(f"{self._contigs[contig]}\t{a}\t{b}\n" for contig, a, b in rows.tolist()).encode()
        if len(self._text) >= BYTES_AT_A_TIME:
            self._flush()

    def _flush(self, end: bytes = b"") -> None:
        with self._path.open("ab") as stream:
            stream.write(compress_blocks(bytes(self._text)).tobytes() + end)
        self._text.clear()


class LowCoverage(RegionFile):
    """Writer of the regions with a depth below `below`, which also sums them up."""

    def __init__(self, path: Path, contigs: list[str], below: int) -> None:
        """Create an empty file."""
        super().__init__(path, contigs)
        self.below = below
        self._longest = self._last
        self._regions = self._positions = 0

    def close(self) -> dict[str, Any]:
        """Finish the file; return the summary for counts.json (docs/formats.md)."""
        self.finish()
        return {
            "below": self.below,
            "regions": self._regions,
            "positions": self._positions,
            "longest": [[self._contigs[contig], start, end] for contig, start, end in self._longest.tolist()],
        }

    def _write(self, rows: NDArray[np.int64]) -> None:
        self._regions += len(rows)
        self._positions += int((rows[:, 2] - rows[:, 1]).sum())
        both = np.concatenate([self._longest, rows])
        # Among equally long regions the first, so that the result does not depend on the batches.
        order = np.lexsort((both[:, 1], both[:, 0], both[:, 1] - both[:, 2]))
        self._longest = both[order[:LISTED]]
        super()._write(rows)
