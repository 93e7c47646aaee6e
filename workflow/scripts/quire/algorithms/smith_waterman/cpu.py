"""GATK's Smith-Waterman in Numba: 16 tasks in lockstep, one per vector lane, with a byte of traceback a cell.

Tasks are sorted by length. A lane with a shorter sequence computes cells that nobody reads (a cell depends on cells
above and to the left only). The rules are in model.py.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from quire.algorithms.smith_waterman.model import DELETION, INSERTION, MATCH, SOFT_CLIP, Parameters, Strategy
from quire.batch import offsets_from_lengths
from quire.device.vectors import add, aligned_zeros, choose_equal, choose_less, convert, load, maximum, splat, store

LANES = 16  # of int32, one AVX-512 register
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
        rows, columns: int64[16], lengths of the sequences.
        end_scores, end_rows, end_columns: int64[16], where the traceback starts.
        cigar: uint32, one CIGAR, backwards.
    """

    reference: np.ndarray
    alternate: np.ndarray
    scores: np.ndarray
    deletions: np.ndarray
    steps: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    end_scores: np.ndarray
    end_rows: np.ndarray
    end_columns: np.ndarray
    cigar: np.ndarray


def _workspace(longest_reference: int, longest_alternate: int) -> _Workspace:
    """Room for a group of tasks up to this size."""
    return _Workspace(
        aligned_zeros(longest_reference * LANES, np.int32),
        *(aligned_zeros((longest_alternate + 1) * LANES, np.int32) for _ in range(3)),
        np.empty(longest_reference * longest_alternate * LANES, np.uint8),
        *(np.zeros(LANES, np.int64) for _ in range(5)),
        np.empty(longest_reference + longest_alternate + 2, np.uint32),
    )


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
        space = _workspace(int(rows[order].max()), int(columns[order].max()))
        scores = Parameters(*(int(score) for score in parameters))
        elements = _align_groups(inputs, space, tasks, order, scores, int(strategy), offsets, starts, counts)
    cigar_offsets = offsets_from_lengths(counts)
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
def _align_groups(inputs, space, tasks, order, parameters, strategy, offsets, starts, counts):
    """Align the tasks of `order`; fill their offsets, starts and counts; returns the elements that these point into."""
    elements = np.empty(1024, np.uint32)
    used = 0
    for first in range(0, len(order), LANES):
        lanes = min(LANES, len(order) - first)
        height, width = _pack_group(inputs, space, tasks, order, first, lanes)
        _fill(space, lanes, height, width, parameters, strategy)
        for lane in range(lanes):
            t = order[first + lane]
            offsets[t], count = _trace(space, width, lane, strategy)
            if used + count > len(elements):
                larger = np.empty(2 * (used + count), np.uint32)
                for k in range(used):
                    larger[k] = elements[k]
                elements = larger
            for k in range(count):
                elements[used + k] = space.cigar[count - 1 - k]
            starts[t], counts[t] = used, count
            used += count
    return elements


@njit(cache=True, nogil=True)
def _pack_group(inputs, space, tasks, order, first, lanes):
    """Write the sequences of a group into their lanes; returns the longest reference and alternate length."""
    height, width = 0, 0
    for lane in range(lanes):
        t = order[first + lane]
        rows = _pack(inputs.references, inputs.reference_offsets, tasks[t, 0], lane, space.reference)
        columns = _pack(inputs.alternates, inputs.alternate_offsets, tasks[t, 1], lane, space.alternate)
        space.rows[lane], space.columns[lane] = rows, columns
        height, width = max(height, rows), max(width, columns)
    return height, width


@njit(cache=True, nogil=True)
def _pack(sequences, offsets, which, lane, letters):
    """Write one sequence into its lane of `letters`; returns its length."""
    start = offsets[which]
    length = offsets[which + 1] - start
    for k in range(length):
        letters[k * LANES + lane] = sequences[start + k]
    return length


@njit(cache=True, nogil=True, forceinline=True)
def _all(value):
    """An int32 in every lane."""
    return splat(np.int32(value), LANES)


@njit(cache=True, nogil=True)
def _fill(space, lanes, height, width, parameters, strategy):
    """Fill the group's traceback bytes; set the row and column of each lane where its traceback starts."""
    priced = strategy in (INDEL, LEADING_INDEL)
    for j in range(width + 1):
        edge = parameters.gap_open + (j - 1) * parameters.gap_extend if priced and j > 0 else 0
        store(space.scores, j * LANES, _all(edge))
        store(space.deletions, j * LANES, _all(NO_SCORE))
    for lane in range(lanes):
        space.end_rows[lane], space.end_columns[lane] = space.rows[lane], space.columns[lane]
        space.end_scores[lane] = 2 * NO_SCORE
    for i in range(height):
        edge = parameters.gap_open + i * parameters.gap_extend if priced else 0
        _fill_row(space, i, width, edge, parameters)
        if strategy != INDEL:
            for lane in range(lanes):
                _update_end(space, lane, i + 1, strategy)


@njit(cache=True, nogil=True)
def _fill_row(space, i, width, edge, parameters):
    """Scores and traceback bytes of one row (reference base i) of all lanes; `edge` is its column 0."""
    match, mismatch = _all(parameters.match), _all(parameters.mismatch)
    gap_open, gap_extend = _all(parameters.gap_open), _all(parameters.gap_extend)
    by_match, by_insertion, by_deletion = _all(MATCH), _all(INSERTION), _all(DELETION)
    longer_insertion, longer_deletion = _all(LONGER_INSERTION), _all(LONGER_DELETION)
    nothing = _all(0)
    letter = load(space.reference, i * LANES, LANES)
    insertion = _all(NO_SCORE)
    diagonal = load(space.scores, 0, LANES)
    score = _all(edge)
    store(space.scores, 0, score)
    for j in range(1, width + 1):
        at = j * LANES
        paired = add(diagonal, choose_equal(letter, load(space.alternate, at - LANES, LANES), match, mismatch))
        diagonal = load(space.scores, at, LANES)
        opened, extended = add(diagonal, gap_open), add(load(space.deletions, at, LANES), gap_extend)
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
        store(space.steps, (i * width + j - 1) * LANES, convert(add(flags, step), np.uint8))


@njit(cache=True, nogil=True)
def _update_end(space, lane, row, strategy):
    """Move a lane's end to this row's last column, or into the last row, where that is better (rules in model.py)."""
    last_row, last_column = space.rows[lane], space.columns[lane]
    if row <= last_row and space.scores[last_column * LANES + lane] >= space.end_scores[lane]:
        space.end_scores[lane] = space.scores[last_column * LANES + lane]
        space.end_rows[lane] = row
    if row != last_row or strategy == LEADING_INDEL:
        return
    for j in range(1, last_column + 1):
        score, best = space.scores[j * LANES + lane], space.end_scores[lane]
        nearer = abs(last_row - j) < abs(space.end_rows[lane] - space.end_columns[lane])
        if score > best or (score == best and nearer):
            space.end_scores[lane], space.end_rows[lane], space.end_columns[lane] = score, last_row, j


@njit(cache=True, nogil=True)
def _trace(space, width, lane, strategy):
    """Follow a lane's traceback from its end; writes the CIGAR backwards, returns the offset and its elements."""
    steps, cigar = space.steps, space.cigar
    row, column = space.end_rows[lane], space.end_columns[lane]
    operation, length, count = MATCH, space.columns[lane] - column, 0
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
    if strategy == IGNORE:
        length += column
    cigar[count] = length << 4 | operation
    count += 1
    if strategy == SOFTCLIP and column > 0:
        cigar[count] = column << 4 | SOFT_CLIP
        count += 1
    elif strategy in (INDEL, LEADING_INDEL) and row + column > 0:
        cigar[count] = row << 4 | DELETION if row > 0 else column << 4 | INSERTION
        count += 1
    offset = 0 if strategy in (INDEL, LEADING_INDEL) else row - (column if strategy == IGNORE else 0)
    return offset, count
