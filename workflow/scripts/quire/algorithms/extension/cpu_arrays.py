"""The arrays that the kernels of extension read and write."""

from typing import NamedTuple

import numpy as np


class JobArrays(NamedTuple):
    """The arrays of `ExtensionJobs` that the kernels read."""

    read: np.ndarray
    strand: np.ndarray
    diagonal: np.ndarray
    diagonal_low: np.ndarray
    axis_low: np.ndarray
    axis_high: np.ndarray


class SequenceArrays(NamedTuple):
    """The arrays of `Reads` that the kernels read, the packed axis and its ambiguous spans."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    has_ambiguous: np.ndarray
    text: np.ndarray
    ambiguous: np.ndarray


class ResultArrays(NamedTuple):
    """The arrays of `Extensions` that have one entry for each job."""

    score: np.ndarray
    read_begin: np.ndarray
    read_end: np.ndarray
    axis_begin: np.ndarray
    axis_end: np.ndarray
    cigar_begin: np.ndarray
    cigar_length: np.ndarray
