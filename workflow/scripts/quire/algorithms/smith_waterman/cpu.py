"""GATK's Smith-Waterman in Numba: 16 tasks in lockstep, one per vector lane, with a byte of traceback a cell.

Tasks are sorted by length. A lane with a shorter sequence computes cells that nobody reads (a cell depends on cells
above and to the left only). The rules are in model.py.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from quire.algorithms.smith_waterman.model import DELETION, INSERTION, MATCH, SOFT_CLIP, Parameters, Strategy
from quire.algorithms.vectors import (
    LANES,
    add,
    aligned_zeros,
    choose_equal,
    choose_less,
    load,
    maximum,
    splat,
    store,
    store_bytes,
)

SOFTCLIP, INDEL, LEADING_INDEL, IGNORE = (int(strategy) for strategy in Strategy)
STEP, LONGER_INSERTION, LONGER_DELETION = 3, 4, 8
"""A traceback byte: the operation that leads to the cell, and whether the gaps that end there are longer than 1."""
NO_SCORE = -(1 << 30)


class _Inputs(NamedTuple):
    """The arrays as the kernels take them: contiguous, writable, of fixed dtypes (one compilation)."""

    references: np.ndarray
    reference_offsets: np.ndarray
    alternates: np.ndarray
    alternate_offsets: np.ndarray


class _Workspace(NamedTuple):
    """One group's sequences and cells, lanes innermost.

    Attributes:
        reference, alternate: int32[longest * 16] letters.
        scores: int32[(longest alternate + 1) * 16], H of the row above, replaced by the row's own from left to right.
        deletions: likewise, the best score of a gap that ends there from above.
        steps: uint8[longest reference * longest alternate * 16], traceback bytes of the group.
    """

    reference: np.ndarray
    alternate: np.ndarray
    scores: np.ndarray
    deletions: np.ndarray
    steps: np.ndarray


def align_batch(references, reference_offsets, alternates, alternate_offsets, tasks, parameters, strategy):
    """See the package's `align_batch`; returns offsets, cigars and cigar_offsets."""
    inputs = _Inputs(
        np.require(references, np.uint8, ["C", "W"]),
        np.require(reference_offsets, np.int64, ["C", "W"]),
        np.require(alternates, np.uint8, ["C", "W"]),
        np.require(alternate_offsets, np.int64, ["C", "W"]),
    )
    tasks = np.require(tasks, np.int32, ["C", "W"])
    offsets = np.full(len(tasks), -1, np.int32)
    if strategy in (Strategy.SOFTCLIP, Strategy.IGNORE):
        _find_exact(inputs, tasks, offsets)
    starts = np.full(len(tasks), -1, np.int64)
    counts = np.ones(len(tasks), np.int64)
    rows = np.diff(inputs.reference_offsets)[tasks[:, 0]]
    columns = np.diff(inputs.alternate_offsets)[tasks[:, 1]]
    order = np.lexsort((columns, rows))
    order = order[offsets[order] < 0]
    elements = np.empty(0, np.uint32)
    if len(order):
        scores = Parameters(*(int(score) for score in parameters))
        shape = int(rows[order].max()), int(columns[order].max())
        elements = _align_groups(inputs, tasks, order, scores, int(strategy), *shape, offsets, starts, counts)
    cigar_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return offsets, _in_task_order(elements, starts, cigar_offsets, columns), cigar_offsets


@njit(cache=True, nogil=True)
def _find_exact(inputs, tasks, offsets):
    """offsets[t] = last place where the alternate stands in the reference letter for letter; left alone elsewhere."""
    for t in range(len(tasks)):
        start, end = inputs.reference_offsets[tasks[t, 0]], inputs.reference_offsets[tasks[t, 0] + 1]
        alternate, stop = inputs.alternate_offsets[tasks[t, 1]], inputs.alternate_offsets[tasks[t, 1] + 1]
        length = stop - alternate
        for offset in range(end - start - length, -1, -1):
            matched = 0
            while (
                matched < length
                and inputs.references[start + offset + matched] == inputs.alternates[alternate + matched]
            ):
                matched += 1
            if matched == length:
                offsets[t] = offset
                break


@njit(cache=True, nogil=True)
def _in_task_order(elements, starts, cigar_offsets, columns):
    """CIGARs end to end in the order of tasks; starts[t] < 0 stands for an alternate that matches exactly."""
    cigars = np.empty(cigar_offsets[-1], np.uint32)
    for t in range(len(starts)):
        first = cigar_offsets[t]
        if starts[t] < 0:
            cigars[first] = columns[t] << 4 | MATCH
            continue
        for k in range(cigar_offsets[t + 1] - first):
            cigars[first + k] = elements[starts[t] + k]
    return cigars


@njit(cache=True, nogil=True)
def _align_groups(
    inputs, tasks, order, parameters, strategy, longest_reference, longest_alternate, offsets, starts, counts
):
    """Align the tasks of `order`; fill their offsets, starts and counts; returns the elements that these point into."""
    space = _Workspace(
        aligned_zeros(longest_reference * LANES, np.int32),
        aligned_zeros(longest_alternate * LANES, np.int32),
        aligned_zeros((longest_alternate + 1) * LANES, np.int32),
        aligned_zeros((longest_alternate + 1) * LANES, np.int32),
        np.empty(longest_reference * longest_alternate * LANES, np.uint8),
    )
    rows = np.zeros(LANES, np.int64)
    columns = np.zeros(LANES, np.int64)
    elements = np.empty(1024, np.uint32)
    used = 0
    for first in range(0, len(order), LANES):
        group = order[first : first + LANES]
        rows[:] = 0
        columns[:] = 0
        for lane in range(len(group)):
            reference, alternate = tasks[group[lane]]
            rows[lane] = _pack(inputs.references, inputs.reference_offsets, reference, lane, space.reference)
            columns[lane] = _pack(inputs.alternates, inputs.alternate_offsets, alternate, lane, space.alternate)
        end_rows, end_columns = _fill(space, rows, columns, parameters, strategy)
        for lane in range(len(group)):
            t = group[lane]
            if used + rows[lane] + columns[lane] + 2 > len(elements):
                larger = np.empty(2 * (used + rows[lane] + columns[lane] + 2), np.uint32)
                larger[:used] = elements[:used]
                elements = larger
            starts[t] = used
            cigar = elements[used:]
            end = end_rows[lane], end_columns[lane]
            offsets[t], counts[t] = _trace(space.steps, columns.max(), columns[lane], lane, end, strategy, cigar)
            used += counts[t]
    return elements


@njit(cache=True, nogil=True)
def _pack(sequences, offsets, which, lane, letters):
    """Write one sequence into its lane of `letters`; returns its length."""
    start = offsets[which]
    length = offsets[which + 1] - start
    for k in range(length):
        letters[k * LANES + lane] = sequences[start + k]
    return length


@njit(cache=True, nogil=True)
def _fill(space, rows, columns, parameters, strategy):
    """Fill the group's traceback bytes; returns the row and column of each lane where its traceback starts."""
    width = columns.max()
    end_scores = np.full(LANES, NO_SCORE, np.int64)
    end_rows, end_columns = rows.copy(), columns.copy()
    priced = strategy == INDEL or strategy == LEADING_INDEL
    for j in range(width + 1):
        edge = parameters.gap_open + (j - 1) * parameters.gap_extend if priced and j > 0 else 0
        store(space.scores, j * LANES, splat(np.int32(edge)))
        store(space.deletions, j * LANES, splat(np.int32(NO_SCORE)))
    for i in range(rows.max()):
        edge = parameters.gap_open + i * parameters.gap_extend if priced else 0
        _fill_row(space, i, width, edge, parameters)
        if strategy == INDEL:
            continue
        for lane in range(LANES):
            if i < rows[lane]:
                score = space.scores[columns[lane] * LANES + lane]
                if score >= end_scores[lane]:
                    end_scores[lane] = score
                    end_rows[lane] = i + 1
            if i + 1 == rows[lane] and strategy != LEADING_INDEL:
                _search_last_row(space.scores, lane, rows, columns[lane], end_scores[lane], end_rows, end_columns)
    return end_rows, end_columns


@njit(cache=True, nogil=True)
def _fill_row(space, i, width, edge, parameters):
    """Scores and traceback bytes of one row (reference base i) of all lanes; `edge` is its column 0."""
    match, mismatch = splat(np.int32(parameters.match)), splat(np.int32(parameters.mismatch))
    gap_open, gap_extend = splat(np.int32(parameters.gap_open)), splat(np.int32(parameters.gap_extend))
    by_match, by_insertion, by_deletion = splat(np.int32(MATCH)), splat(np.int32(INSERTION)), splat(np.int32(DELETION))
    longer_insertion, longer_deletion = splat(np.int32(LONGER_INSERTION)), splat(np.int32(LONGER_DELETION))
    nothing = splat(np.int32(0))
    letter = load(space.reference, i * LANES)
    insertion = splat(np.int32(NO_SCORE))
    diagonal = load(space.scores, 0)
    score = splat(np.int32(edge))
    store(space.scores, 0, score)
    for j in range(1, width + 1):
        at = j * LANES
        paired = add(diagonal, choose_equal(letter, load(space.alternate, at - LANES), match, mismatch))
        diagonal = load(space.scores, at)
        opened, extended = add(diagonal, gap_open), add(load(space.deletions, at), gap_extend)
        deletion = maximum(opened, extended)
        flags = choose_less(extended, opened, nothing, longer_deletion)
        store(space.deletions, at, deletion)
        opened, extended = add(score, gap_open), add(insertion, gap_extend)
        insertion = maximum(opened, extended)
        flags = add(flags, choose_less(extended, opened, nothing, longer_insertion))
        gap = maximum(insertion, deletion)
        step = choose_less(paired, gap, choose_less(insertion, deletion, by_deletion, by_insertion), by_match)
        score = maximum(paired, gap)
        store(space.scores, at, score)
        store_bytes(space.steps, (i * width + j - 1) * LANES, add(flags, step))


@njit(cache=True, nogil=True)
def _search_last_row(scores, lane, rows, columns, best, end_rows, end_columns):
    """Move a lane's end into its last row where that is better, or as good and nearer to the main diagonal."""
    row = rows[lane]
    for j in range(1, columns + 1):
        score = scores[j * LANES + lane]
        if score > best or (score == best and abs(row - j) < abs(end_rows[lane] - end_columns[lane])):
            best = score
            end_rows[lane] = row
            end_columns[lane] = j


@njit(cache=True, nogil=True)
def _trace(steps, width, columns, lane, end, strategy, cigar):
    """Follow a lane's traceback from its end; writes the CIGAR, returns the offset and the number of elements."""
    row, column = end
    operation, length, count = MATCH, columns - column, 0
    if strategy == SOFTCLIP and length > 0:
        cigar[0] = length << 4 | SOFT_CLIP
        length, count = 0, 1
    while row > 0 and column > 0:
        at = ((row - 1) * width + column - 1) * LANES + lane
        step, run = steps[at] & STEP, 1
        if step == INSERTION:
            while steps[at - (run - 1) * LANES] & LONGER_INSERTION:
                run += 1
            column -= run
        elif step == DELETION:
            while steps[at - (run - 1) * width * LANES] & LONGER_DELETION:
                run += 1
            row -= run
        else:
            row -= 1
            column -= 1
        if step != operation and length > 0:
            cigar[count] = length << 4 | operation
            length, count = 0, count + 1
        operation, length = step, length + run
    offset = row
    if strategy == IGNORE:
        length, offset = length + column, row - column
    cigar[count] = length << 4 | operation
    count += 1
    if strategy == SOFTCLIP and column > 0:
        cigar[count] = column << 4 | SOFT_CLIP
        count += 1
    elif strategy == INDEL or strategy == LEADING_INDEL:
        offset = 0
        if row > 0 or column > 0:
            overhang = row << 4 | DELETION if row > 0 else column << 4 | INSERTION
            cigar[count] = overhang
            count += 1
    cigar[:count] = cigar[:count][::-1].copy()
    return offset, count
