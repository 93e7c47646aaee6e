"""Complete search by walking the virtual suffix trie of an FM-index (Cole, Gardner and Buhler 2015, WOODSTOCC).

A node of the trie is a string S of the axis, of which an interval of rows holds the occurrences; its children put a
base before S (a backward step). A piece of a read is aligned from its end: at depth d the node's row holds, for each
difference count i up to the piece's limit, which of the last d - i ... d + i bases of the piece S can be aligned with
(2 i + 1 cells, a bit each: `ROW_BITS` in all). A node is shared by all pieces whose rows are still alive there; where
few rows are left the path goes on in the text. Every end of a piece on the axis has one path from the root, so each is
found once.

**Pieces.** With one piece, the whole read, this is WOODSTOCC. A read may also be cut into p pieces whose limits k_i
satisfy sum(k_i + 1) = k + 1: of any alignment with at most k differences one piece has at most k_i (Navarro and
Baeza-Yates 2000). Fewer differences a piece mean fewer nodes, shorter pieces more places by chance; `pieces_of` chooses
by an estimate of both, from the lengths of read and text alone. What is found of a piece is a candidate
(`quire.algorithms.complete.windows`), and windows give the ends. So the answer depends on no choice made here.

**Bounds.** Where what is left of a piece holds n strings beside each other that do not occur in the page, n
differences are still to come (bwa's array D): rows whose differences leave no room for them are dead.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BOUNDED_FROM = 2  # limit of pieces whose bounds are worth their time
STEP_COST, PLACE_COST = 1.0, 25.0  # of a node and of a place that is found by chance, by measurement
_ALPHABET = 4


class ReadPiece(NamedTuple):
    """A piece of a read.

    Attributes:
        begin, end: bases of the oriented read.
        limit: differences that it may have.
    """

    begin: int
    end: int
    limit: int


@lru_cache(maxsize=4096)
def cut(length: int, differences: int, count: int) -> tuple[ReadPiece, ...]:
    """A read in so many pieces, those that may have more differences being longer.

    Args:
        length: of the read, at least `shortest_read(differences)`.
        differences: k.
        count: of pieces, 1 to k + 1.
    """
    limits = [(differences + 1 + number) // count - 1 for number in range(count)]
    weights = [2 + limit for limit in limits]
    borders = [length * sum(weights[:number]) // sum(weights) for number in range(count + 1)]
    return tuple(ReadPiece(*piece) for piece in zip(borders[:-1], borders[1:], limits, strict=True))


@lru_cache(maxsize=4096)
def pieces_of(length: int, differences: int, bases: int) -> tuple[ReadPiece, ...]:
    """The pieces that a read is searched in.

    Args:
        length: of the read, at least `shortest_read(differences)`.
        differences: k.
        bases: of the axis.
    """
    cuts = [cut(length, differences, count) for count in range(1, differences + 2)]
    return min(cuts, key=lambda pieces: sum(estimated_cost(piece, bases) for piece in pieces))


def estimated_cost(piece: ReadPiece, bases: int) -> float:
    """What a piece costs to search on an axis of random bases: its nodes, and the places found by chance."""
    length, cost, alive = piece.end - piece.begin, 0.0, 1.0
    for depth in range(1, length + 1):
        alive = min(_strings(depth, piece.limit), words(depth))
        occurring = min(1.0, bases / words(depth))
        cost += STEP_COST * alive * occurring
    return cost + PLACE_COST * alive * bases / words(length)


def words(length: int) -> float:
    """How many words of a length there are; no more than a float holds, which is more than any axis has places."""
    return float(_ALPHABET) ** min(length, 500)


def _strings(depth: int, limit: int) -> float:
    """About how many strings are alive at a depth: each difference is at one of `depth` places, of some eight kinds."""
    strings = 1.0
    for number in range(1, limit + 1):
        strings *= 8.0 * max(depth - number + 1, 1) / number
    return strings


def lay_pieces(
    offsets: NDArray[np.int64], bases: int, differences: int, count: int | None
) -> dict[int, tuple[NDArray[np.int64], ...]]:
    """The pieces of reads on both strands, by limit.

    Args:
        offsets: int64[n + 1], of the reads.
        bases: of the axis.
        differences: k.
        count: of pieces a read; None for what is estimated to take the least time.

    Returns:
        Of each limit the pieces that have it: (oriented, begins, ends, behind), int64[] each. `oriented` is 2 * read +
        strand, `behind` the bases of the read behind the piece.
    """
    lengths = np.diff(offsets)
    gathered: dict[int, list[tuple[NDArray[np.int64], ...]]] = {}
    for length in np.unique(lengths).tolist():
        which = np.flatnonzero(lengths == length)
        oriented = np.concatenate([2 * which, 2 * which + 1])
        every = np.ones(len(oriented), np.int64)
        plan = pieces_of(length, differences, bases) if count is None else cut(length, differences, count)
        for piece in plan:
            rows = (oriented, piece.begin * every, piece.end * every, (length - piece.end) * every)
            gathered.setdefault(piece.limit, []).append(rows)
    return {limit: tuple(map(np.concatenate, zip(*rows, strict=True))) for limit, rows in gathered.items()}
