"""PairHMM's lanes: how a group of tasks lies in memory, and reads and haplotypes packed into it."""

from typing import NamedTuple

import numpy as np

from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import aligned_zeros, choose_less, has_avx512, load, splat, store

# Of float32, one AVX-512 or AVX2 register: AVX2's sixteen registers cannot hold two rows of 16 lanes.
LANES = 16 if has_avx512() else 8
TOP = 31  # bit of an int32
N = 4  # the codes of the bases are less
# A haplotype's base has its own bit and N's, an N of the haplotype all; a read's base asks for its bit, an N for N's.
ALL_BITS = (1 << N + 1) - 1

# Vectors of a row of the read in `factors`, and of a column in `above`.
AGREE, DIFFER, STAY, INSERTION, DELETION, CONTINUATION, EDGE = (k * LANES for k in range(7))
ROW = 7 * LANES
LETTERS = 5  # A, C, G, T and N, of haplotypes
EMISSIONS = LETTERS * LANES  # of a row in `emissions`
MATCH, INSERTED, DELETED = (k * LANES for k in range(3))
COLUMN = 3 * LANES
KEPT = 8 * LANES  # of two rows in `kept`: what the sweep of a column hands on to the next one
NOWHERE = -1


class PairHmmArrays(NamedTuple):
    """The batch's arrays as the kernel takes them: contiguous, writable, of fixed dtypes (one compilation)."""

    read_bases: np.ndarray
    base_qualities: np.ndarray
    insertion_qualities: np.ndarray
    deletion_qualities: np.ndarray
    read_offsets: np.ndarray
    haplotype_bases: np.ndarray
    haplotype_offsets: np.ndarray
    continuations: np.ndarray  # by base: which of the stacked tables


class PairHmmLanes(NamedTuple):
    """One group's letters, factors and matrix row, lanes innermost.

    Attributes:
        letters: int32, bit sets of haplotype bases, a vector per column, from column 1 on.
        codes: int64, where haplotypes are the same in all lanes: the base of each column, times LANES.
        wanted: int32, by how much each read base shifts its bit to the top, a vector per row.
        factors: AGREE to EDGE per row of the read.
        emissions: per row of the read and base of a haplotype, A C G T N, a vector.
        above: MATCH, INSERTED and DELETED per column: the last row that is done.
        kept: KEPT per two rows and level of a `prefix_tree`: what stood at a column that haplotypes go on from.
        sums: a vector per level: the sum over the last row up to that column.
        numbers: int32[LANES], of the lanes.
        columns: int32[LANES], lengths of the haplotypes.
        total: [LANES], sums over the last row.
    """

    letters: np.ndarray
    codes: np.ndarray
    wanted: np.ndarray
    factors: np.ndarray
    emissions: np.ndarray
    above: np.ndarray
    kept: np.ndarray
    sums: np.ndarray
    numbers: np.ndarray
    columns: np.ndarray
    total: np.ndarray


def workspace(longest_read: int, longest_haplotype: int, levels: int, dtype: np.dtype) -> PairHmmLanes:
    """Room for a group of tasks up to this size, and for so many levels of their haplotypes' tree."""
    return PairHmmLanes(
        aligned_zeros((longest_haplotype + 1) * LANES, np.int32),
        np.zeros(longest_haplotype + 1, np.int64),
        aligned_zeros((longest_read + 1) * LANES, np.int32),
        aligned_zeros((longest_read + 1) * ROW, dtype),
        aligned_zeros((longest_read + 1) * EMISSIONS, dtype),
        aligned_zeros((longest_haplotype + 1) * COLUMN, dtype),
        aligned_zeros(levels * (longest_read // 2 + 1) * KEPT, dtype),
        aligned_zeros(levels * LANES, dtype),
        np.arange(LANES, dtype=np.int32),
        np.zeros(LANES, np.int32),
        np.zeros(LANES, dtype),
    )


@inlined
def vector_at(array, index):
    """The lanes from element `index` on."""
    return load(array, index, LANES)


@inlined
def again(vector, array, index):
    """A vector of an array that was loaded before.

    AVX2 has too few registers to keep it, and what the compiler puts on the stack crosses cache lines in every other
    process (the stack is aligned to 16 bytes); so there it is read anew.
    """
    return vector if LANES == 16 else vector_at(array, index)


@compiled
def fill_first_row(above, begin, end, start):
    """Row 0: M = I = 0 and E = start in columns (begin, end]."""
    zero, first = splat(start - start, LANES), splat(start, LANES)
    for j in range(begin + 1, end + 1):
        store(above, j * COLUMN + MATCH, zero)
        store(above, j * COLUMN + INSERTED, zero)
        store(above, j * COLUMN + DELETED, first)


@compiled
def pack_read(inputs, tables, read, lane, height, space):
    """Write a read's letters and factors up to row `height`, after padding rows, into all lanes from one on."""
    factors = space.factors
    start = inputs.read_offsets[read]
    padding = height - (inputs.read_offsets[read + 1] - start)
    lanes, first = vector_at(space.numbers, 0), splat(np.int32(lane), LANES)
    zero, one = factors.dtype.type(0), factors.dtype.type(1)
    for i in range(padding):
        row = i * ROW
        _put(factors, row + AGREE, zero, lanes, first)
        _put(factors, row + DIFFER, zero, lanes, first)
        _put(factors, row + STAY, zero, lanes, first)
        _put(factors, row + INSERTION, zero, lanes, first)
        _put(factors, row + DELETION, zero, lanes, first)
        _put(factors, row + CONTINUATION, one, lanes, first)
        _put(factors, row + EDGE, tables.start, lanes, first)
    deletion = tables.opening[0]  # exactly 1: row 0's E is D itself
    for i in range(padding, height):
        base, row = start + i - padding, i * ROW
        code = np.int64(inputs.read_bases[base])
        _put(space.wanted, i * LANES, np.int32(TOP - min(code, N)), lanes, first)
        insertion_quality = np.int64(inputs.insertion_qualities[base])
        deletion_quality = np.int64(inputs.deletion_qualities[base])
        table = np.int64(inputs.continuations[base])
        emission = table * 256 + np.int64(inputs.base_qualities[base])
        stay = table * 65536 + insertion_quality * 256 + deletion_quality
        _put(factors, row + AGREE, tables.agree[emission], lanes, first)
        _put(factors, row + DIFFER, tables.differ[emission], lanes, first)
        _put(factors, row + STAY, tables.stay[stay], lanes, first)
        _put(factors, row + INSERTION, tables.opening[insertion_quality], lanes, first)
        _put(factors, row + DELETION, deletion, lanes, first)
        _put(factors, row + CONTINUATION, tables.continuation[table], lanes, first)
        _put(factors, row + EDGE, zero, lanes, first)
        deletion = tables.opening[deletion_quality]


@inlined
def _put(array, index, value, lanes, first):
    """Write a value into all lanes from `first` on of the vector at an index."""
    store(array, index, choose_less(lanes, first, vector_at(array, index), splat(value, LANES)))


@compiled
def pack_haplotype(inputs, haplotype, lane, letters):
    """Write a haplotype's letters into its lane, from column 1 on; returns its length."""
    start = inputs.haplotype_offsets[haplotype]
    length = inputs.haplotype_offsets[haplotype + 1] - start
    for j in range(length):
        letters[(j + 1) * LANES + lane] = letter_bits(inputs.haplotype_bases[start + j])
    return length


@inlined
def letter_bits(code):
    """The bit set of a haplotype's base."""
    return np.int32(1 << N | 1 << np.int64(code) if code < N else ALL_BITS)


@inlined
def pack_codes(bases, start, begin, end, codes):
    """Write where the emissions of a haplotype's bases stand, of columns (begin, end]; `start` is its first base."""
    for j in range(begin, end):
        codes[np.uint64(j + 1)] = min(np.int64(bases[np.uint64(start + j)]), N) * LANES
