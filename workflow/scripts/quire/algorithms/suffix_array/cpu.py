"""Suffix sorting by libdivsufsort (Yuta Mori), which writes straight into the rows after the sentinel's.

The library is called through ctypes: conda's package `libdivsufsort` installs it into the environment's `lib`, PyPI's
package `pydivsufsort` next to its modules (which are not imported).
"""

import ctypes
import importlib.util
import sys
from functools import cache
from pathlib import Path

import numpy as np

from quire.errors import QuireError

_NAMES = ("libdivsufsort.so.3*", "libdivsufsort*.dylib")  # the interface's version; macOS writes it before the ending
_LONGEST_TEXT = (1 << 31) - 1  # the library with 32-bit positions; the one with 64 would write twice the bytes
_OUT_OF_MEMORY = -2


def suffix_array(codes: np.ndarray) -> np.ndarray:
    """Return the suffix array of codes (uint8[n], n < 2^31); see `quire.algorithms.suffix_array`.

    Raises:
        ValueError: the text is too long.
        MemoryError: the library has too little memory.
        QuireError: the library is missing or cannot be loaded.
    """
    if codes.size > _LONGEST_TEXT:
        raise ValueError(f"a text of {codes.size} bases is longer than {_LONGEST_TEXT}; use smaller pages")
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    rows = np.empty(codes.size + 1, dtype=np.uint32)
    rows[0] = codes.size
    # The library writes int32; all values are below 2^31, so the bytes are those of uint32.
    status = _library().divsufsort(
        ctypes.c_void_p(codes.ctypes.data), ctypes.c_void_p(rows[1:].ctypes.data), ctypes.c_int32(codes.size)
    )
    if status == _OUT_OF_MEMORY:
        raise MemoryError(f"too little memory to sort the suffixes of {codes.size} bases; use smaller pages")
    if status != 0:
        raise RuntimeError(f"libdivsufsort failed with status {status}")
    return rows


@cache
def _library() -> ctypes.CDLL:
    """Load the library of this environment; raise QuireError if it is missing or cannot be loaded."""
    folders = [Path(sys.prefix) / "lib"]
    wheel = importlib.util.find_spec("pydivsufsort")
    if wheel is not None:
        folders += map(Path, wheel.submodule_search_locations or ())
    found = [path for folder in folders for name in _NAMES for path in sorted(folder.glob(name))]
    if not found:
        raise QuireError(
            f"libdivsufsort, which sorts suffixes, is not in {' or '.join(map(str, folders))}: run `make` again, or "
            "install pip's pydivsufsort or bioconda's libdivsufsort into the environment that runs"
        )
    try:
        return ctypes.CDLL(str(found[0]))
    except OSError as error:
        raise QuireError(
            f"libdivsufsort, which sorts suffixes, cannot be loaded from {found[0]} ({error}): install it again"
        ) from error
