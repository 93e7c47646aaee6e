"""Codes of bases: A 0, C 1, G 2, T and U 3, and 4 for IUPAC letters that stand for several bases."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

AMBIGUOUS = 4
LETTERS: NDArray[np.uint8] = np.frombuffer(b"ACGTN", np.uint8)
"""Letter of each code."""
COMPLEMENT: NDArray[np.uint8] = np.array([3, 2, 1, 0, AMBIGUOUS], np.uint8)
"""Complement of each code."""
IUPAC_BESIDES_N = b"RYSWKMBDHV"


def code_table(others: Mapping[bytes, int], unknown: int) -> NDArray[np.uint8]:
    """Return the code of each byte (uint8[256]); lower case has the code of upper case.

    `others` gives codes of letters other than A, C, G, T and U, and `unknown` that of every other byte.
    """
    table = np.full(256, unknown, np.uint8)
    for letters, code in ((b"A", 0), (b"C", 1), (b"G", 2), (b"TU", 3), *others.items()):
        table[[*letters.upper(), *letters.lower()]] = code
    return table
