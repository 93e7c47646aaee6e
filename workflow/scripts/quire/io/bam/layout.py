"""The stored form of BAM records (SAM specification, section 4.2): fixed fields, and bases as four-bit numbers."""

import numpy as np
from numpy.typing import NDArray

from quire.sequence.codes import AMBIGUOUS, COMPLEMENT

FIXED_FIELDS = np.dtype(
    [
        ("block_size", np.int32),  # bytes of the record after this field
        ("contig", np.int32),
        ("position", np.int32),
        ("name_bytes", np.uint8),  # including the closing NUL
        ("mapping_quality", np.uint8),
        ("bin", np.uint16),
        ("operations", np.uint16),  # number of operations of the CIGAR
        ("flag", np.uint16),
        ("bases", np.int32),
        ("mate_contig", np.int32),
        ("mate_position", np.int32),
        ("template_length", np.int32),
    ]
)
"""The fixed fields of a record; name, CIGAR, bases, qualities and tags follow."""
FIXED_BYTES = FIXED_FIELDS.itemsize
SIZE_BYTES = FIXED_FIELDS["block_size"].itemsize
OPERATION_BYTES = 4

NUMBER_OF_CODE: NDArray[np.uint8] = np.array([1, 2, 4, 8, 15], np.uint8)
"""Four-bit numbers of the codes of A, C, G, T and N; a byte holds two bases, the first in its high half."""
NUMBER_OF_COMPLEMENT: NDArray[np.uint8] = NUMBER_OF_CODE[COMPLEMENT]


def _codes_of_bytes() -> NDArray[np.uint16]:
    codes = np.full(16, AMBIGUOUS, np.uint16)
    codes[NUMBER_OF_CODE] = np.arange(len(NUMBER_OF_CODE))
    both = np.arange(256)
    table: NDArray[np.uint16] = codes[both >> 4] | codes[both & 15] << 8
    return table


CODES_OF_BYTE = _codes_of_bytes()
"""uint16[256]: the codes of the two bases in a byte, the first in the low half."""
