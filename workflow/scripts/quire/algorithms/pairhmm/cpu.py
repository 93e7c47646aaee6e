"""PairHMM in Numba: 16 or 8 tasks in lockstep, one per vector lane (recurrence: model.py).

Reads that have the same haplotypes are taken together (`cpu_shared`). What is left, of regions with few reads, is
sorted by read and haplotype length. Inside a group, reads end at the same row: a shorter one is led by padding rows
that hand row 0 on unchanged (emission 0, continuation 1), which is exact. A shorter haplotype computes columns that
nobody reads. Two rows are swept at a time, with everything between them in registers.
"""

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm.batch import PairHmmBatch
from quire.algorithms.pairhmm.cpu_lanes import (
    AGREE,
    COLUMN,
    CONTINUATION,
    DELETED,
    DELETION,
    DIFFER,
    EDGE,
    INSERTED,
    INSERTION,
    LANES,
    MATCH,
    ROW,
    STAY,
    PairHmmArrays,
    again,
    fill_first_row,
    pack_haplotype,
    pack_read,
    vector_at,
    workspace,
)
from quire.algorithms.pairhmm.cpu_order import ScoringOrder, scoring_order
from quire.algorithms.pairhmm.cpu_shared import score_together
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, log10_of_sums, needs_float64, stacked_tables
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled
from quire.simd.subnormals import flush_subnormals, kept_apart, write_control
from quire.simd.vectors import add, choose_less, choose_shifted, fma, multiply, splat, store

TASKS_AT_ONCE = 1 << 20  # sorted and scored together; where reads lie deep, a region has many more
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


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
    sums = last_row_sums(batch, tasks, FLOAT32)
    answers = log10_of_sums(sums, SCALE_EXPONENT[FLOAT32], haplotype_lengths)
    again = np.flatnonzero(needs_float64(sums))
    if len(again):
        sums = last_row_sums(batch, tasks[again], FLOAT64)
        answers[again] = log10_of_sums(sums, SCALE_EXPONENT[FLOAT64], haplotype_lengths[again])
    return answers


def last_row_sums(batch: PairHmmBatch, tasks: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Scaled sums (dtype[t]) of M + I over the last row of each task."""
    read_lengths = np.diff(batch.read_offsets)[tasks[:, 0]]
    haplotype_lengths = np.diff(batch.haplotype_offsets)[tasks[:, 1]]
    qualities, continuations = _continuations(batch)
    arrays = [
        np.require(getattr(batch, name), np.int64 if name.endswith("offsets") else np.uint8, ["C", "W"])
        for name in PairHmmArrays._fields[:-1]
    ]
    inputs = PairHmmArrays._make([*arrays, continuations])
    sums = np.zeros(len(tasks), dtype)
    if len(tasks):
        tasks = np.require(tasks, np.int32, ["C", "W"])
        order: ScoringOrder = scoring_order(tasks, read_lengths, inputs.haplotype_bases, inputs.haplotype_offsets)
        rest = order.rest
        order = order._replace(rest=rest[np.lexsort((haplotype_lengths[rest], read_lengths[rest]))])
        score = _score_flushing if dtype == FLOAT32 else _score_all
        stacked = stacked_tables(qualities, dtype)
        score(
            inputs,
            stacked,
            workspace(int(read_lengths.max()), int(haplotype_lengths.max()), order.levels, dtype),
            tasks,
            order,
            sums,
            stacked.continuation[0] if len(qualities) == 1 else None,
        )
    return sums


def _continuations(batch: PairHmmBatch) -> tuple[tuple[int, ...], np.ndarray]:
    """The gap continuation qualities that occur, and which of them each base of the reads has (uint8[n])."""
    if batch.gap_continuation_qualities is None:
        return (batch.gap_continuation_quality,), np.zeros(len(batch.read_bases), np.uint8)
    qualities, which = np.unique(batch.gap_continuation_qualities, return_inverse=True)
    return tuple(qualities.tolist()), which.astype(np.uint8)


@compiled
def _score_flushing(inputs, tables, space, tasks, order, sums, continuation):
    """`_score_all` while subnormal numbers count as zero."""
    control, failed = flush_subnormals(), False
    try:
        _score_all(inputs, tables, space, tasks, order, sums, continuation)
    except Exception:
        failed = True
    write_control(control)
    if failed:
        raise RuntimeError("PairHMM failed while subnormal numbers were flushed")


@compiled
def _score_all(inputs, tables, space, tasks, order, sums, continuation):
    """Fill sums[t] for tasks[t, (read, haplotype)], LANES at a time; `continuation` is that of all bases, or None."""
    kept_apart()
    # Borrowed: what is called for each read and for every two rows would count a reference to each of these.
    inputs, space, tables, order = borrowed(inputs), borrowed(space), borrowed(tables), borrowed(order)
    tasks, sums = borrowed(tasks), borrowed(sums)
    for group in range(len(order.groups)):
        tree = order.trees[group]
        own = order.edges[order.tree_offsets[tree] : order.tree_offsets[tree + 1]]
        score_together(inputs, tables, space, tasks, order.groups[group], own, sums, continuation)
    _score_groups(inputs, tables, space, tasks, order.rest, sums, continuation)


@compiled
def _score_groups(inputs, tables, space, tasks, order, sums, continuation):
    """Score the tasks of `order` (int64[]), of any reads and haplotypes."""
    for first in range(0, len(order), LANES):
        lanes = min(LANES, len(order) - first)
        height, width = 0, 0
        for lane in range(lanes):
            read, haplotype = tasks[order[first + lane]]
            height = max(height, inputs.read_offsets[read + 1] - inputs.read_offsets[read])
            space.columns[lane] = pack_haplotype(inputs, haplotype, lane, space.letters)
            width = max(width, space.columns[lane])
        height += height % 2
        for lane in range(lanes):
            # A read often stands beside itself, with haplotypes of one length.
            if lane == 0 or tasks[order[first + lane], 0] != tasks[order[first + lane - 1], 0]:
                pack_read(inputs, tables, tasks[order[first + lane], 0], lane, height, space)
        fill_first_row(space.above, -1, width, tables.start)
        for i in range(0, height, 2):
            _sweep_two_rows(space.letters, space.wanted, space.factors, i, space.above, width, continuation)
        _sum_row(space.above, width, space.columns, space.total)
        for lane in range(lanes):
            sums[order[first + lane]] = space.total[lane]


@compiled
def _sweep_two_rows(letters, wanted, factors, i, above, width, continuation):
    """Replace row i of `above` by row i + 2 (0-based: read bases i and i + 1).

    `upper` and `lower` name the two rows. Before column j, *_match and the like hold column j - 1. `continuation` is
    that of all bases, or None where they differ; a function is compiled for each (padding rows insert nothing).
    """
    upper, lower = i * ROW, (i + 1) * ROW
    upper_wanted, lower_wanted = vector_at(wanted, i * LANES), vector_at(wanted, (i + 1) * LANES)
    upper_agree, lower_agree = vector_at(factors, upper + AGREE), vector_at(factors, lower + AGREE)
    upper_differ, lower_differ = vector_at(factors, upper + DIFFER), vector_at(factors, lower + DIFFER)
    upper_stay, lower_stay = vector_at(factors, upper + STAY), vector_at(factors, lower + STAY)
    upper_insertion, lower_insertion = vector_at(factors, upper + INSERTION), vector_at(factors, lower + INSERTION)
    upper_deletion, lower_deletion = vector_at(factors, upper + DELETION), vector_at(factors, lower + DELETION)
    upper_continued, lower_continued = (
        vector_at(factors, upper + CONTINUATION),
        vector_at(factors, lower + CONTINUATION),
    )
    if continuation is None:
        upper_longer, lower_longer = upper_continued, lower_continued
    else:
        upper_longer = lower_longer = splat(continuation, LANES)
    upper_deleted, lower_deleted = vector_at(factors, upper + EDGE), vector_at(factors, lower + EDGE)
    upper_match = upper_inserted = lower_match = splat(factors.dtype.type(0), LANES)
    match, inserted, deleted = vector_at(above, MATCH), vector_at(above, INSERTED), vector_at(above, DELETED)
    store(above, MATCH, lower_match)
    store(above, INSERTED, lower_match)
    store(above, DELETED, lower_deleted)
    for j in range(1, width + 1):
        letter = vector_at(letters, j * LANES)
        gaps = fma(again(lower_deletion, factors, lower + DELETION), upper_deleted, upper_inserted)
        emission = choose_shifted(letter, lower_wanted, lower_agree, lower_differ)
        lower_deleted = fma(again(lower_continued, factors, lower + CONTINUATION), lower_deleted, lower_match)
        lower_match = multiply(emission, fma(again(lower_stay, factors, lower + STAY), upper_match, gaps))
        gaps = fma(again(upper_deletion, factors, upper + DELETION), deleted, inserted)
        emission = choose_shifted(letter, upper_wanted, upper_agree, upper_differ)
        upper_deleted = fma(again(upper_continued, factors, upper + CONTINUATION), upper_deleted, upper_match)
        upper_match = multiply(emission, fma(again(upper_stay, factors, upper + STAY), match, gaps))
        column = j * COLUMN
        match, inserted = vector_at(above, column + MATCH), vector_at(above, column + INSERTED)
        deleted = vector_at(above, column + DELETED)
        upper_inserted = fma(
            again(upper_insertion, factors, upper + INSERTION), match, multiply(upper_longer, inserted)
        )
        lower_inserted = fma(
            again(lower_insertion, factors, lower + INSERTION), upper_match, multiply(lower_longer, upper_inserted)
        )
        store(above, column + MATCH, lower_match)
        store(above, column + INSERTED, lower_inserted)
        store(above, column + DELETED, lower_deleted)


@compiled
def _sum_row(above, width, columns, total):
    """total[lane] = sum of M + I over columns 1 to columns[lane], from left to right."""
    end = vector_at(columns, 0)
    running = splat(total.dtype.type(0), LANES)
    for j in range(1, width + 1):
        longer = add(running, add(vector_at(above, j * COLUMN + MATCH), vector_at(above, j * COLUMN + INSERTED)))
        running = choose_less(end, splat(np.int32(j), LANES), running, longer)
    store(total, 0, running)
