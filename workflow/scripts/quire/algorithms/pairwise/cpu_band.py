"""Sequences that are alike: the diagonals that the alignment can be on, and no others; the answer is the same.

Cells outside of them (`cpu_diagonals`) are taken for nothing: the values along every optimal path are those of the
whole matrix, and values beside it are at most those. So the end, the path and its ties are those of the whole matrix.

Cells are computed by antidiagonals s = i + j, whose cells do not depend on each other: lane l holds the diagonal
`first` + 2 l where s is even, and the one after it where s is odd (`first` is even). What a cell needs is then in the
same lane, but for I before odd steps (from the lane above) and D before even ones (from the lane below).

Scores are int16, H of 0 is 0. Outside mode LOCAL what does not exist is FLOOR, and stays below what counts
(`fits_in_band`). Directions of the cells of one vector are four words, as those of a column in `cpu_tiles`.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import Mode, State
from quire.algorithms.pairwise.cpu_diagonals import UNKNOWN, diagonals
from quire.algorithms.pairwise.cpu_layout import BITS, CEILING, FLOOR, LANES, LARGEST_SCORE, is_noted, note
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar import append_operation
from quire.simd.compiled import compiled, inlined
from quire.simd.letters import BOTH_BYTES, ROW_MARK, letter_scores, score_letters
from quire.simd.vectors import (
    CACHE_LINE,
    add,
    choose_greater,
    load,
    maximum,
    moved_down,
    moved_up,
    splat,
    store,
)

LONGEST = 60_000  # m + n: half of the steps are counted in 16 bits
WORDS = 4  # of directions, of a vector
_ROW_PADDING, _COLUMN_PADDING = 6, 7  # letters of their own, which match nothing
_LOCAL, _GLOBAL, _GLOCAL = int(Mode.LOCAL), int(Mode.GLOBAL), int(Mode.GLOCAL)
_PAIRED, _INSERTION, _DELETION = int(State.PAIRED), int(State.INSERTION), int(State.DELETION)


class DiagonalBand(NamedTuple):
    """The room of a band.

    Attributes:
        first: the diagonal of lane 0 in even steps.
        vectors: of an antidiagonal.
        pairs: of steps, an odd one and an even one; step 1 is the first.
        query: int16[pairs + vectors * LANES], letters of the rows, the last first, as `score_letters` takes them.
        target: likewise, letters of the columns from the first lane's first on.
        even, odd: int16[vectors * LANES], H of the last even and odd step.
        gaps: int16[(vectors + 1) * LANES], I of the cells below the last step's; behind it what does not exist.
        deletions: int16[vectors * LANES], D of the cells to the right of the last step's.
        best, when: int16[2, vectors * LANES], the largest H of each diagonal, and its first pair of steps.
        directions: BITS[2 * pairs * vectors * WORDS].
    """

    first: int
    vectors: int
    pairs: int
    query: np.ndarray
    target: np.ndarray
    even: np.ndarray
    odd: np.ndarray
    gaps: np.ndarray
    deletions: np.ndarray
    best: np.ndarray
    when: np.ndarray
    directions: np.ndarray


@compiled
def align_band(query, target, scoring, mode, least, most_cells, most_bytes):
    """Align two sequences, neither empty, within the diagonals that the alignment can be on.

    Args:
        query, target: uint8, as a `Pair` has them.
        scoring: `Scoring`.
        mode: int of the `Mode`.
        least: what `score_at_least` says.
        most_cells: of the band; it is left to others to find out where more are slower than another way.
        most_bytes: that directions may take.

    Returns:
        Whether it was done: not where too many diagonals are left. Then the alignment's score, row and column (from 1)
        of its end and of where it begins, and uint32, its CIGAR elements, backwards.
    """
    nothing = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.empty(0, np.uint32)
    rows, columns = len(query), len(target)
    if rows + columns > LONGEST or not fits_in_band(rows, columns, scoring, mode, least):
        return False, nothing
    low, high = diagonals(rows, columns, scoring, mode, least)
    first = low - (low & 1)
    vectors = (high - first) // 2 // LANES + 1
    steps = rows + columns + 1
    if vectors * LANES * steps > most_cells or vectors * WORDS * LANES // 8 * steps > most_bytes:
        return False, nothing
    return True, align_within(query, target, scoring, mode, first, vectors)


@compiled
def align_within(query, target, scoring, mode, first, vectors):
    """The best alignment on the 2 * `vectors` * LANES diagonals from `first` on, which is even; see `align_band`."""
    band = _band(query, target, scoring, mode, first, vectors)
    score, row, column = _sweep(band, len(query), len(target), scoring, mode)
    begin_row, begin_column, cigar = _follow(band, query, target, scoring, mode, score, row, column)
    return score, row, column, begin_row, begin_column, cigar


@compiled
def fits_in_band(rows, columns, scoring, mode, least):
    """Whether 16 bits hold the scores of a band whose alignment has at least so many."""
    price = -min(scoring.gap_open + scoring.gap_extend, scoring.mismatch)
    most = min(rows, columns) * scoring.match
    if max(price, scoring.match) > LARGEST_SCORE or most > CEILING:
        return False
    # What comes from FLOOR has at most FLOOR + most anywhere, and an optimal path has at least least - most.
    return mode == _LOCAL or FLOOR + 2 * most < least


@compiled
def _band(query, target, scoring, mode, first, vectors):
    """A band before its first step."""
    rows, columns, lanes = len(query), len(target), vectors * LANES
    pairs = (rows + columns + 1) // 2
    letters = pairs + lanes
    room = np.empty(2 * letters + 9 * lanes + LANES + CACHE_LINE, np.int16)
    begin = (CACHE_LINE - room.ctypes.data % CACHE_LINE) % CACHE_LINE // 2
    scores = room[begin : begin + 9 * lanes + LANES]
    backwards, forwards = room[len(room) - 2 * letters : len(room) - letters], room[len(room) - letters :]
    # Row and column of item x, so that `_sweep` finds the letters of a step side by side.
    half = first // 2
    for x in range(letters):
        i, j = pairs - half - x, x + 1 + half
        backwards[x] = (query[i - 1] if 1 <= i <= rows else _ROW_PADDING) * BOTH_BYTES + ROW_MARK
        forwards[x] = (target[j - 1] if 1 <= j <= columns else _COLUMN_PADDING) * BOTH_BYTES
    gaps, deletions = scores[2 * lanes : 3 * lanes + LANES], scores[3 * lanes + LANES : 4 * lanes + LANES]
    scores[: 2 * lanes] = 0 if mode == _LOCAL else FLOOR
    scores[2 * lanes : 4 * lanes + LANES] = FLOOR
    scores[4 * lanes + LANES :] = 0
    if mode != _LOCAL:  # (0, 0)
        scores[-half] = 0
        gaps[-half], deletions[-half] = scoring.gap_open, scoring.gap_open
    behind = scores[4 * lanes + LANES :]
    return DiagonalBand(
        first, vectors, pairs, backwards, forwards, scores[:lanes], scores[lanes : 2 * lanes], gaps, deletions,
        behind[: 2 * lanes], behind[2 * lanes : 4 * lanes], np.empty(2 * pairs * vectors * WORDS, BITS),
    )  # fmt: skip


@compiled
def _sweep(band, rows, columns, scoring, mode):
    """Compute all steps: the score of the alignment, and row and column of its end (from 1)."""
    first, vectors, pairs, query, target, even, odd, gaps, deletions, best, when, directions = band
    lanes = vectors * LANES
    scores = letter_scores(np.int16(scoring.match), np.int16(scoring.mismatch), LANES)
    gap_open, gap_extend = splat(np.int16(scoring.gap_open), LANES), splat(np.int16(scoring.gap_extend), LANES)
    zero = splat(np.int16(0 if mode == _LOCAL else FLOOR), LANES)
    constants = scores, gap_open, gap_extend, zero
    end = np.int64(UNKNOWN), np.int64(0), np.int64(0)
    for pair in range(pairs):
        now = splat(np.int16(pair), LANES)
        # In both steps lane l has column pair + 1 + half + l; row pair - half - l in the odd one, the next in the even.
        for v in range(vectors):
            at = v * LANES
            word = (2 * pair * vectors + v) * WORDS
            letters = load(query, pairs - pair + at, LANES), load(target, pair + at, LANES)
            gap, deletion = moved_down(load(gaps, at, LANES), gaps[at + LANES]), load(deletions, at, LANES)
            cells = _cells(load(odd, at, LANES), gap, deletion, letters, constants, directions, word)
            _keep_best(best, when, lanes + at, cells[0], now)
            _hand_on(odd, gaps, deletions, at, cells)
        if mode != _LOCAL:
            end = _after_step(band, odd, 2 * pair + 1, rows, columns, scoring, mode, end)
        carried = np.int16(FLOOR)
        for v in range(vectors):
            at = v * LANES
            word = ((2 * pair + 1) * vectors + v) * WORDS
            letters = load(query, pairs - pair - 1 + at, LANES), load(target, pair + at, LANES)
            gap, deletion = load(gaps, at, LANES), moved_up(load(deletions, at, LANES), carried)
            carried = deletions[at + LANES - 1]
            cells = _cells(load(even, at, LANES), gap, deletion, letters, constants, directions, word)
            _keep_best(best, when, at, cells[0], now)
            _hand_on(even, gaps, deletions, at, cells)
        if mode != _LOCAL:
            end = _after_step(band, even, 2 * pair + 2, rows, columns, scoring, mode, end)
    if mode == _LOCAL:
        return _local_end(best, when, first, lanes)
    return end


@inlined
def _cells(diagonal, gap, deletion, letters, constants, directions, word):
    """H of a vector of cells, I of those below and D of those to the right; their directions are written."""
    scores, gap_open, gap_extend, zero = constants
    value = add(diagonal, score_letters(letters[0], letters[1], scores))
    paired = maximum(value, gap)
    above = maximum(maximum(paired, deletion), zero)
    opened, longer_gap, longer = add(above, gap_open), add(gap, gap_extend), add(deletion, gap_extend)
    note(directions, word, gap, value, deletion, paired, longer_gap, opened, longer)
    return above, maximum(opened, longer_gap), maximum(opened, longer)


@inlined
def _hand_on(scores, gaps, deletions, at, cells):
    """Keep what `_cells` says for the steps that follow."""
    store(scores, at, cells[0])
    store(gaps, at, cells[1])
    store(deletions, at, cells[2])


@inlined
def _keep_best(best, when, at, scores, now):
    """Keep the largest H of diagonals, and when it came first."""
    before = load(best, at, LANES)
    store(when, at, choose_greater(scores, before, now, load(when, at, LANES)))
    store(best, at, maximum(scores, before))


@inlined
def _after_step(band, scores, step, rows, columns, scoring, mode, end):
    """The better of `end` (score, row, column) and the step's cell in the last row, if the alignment may end there.

    In mode GLOCAL the step's cell in row 0 is set.
    """
    lane = (step - band.first) >> 1
    if mode == _GLOCAL and lane < len(scores) and step <= columns:
        scores[lane] = 0
        band.gaps[lane], band.deletions[lane] = scoring.gap_open, scoring.gap_open
    lane, column = (step - 2 * rows - band.first) >> 1, step - rows
    may_end = 0 <= lane < len(scores) and (column == columns or (mode == _GLOCAL and 0 <= column < columns))
    if may_end and scores[lane] > end[0]:
        return np.int64(scores[lane]), np.int64(rows), np.int64(column)
    return end


@inlined
def _local_end(best, when, first, lanes):
    """The largest H, and the first cell by column and row that has it."""
    score, row, column = np.int64(0), np.int64(0), np.int64(0)
    for odd in range(2):
        for lane in range(lanes):
            other = np.int64(best[odd * lanes + lane])
            if other == 0 or other < score:
                continue
            diagonal, step = first + odd + 2 * lane, 2 * np.int64(when[odd * lanes + lane]) + 2 - odd
            j = (step + diagonal) // 2
            i = j - diagonal
            if other > score or j < column or (j == column and i < row):
                score, row, column = other, i, j
    return score, row, column


@compiled
def _follow(band, query, target, scoring, mode, score, row, column):
    """Where the path to a cell begins, and uint32, its CIGAR elements, backwards; see `follow_tile`."""
    cigar = np.empty(row + column + 1, np.uint32)
    used, state, i, j = 0, _PAIRED, row, column
    while True:
        if state == _PAIRED:
            if score == 0 if mode == _LOCAL else i == 0 and (j == 0 or mode == _GLOCAL):
                return i, j, cigar[:used]
            if _bit(band, i, j, 1):
                state = _DELETION
            elif _bit(band, i, j, 0):
                state = _INSERTION
        if state == _PAIRED:
            operation = CIGAR_MATCH
            score -= scoring.match if query[i - 1] == target[j - 1] else scoring.mismatch
            i, j = i - 1, j - 1
        elif state == _INSERTION:
            operation = CIGAR_INSERTION
            i -= 1
            longer = _bit(band, i, j, 2)
        else:
            operation = CIGAR_DELETION
            j -= 1
            longer = _bit(band, i, j, 3)
        if operation != CIGAR_MATCH:
            score -= scoring.gap_extend if longer else scoring.gap_open
            state = state if longer else _PAIRED
        used = append_operation(cigar, 0, used, operation)


@inlined
def _bit(band, i, j, which):
    """One of the four directions of a cell; from (0, 0) no gap goes on."""
    if i + j == 0:
        return False
    lane = (j - i - band.first) >> 1
    word = ((i + j - 1) * band.vectors + lane // LANES) * WORDS
    return is_noted(band.directions, word, lane % LANES, which)
