"""The arrays that the kernels of extension read and write, and the same ones borrowed (`quire.simd.borrowed`)."""

from typing import NamedTuple

import numpy as np

from quire.simd.borrowed import borrowed
from quire.simd.compiled import inlined


class JobArrays(NamedTuple):
    """The arrays of `ExtensionJobs` that the kernels read."""

    read: np.ndarray
    strand: np.ndarray
    diagonal: np.ndarray
    diagonal_low: np.ndarray
    axis_low: np.ndarray
    axis_high: np.ndarray


class SequenceArrays(NamedTuple):
    """What is aligned: the arrays of `Reads` that the kernels read, the packed axis and its ambiguous spans."""

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


@inlined
def borrowed_jobs(jobs):
    """The same columns, for a kernel that takes them out in loops."""
    read, strand, diagonal, diagonal_low, axis_low, axis_high = jobs
    return JobArrays(
        borrowed(read), borrowed(strand), borrowed(diagonal), borrowed(diagonal_low), borrowed(axis_low),
        borrowed(axis_high),
    )  # fmt: skip


@inlined
def borrowed_sequences(sequences):
    """The same arrays, likewise."""
    offsets, codes, word_offsets, packed, has_ambiguous, text, ambiguous = sequences
    return SequenceArrays(
        borrowed(offsets), borrowed(codes), borrowed(word_offsets), borrowed(packed), borrowed(has_ambiguous),
        borrowed(text), borrowed(ambiguous),
    )  # fmt: skip


@inlined
def borrowed_results(results):
    """The same columns, likewise."""
    score, read_begin, read_end, axis_begin, axis_end, cigar_begin, cigar_length = results
    return ResultArrays(
        borrowed(score), borrowed(read_begin), borrowed(read_end), borrowed(axis_begin), borrowed(axis_end),
        borrowed(cigar_begin), borrowed(cigar_length),
    )  # fmt: skip
