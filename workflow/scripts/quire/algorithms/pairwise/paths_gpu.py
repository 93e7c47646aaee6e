"""Paths through the values of cells on a card: many warps follow parts of one path at once, one joins the parts.

A part begins at the largest H of each kept row: if the path goes through that cell, the parts above and below meet
there. What does not meet goes on alone, so that guesses decide the time and never the path. The card knows where the
largest H of its rows are, and where alignments end: the host need not ask before paths are followed.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise.shapes import StripShape
from quire.algorithms.pairwise.structs import PathState, TileGrid, Walked
from quire.algorithms.pairwise.sweep_gpu import IN_BEST, UNKNOWN, CardMatrices, upload_together
from quire.device.card import CardArray
from quire.sam import CIGAR_SHIFT

ROWS_PER_ELEMENT, FEWEST_ELEMENTS = 4, 64
"""Room for the elements of a guessed part, by the rows between two kept rows; what has more goes on later."""
USUAL_ELEMENTS = 4096  # of a path
_FIELDS = len(PathState._fields)
_ROW, _FIRST, _ROOM = (PathState._fields.index(name) for name in ("row", "first", "room"))
_WORD, _ELEMENT = 8, 4  # bytes
_WALKED_BYTES = _WORD * len(Walked._fields)


class TileValues(NamedTuple):
    """Values of the cells of some tiles of a batch's matrices.

    Attributes:
        shape: of the kernel that made them.
        values: uint32, on the card.
        grids: of each matrix, see `placed_grids`.
        places: int64[tiles of all matrices], on the card: where a tile's values begin in `values`; -1: they are not
            there.
        peaks: int32[kept rows, 4], on the card: of all matrices, see `CardMatrices.peaks`.
        ends: int32[strips, 4], on the card: where the strips of all matrices have their largest H, in mode LOCAL.
    """

    shape: StripShape
    values: CardArray
    grids: list[TileGrid]
    places: CardArray
    peaks: CardArray
    ends: CardArray


@dataclass
class Walk:
    """A path as far as it is known.

    Attributes:
        row, column: of the cell where it is, from 1; UNKNOWN: where the alignment ends.
        score: H there; in a gap, see trace.cu.
        state: in H there, or in a gap that may go on (trace.cu).
        complete: whether it has ended, or stands on row 0 or column 0.
        parts: uint32[], its elements, the last one first.
        end: row, column and score of the cell where it began.
    """

    row: int = UNKNOWN
    column: int = UNKNOWN
    score: int = 0
    state: int = IN_BEST
    complete: bool = False
    parts: list[NDArray[np.uint32]] = field(default_factory=list)
    end: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self) -> None:
        """A path on a border is complete."""
        self.complete = self.row == 0 or self.column == 0
        self.end = self.row, self.column, self.score

    def advance(self, walked: Walked, part: NDArray[np.uint32]) -> None:
        """Take over what was followed from here."""
        if self.row == UNKNOWN:
            self.end = walked.begin_row, walked.begin_column, walked.begin_score
        self.parts.append(part)
        self.row, self.column, self.score, self.state = walked.row, walked.column, walked.score, walked.state
        self.complete = bool(walked.ended)


def follow(batch: CardMatrices, tiles: TileValues, walks: list[Walk]) -> None:
    """Follow the paths of a batch's matrices as far as values and room for elements go.

    Args:
        batch: with its matrices.
        tiles: what is there of their cells' values.
        walks: of each; those that are not complete go on, by one base at least if their tile is there.
    """
    card = batch.card
    paths, own = _plan(batch, walks)
    if not own:
        return
    rooms = paths[:, _ROOM]
    paths[1:, _FIRST] = np.cumsum(rooms[:-1])
    room = int(rooms.sum())
    owns = np.array([*own.values(), len(paths)])
    on_card, card_owns, card_grids = upload_together(card, [paths, owns, np.array(tiles.grids, np.int64)])
    followed, elements = card.empty(paths.shape, np.int64), card.empty(room, np.uint32)
    batch.follow(tiles.shape, on_card, card_grids, tiles.places, tiles.values, tiles.peaks, tiles.ends, followed,
                 elements)  # fmt: skip
    # What walks came to and their elements in one array: what is usual comes by one copy.
    told = len(own) * _WALKED_BYTES
    usual = min(USUAL_ELEMENTS * len(own), room)
    found = card.empty(told + _WORD + room * _ELEMENT, np.uint8)
    taken = found[told : told + _WORD].view(np.uint64)
    taken[...] = 0
    joined = found[told + _WORD :].view(np.uint32)
    batch.join(card_owns, card_grids, on_card, followed, elements, found[:told].view(np.int64), taken, joined)
    come = card.staging(told + _WORD + usual * _ELEMENT)
    card.download_into(found[: len(come)], come)
    written = come[told + _WORD :].view(np.uint32)
    for number, numbers in zip(own, come[:told].view(np.int64).reshape(len(own), -1).tolist(), strict=True):
        walked = Walked(*numbers)
        end = walked.first + walked.elements
        # A copy: the staging memory is somebody else's soon.
        part = written[walked.first : end].copy() if end <= usual else card.download(joined[walked.first : end])
        walks[number].advance(walked, part)


def _plan(batch: CardMatrices, walks: list[Walk]) -> tuple[NDArray[np.int64], dict[int, int]]:
    """`PathState`s: of each walk that is not complete its own part, then those of kept rows above, the lowest first.

    Returns:
        int64[paths, 12]; and for each such walk the number of its own.
    """
    tables: list[NDArray[np.int64]] = []
    own: dict[int, int] = {}
    count = 0
    for number, (walk, matrix) in enumerate(zip(walks, batch.matrices, strict=True)):
        if walk.complete:
            continue
        known = walk.row != UNKNOWN
        row, column = (walk.row, walk.column) if known else (matrix.rows, matrix.columns)
        kept = np.arange((row - 1) // matrix.keep, 0, -1)
        table = np.zeros((1 + len(kept), _FIELDS), np.int64)
        table[0] = PathState(number, walk.row, walk.column, walk.state, walk.score, 0, 2 * min(row, column) + 4,
                             0, 0, 0, 0, 0)  # fmt: skip
        table[1:] = PathState(number, 0, UNKNOWN, IN_BEST, 0, 0, matrix.keep // ROWS_PER_ELEMENT + FEWEST_ELEMENTS,
                              0, 0, 0, 0, 0)  # fmt: skip
        table[1:, _ROW] = kept * matrix.keep
        own[number] = count
        count += len(table)
        tables.append(table)
    return np.concatenate(tables) if tables else np.empty((0, _FIELDS), np.int64), own


def placed_grids(batch: CardMatrices, swept: StripShape, computed: StripShape, whole: bool) -> list[TileGrid]:
    """The tiles of each matrix for the path that is followed through them.

    Args:
        batch: with its matrices.
        swept, computed: the shapes of the kernels that swept them and compute values.
        whole: whether a matrix is one tile of all its rows and columns.
    """
    placed, first, peaks, ends = [], 0, 0, 0
    for matrix in batch.matrices:
        rows, columns = (matrix.rows, matrix.columns) if whole else (matrix.keep, matrix.tile_columns)
        strips = swept.strips(matrix.columns)
        placed.append(TileGrid(
            matrix.rows, matrix.columns, matrix.query, matrix.target, rows, columns, 1 if whole else matrix.across,
            first, computed.values_stride(rows), matrix.keep, peaks, matrix.top, matrix.keep_stride, matrix.left,
            matrix.stride, ends, strips,
        ))  # fmt: skip
        first += 1 if whole else matrix.down * matrix.across
        peaks, ends = peaks + matrix.down + 1, ends + strips
    return placed


def element(length: int, operation: int) -> NDArray[np.uint32]:
    """The element of a CIGAR as BAM has it; none of no length."""
    return np.array([length << CIGAR_SHIFT | operation] if length > 0 else [], np.uint32)
