"""Reading of BAM indexes, BAI and CSI (SAM specification, section 5): where the records of a span begin in the file.

A reader starts at the first record that may overlap the span and continues in the order of the file. Only the offsets
of first records are used: BAI's linear index, or the offsets of CSI's bins.
"""

import struct
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bam.bins_cpu import WINDOW_SHIFT, first_bin
from quire.io.files import open_input, read_errors


class BamIndex(Protocol):
    """Interface of BAI and CSI indexes."""

    def __len__(self) -> int:
        """Return the number of contigs."""

    def first_offset(self, contig: int, start: int) -> int | None:
        """Return a virtual offset before all records that end after `start`; None if the contig has no such record."""


class LinearIndex:
    """The linear indexes of a BAI file.

    Attributes:
        offsets: by contig, uint64[windows], virtual offset of the first record that overlaps each window, 0 for none.
    """

    def __init__(self, offsets: list[NDArray[np.uint64]]) -> None:
        self.offsets = offsets

    def __len__(self) -> int:
        """See `BamIndex`."""
        return len(self.offsets)

    def first_offset(self, contig: int, start: int) -> int | None:
        """See `BamIndex`."""
        windows = self.offsets[contig] if contig < len(self.offsets) else np.empty(0, np.uint64)
        # Windows without records have 0 or the offset of the previous window; take the next one that is not 0.
        after = windows[start >> WINDOW_SHIFT :]
        filled = np.flatnonzero(after)
        return int(after[filled[0]]) if len(filled) else None


class BinIndex:
    """The bins of a CSI file.

    Attributes:
        shift, depth: parameters of the bins (min_shift and depth of the specification).
        bins: by contig, a map from bin to the virtual offset of the first record that overlaps it.
    """

    def __init__(self, shift: int, depth: int, bins: list[dict[int, int]]) -> None:
        self.shift, self.depth, self.bins = shift, depth, bins

    def __len__(self) -> int:
        """See `BamIndex`."""
        return len(self.bins)

    def first_offset(self, contig: int, start: int) -> int | None:
        """See `BamIndex`."""
        bins = self.bins[contig] if contig < len(self.bins) else {}
        if not bins:
            return None
        # As in htslib: from the smallest bin at the position to its left neighbours, then to their parents. The offset
        # of the first existing bin is before every record that overlaps the position.
        number = first_bin(self.depth) + (start >> self.shift)
        while number and number not in bins:
            first_sibling = (self._parent(number) << 3) + 1
            number = number - 1 if number > first_sibling else self._parent(number)
        return bins.get(number, min(bins.values()))

    @staticmethod
    def _parent(number: int) -> int:
        return (number - 1) >> 3


def open_index(bam: Path) -> BamIndex:
    """Read the index of a BAM file: x.bam.csi, x.csi, x.bam.bai or x.bai.

    Raises:
        InputError: there is no index, or it is damaged.
    """
    candidates = [Path(f"{bam}.csi"), bam.with_suffix(".csi"), Path(f"{bam}.bai"), bam.with_suffix(".bai")]
    found = next((path for path in candidates if path.exists()), None)
    if found is None:
        raise InputError(f"{bam}: has no index beside it; run samtools index on it.")
    with read_errors(found), open_input(found) as stream:
        data = stream.read()
    try:
        if data[:4] == b"BAI\x01":
            return _read_bai(data)
        if data[:4] == b"CSI\x01":
            return _read_csi(data)
    except (struct.error, ValueError):
        pass
    raise InputError(f"{found}: is not a whole BAI or CSI index; run samtools index on {bam} again.")


def _read_bai(data: bytes) -> LinearIndex:
    (contigs,) = struct.unpack_from("<i", data, 4)
    at, offsets = 8, []
    for _ in range(contigs):
        (bins,) = struct.unpack_from("<i", data, at)
        at += 4
        for _ in range(bins):
            (chunks,) = struct.unpack_from("<i", data, at + 4)
            at += 8 + 16 * chunks
        (windows,) = struct.unpack_from("<i", data, at)
        offsets.append(np.frombuffer(data, np.dtype("<u8"), windows, at + 4))
        at += 4 + 8 * windows
    return LinearIndex(offsets)


def _read_csi(data: bytes) -> BinIndex:
    shift, depth, extra = struct.unpack_from("<iii", data, 4)
    at = 16 + extra
    (contigs,) = struct.unpack_from("<i", data, at)
    at += 4
    metadata_bin = first_bin(depth + 1) + 1
    all_bins = []
    for _ in range(contigs):
        (count,) = struct.unpack_from("<i", data, at)
        at += 4
        bins = {}
        for _ in range(count):
            number, offset, chunks = struct.unpack_from("<IQi", data, at)
            if number != metadata_bin:
                bins[number] = offset
            at += 16 + 16 * chunks
        all_bins.append(bins)
    return BinIndex(shift, depth, all_bins)
