"""Semi-global alignment in Numba: 16 tasks in lockstep, one per vector lane, with a byte of traceback per cell.

Tasks are sorted by length. A lane with a shorter sequence computes cells that are never read (a cell depends only on
cells above and to the left). A band is computed first, and the whole matrix if an alignment that leaves the band could
be as good as the best within. The package states the rules.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.scoring import Scoring
from quire.algorithms.semiglobal import SemiglobalAlignments, SemiglobalBatch
from quire.ragged import offsets_from_lengths
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SOFT_CLIP
from quire.sequence.cigar_cpu import element_of
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import add, aligned_zeros, choose_equal, choose_less, convert, load, maximum, splat, store

LANES = 16  # of int32, one AVX-512 register
STEP, LONGER_INSERTION, LONGER_DELETION = 3, 4, 8
"""Bits of a traceback byte: the operation that leads to the cell, and whether gaps that end there are longer than 1."""
NO_SCORE = -(1 << 30)
BESIDE = 16
"""Diagonals of the band on either side of those that reach from corner to corner."""


class _Paths(NamedTuple):
    """Alignments of the tasks.

    Attributes:
        offsets: int32[t], start in the reference.
        starts: int64[t], index of the first CIGAR element among all, -1 if the alternate matches exactly.
        counts: int64[t], number of CIGAR elements.
    """

    offsets: NDArray[np.int32]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


class _Lanes(NamedTuple):
    """Sequences and cells of a group of tasks, lanes innermost.

    Attributes:
        reference, alternate: int32[longest * 16] letters.
        scores: int32[(longest alternate + 1) * 16], H of the row above, replaced from left to right by H of this row.
        deletions: int32[(longest alternate + 1) * 16], the best score of a deletion that ends there.
        steps: uint8[longest reference * longest alternate * 16], traceback bytes of the group.
        rows, columns: int64[16], lengths of the sequences.
        end_scores, end_rows, end_columns: int64[16], the cell where the traceback starts.
        cigar: uint32, one CIGAR, in reverse order.
    """

    reference: NDArray[np.int32]
    alternate: NDArray[np.int32]
    scores: NDArray[np.int32]
    deletions: NDArray[np.int32]
    steps: NDArray[np.uint8]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    end_scores: NDArray[np.int64]
    end_rows: NDArray[np.int64]
    end_columns: NDArray[np.int64]
    cigar: NDArray[np.uint32]


def align(batch: SemiglobalBatch, scoring: Scoring) -> SemiglobalAlignments:
    """Align the alternates of a batch's tasks to their references, and clip their overhangs.

    The sum of the scores over the longest sequence must stay within 2**30. No alignment depends on the other tasks. 16
    tasks run in lockstep, so a batch should hold many regions.
    """
    rows, columns = np.diff(batch.reference_offsets), np.diff(batch.alternate_offsets)
    if np.any(rows <= 0) or np.any(columns <= 0):
        raise ValueError("semi-global batch: an empty sequence cannot be aligned")
    size = len(batch.tasks)
    paths = _Paths(np.full(size, -1, np.int32), np.full(size, -1, np.int64), np.ones(size, np.int64))
    _find_exact(batch, paths.offsets)
    rows, columns = rows[batch.tasks[:, 0]], columns[batch.tasks[:, 1]]
    order = np.lexsort((columns, rows))
    order = order[paths.offsets[order] < 0]
    elements = np.empty(0, np.uint32)
    if len(order):
        space = _lanes(int(rows[order].max()), int(columns[order].max()))
        elements = _align_groups(batch, space, order, Scoring(*map(int, scoring)), paths)
    cigar_offsets = offsets_from_lengths(paths.counts)
    cigars = _in_task_order(elements, paths.starts, cigar_offsets, columns)
    return SemiglobalAlignments(paths.offsets, cigars, cigar_offsets)


@compiled
def align_one(reference, alternate, scoring):
    """Return the CIGAR elements (uint32) of one pair of sequences (uint8, not empty), for callers that are kernels.

    Overhangs have the price of a gap, except at the end of the reference.
    """
    rows, columns = len(reference), len(alternate)
    space = _Lanes(
        np.zeros(rows * LANES, np.int32),
        np.zeros(columns * LANES, np.int32),
        np.empty((columns + 1) * LANES, np.int32),
        np.empty((columns + 1) * LANES, np.int32),
        np.empty(rows * columns * LANES, np.uint8),
        np.empty(LANES, np.int64),
        np.empty(LANES, np.int64),
        np.empty(LANES, np.int64),
        np.empty(LANES, np.int64),
        np.empty(LANES, np.int64),
        np.empty(rows + columns + 2, np.uint32),
    )
    for i in range(rows):
        space.reference[i * LANES] = reference[i]
    for j in range(columns):
        space.alternate[j * LANES] = alternate[j]
    space.rows[0], space.columns[0] = rows, columns
    _fill(space, 1, (rows, columns), scoring, True, (-rows, columns))
    _, count = _trace(space, columns, 0, True)
    return space.cigar[:count][::-1].copy()


def _lanes(longest_reference: int, longest_alternate: int) -> _Lanes:
    """Allocate space for groups of tasks up to this size."""
    return _Lanes(
        reference=aligned_zeros(longest_reference * LANES, np.int32),
        alternate=aligned_zeros(longest_alternate * LANES, np.int32),
        scores=aligned_zeros((longest_alternate + 1) * LANES, np.int32),
        deletions=aligned_zeros((longest_alternate + 1) * LANES, np.int32),
        steps=np.empty(longest_reference * longest_alternate * LANES, np.uint8),
        rows=np.zeros(LANES, np.int64),
        columns=np.zeros(LANES, np.int64),
        end_scores=np.zeros(LANES, np.int64),
        end_rows=np.zeros(LANES, np.int64),
        end_columns=np.zeros(LANES, np.int64),
        cigar=np.empty(longest_reference + longest_alternate + 2, np.uint32),
    )


@compiled
def _find_exact(pairs, offsets):
    """Set offsets[t] to the last place of the alternate in the reference, and leave it if there is none."""
    for t in range(len(pairs.tasks)):
        which, other = pairs.tasks[t]
        reference = pairs.references[pairs.reference_offsets[which] : pairs.reference_offsets[which + 1]]
        alternate = pairs.alternates[pairs.alternate_offsets[other] : pairs.alternate_offsets[other + 1]]
        for offset in range(len(reference) - len(alternate), -1, -1):
            matched = 0
            while matched < len(alternate) and reference[offset + matched] == alternate[matched]:
                matched += 1
            if matched == len(alternate):
                offsets[t] = offset
                break


@compiled
def _in_task_order(elements, starts, cigar_offsets, columns):
    """Return the CIGARs in the order of tasks; starts[t] < 0 marks an alternate that matches exactly."""
    cigars = np.empty(cigar_offsets[-1], np.uint32)
    for t in range(len(starts)):
        first = cigar_offsets[t]
        if starts[t] < 0:
            cigars[first] = element_of(columns[t], CIGAR_MATCH)
            continue
        for k in range(cigar_offsets[t + 1] - first):
            cigars[first + k] = elements[starts[t] + k]
    return cigars


@compiled
def _align_groups(pairs, space, order, scoring, paths):
    """Align the tasks of `order` and fill their `paths`; return the CIGAR elements that these point into."""
    elements = np.empty(1024, np.uint32)
    used = 0
    left = np.empty(len(order), np.int64)
    for banded in (True, False):
        waiting = 0
        for first in range(0, len(order), LANES):
            lanes = min(LANES, len(order) - first)
            height, width = _pack_group(pairs, space, order[first : first + lanes])
            low, high = _band(space, lanes) if banded else (-height, width)
            _fill(space, lanes, (height, width), scoring, False, (low, high))
            for lane in range(lanes):
                t = order[first + lane]
                if banded and not _surpasses_others(space, lane, low, high, scoring.match):
                    left[waiting] = t
                    waiting += 1
                    continue
                paths.offsets[t], count = _trace(space, width, lane, False)
                if used + count > len(elements):
                    larger = np.empty(2 * (used + count), np.uint32)
                    for k in range(used):
                        larger[k] = elements[k]
                    elements = larger
                for k in range(count):
                    elements[used + k] = space.cigar[count - 1 - k]
                paths.starts[t], paths.counts[t] = used, count
                used += count
        order = left[:waiting]
    return elements


@inlined
def _band(space, lanes):
    """Return the lowest and highest diagonal (column - row) of a group's band."""
    low, high = np.int64(0), np.int64(0)
    for lane in range(lanes):
        longer = space.columns[lane] - space.rows[lane]
        low, high = min(low, longer), max(high, longer)
    return low - BESIDE, high + BESIDE


@inlined
def _surpasses_others(space, lane, low, high, match):
    """Return True if a lane's best score in the band is higher than that of any alignment that leaves the band."""
    # Such an alignment pairs at most as many bases as the matrix has on a diagonal just outside the band. All
    # alignments as good as the best then lie in the band, so ties are decided as in the whole matrix.
    rows, columns = space.rows[lane], space.columns[lane]
    matched = max(min(rows, columns - (high + 1)), min(rows + (low - 1), columns))
    return space.end_scores[lane] > match * matched


@compiled
def _pack_group(pairs, space, group):
    """Write the sequences of a group of tasks to their lanes; return the longest reference and alternate length."""
    height, width = 0, 0
    for lane in range(len(group)):
        which, other = pairs.tasks[group[lane]]
        rows = _pack(pairs.references, pairs.reference_offsets, which, lane, space.reference)
        columns = _pack(pairs.alternates, pairs.alternate_offsets, other, lane, space.alternate)
        space.rows[lane], space.columns[lane] = rows, columns
        height, width = max(height, rows), max(width, columns)
    return height, width


@compiled
def _pack(sequences, offsets, which, lane, letters):
    """Write one sequence to its lane of `letters`; return its length."""
    start = offsets[which]
    length = offsets[which + 1] - start
    for k in range(length):
        letters[k * LANES + lane] = sequences[start + k]
    return length


@inlined
def _all(value):
    """Return a vector with an int32 in every lane."""
    return splat(np.int32(value), LANES)


@compiled
def _fill(space, lanes, size, scoring, priced, band):
    """Fill the group's traceback bytes, and set the cell of each lane where its traceback starts."""
    # `priced`: overhangs have a price (LEADING_INDEL, else SOFTCLIP).
    # Cells on diagonals (column - row) outside of `band` (the lowest and the highest) are not computed.
    (height, width), (low, high) = size, band
    for j in range(width + 1):
        edge = scoring.gap_open + (j - 1) * scoring.gap_extend if priced and j > 0 else 0
        store(space.scores, j * LANES, _all(edge if j <= high else NO_SCORE))
        store(space.deletions, j * LANES, _all(NO_SCORE))
    for lane in range(lanes):
        space.end_rows[lane], space.end_columns[lane] = space.rows[lane], space.columns[lane]
        space.end_scores[lane] = 2 * NO_SCORE
    for i in range(height):
        edge = scoring.gap_open + i * scoring.gap_extend if priced else 0
        _fill_row(space, i, width, edge, scoring, max(i + 1 + low, 1), min(i + 1 + high, width))
        for lane in range(lanes):
            _update_end(space, lane, i + 1, priced, low, high)


@compiled
def _fill_row(space, i, width, edge, scoring, first, last):
    """Compute scores and traceback bytes of one row (reference base i) of all lanes, in columns [first, last]."""
    # `edge` is the score of column 0; to the left of any other first column there is no score.
    match, mismatch = _all(scoring.match), _all(scoring.mismatch)
    gap_open, gap_extend = _all(scoring.gap_open), _all(scoring.gap_extend)
    by_match, by_insertion, by_deletion = _all(CIGAR_MATCH), _all(CIGAR_INSERTION), _all(CIGAR_DELETION)
    longer_insertion, longer_deletion = _all(LONGER_INSERTION), _all(LONGER_DELETION)
    nothing = _all(0)
    letter = load(space.reference, i * LANES, LANES)
    insertion = _all(NO_SCORE)
    diagonal = load(space.scores, (first - 1) * LANES, LANES)
    score = _all(edge if first == 1 else NO_SCORE)
    store(space.scores, (first - 1) * LANES, score)
    for j in range(first, last + 1):
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


@compiled
def _update_end(space, lane, row, priced, low, high):
    """Move a lane's end to this row's last column, or into the last row, if that is better (rules: see the package)."""
    last_row, last_column = space.rows[lane], space.columns[lane]
    inside = row <= last_row and low <= last_column - row <= high
    if inside and space.scores[last_column * LANES + lane] >= space.end_scores[lane]:
        space.end_scores[lane] = space.scores[last_column * LANES + lane]
        space.end_rows[lane] = row
    if row != last_row or priced:
        return
    for j in range(max(last_row + low, 1), min(last_row + high, last_column) + 1):
        score, best = space.scores[j * LANES + lane], space.end_scores[lane]
        nearer = abs(last_row - j) < abs(space.end_rows[lane] - space.end_columns[lane])
        if score > best or (score == best and nearer):
            space.end_scores[lane], space.end_rows[lane], space.end_columns[lane] = score, last_row, j


@compiled
def _trace(space, width, lane, priced):
    """Follow a lane's traceback and write the CIGAR in reverse; return the offset and the number of elements."""
    steps, cigar = space.steps, space.cigar
    row, column = space.end_rows[lane], space.end_columns[lane]
    operation, length, count = CIGAR_MATCH, space.columns[lane] - column, 0
    if not priced and length > 0:
        cigar[0] = element_of(length, CIGAR_SOFT_CLIP)
        length, count = 0, 1
    while row > 0 and column > 0:
        at = ((row - 1) * width + column - 1) * LANES + lane
        step, run = steps[at] & STEP, 1
        if step == CIGAR_INSERTION:
            while steps[at - (run - 1) * LANES] & LONGER_INSERTION:
                run += 1
            column -= run
        elif step == CIGAR_DELETION:
            while steps[at - (run - 1) * width * LANES] & LONGER_DELETION:
                run += 1
            row -= run
        else:
            row -= 1
            column -= 1
        if step != operation and length > 0:
            cigar[count] = element_of(length, operation)
            length, count = 0, count + 1
        operation, length = step, length + run
    cigar[count] = element_of(length, operation)
    count += 1
    if not priced and column > 0:
        cigar[count] = element_of(column, CIGAR_SOFT_CLIP)
        count += 1
    elif priced and row + column > 0:
        cigar[count] = element_of(row, CIGAR_DELETION) if row > 0 else element_of(column, CIGAR_INSERTION)
        count += 1
    return (0 if priced else row), count
