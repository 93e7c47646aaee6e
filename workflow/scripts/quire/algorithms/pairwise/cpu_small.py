"""From letters to the path in one call: for pairs that a call's own cost decides for, and for those of few cells."""

import numpy as np

from quire.algorithms.pairwise import LARGEST, Mode
from quire.algorithms.pairwise.cpu_band import align_band
from quire.algorithms.pairwise.cpu_bytes import align_strips, fits_in_strips
from quire.algorithms.pairwise.cpu_diagonals import score_at_least
from quire.algorithms.pairwise.cpu_follow import follow_tile
from quire.algorithms.pairwise.cpu_layout import BITS, Border, direction_words, height_of, space_for
from quire.algorithms.pairwise.cpu_tiles import fits_in_16_bits, solve_for_end, solve_tile
from quire.algorithms.pairwise.tiling import DIRECTION_BITS
from quire.algorithms.scoring import Scoring
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_SHIFT
from quire.sequence.cigar import element_of
from quire.simd.compiled import compiled, inlined

_BAND_FOR_STRIPS, _BAND_FOR_TILE = 50, 70
"""Cells of a band, for a hundred of the matrix, that take as long as these in strips, or in a tile."""
HEADER = 5  # numbers before the CIGAR
_LOCAL, _GLOBAL, _GLOCAL = int(Mode.LOCAL), int(Mode.GLOBAL), int(Mode.GLOCAL)


@compiled
def align_at_once(query, target, match, mismatch, gap_open, gap_extend, mode, at_corner, band, strips, tile):
    """Align two sequences, neither empty, in the first of three ways that leads to an alignment.

    Args:
        query, target: uint8, as a `Pair` has them.
        match, mismatch, gap_open, gap_extend: of the `Scoring`; numbers cost a call less than a tuple of them.
        mode: int of the `Mode`.
        at_corner: whether the alignment must end at (m, n) in every mode.
        band, strips, tile: bytes that a band's directions, the kept rows of strips, and the directions of all cells may
            take; 0: that way is not tried.

    Returns:
        uint32: the score + LARGEST, row and column (from 1) of its end and of where it begins, and its CIGAR elements.
        Empty where none of the ways led to an alignment.
    """
    scoring = Scoring(match, mismatch, gap_open, gap_extend)
    rows, columns = len(query), len(target)
    found, least = False, np.int64(0)
    free = mode == _GLOBAL or not at_corner
    in_strips = strips > 0 and mode == _LOCAL and not at_corner
    if (band > 0 and free) or in_strips:
        least = score_at_least(query, target, scoring, mode)
    if band > 0 and free:
        in_strips = in_strips and fits_in_strips(rows, columns, scoring, least, strips)
        share = _BAND_FOR_STRIPS if in_strips else _BAND_FOR_TILE
        found, answer = align_band(query, target, scoring, mode, least, rows * columns * share // 100, band)
    if not found and in_strips:
        answer = align_strips(query, target, scoring, least, strips)
        found = answer[0] >= 0
    if not found and rows * columns * DIRECTION_BITS <= 8 * tile:
        answer = align_tile(query, target, scoring, mode, at_corner)
        found = True
    if not found:
        return np.empty(0, np.uint32)
    return _packed(answer)


@inlined
def _packed(answer):
    """An alignment as `align_at_once` returns it: one array is all that a call hands to Python."""
    packed = np.empty(HEADER + len(answer[5]), np.uint32)
    packed[0] = answer[0] + LARGEST
    packed[1], packed[2], packed[3], packed[4] = answer[1:HEADER]
    used = HEADER
    for element in answer[5][::-1]:
        if element >> CIGAR_SHIFT == 0:
            continue
        if used > HEADER and (packed[used - 1] ^ element) & np.uint32(CIGAR_MASK) == 0:
            packed[used - 1] += element & ~np.uint32(CIGAR_MASK)
        else:
            packed[used] = element
            used += 1
    return packed[:used]


@compiled
def align_tile(query, target, scoring, mode, at_corner):
    """Align two sequences, neither empty, with the directions of all cells.

    Args:
        query, target: uint8, as a `Pair` has them.
        scoring: `Scoring`.
        mode: int of the `Mode`.
        at_corner: whether the alignment must end at (m, n) in every mode.

    Returns:
        Its score, row and column (from 1) of its end and of where it begins, and uint32, its CIGAR elements, backwards.
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
        score, row, column = solve_for_end(spaces, query, target, border, scoring, directions)
    else:
        solve_tile(spaces, query, target, border, scoring, local, LARGEST, 0, directions)
        if mode == _GLOCAL and not at_corner:
            column = np.argmax(border.lower[0]) - 1
        score = np.int64(border.lower[0, column + 1])
    if local and score == 0:
        return score, 0, 0, 0, 0, np.empty(0, np.uint32)
    begin_row, begin_column, _, _, cigar = follow_tile(
        query, target, directions, height_of(rows), border, scoring, local, row, column, 0, score
    )
    ends = np.array([element_of(0, CIGAR_INSERTION), element_of(0, CIGAR_DELETION)], np.uint32)
    if not local:
        ends[0] = element_of(begin_row + 1, CIGAR_INSERTION)
        begin_row = -1
    if mode == _GLOBAL:
        ends[1] = element_of(begin_column + 1, CIGAR_DELETION)
        begin_column = -1
    cigar = cigar if local else np.concatenate((cigar, ends))
    return score, row + 1, column + 1, begin_row + 1, begin_column + 1, cigar


@compiled
def _first_border(length, priced, scoring):
    """int32[2, length + 1]: H of row 0 (column 0), and I (D) of the first row (column) behind it."""
    border = np.zeros((2, length + 1), np.int32)
    if priced:
        for k in range(1, length + 1):
            border[0, k] = scoring.gap_open + (k - 1) * scoring.gap_extend
    border[1] = border[0] + scoring.gap_open
    return border
