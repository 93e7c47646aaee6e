"""The path through the values of cells on a card: many warps follow parts of it at once, and one joins the parts.

A part begins at the largest H of each kept row. If the path goes through that cell, the parts above and below meet
there. A part that meets no other is followed alone, so predictions change the time and never the path. The largest H of
the rows and the alignment's end are on the card, so the path is followed without the host.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise.shapes import StripShape
from quire.algorithms.pairwise.structs import (
    QUERY_ROOM,
    WORDS_AROUND,
    PathParts,
    PathState,
    TileGrid,
    TileValues,
    Walked,
)
from quire.algorithms.pairwise.sweep_gpu import CardMatrix, upload_together

IN_BEST, UNKNOWN = 0, -1  # trace.cu: a path's state, and its place before it is known
ROWS_PER_ELEMENT, FEWEST_ELEMENTS = 4, 64
"""A predicted part has space for an element per ROWS_PER_ELEMENT rows between kept rows, and for FEWEST_ELEMENTS more.
A part that needs more is continued later."""
USUAL_ELEMENTS = 4096  # of a path; they are downloaded with its state
_FIELDS = len(PathState._fields)
_ROW, _FIRST, _ROOM = (PathState._fields.index(name) for name in ("row", "first", "room"))
_WORD, _ELEMENT = 8, 4  # bytes
_WALKED_BYTES = _WORD * len(Walked._fields)


@dataclass
class Walk:
    """The known part of a path.

    Attributes:
        row, column: of the cell that it has reached, from 1; UNKNOWN: the cell where the alignment ends.
        score: H there; in a gap, see trace.cu.
        state: IN_BEST, or the gap that the path is in and that may be extended (trace.cu).
        complete: whether it has ended, or is in row 0 or column 0.
        parts: uint32[] each, its elements, the last one first.
        end: row, column and score of the cell where it began.
    """

    row: int = UNKNOWN
    column: int = UNKNOWN
    score: int = 0
    state: int = IN_BEST
    complete: bool = False
    parts: list[NDArray[np.uint32]] = field(default_factory=list)
    end: tuple[int, int, int] = (0, 0, 0)

    def advance(self, walked: Walked, part: NDArray[np.uint32]) -> None:
        """Append a part that was followed from here."""
        if self.row == UNKNOWN:
            self.end = walked.begin_row, walked.begin_column, walked.begin_score
        self.parts.append(part)
        self.row, self.column, self.score, self.state = walked.row, walked.column, walked.score, walked.state
        self.complete = bool(walked.ended)


def follow(matrix: CardMatrix, tiles: TileValues, walk: Walk) -> None:
    """Follow a path as far as the values of `tiles` and the space for elements allow, by at least one base."""
    card = matrix.card
    paths = _plan(matrix, walk)
    room = int(paths[:, _ROOM].sum())
    tables = [paths, np.array([0, len(paths)]), np.array([tiles.grid], np.int64)]
    on_card, owns, grid = upload_together(card, tables)
    parts = PathParts(on_card, owns, grid, room)
    followed = matrix.follow(tiles, parts)
    # The path's state and its elements share an array, so that one copy downloads a path of the usual length.
    usual = min(USUAL_ELEMENTS, room)
    found = card.empty(_WALKED_BYTES + _WORD + room * _ELEMENT, np.uint8)
    taken = found[_WALKED_BYTES : _WALKED_BYTES + _WORD].view(np.uint64)
    taken[...] = 0
    joined = found[_WALKED_BYTES + _WORD :].view(np.uint32)
    matrix.join(parts, followed, found[:_WALKED_BYTES].view(np.int64), taken, joined)
    come = card.staging(_WALKED_BYTES + _WORD + usual * _ELEMENT)
    card.download_into(found[: len(come)], come)
    walked = Walked(*come[:_WALKED_BYTES].view(np.int64).tolist())
    # A copy: the staging memory will be used again.
    written = come[_WALKED_BYTES + _WORD :].view(np.uint32)
    walk.advance(
        walked,
        written[: walked.elements].copy() if walked.elements <= usual else card.download(joined[: walked.elements]),
    )


def _plan(matrix: CardMatrix, walk: Walk) -> NDArray[np.int64]:
    """Return int64[parts, 12], `PathState`s: the walk's own part, then one per kept row above it, the lowest first."""
    placed, known = matrix.placed, walk.row != UNKNOWN
    row, column = (walk.row, walk.column) if known else (placed.rows, placed.columns)
    kept = np.arange((row - 1) // placed.keep, 0, -1)
    table = np.zeros((1 + len(kept), _FIELDS), np.int64)
    own_room, room = 2 * min(row, column) + 4, placed.keep // ROWS_PER_ELEMENT + FEWEST_ELEMENTS
    table[0] = PathState(0, walk.row, walk.column, walk.state, walk.score, 0, own_room, 0, 0, 0, 0, 0)
    table[1:] = PathState(0, 0, UNKNOWN, IN_BEST, 0, 0, room, 0, 0, 0, 0, 0)
    table[1:, _ROW] = kept * placed.keep
    table[1:, _FIRST] = np.cumsum(table[:-1, _ROOM])
    return table


def placed_grid(matrix: CardMatrix, swept: StripShape, computed: StripShape) -> TileGrid:
    """Return the `TileGrid` of a matrix, given the shapes of the kernels that swept it and that compute values."""
    placed = matrix.placed
    return TileGrid(
        placed.rows, placed.columns, QUERY_ROOM, 0, placed.keep, placed.tile_columns, placed.across, 0,
        computed.values_stride(placed.keep), placed.keep, 0, placed.top, placed.keep_stride, WORDS_AROUND,
        placed.stride, 0, swept.strips(placed.columns),
    )  # fmt: skip
