"""GATK's Smith-Waterman cell by cell in plain Python, gaps tried at every length; the rules are in model.py."""

from collections.abc import Sequence
from itertools import groupby

from quire.algorithms.smith_waterman.model import DELETION, INSERTION, MATCH, SOFT_CLIP, Parameters, Strategy

Path = list[tuple[int, int]]


def align(
    reference: Sequence[int], alternate: Sequence[int], parameters: Parameters, strategy: Strategy
) -> tuple[int, Path]:
    """Offset in the reference and [(operation, length), ...] of the alternate's alignment."""
    reference, alternate = list(reference), list(alternate)
    if strategy in (Strategy.SOFTCLIP, Strategy.IGNORE):
        for offset in range(len(reference) - len(alternate), -1, -1):
            if reference[offset : offset + len(alternate)] == alternate:
                return offset, [(MATCH, len(alternate))]
    scores, steps = _fill(reference, alternate, parameters, strategy)
    row, column = _end(scores, strategy)
    overhang = len(alternate) - column
    operations = [SOFT_CLIP if strategy == Strategy.SOFTCLIP else MATCH] * overhang
    while row > 0 and column > 0:
        operation, length = steps[row][column]
        operations += [operation] * length
        row -= length if operation != INSERTION else 0
        column -= length if operation != DELETION else 0
    offset = row
    if strategy == Strategy.SOFTCLIP:
        operations += [SOFT_CLIP] * column
    elif strategy == Strategy.IGNORE:
        operations += operations[-1:] * column
        offset = row - column
    else:
        operations += [DELETION] * row + [INSERTION] * column
        offset = 0
    return offset, [(operation, len(list(run))) for operation, run in groupby(reversed(operations))]


def _gap(length: int, parameters: Parameters) -> int:
    return parameters.gap_open + (length - 1) * parameters.gap_extend


def _fill(reference, alternate, parameters, strategy):
    """Scores of all cells, and the step (operation, length) that leads back from each."""
    rows, columns = len(reference) + 1, len(alternate) + 1
    scores = [[0] * columns for _ in range(rows)]
    steps = [[(MATCH, 1)] * columns for _ in range(rows)]
    if strategy in (Strategy.INDEL, Strategy.LEADING_INDEL):
        scores[0][1:] = [_gap(length, parameters) for length in range(1, columns)]
        for length in range(1, rows):
            scores[length][0] = _gap(length, parameters)
    for i in range(1, rows):
        for j in range(1, columns):
            equal = reference[i - 1] == alternate[j - 1]
            diagonal = scores[i - 1][j - 1] + (parameters.match if equal else parameters.mismatch)
            # Of equally good gaps the longest one: an open gap is made longer rather than a new one opened.
            right, right_length = max((scores[i][j - k] + _gap(k, parameters), k) for k in range(1, j + 1))
            down, down_length = max((scores[i - k][j] + _gap(k, parameters), k) for k in range(1, i + 1))
            if diagonal >= right and diagonal >= down:
                scores[i][j], steps[i][j] = diagonal, (MATCH, 1)
            elif right >= down:
                scores[i][j], steps[i][j] = right, (INSERTION, right_length)
            else:
                scores[i][j], steps[i][j] = down, (DELETION, down_length)
    return scores, steps


def _end(scores, strategy) -> tuple[int, int]:
    """Row and column where the traceback starts."""
    last_row, last_column = len(scores) - 1, len(scores[0]) - 1
    if strategy == Strategy.INDEL:
        return last_row, last_column
    best, row = max((scores[i][last_column], i) for i in range(1, last_row + 1))
    column = last_column
    if strategy != Strategy.LEADING_INDEL:
        for j in range(1, last_column + 1):
            score = scores[last_row][j]
            if score > best or (score == best and abs(last_row - j) < abs(row - column)):
                best, row, column = score, last_row, j
    return row, column
