"""PairHMM in Numba: 16 or 8 tasks in lockstep, one per vector lane (recurrence: model.py).

Tasks are sorted by read and haplotype length. Inside a group, reads end at the same row: a shorter one is led by
padding rows that hand row 0 on unchanged (emission 0, continuation 1), which is exact. A shorter haplotype computes
columns that nobody reads. Two rows are swept at a time, with everything between them in registers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm.batch import PairHmmBatch
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, log10_of_sums, needs_float64, stacked_tables
from quire.simd.compiled import compiled, inlined
from quire.simd.subnormals import flush_subnormals, kept_apart, write_control
from quire.simd.vectors import (
    add,
    aligned_zeros,
    choose_less,
    choose_shifted,
    fma,
    has_avx512,
    load,
    multiply,
    splat,
    store,
)

# Of float32, one AVX-512 or AVX2 register: AVX2's sixteen registers cannot hold two rows of 16 lanes.
LANES = 16 if has_avx512() else 8
TASKS_AT_ONCE = 1 << 20  # sorted and scored together; where reads lie deep, a region has many more
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
TOP = 31  # bit of an int32
N = 4  # the codes of the bases are less
# A haplotype's base has its own bit and N's, an N of the haplotype all; a read's base asks for its bit, an N for N's.
ALL_BITS = (1 << N + 1) - 1

# Vectors of a row of the read in `factors`, and of a column in `above`.
AGREE, DIFFER, STAY, INSERTION, DELETION, CONTINUATION, EDGE = (k * LANES for k in range(7))
ROW = 7 * LANES
MATCH, INSERTED, DELETED = (k * LANES for k in range(3))
COLUMN = 3 * LANES


class _BatchArrays(NamedTuple):
    """The batch's arrays as the kernel takes them: contiguous, writable, of fixed dtypes (one compilation)."""

    read_bases: np.ndarray
    base_qualities: np.ndarray
    insertion_qualities: np.ndarray
    deletion_qualities: np.ndarray
    read_offsets: np.ndarray
    haplotype_bases: np.ndarray
    haplotype_offsets: np.ndarray
    continuations: np.ndarray  # by base: which of the stacked tables


class _LaneSpace(NamedTuple):
    """One group's letters, factors and matrix row, lanes innermost.

    Attributes:
        letters: int32, bit sets of haplotype bases, a vector per column, from column 1 on.
        wanted: int32, by how much each read base shifts its bit to the top, a vector per row.
        factors: AGREE to EDGE per row of the read.
        above: MATCH, INSERTED and DELETED per column: the last row that is done.
        numbers: int32[LANES], of the lanes.
        columns: int32[LANES], lengths of the haplotypes.
        total: [LANES], sums over the last row.
    """

    letters: np.ndarray
    wanted: np.ndarray
    factors: np.ndarray
    above: np.ndarray
    numbers: np.ndarray
    columns: np.ndarray
    total: np.ndarray


def log10_likelihoods(batch: PairHmmBatch) -> NDArray[np.float64]:
    """Log10 of P(read | haplotype) for every task of the batch.

    Args:
        batch: reads, haplotypes and tasks; the more tasks at once (many regions), the better filled the lanes.

    Returns:
        float64[t] in the order of batch.tasks; -inf where the model gives zero (or less than 1e-590). The answer for a
        task does not depend on what else is in the batch. Float32, tried again in float64 where that underflows: at
        most 7 (R + H) 2^-24 / ln 10 from the exact value for R read and H haplotype bases, measured below 3e-6.
    """
    answers = np.empty(len(batch.tasks))
    for begin in range(0, len(answers), TASKS_AT_ONCE):
        some = slice(begin, begin + TASKS_AT_ONCE)
        answers[some] = _log10_likelihoods(batch, batch.tasks[some])
    return answers


def _log10_likelihoods(batch: PairHmmBatch, tasks: np.ndarray) -> NDArray[np.float64]:
    """Answers (float64[t]) of some tasks."""
    haplotype_lengths = np.diff(batch.haplotype_offsets)[tasks[:, 1]]
    sums = _last_row_sums(batch, tasks, FLOAT32)
    answers = log10_of_sums(sums, SCALE_EXPONENT[FLOAT32], haplotype_lengths)
    again = np.flatnonzero(needs_float64(sums))
    if len(again):
        sums = _last_row_sums(batch, tasks[again], FLOAT64)
        answers[again] = log10_of_sums(sums, SCALE_EXPONENT[FLOAT64], haplotype_lengths[again])
    return answers


def _last_row_sums(batch: PairHmmBatch, tasks: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Scaled sums (dtype[t]) of M + I over the last row of each task."""
    read_lengths = np.diff(batch.read_offsets)[tasks[:, 0]]
    haplotype_lengths = np.diff(batch.haplotype_offsets)[tasks[:, 1]]
    qualities, continuations = _continuations(batch)
    arrays = [
        np.require(getattr(batch, name), np.int64 if name.endswith("offsets") else np.uint8, ["C", "W"])
        for name in _BatchArrays._fields[:-1]
    ]
    inputs = _BatchArrays._make([*arrays, continuations])
    order = np.lexsort((haplotype_lengths, read_lengths))
    sums = np.zeros(len(tasks), dtype)
    if len(tasks):
        score = _score_flushing if dtype == FLOAT32 else _score_groups
        stacked = stacked_tables(qualities, dtype)
        score(
            inputs,
            stacked,
            _workspace(int(read_lengths.max()), int(haplotype_lengths.max()), dtype),
            np.require(tasks[order], np.int32, ["C", "W"]),
            sums,
            stacked.continuation[0] if len(qualities) == 1 else None,
        )
        sums[order] = sums.copy()
    return sums


def _continuations(batch: PairHmmBatch) -> tuple[tuple[int, ...], np.ndarray]:
    """The gap continuation qualities that occur, and which of them each base of the reads has (uint8[n])."""
    if batch.gap_continuation_qualities is None:
        return (batch.gap_continuation_quality,), np.zeros(len(batch.read_bases), np.uint8)
    qualities, which = np.unique(batch.gap_continuation_qualities, return_inverse=True)
    return tuple(qualities.tolist()), which.astype(np.uint8)


def _workspace(longest_read: int, longest_haplotype: int, dtype: np.dtype) -> _LaneSpace:
    """Room for a group of tasks up to this size."""
    return _LaneSpace(
        aligned_zeros((longest_haplotype + 1) * LANES, np.int32),
        aligned_zeros((longest_read + 1) * LANES, np.int32),
        aligned_zeros((longest_read + 1) * ROW, dtype),
        aligned_zeros((longest_haplotype + 1) * COLUMN, dtype),
        np.arange(LANES, dtype=np.int32),
        np.zeros(LANES, np.int32),
        np.zeros(LANES, dtype),
    )


@compiled
def _score_flushing(inputs, tables, space, tasks, sums, continuation):
    """`_score_groups` while subnormal numbers count as zero."""
    control, failed = flush_subnormals(), False
    try:
        _score_groups(inputs, tables, space, tasks, sums, continuation)
    except Exception:
        failed = True
    write_control(control)
    if failed:
        raise RuntimeError("PairHMM failed while subnormal numbers were flushed")


@compiled
def _score_groups(inputs, tables, space, tasks, sums, continuation):
    """Fill sums[t] for tasks[t, (read, haplotype)], LANES tasks at a time; `continuation` is `_sweep_two_rows`'s."""
    kept_apart()
    for first in range(0, len(tasks), LANES):
        lanes = min(LANES, len(tasks) - first)
        height, width = 0, 0
        for lane in range(lanes):
            read, haplotype = tasks[first + lane]
            height = max(height, inputs.read_offsets[read + 1] - inputs.read_offsets[read])
            space.columns[lane] = _pack_haplotype(inputs, haplotype, lane, space.letters)
            width = max(width, space.columns[lane])
        height += height % 2
        for lane in range(lanes):
            # A read often stands beside itself, with haplotypes of one length.
            if lane == 0 or tasks[first + lane, 0] != tasks[first + lane - 1, 0]:
                _pack_read(inputs, tables, tasks[first + lane, 0], lane, height, space)
        _fill_first_row(space.above, width, tables.start)
        for i in range(0, height, 2):
            _sweep_two_rows(space.letters, space.wanted, space.factors, i, space.above, width, continuation)
        _sum_row(space.above, width, space.columns, space.total)
        for lane in range(lanes):
            sums[first + lane] = space.total[lane]


@compiled
def _pack_read(inputs, tables, read, lane, height, space):
    """Write a read's letters and factors into the lanes from `lane` on, up to row `height`, after padding rows."""
    factors = space.factors
    start = inputs.read_offsets[read]
    padding = height - (inputs.read_offsets[read + 1] - start)
    lanes, first = _vector(space.numbers, 0), splat(np.int32(lane), LANES)
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
    """Write a value into the lanes from `first` on of the vector at an index."""
    store(array, index, choose_less(lanes, first, _vector(array, index), splat(value, LANES)))


@compiled
def _pack_haplotype(inputs, haplotype, lane, letters):
    """Write a haplotype's letters into its lane, from column 1 on; returns its length."""
    start = inputs.haplotype_offsets[haplotype]
    length = inputs.haplotype_offsets[haplotype + 1] - start
    for j in range(length):
        code = np.int64(inputs.haplotype_bases[start + j])
        letters[(j + 1) * LANES + lane] = 1 << N | 1 << code if code < N else ALL_BITS
    return length


@inlined
def _vector(array, index):
    """The lanes from element `index` on."""
    return load(array, index, LANES)


@compiled
def _fill_first_row(above, width, start):
    """Row 0: M = I = 0 and E = start in every column, column 0 included."""
    zero, first = splat(start - start, LANES), splat(start, LANES)
    for j in range(width + 1):
        store(above, j * COLUMN + MATCH, zero)
        store(above, j * COLUMN + INSERTED, zero)
        store(above, j * COLUMN + DELETED, first)


@inlined
def _again(vector, array, index):
    """A vector of an array that was loaded before.

    AVX2 has too few registers to keep it, and what the compiler puts on the stack crosses cache lines in every other
    process (the stack is aligned to 16 bytes); so there it is read anew.
    """
    return vector if LANES == 16 else _vector(array, index)


@compiled
def _sweep_two_rows(letters, wanted, factors, i, above, width, continuation):
    """Replace row i of `above` by row i + 2 (0-based: read bases i and i + 1).

    `upper` and `lower` name the two rows. Before column j, *_match and the like hold column j - 1. `continuation` is
    that of all bases, or None where they differ; a function is compiled for each (padding rows insert nothing).
    """
    upper, lower = i * ROW, (i + 1) * ROW
    upper_wanted, lower_wanted = _vector(wanted, i * LANES), _vector(wanted, (i + 1) * LANES)
    upper_agree, lower_agree = _vector(factors, upper + AGREE), _vector(factors, lower + AGREE)
    upper_differ, lower_differ = _vector(factors, upper + DIFFER), _vector(factors, lower + DIFFER)
    upper_stay, lower_stay = _vector(factors, upper + STAY), _vector(factors, lower + STAY)
    upper_insertion, lower_insertion = _vector(factors, upper + INSERTION), _vector(factors, lower + INSERTION)
    upper_deletion, lower_deletion = _vector(factors, upper + DELETION), _vector(factors, lower + DELETION)
    upper_continued, lower_continued = _vector(factors, upper + CONTINUATION), _vector(factors, lower + CONTINUATION)
    if continuation is None:
        upper_longer, lower_longer = upper_continued, lower_continued
    else:
        upper_longer = lower_longer = splat(continuation, LANES)
    upper_deleted, lower_deleted = _vector(factors, upper + EDGE), _vector(factors, lower + EDGE)
    upper_match = upper_inserted = lower_match = splat(factors.dtype.type(0), LANES)
    match, inserted, deleted = _vector(above, MATCH), _vector(above, INSERTED), _vector(above, DELETED)
    store(above, MATCH, lower_match)
    store(above, INSERTED, lower_match)
    store(above, DELETED, lower_deleted)
    for j in range(1, width + 1):
        letter = _vector(letters, j * LANES)
        gaps = fma(_again(lower_deletion, factors, lower + DELETION), upper_deleted, upper_inserted)
        emission = choose_shifted(letter, lower_wanted, lower_agree, lower_differ)
        lower_deleted = fma(_again(lower_continued, factors, lower + CONTINUATION), lower_deleted, lower_match)
        lower_match = multiply(emission, fma(_again(lower_stay, factors, lower + STAY), upper_match, gaps))
        gaps = fma(_again(upper_deletion, factors, upper + DELETION), deleted, inserted)
        emission = choose_shifted(letter, upper_wanted, upper_agree, upper_differ)
        upper_deleted = fma(_again(upper_continued, factors, upper + CONTINUATION), upper_deleted, upper_match)
        upper_match = multiply(emission, fma(_again(upper_stay, factors, upper + STAY), match, gaps))
        column = j * COLUMN
        match, inserted = _vector(above, column + MATCH), _vector(above, column + INSERTED)
        deleted = _vector(above, column + DELETED)
        upper_inserted = fma(
            _again(upper_insertion, factors, upper + INSERTION), match, multiply(upper_longer, inserted)
        )
        lower_inserted = fma(
            _again(lower_insertion, factors, lower + INSERTION), upper_match, multiply(lower_longer, upper_inserted)
        )
        store(above, column + MATCH, lower_match)
        store(above, column + INSERTED, lower_inserted)
        store(above, column + DELETED, lower_deleted)


@compiled
def _sum_row(above, width, columns, total):
    """total[lane] = sum of M + I over columns 1 to columns[lane], from left to right."""
    end = _vector(columns, 0)
    running = splat(total.dtype.type(0), LANES)
    for j in range(1, width + 1):
        longer = add(running, add(_vector(above, j * COLUMN + MATCH), _vector(above, j * COLUMN + INSERTED)))
        running = choose_less(end, splat(np.int32(j), LANES), running, longer)
    store(total, 0, running)
