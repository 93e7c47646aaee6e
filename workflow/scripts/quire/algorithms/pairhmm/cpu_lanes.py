"""Memory layout of a group of reads in vector lanes, and packing of haplotypes into it."""

from typing import NamedTuple

import numpy as np

from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import aligned_zeros, has_avx512, load, splat, store

# One AVX-512 or AVX2 register of float32. AVX2 has sixteen registers, too few for two rows of 16 lanes.
LANES = 16 if has_avx512() else 8
TOP = 31  # highest bit of an int32
N = 4  # codes of bases are smaller
# Bit sets: a haplotype's base has its own bit and N's, an N has all bits. A read's base tests its own bit, an N N's.
ALL_BITS = (1 << N + 1) - 1

# Vectors of a row of the read in `factors`, and of a column in `above`.
AGREE, DIFFER, STAY, INSERTION, DELETION, CONTINUATION = (k * LANES for k in range(6))
ROW = 6 * LANES
LETTERS = 5  # A, C, G, T and N, of haplotypes
EMISSIONS = LETTERS * LANES  # of a row in `emissions`
MATCH, INSERTED, DELETED = (k * LANES for k in range(3))
COLUMN = 3 * LANES
KEPT = 8 * LANES  # of a pair of rows in `kept`: the state that a sweep passes from one column to the next
NOWHERE = -1


class PairHmmArrays(NamedTuple):
    """Arrays of a batch for the kernel: contiguous, writable and of fixed dtypes, so that it is compiled once."""

    read_bases: np.ndarray
    base_qualities: np.ndarray
    insertion_qualities: np.ndarray
    deletion_qualities: np.ndarray
    read_offsets: np.ndarray
    haplotype_bases: np.ndarray
    haplotype_offsets: np.ndarray
    continuations: np.ndarray  # by base, index into the stacked tables


class PairHmmLanes(NamedTuple):
    """Workspace of one group, lanes innermost.

    Attributes:
        codes: int64, base of the haplotype in each column, times LANES.
        wanted: int32, shift that moves the bit of each read base to the top, a vector per row.
        factors: AGREE to CONTINUATION per row of the read.
        emissions: a vector per row of the read and base of the haplotype (A C G T N).
        above: MATCH, INSERTED and DELETED per column, of the last row that is done.
        kept: KEPT per level of a haplotype tree and pair of rows: the state at a column where haplotypes branch.
        sums: a vector per level: the sum over the last row up to that column.
        padding: int32[LANES], padding rows before each read.
        total: [LANES], sums over the last row.
    """

    codes: np.ndarray
    wanted: np.ndarray
    factors: np.ndarray
    emissions: np.ndarray
    above: np.ndarray
    kept: np.ndarray
    sums: np.ndarray
    padding: np.ndarray
    total: np.ndarray


def workspace(longest_read: int, longest_haplotype: int, levels: int, dtype: np.dtype) -> PairHmmLanes:
    """Allocate the workspace of groups up to this size, with haplotype trees of up to `levels` levels."""
    return PairHmmLanes(
        np.zeros(longest_haplotype + 1, np.int64),
        aligned_zeros((longest_read + 1) * LANES, np.int32),
        aligned_zeros((longest_read + 1) * ROW, dtype),
        aligned_zeros((longest_read + 1) * EMISSIONS, dtype),
        aligned_zeros((longest_haplotype + 1) * COLUMN, dtype),
        aligned_zeros(levels * (longest_read // 2 + 1) * KEPT, dtype),
        aligned_zeros(levels * LANES, dtype),
        np.zeros(LANES, np.int32),
        np.zeros(LANES, dtype),
    )


@inlined
def vector_at(array, index):
    """Return the vector that starts at element `index`."""
    return load(array, index, LANES)


@inlined
def again(vector, array, index):
    """Return a vector that was loaded before, with AVX2 by loading it again.

    AVX2 has too few registers to keep it, and the stack is aligned to 16 bytes only: in half of the processes a vector
    spilled to the stack would cross cache lines.
    """
    return vector if LANES == 16 else vector_at(array, index)


@compiled
def fill_first_row(above, begin, end, start):
    """Write row 0 in columns (begin, end]: M = I = 0 and E = start."""
    zero, first = splat(start - start, LANES), splat(start, LANES)
    for j in range(begin + 1, end + 1):
        store(above, j * COLUMN + MATCH, zero)
        store(above, j * COLUMN + INSERTED, zero)
        store(above, j * COLUMN + DELETED, first)


@inlined
def letter_bits(code):
    """Return the bit set of a haplotype's base."""
    return np.int32(1 << N | 1 << np.int64(code) if code < N else ALL_BITS)


@inlined
def pack_codes(bases, start, begin, end, codes):
    """Write the codes of columns (begin, end] of a haplotype whose first base is bases[start]."""
    for j in range(begin, end):
        codes[np.uint64(j + 1)] = min(np.int64(bases[np.uint64(start + j)]), N) * LANES
