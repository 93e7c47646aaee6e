"""Reads and axis in the form that the kernels of complete search take."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete import Axis
from quire.reads import Reads


class BatchArrays(NamedTuple):
    """The reads of a batch (see `quire.reads.Reads`), the axis (`quire.algorithms.complete.Axis`), and k."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    text: np.ndarray
    unknown: np.ndarray
    islands: np.ndarray
    differences: int


def batch_arrays(reads: Reads, axis: Axis, max_differences: int) -> BatchArrays:
    """Return a batch and the axis as the kernels take them."""
    return BatchArrays(
        reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, *axis, max_differences
    )
