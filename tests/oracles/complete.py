"""Complete search cell by cell in plain Python, for short texts: the definition as code."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH

Matrix = list[list[int]]


class End(NamedTuple):
    """An end of one read."""

    strand: int
    end: int
    distance: int


class Hit(NamedTuple):
    """A hit of one read; `cigar` is (length, operation) from the left."""

    strand: int
    begin: int
    end: int
    distance: int
    cigar: tuple[tuple[int, int], ...]


def cost(base: int, letter: int) -> int:
    """Return the differences (0 or 1) of two aligned codes; codes above 3 match nothing."""
    return int(base != letter or base > 3)


def fill(read: Sequence[int], island: Sequence[int]) -> Matrix:
    """Return H (see the package) of one strand of a read and one island: rows 0..m, columns 0..length."""
    matrix = [[0] * (len(island) + 1)]
    for i, base in enumerate(read, 1):
        above = matrix[-1]
        row = [i]
        for j, letter in enumerate(island, 1):
            row.append(min(above[j - 1] + cost(base, letter), above[j] + 1, row[j - 1] + 1))
        matrix.append(row)
    return matrix


def trace(matrix: Matrix, read: Sequence[int], island: Sequence[int], end: int) -> tuple[int, list[int]]:
    """Return the begin of the alignment that ends in column `end`, and its operations from the left, one per step."""
    i, j = len(read), end
    operations = []
    while i > 0:
        here = matrix[i][j]
        if j > 0 and matrix[i - 1][j - 1] + cost(read[i - 1], island[j - 1]) == here:
            i, j = i - 1, j - 1
            operations.append(CIGAR_MATCH)
        elif matrix[i - 1][j] + 1 == here:
            i -= 1
            operations.append(CIGAR_INSERTION)
        else:
            j -= 1
            operations.append(CIGAR_DELETION)
    return j, operations[::-1]


def find(
    axis: np.ndarray, islands: Sequence[int], codes: np.ndarray, max_differences: int
) -> tuple[list[End], list[Hit]]:
    """Find all ends and all hits of one read.

    Args:
        axis: uint8[], codes 0..3 and 4 for an ambiguous base.
        islands: the begin of each island, and the length of the axis.
        codes: uint8[2, m], the read on both strands, 4 for an N.
        max_differences: k.

    Returns:
        The ends sorted by strand and end, and the hits sorted by strand and begin.
    """
    ends, hits = [], []
    for strand in (0, 1):
        read = [int(code) for code in codes[strand]]
        for first, last in pairwise(islands):
            island = [int(code) for code in axis[first:last]]
            matrix = fill(read, island)
            best: dict[int, tuple[tuple[int, int, int], Hit]] = {}
            for column, distance in enumerate(matrix[-1]):
                if distance > max_differences:
                    continue
                ends.append(End(strand, first + column, distance))
                start, operations = trace(matrix, read, island, column)
                cigar = tuple((len(list(run)), operation) for operation, run in groupby(operations))
                rank = distance, abs(column - start - len(read)), column
                if start not in best or rank < best[start][0]:
                    best[start] = rank, Hit(strand, first + start, first + column, distance, cigar)
            hits += [best[start][1] for start in sorted(best)]
    return ends, hits
