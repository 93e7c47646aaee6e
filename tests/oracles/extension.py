"""Banded affine alignment with end bonuses, cell by cell in plain Python."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from quire.algorithms.extension import AMBIGUOUS, END_BONUS, GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH

NEVER = -(10**6)
Operations = list[tuple[str, int]]  # letters of SAM and their lengths
Alignment = tuple[int, int, int, int, int, Operations]


def substitution(read_code: int, text_code: int) -> int:
    """Return the score of aligning two codes (0..3, 4 = ambiguous)."""
    if read_code > 3 or text_code > 3:
        return AMBIGUOUS
    return MATCH if read_code == text_code else MISMATCH


def extend(
    read: Sequence[int], text: Sequence[int], axis_begin: int, diagonal: int, diagonal_low: int, diagonal_high: int
) -> Alignment | None:
    """Align a read inside a band of diagonals.

    Args:
        read: codes of the oriented read.
        text: codes of the usable span of the axis.
        axis_begin: axis position of text[0].
        diagonal: tried first without gaps.
        diagonal_low: first diagonal of the band.
        diagonal_high: last diagonal of the band.

    Returns:
        (score, read_begin, read_end, axis_begin, axis_end, [(operation, length)]), or None if no path scores above
        zero.
    """
    begin = diagonal - axis_begin
    if begin >= 0 and begin + len(read) <= len(text):
        pairs = list(zip(read, text[begin : begin + len(read)], strict=True))
        differing = sum(a != b for a, b in pairs)
        if differing <= 1 and all(a < 4 and b < 4 for a, b in pairs):
            score = len(read) * MATCH + differing * (MISMATCH - MATCH)
            return score, 0, len(read), diagonal, diagonal + len(read), [("M", len(read))]
    length, width = len(read), diagonal_high - diagonal_low + 1
    match = [[NEVER] * width for _ in range(length)]
    insertion = [[(NEVER, False)] * (width + 1) for _ in range(length + 1)]  # score, and True if extending is better
    moves: dict[tuple[int, int], tuple[str, bool, bool]] = {}
    best, best_cell = 0, None
    for i in range(length):
        deletion = NEVER
        deletion_extends = False
        for j in range(width):
            position = diagonal_low + j + i - axis_begin
            above = END_BONUS if i == 0 else match[i - 1][j]
            inside = 0 <= position < len(text)
            diagonal = above + substitution(read[i], text[position]) if inside else NEVER
            value, move = diagonal, "M"
            from_insertion, insertion_extends = insertion[i][j + 1] if i > 0 and j + 1 < width else (NEVER, False)
            if from_insertion > value:
                value, move = from_insertion, "I"
            if deletion > value:
                value, move = deletion, "D"
            if value <= 0:
                value, move = 0, "stop"
            match[i][j] = value
            moves[i, j] = (move, insertion_extends, deletion_extends)
            chosen = value + (END_BONUS if i == length - 1 else 0)
            if move != "stop" and chosen > best:
                best, best_cell = chosen, (i, j)
            opened = value + GAP_OPEN + GAP_EXTEND
            insertion_longer = from_insertion + GAP_EXTEND > opened
            insertion[i + 1][j] = (from_insertion + GAP_EXTEND, True) if insertion_longer else (opened, False)
            deletion_extends = deletion + GAP_EXTEND > opened
            deletion = deletion + GAP_EXTEND if deletion_extends else opened
    if best_cell is None:
        return None
    return _trace(best, best_cell, moves, length, diagonal_low)


def _trace(
    total: int,
    cell: tuple[int, int],
    moves: dict[tuple[int, int], tuple[str, bool, bool]],
    length: int,
    diagonal_low: int,
) -> Alignment:
    i, j = cell
    read_end, axis_end = i + 1, diagonal_low + i + j + 1
    operations: list[str] = []
    state = "M"
    while i >= 0:
        move, insertion_extends, deletion_extends = moves[i, j]
        if state == "M":
            if move == "stop":
                break
            state = move
            if state == "M":
                operations.append("M")
                i -= 1
                continue
        operations.append(state)
        if state == "I":
            i, j = i - 1, j + 1
            state = "I" if insertion_extends else "M"
        else:
            j -= 1
            state = "D" if deletion_extends else "M"
    read_begin, axis_begin = i + 1, diagonal_low + i + j + 1
    score = total - (END_BONUS if read_begin == 0 else 0) - (END_BONUS if read_end == length else 0)
    return score, read_begin, read_end, axis_begin, axis_end, run_lengths(reversed(operations))


def run_lengths(operations: Iterable[str]) -> Operations:
    """Return the runs of equal operations as (operation, length)."""
    return [(operation, len(list(run))) for operation, run in groupby(operations)]
