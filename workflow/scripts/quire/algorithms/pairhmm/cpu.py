"""PairHMM in Numba: 16 or 8 reads in lockstep, one per vector lane (recurrence: model.py).

Reads with the same haplotypes form groups (`cpu_order`); each group is scored against these haplotypes together
(`cpu_shared`). A group with fewer reads than lanes leaves the others idle. All reads of a group end at the same row: a
shorter one starts with padding rows that pass row 0 on unchanged (emission 0, continuation 1), which is exact. Two rows
are swept at a time, with all intermediate values in registers.
"""

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm import PairHmmBatch
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, log10_of_sums, needs_float64, stacked_tables
from quire.algorithms.pairhmm.order_cpu import ScoringOrder, scoring_order
from quire.algorithms.pairhmm.shared_cpu import PairHmmArrays, ScoredTasks, score_together, workspace
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled
from quire.simd.subnormals import flush_subnormals, kept_apart, write_control

TASKS_AT_ONCE = 1 << 20  # ordered and scored at a time; regions of high depth have many more
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def log10_likelihoods(batch: PairHmmBatch) -> NDArray[np.float64]:
    """Return log10 of P(read | haplotype) for every task of the batch.

    It is fastest if the tasks of each read, and of each region, are adjacent.

    Returns:
        float64[t] in the order of batch.tasks; -inf where the model gives zero (or less than 1e-590). The answer for a
        task does not depend on the rest of the batch. It is computed in float32, and in float64 if that underflows. The
        error is at most 7 (R + H) 2^-24 / ln 10 for R read and H haplotype bases; the largest one measured is 3e-6.
    """
    answers = np.empty(len(batch.tasks))
    for begin in range(0, len(answers), TASKS_AT_ONCE):
        some = slice(begin, begin + TASKS_AT_ONCE)
        answers[some] = _log10_likelihoods(batch, batch.tasks[some])
    return answers


def _log10_likelihoods(batch: PairHmmBatch, tasks: np.ndarray) -> NDArray[np.float64]:
    """Return the log10 likelihoods (float64[t]) of some tasks."""
    haplotype_lengths = np.diff(batch.haplotype_offsets)[tasks[:, 1]]
    sums = last_row_sums(batch, tasks, FLOAT32)
    answers = log10_of_sums(sums, SCALE_EXPONENT[FLOAT32], haplotype_lengths)
    again = np.flatnonzero(needs_float64(sums))
    if len(again):
        sums = last_row_sums(batch, tasks[again], FLOAT64)
        answers[again] = log10_of_sums(sums, SCALE_EXPONENT[FLOAT64], haplotype_lengths[again])
    return answers


def last_row_sums(batch: PairHmmBatch, tasks: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return scaled sums (dtype[t]) of M + I over the last row of each task."""
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
        score = _score_flushing if dtype == FLOAT32 else _score_all
        space = workspace(int(read_lengths.max()), int(haplotype_lengths.max()), order.levels, dtype)
        score(inputs, stacked_tables(qualities, dtype), space, tasks, order, sums)
    return sums


def _continuations(batch: PairHmmBatch) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the distinct gap continuation qualities, and the index of each read base's quality in them (uint8[n])."""
    if batch.gap_continuation_qualities is None:
        return (batch.gap_continuation_quality,), np.zeros(len(batch.read_bases), np.uint8)
    qualities, which = np.unique(batch.gap_continuation_qualities, return_inverse=True)
    return tuple(qualities.tolist()), which.astype(np.uint8)


@compiled
def _score_flushing(inputs, tables, space, tasks, order, sums):
    """Run `_score_all` with subnormal numbers flushed to zero."""
    control, failed = flush_subnormals(), False
    try:
        _score_all(inputs, tables, space, tasks, order, sums)
    except Exception:
        failed = True
    write_control(control)
    if failed:
        raise RuntimeError("PairHMM failed while subnormal numbers were flushed")


@compiled
def _score_all(inputs, tables, space, tasks, order, sums):
    """Fill sums[t] for tasks[t, (read, haplotype)]."""
    kept_apart()
    # Borrowed, because the functions called for each read and each pair of rows would count references to them.
    inputs, tables, space, order = borrowed(inputs), borrowed(tables), borrowed(space), borrowed(order)
    scored = borrowed(ScoredTasks(tasks, sums))
    edges, tree_offsets, group_offsets = order.edges, order.tree_offsets, order.group_offsets
    for g in range(len(order.trees)):
        tree = order.trees[g]
        group = order.first_tasks[group_offsets[g] : group_offsets[g + 1]]
        score_together(inputs, tables, space, scored, group, edges[tree_offsets[tree] : tree_offsets[tree + 1]])
