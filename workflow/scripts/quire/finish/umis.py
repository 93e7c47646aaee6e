"""Duplicates by UMI: records with different RX are never duplicates, as if they came from different libraries.

The rule is that of `samtools markdup --barcode-tag RX` and Picard's BARCODE_TAG: UMIs match if all their letters do.
64-bit hashes of the UMIs are compared; collisions are negligibly rare.
"""

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode import Records, qualities_begin
from quire.io.bam.layout import SIZE_BYTES
from quire.io.bam.tags import text_tag
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.compiled import compiled

_RX = ord("R"), ord("X")


def by_umi(records: Records, library: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a number per record (int32[n]), equal for records of the same library (int32[n]) and the same RX."""
    hashes = _hashes(records.data, records.starts, records.fixed)
    _, umi = np.unique(hashes, return_inverse=True)
    libraries = int(library.max(initial=0)) + 1
    _, group = np.unique(umi.astype(np.int64) * libraries + library, return_inverse=True)
    numbers: NDArray[np.int32] = group.astype(np.int32)
    return numbers


@compiled
def _hashes(data, starts, fixed):
    """Return a hash of each record's RX (uint64[n]); 0 for records without one."""
    hashes = np.zeros(len(starts), np.uint64)
    for i in range(len(starts)):
        at = qualities_begin(starts[i], fixed[i]) + np.int64(fixed[i].bases)
        end = starts[i] + SIZE_BYTES + np.int64(fixed[i].block_size)
        begin, behind = text_tag(data, at, end, _RX[0], _RX[1])
        if begin >= 0:
            hashes[i] = hash_of_name(data, begin, behind)
    return hashes
