"""Scoring of a group of reads, one per lane, against the haplotypes that they share (PairHMM in Numba).

The haplotype is the same in all lanes, so a column's emissions are one of five vectors of the row. These are computed
beforehand, because loads do not compete for the arithmetic units.
"""

from typing import NamedTuple

import numpy as np

from quire.simd.compiled import compiled, inlined
from quire.simd.processor import has_avx512
from quire.simd.vectors import (
    add,
    aligned_zeros,
    choose_less,
    choose_shifted,
    fma,
    load,
    multiply,
    splat,
    store,
)

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
def _fill_first_row(above, begin, end, start):
    """Write row 0 in columns (begin, end]: M = I = 0 and E = start."""
    zero, first = splat(start - start, LANES), splat(start, LANES)
    for j in range(begin + 1, end + 1):
        store(above, j * COLUMN + MATCH, zero)
        store(above, j * COLUMN + INSERTED, zero)
        store(above, j * COLUMN + DELETED, first)


class ScoredTasks(NamedTuple):
    """Tasks (int32[t, 2], read and haplotype) and their sums ([t], filled)."""

    tasks: np.ndarray
    sums: np.ndarray


class _Columns(NamedTuple):
    """A run of columns to sweep.

    Attributes:
        begin, end: columns (begin, end].
        source: index in `kept` of the state of column `begin`.
        target: index in `kept` at which to store the state of column `end`, or NOWHERE.
    """

    begin: int
    end: int
    source: int
    target: int


@compiled
def score_together(inputs, tables, space, scored, group, edges):
    """Score the reads of a group, one per lane, against all haplotypes that they share.

    `group` (int64[reads]) holds the first task of each read, `edges` (PREFIX_EDGE[]) the tree of the haplotypes, and
    `tables` the stacked `model.Tables`.
    """
    tasks, sums, codes, above = scored.tasks, scored.sums, space.codes, space.above
    haplotype_bases, lanes, height = inputs.haplotype_bases, len(group), np.int64(0)
    for first_task in group:
        read = tasks[first_task, 0]
        height = max(height, inputs.read_offsets[read + 1] - inputs.read_offsets[read])
    height += height % 2
    for lane in range(lanes):
        _pack_read(inputs, tables, tasks[group[lane], 0], lane, height, space)
    _pack_vectors(space, height, tables.start)
    first, level = tasks[group[0], 1], len(space.kept) // len(space.sums) * LANES
    for e in range(len(edges)):
        edge = edges[e]
        begin, end, source, target = edge.begin, edge.end, edge.source, edge.target
        start = inputs.haplotype_offsets[first + edge.haplotype]
        for j in range(begin, end):
            codes[np.uint64(j + 1)] = min(np.int64(haplotype_bases[np.uint64(start + j)]), N) * LANES
        _fill_first_row(above, begin, end, tables.start)
        keep = target * level if target != NOWHERE else np.int64(NOWHERE)
        columns = _Columns(begin, end, source * level, keep)
        for i in range(0, height, 2):
            _sweep_two_rows(space, i, columns)
        running = vector_at(space.sums, source * LANES)
        for j in range(begin + 1, end + 1):
            at = j * COLUMN
            running = add(running, add(vector_at(above, at + MATCH), vector_at(above, at + INSERTED)))
        if target != NOWHERE:
            store(space.sums, target * LANES, running)
        if edge.answer != NOWHERE:
            store(space.total, 0, running)
            for lane in range(lanes):
                sums[group[lane] + edge.answer] = space.total[lane]


@compiled
def _pack_read(inputs, tables, read, lane, height, space):
    """Write a read's letters and factors into a lane, after padding rows, so that it ends at row `height`."""
    # `_pack_vectors` writes the rest. Indices are unsigned, because Numba tests signed ones for counting from the end.
    start = np.uint64(inputs.read_offsets[read])
    size = np.uint64(inputs.read_offsets[read + 1]) - start
    padding = np.uint64(height) - size
    space.padding[lane] = padding
    bases, qualities, continuations = inputs.read_bases, inputs.base_qualities, inputs.continuations
    insertions, deletions = inputs.insertion_qualities, inputs.deletion_qualities
    agree, differ, stay, opening = tables.agree, tables.differ, tables.stay, tables.opening
    wanted, factors = space.wanted, space.factors
    zero = factors.dtype.type(0)
    at, which = np.uint64(lane), np.uint64(lane)
    for _ in range(padding):
        factors[at + np.uint64(AGREE)] = zero
        factors[at + np.uint64(DIFFER)] = zero
        factors[at + np.uint64(STAY)] = zero
        factors[at + np.uint64(INSERTION)] = zero
        factors[at + np.uint64(DELETION)] = zero
        factors[at + np.uint64(CONTINUATION)] = factors.dtype.type(1)
        at += np.uint64(ROW)
        which += np.uint64(LANES)
    deletion = opening[np.uint64(0)]  # exactly 1: row 0's E is D itself
    for base in range(start, start + size):
        wanted[which] = np.int32(TOP) - np.int32(min(bases[base], np.uint8(N)))
        table = np.uint64(continuations[base])
        factors[at + np.uint64(CONTINUATION)] = tables.continuation[table]
        emission = table * np.uint64(256) + np.uint64(qualities[base])
        factors[at + np.uint64(AGREE)] = agree[emission]
        factors[at + np.uint64(DIFFER)] = differ[emission]
        insertion_quality, deletion_quality = np.uint64(insertions[base]), np.uint64(deletions[base])
        pair = table * np.uint64(65536) + insertion_quality * np.uint64(256) + deletion_quality
        factors[at + np.uint64(STAY)] = stay[pair]
        factors[at + np.uint64(INSERTION)] = opening[insertion_quality]
        factors[at + np.uint64(DELETION)] = deletion
        deletion = opening[deletion_quality]
        at += np.uint64(ROW)
        which += np.uint64(LANES)


@compiled
def _pack_vectors(space, height, start):
    """Write the emissions of each letter, and the state of column 0 as level 0."""
    # In column 0 only E differs from zero.
    zero, first = splat(start - start, LANES), splat(start, LANES)
    padding = vector_at(space.padding, 0)
    store(space.sums, 0, zero)
    edge = first
    for i in range(height):
        row = i * ROW
        number = splat(np.int32(i), LANES)
        wanted = vector_at(space.wanted, i * LANES)
        agree, differ = vector_at(space.factors, row + AGREE), vector_at(space.factors, row + DIFFER)
        for code in range(LETTERS):
            bits = np.int32(1 << N | 1 << code if code < N else ALL_BITS)
            chosen = choose_shifted(splat(bits, LANES), wanted, agree, differ)
            store(space.emissions, i * EMISSIONS + code * LANES, chosen)
        above, edge = edge, choose_less(number, padding, first, zero)
        place = i // 2 * KEPT
        if i % 2 == 0:
            store(space.kept, place, zero)
            store(space.kept, place + LANES, zero)
            store(space.kept, place + 2 * LANES, above)
            store(space.kept, place + 3 * LANES, zero)
            store(space.kept, place + 4 * LANES, zero)
            store(space.kept, place + 5 * LANES, edge)
            store(space.kept, place + 6 * LANES, zero)
        else:
            store(space.kept, place + 7 * LANES, edge)


@compiled
def _sweep_two_rows(space, i, columns):
    """Replace row i of `above` by row i + 2 (0-based: read bases i and i + 1) in some columns."""
    # `upper` and `lower` name the two rows. Before column j, *_match and the like hold column j - 1.
    codes, emissions, factors, above, kept = space.codes, space.emissions, space.factors, space.above, space.kept
    begin, end, source, target = columns
    upper, lower = i * ROW, (i + 1) * ROW
    upper_emissions, lower_emissions = i * EMISSIONS, (i + 1) * EMISSIONS
    upper_stay, lower_stay = vector_at(factors, upper + STAY), vector_at(factors, lower + STAY)
    upper_insertion, lower_insertion = vector_at(factors, upper + INSERTION), vector_at(factors, lower + INSERTION)
    upper_deletion, lower_deletion = vector_at(factors, upper + DELETION), vector_at(factors, lower + DELETION)
    upper_continued, lower_continued = (
        vector_at(factors, upper + CONTINUATION),
        vector_at(factors, lower + CONTINUATION),
    )
    place = source + i // 2 * KEPT
    match, inserted = vector_at(kept, place), vector_at(kept, place + LANES)
    deleted, upper_match = vector_at(kept, place + 2 * LANES), vector_at(kept, place + 3 * LANES)
    upper_inserted, upper_deleted = vector_at(kept, place + 4 * LANES), vector_at(kept, place + 5 * LANES)
    lower_match, lower_deleted = vector_at(kept, place + 6 * LANES), vector_at(kept, place + 7 * LANES)
    for j in range(begin + 1, end + 1):
        code = codes[np.uint64(j)]
        gaps = fma(again(lower_deletion, factors, lower + DELETION), upper_deleted, upper_inserted)
        lower_deleted = fma(again(lower_continued, factors, lower + CONTINUATION), lower_deleted, lower_match)
        lower_match = multiply(
            vector_at(emissions, lower_emissions + code),
            fma(again(lower_stay, factors, lower + STAY), upper_match, gaps),
        )
        gaps = fma(again(upper_deletion, factors, upper + DELETION), deleted, inserted)
        upper_deleted = fma(again(upper_continued, factors, upper + CONTINUATION), upper_deleted, upper_match)
        upper_match = multiply(
            vector_at(emissions, upper_emissions + code), fma(again(upper_stay, factors, upper + STAY), match, gaps)
        )
        column = j * COLUMN
        match, inserted = vector_at(above, column + MATCH), vector_at(above, column + INSERTED)
        deleted = vector_at(above, column + DELETED)
        upper_inserted = fma(
            again(upper_insertion, factors, upper + INSERTION), match, multiply(upper_continued, inserted)
        )
        lower_inserted = fma(
            again(lower_insertion, factors, lower + INSERTION), upper_match, multiply(lower_continued, upper_inserted)
        )
        store(above, column + MATCH, lower_match)
        store(above, column + INSERTED, lower_inserted)
        store(above, column + DELETED, lower_deleted)
    if target != NOWHERE:
        place = target + i // 2 * KEPT
        store(kept, place, match)
        store(kept, place + LANES, inserted)
        store(kept, place + 2 * LANES, deleted)
        store(kept, place + 3 * LANES, upper_match)
        store(kept, place + 4 * LANES, upper_inserted)
        store(kept, place + 5 * LANES, upper_deleted)
        store(kept, place + 6 * LANES, lower_match)
        store(kept, place + 7 * LANES, lower_deleted)
