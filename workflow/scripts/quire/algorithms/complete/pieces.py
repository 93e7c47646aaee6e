"""Cuts of reads into pieces, and the choice of a cut by its estimated cost.

A read is cut into p pieces whose limits k_i satisfy sum(k_i + 1) = k + 1: in any alignment with at most k differences,
some piece i has at most k_i of them (Navarro and Baeza-Yates 2000). A piece with limit 0 must occur exactly and is
looked up (`seeds`); one with a higher limit is searched by a walk through the trie (`trie`). k + 1 exact pieces are the
cheapest search as long as they are too long to occur often by chance. Shorter reads, or more differences, need fewer
and longer pieces with a limit. The answer does not depend on the cut.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Measured relative times per row of an exact piece, per node of the trie, and per place that a walk finds by chance.
ROW_COST, NODE_COST, PLACE_COST = 3.5, 1.0, 25.0
_ALPHABET = 4


class ReadPiece(NamedTuple):
    """A piece of a read: bases [begin, end) of the oriented read, with at most `limit` differences."""

    begin: int
    end: int
    limit: int


class Pieces(NamedTuple):
    """Pieces of oriented reads that have one limit.

    Attributes:
        oriented: int64[n], 2 * read + strand.
        begin, end: int64[n], bases of the oriented read.
        limit: differences that each may have.
    """

    oriented: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    limit: int


@lru_cache(maxsize=4096)
def cut(length: int, differences: int, count: int) -> tuple[ReadPiece, ...]:
    """Cut a read into 1 to k + 1 pieces; pieces with higher limits are longer."""
    limits = [(differences + 1 + number) // count - 1 for number in range(count)]
    weights = [2 + limit for limit in limits]
    borders = [length * sum(weights[:number]) // sum(weights) for number in range(count + 1)]
    return tuple(ReadPiece(*piece) for piece in zip(borders[:-1], borders[1:], limits, strict=True))


@lru_cache(maxsize=4096)
def pieces_of(length: int, differences: int, bases: int) -> tuple[ReadPiece, ...]:
    """Return the pieces in which a read of some length is searched on an axis of `bases`."""
    exact = cut(length, differences, differences + 1)
    rows = sum(bases / words(piece.end - piece.begin) for piece in exact)
    cuts = [cut(length, differences, count) for count in range(1, differences + 1)]
    costs = [sum(walking_cost(piece, bases) for piece in pieces) for pieces in cuts]
    return cuts[int(np.argmin(costs))] if cuts and min(costs) < rows * ROW_COST else exact


def walking_cost(piece: ReadPiece, bases: int) -> float:
    """Estimate the cost of a walk on an axis of random bases: nodes, and places that are found by chance."""
    length, cost, alive = piece.end - piece.begin, 0.0, 1.0
    for depth in range(1, length + 1):
        alive = min(_strings(depth, piece.limit), words(depth))
        occurring = min(1.0, bases / words(depth))
        cost += NODE_COST * alive * occurring
    return cost + PLACE_COST * alive * bases / words(length)


def words(length: int) -> float:
    """Return the number of words of a length, limited to the range of a float."""
    return float(_ALPHABET) ** min(length, 500)


def _strings(depth: int, limit: int) -> float:
    """Estimate the number of strings alive at a depth: each difference has `depth` places and eight kinds."""
    strings = 1.0
    for number in range(1, limit + 1):
        strings *= 8.0 * max(depth - number + 1, 1) / number
    return strings


def lay_pieces(offsets: NDArray[np.int64], bases: int, differences: int) -> list[Pieces]:
    """Return the pieces of reads (int64[n + 1], their offsets) on both strands, by limit.

    Within one limit they are sorted by oriented read. `bases` are those of `pieces_of`.
    """
    lengths, kind = np.unique(np.diff(offsets), return_inverse=True)
    plans = [pieces_of(length, differences, bases) for length in lengths.tolist()]
    laid = []
    for limit in sorted({piece.limit for pieces in plans for piece in pieces}):
        chosen = [[piece for piece in pieces if piece.limit == limit] for pieces in plans]
        begin, end = (np.array([piece[side] for pieces in chosen for piece in pieces], np.int64) for side in (0, 1))
        counts = np.array([len(pieces) for pieces in chosen])
        of_strand = np.repeat(counts[kind], 2)
        oriented = np.repeat(np.arange(len(of_strand)), of_strand)
        number = np.arange(len(oriented)) - np.repeat(np.cumsum(of_strand) - of_strand, of_strand)
        row = np.repeat(np.repeat((np.cumsum(counts) - counts)[kind], 2), of_strand) + number
        laid.append(Pieces(oriented, begin[row], end[row], limit))
    return laid
