"""GATK's aligner cell by cell in plain Python, with gaps of every length; the package states the rules."""

from collections.abc import Sequence
from enum import Enum
from itertools import groupby
from operator import add

from quire.algorithms.scoring import Scoring
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SOFT_CLIP

Path = list[tuple[int, int]]


class Overhang(Enum):
    """Treatment of overhanging bases (GATK's SWOverhangStrategy), where Quire has it."""

    SOFTCLIP = "clipped"
    LEADING_INDEL = "a gap, except at the end of the reference"


def align(reference: Sequence[int], alternate: Sequence[int], scoring: Scoring, overhang: Overhang) -> tuple[int, Path]:
    """Return the offset in the reference and [(operation, length), ...] of the alternate's alignment."""
    reference, alternate = list(reference), list(alternate)
    if overhang == Overhang.SOFTCLIP:
        for offset in range(len(reference) - len(alternate), -1, -1):
            if reference[offset : offset + len(alternate)] == alternate:
                return offset, [(CIGAR_MATCH, len(alternate))]
    scores, steps = _fill(reference, alternate, scoring, overhang)
    row, column = _end(scores, overhang)
    operations = [CIGAR_SOFT_CLIP if overhang == Overhang.SOFTCLIP else CIGAR_MATCH] * (len(alternate) - column)
    while row > 0 and column > 0:
        operation, length = steps[row][column]
        operations += [operation] * length
        row -= length if operation != CIGAR_INSERTION else 0
        column -= length if operation != CIGAR_DELETION else 0
    offset = row
    if overhang == Overhang.SOFTCLIP:
        operations += [CIGAR_SOFT_CLIP] * column
    else:
        operations += [CIGAR_DELETION] * row + [CIGAR_INSERTION] * column
        offset = 0
    return offset, [(operation, len(list(run))) for operation, run in groupby(reversed(operations))]


def _gap(length: int, scoring: Scoring) -> int:
    return scoring.gap_open + (length - 1) * scoring.gap_extend


def _fill(
    reference: Sequence[int], alternate: Sequence[int], scoring: Scoring, overhang: Overhang
) -> tuple[list[list[int]], list[list[tuple[int, int]]]]:
    """Return the scores of all cells, and the step (operation, length) that leads back from each."""
    rows, columns = len(reference) + 1, len(alternate) + 1
    scores = [[0] * columns for _ in range(rows)]
    steps = [[(CIGAR_MATCH, 1)] * columns for _ in range(rows)]
    if overhang == Overhang.LEADING_INDEL:
        scores[0][1:] = [_gap(length, scoring) for length in range(1, columns)]
        for length in range(1, rows):
            scores[length][0] = _gap(length, scoring)
    gaps = [_gap(length, scoring) for length in range(max(rows, columns), 0, -1)]
    above = [[score] for score in scores[0]]  # scores of each column, in the rows above
    for i in range(1, rows):
        for j in range(1, columns):
            equal = reference[i - 1] == alternate[j - 1]
            diagonal = scores[i - 1][j - 1] + (scoring.match if equal else scoring.mismatch)
            right, right_length = _best_gap(scores[i][:j], gaps)
            down, down_length = _best_gap(above[j], gaps)
            if diagonal >= right and diagonal >= down:
                scores[i][j], steps[i][j] = diagonal, (CIGAR_MATCH, 1)
            elif right >= down:
                scores[i][j], steps[i][j] = right, (CIGAR_INSERTION, right_length)
            else:
                scores[i][j], steps[i][j] = down, (CIGAR_DELETION, down_length)
            above[j].append(scores[i][j])
    return scores, steps


def _best_gap(scores: Sequence[int], gaps: Sequence[int]) -> tuple[int, int]:
    """Return the best score of a cell that a gap ends in, and the gap's length.

    Of equally good gaps the longest is taken: an open gap is extended rather than a new one opened.

    Args:
        scores: scores of the cells before it in its row, or above it in its column, from the farthest to the nearest.
        gaps: scores of gaps of all lengths, the longest first.
    """
    sums = list(map(add, scores, gaps[-len(scores) :]))
    best = max(sums)
    return best, len(sums) - sums.index(best)


def _end(scores: list[list[int]], overhang: Overhang) -> tuple[int, int]:
    """Return row and column where the traceback starts."""
    last_row, last_column = len(scores) - 1, len(scores[0]) - 1
    best, row = max((scores[i][last_column], i) for i in range(1, last_row + 1))
    column = last_column
    if overhang != Overhang.LEADING_INDEL:
        for j in range(1, last_column + 1):
            score = scores[last_row][j]
            if score > best or (score == best and abs(last_row - j) < abs(row - column)):
                best, row, column = score, last_row, j
    return row, column
