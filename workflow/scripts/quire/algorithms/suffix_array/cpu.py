"""Suffix sorting by libdivsufsort (Yuta Mori), written straight into the rows after the sentinel's."""

import ctypes

import numpy as np
from pydivsufsort.dll import libdivsufsort

_LONGEST_TEXT = (1 << 31) - 1
_OUT_OF_MEMORY = -2


def suffix_array(codes: np.ndarray) -> np.ndarray:
    """See `quire.algorithms.suffix_array.suffix_array`."""
    if codes.size > _LONGEST_TEXT:
        raise ValueError(f"a text of {codes.size} bases is longer than {_LONGEST_TEXT}; use smaller pages")
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    rows = np.empty(codes.size + 1, dtype=np.uint32)
    rows[0] = codes.size
    # The library writes int32; all values are below 2^31, so the bytes are those of uint32.
    status = libdivsufsort.divsufsort(
        ctypes.c_void_p(codes.ctypes.data), ctypes.c_void_p(rows[1:].ctypes.data), ctypes.c_int32(codes.size)
    )
    if status == _OUT_OF_MEMORY:
        raise MemoryError(f"no memory to sort the suffixes of {codes.size} bases; use smaller pages")
    if status != 0:
        raise RuntimeError(f"libdivsufsort failed with status {status}")
    return rows
