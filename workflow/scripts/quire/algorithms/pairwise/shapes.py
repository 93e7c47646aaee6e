"""Shapes: the division of a matrix among the lanes of a card's kernels, their macros, and the fastest for a size."""

from typing import NamedTuple

from quire.algorithms.pairwise import AMBIGUOUS_QUERY, Mode
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT

WARP = 32
VALUE_BYTES = 4  # per cell whose value is kept
LARGEST_DIFFERENCE = 65535
"""Largest difference between neighbouring cells that the words on borders and the values of cells can hold."""

SCHEDULERS = 4  # per multiprocessor
ALONE, COLUMN = 67, 9
"""Cycles per row, and per column of a lane in it, of a warp that has a scheduler to itself (H200)."""
ROW, CELL = 10, 13.5
"""The same for each warp where several share a scheduler."""


class StripShape(NamedTuple):
    """Division of a matrix among a kernel's lanes (macros of layout.cuh).

    Attributes:
        columns: columns of the matrix per lane.
        warps: warps per block; each computes a strip of its own.
        steps: steps per chunk: rows that are handed on together.
        resident: blocks that a multiprocessor should hold; it limits the registers per thread.
        values: whether the values of all cells are kept.
    """

    columns: int
    warps: int
    steps: int
    resident: int
    values: bool

    @property
    def width(self) -> int:
        """Columns of a strip."""
        return WARP * self.columns

    @property
    def block(self) -> int:
        """Threads of a block."""
        return WARP * self.warps

    def strips(self, columns: int) -> int:
        """Return the number of strips for a number of columns."""
        return -(-columns // self.width)

    def values_stride(self, rows: int) -> int:
        """Return the number of words that the values of a strip take."""
        return -(-(rows + WARP) // self.steps) * self.steps * self.width

    def values_size(self, rows: int, columns: int) -> int:
        """Return the number of words that the values of a rectangle take."""
        return self.strips(columns) * self.values_stride(rows)

    def defines(self, mode: Mode) -> dict[str, int]:
        """Return the macros of pairwise.cu."""
        return {
            "COLUMNS": self.columns,
            "BLOCK": self.block,
            "STEPS": self.steps,
            "RESIDENT": self.resident,
            "VALUES": int(self.values),
            "LOCAL": int(mode == Mode.LOCAL),
        }

    def trace_defines(self) -> dict[str, int]:
        """Return the macros of trace.cu."""
        return {
            "COLUMNS": self.columns,
            "STEPS": self.steps,
            "VALUES": 1,
            "LOCAL": 0,
            "NO_LETTER": AMBIGUOUS_QUERY,
            "MODE_LOCAL": int(Mode.LOCAL),
            "MODE_GLOBAL": int(Mode.GLOBAL),
            "CIGAR_MATCH": CIGAR_MATCH,
            "CIGAR_INSERTION": CIGAR_INSERTION,
            "CIGAR_DELETION": CIGAR_DELETION,
            "CIGAR_SHIFT": CIGAR_SHIFT,
        }


# Blocks of one warp are spread over all multiprocessors and schedulers; larger blocks are not.
SCORE_SHAPES = tuple(StripShape(columns, 1, 16, 8, False) for columns in (4, 6))
VALUE_SHAPE = StripShape(4, 1, 8, 8, True)


def fastest_shape(shapes: tuple[StripShape, ...], multiprocessors: int, columns: int) -> StripShape:
    """Return the shape that takes the fewest cycles per row of the matrix.

    On an H200 it chose the faster of lanes of four and six columns at eight sizes from 8 kb to 1 Mb.
    """

    def cycles(shape: StripShape) -> float:
        strips = shape.strips(columns)
        at_once = min(strips, multiprocessors * shape.warps * shape.resident)
        warps = -(-at_once // (multiprocessors * SCHEDULERS))
        row: float = ALONE + COLUMN * shape.columns
        if warps > 1:
            row = max(row, warps * (ROW + CELL * shape.columns))
        return -(-strips // at_once) * row

    return min(shapes, key=cycles)
