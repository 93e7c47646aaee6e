"""A matrix that is one tile, from its letters to the path in one call: for pairs that a call's own cost decides for."""

import numpy as np

from quire.algorithms.pairwise import LARGEST, Mode
from quire.algorithms.pairwise.cpu_follow import follow_tile
from quire.algorithms.pairwise.cpu_tiles import BITS, Border, direction_words, fits_in_16_bits, solve_tile, space_for
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_SHIFT
from quire.sequence.cigar import element_of
from quire.simd.compiled import compiled

_LOCAL, _GLOBAL, _GLOCAL = int(Mode.LOCAL), int(Mode.GLOBAL), int(Mode.GLOCAL)


@compiled
def align_tile(query, target, scoring, mode, at_corner):
    """Align two sequences, neither empty, with the directions of all cells.

    Args:
        query, target: uint8, as a `Pair` has them.
        scoring: `Scoring`.
        mode: int of the `Mode`.
        at_corner: whether the alignment must end at (m, n) in every mode.

    Returns:
        Its score, row and column (from 1) of its end and of where it begins, and uint32, its CIGAR elements.
    """
    rows, columns = len(query), len(target)
    local = mode == _LOCAL
    border = Border(
        _first_border(columns, mode == _GLOBAL, scoring), _first_border(rows, not local, scoring),
        np.empty((2, columns + 1), np.int32), np.empty((2, 0), np.int32),
    )  # fmt: skip
    narrow = fits_in_16_bits(border, scoring, local)
    size = (rows, columns) if narrow else (0, 0)
    wider = (0, 0) if narrow else (rows, columns)
    spaces = space_for(size[0], size[1], np.int16), space_for(wider[0], wider[1], np.int32)
    directions = np.empty(direction_words(rows, columns), BITS)
    row, column = rows - 1, columns - 1
    if local and not at_corner:
        score, _, _ = solve_tile(spaces, query, target, border, scoring, local, LARGEST, 0, directions[:0])
        if score > 0:
            _, row, column = solve_tile(spaces, query, target, border, scoring, local, score, 0, directions)
    else:
        solve_tile(spaces, query, target, border, scoring, local, LARGEST, 0, directions)
        if mode == _GLOCAL and not at_corner:
            column = np.argmax(border.lower[0]) - 1
        score = np.int64(border.lower[0, column + 1])
    if local and score == 0:
        return score, 0, 0, 0, 0, np.empty(0, np.uint32)
    begin_row, begin_column, _, _, cigar = follow_tile(
        query, target, directions, border, scoring, local, row, column, 0, score
    )
    ends = np.array([element_of(0, CIGAR_INSERTION), element_of(0, CIGAR_DELETION)], np.uint32)
    if not local:
        ends[0] = element_of(begin_row + 1, CIGAR_INSERTION)
        begin_row = -1
    if mode == _GLOBAL:
        ends[1] = element_of(begin_column + 1, CIGAR_DELETION)
        begin_column = -1
    cigar = forwards(np.concatenate((cigar, ends)))
    return score, row + 1, column + 1, begin_row + 1, begin_column + 1, cigar


@compiled
def forwards(backwards):
    """Elements of a CIGAR in the other order; neighbours of one operation become one, and empty ones are left out."""
    elements = np.empty(len(backwards), np.uint32)
    used = 0
    for k in range(len(backwards) - 1, -1, -1):
        element = backwards[k]
        if element >> CIGAR_SHIFT == 0:
            continue
        if used > 0 and (elements[used - 1] ^ element) & np.uint32(CIGAR_MASK) == 0:
            elements[used - 1] += element & ~np.uint32(CIGAR_MASK)
        else:
            elements[used] = element
            used += 1
    return elements[:used].copy()


@compiled
def _first_border(length, priced, scoring):
    """int32[2, length + 1]: H of row 0 (column 0), and I (D) of the first row (column) behind it."""
    border = np.zeros((2, length + 1), np.int32)
    if priced:
        for k in range(1, length + 1):
            border[0, k] = scoring.gap_open + (k - 1) * scoring.gap_extend
    border[1] = border[0] + scoring.gap_open
    return border
