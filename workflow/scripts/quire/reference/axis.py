"""Contigs on one axis: runs of 20 or more ambiguous bases separate islands, shorter runs stay within islands."""

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from quire.sequence.codes import AMBIGUOUS
from quire.sequence.packing import BASES_PER_WORD, pack, stand_in_codes

SEPARATING_RUN = 20


class AxisWriter:
    """A writer of the packed axis that takes the codes of contigs piece by piece.

    Attributes:
        islands: (contig, start on the contig, length, start on the axis) of each island closed so far.
        ambiguous: (start, end) on the axis of each short run of ambiguous bases, whose codes are stand-ins.
        axis_length: bases added so far.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.islands: list[tuple[int, int, int, int]] = []
        self.ambiguous: list[NDArray[np.int64]] = [np.empty((0, 2), dtype=np.int64)]
        self.axis_length = 0
        self._stream = stream
        self._words = 0
        self._unpacked = np.empty(0, dtype=np.uint8)
        self._contig = 0
        self._write_header()
        self._reset()

    def _reset(self) -> None:
        self._position = 0  # position of the next piece on the contig
        self._held = 0  # ambiguous bases before that piece that are not added yet, at most SEPARATING_RUN
        self._island: tuple[int, int] | None = None  # (start on the contig, start on the axis) of the open island

    def _write_header(self) -> None:
        """Write the header; NumPy pads it to a size that does not depend on the length, so `finish` can rewrite it."""
        self._stream.seek(0)
        header = {"descr": "<u8", "fortran_order": False, "shape": (self._words,)}
        np.lib.format.write_array_header_1_0(self._stream, header)

    def add(self, codes: NDArray[np.uint8]) -> None:
        """Add the next piece (uint8, 0..3 and 4 = ambiguous) of the current contig.

        At most SEPARATING_RUN ambiguous bases at its end are held back until the length of their run is known.
        """
        joined = np.concatenate((np.full(self._held, AMBIGUOUS, dtype=np.uint8), codes)) if self._held else codes
        joined_start = self._position - self._held
        self._position += codes.size
        runs = ambiguous_runs(joined)
        body_end = joined.size
        if runs.size and runs[-1, 1] == joined.size:
            body_end = int(runs[-1, 0])
            runs = runs[:-1]
        # The last SEPARATING_RUN bases of a long run still separate islands, and end where the run ends.
        self._held = min(joined.size - body_end, SEPARATING_RUN)
        start = 0
        for run_start, run_end in runs[runs[:, 1] - runs[:, 0] >= SEPARATING_RUN]:
            self._lay(joined[start:run_start], joined_start + start)
            self._close_island()
            start = int(run_end)
        self._lay(joined[start:body_end], joined_start + start)
        if self._held == SEPARATING_RUN:
            self._close_island()

    def end_contig(self) -> None:
        """End the current contig and start the next one."""
        if self._held and self._island is not None:
            self._lay(np.full(self._held, AMBIGUOUS, dtype=np.uint8), self._position - self._held)
        self._close_island()
        self._contig += 1
        self._reset()

    def finish(self) -> None:
        """Write the last bases, two words of padding and the final header."""
        tail = np.zeros(-self._unpacked.size % BASES_PER_WORD, dtype=np.uint8)
        self._write(np.concatenate((self._unpacked, tail)))
        self._write(np.zeros(2 * BASES_PER_WORD, dtype=np.uint8))
        self._write_header()

    def _lay(self, codes: NDArray[np.uint8], contig_position: int) -> None:
        """Append bases of one island to the axis."""
        if codes.size == 0:
            return
        if self._island is None:
            self._island = (contig_position, self.axis_length)
        runs = ambiguous_runs(codes)
        if runs.size:
            where = np.flatnonzero(codes == AMBIGUOUS)
            codes = codes.copy()
            codes[where] = stand_in_codes(where + self.axis_length)
            self.ambiguous.append(runs + self.axis_length)
        self.axis_length += codes.size
        joined = np.concatenate((self._unpacked, codes)) if self._unpacked.size else codes
        whole = joined.size - joined.size % BASES_PER_WORD
        self._write(joined[:whole])
        self._unpacked = joined[whole:].copy()

    def _write(self, codes: NDArray[np.uint8]) -> None:
        self._stream.write(pack(codes).tobytes())
        self._words += codes.size // BASES_PER_WORD

    def _close_island(self) -> None:
        if self._island is not None:
            start, axis_start = self._island
            self.islands.append((self._contig, start, self.axis_length - axis_start, axis_start))
        self._island = None


def ambiguous_runs(codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the runs of ambiguous bases: int64[m, 2], (start, end)."""
    mask = codes == AMBIGUOUS
    if not mask.any():
        return np.empty((0, 2), dtype=np.int64)
    edges = np.flatnonzero(mask[1:] != mask[:-1]) + 1
    if mask[0]:
        edges = np.concatenate(([0], edges))
    if mask[-1]:
        edges = np.concatenate((edges, [mask.size]))
    return edges.reshape(-1, 2).astype(np.int64)
