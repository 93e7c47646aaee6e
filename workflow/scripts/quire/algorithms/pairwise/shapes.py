"""How the lanes of a card's kernels share a matrix, the macros that say so, and which shape is fastest for a size."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from quire.algorithms.pairwise import AMBIGUOUS_QUERY, Mode
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT

WARP = 32
VALUE_BYTES = 4
"""What is kept of a cell where all are kept."""
LARGEST_DIFFERENCE = 65535
"""Between numbers of neighbouring cells: words on borders and values have room for so much."""

SCHEDULERS = 4  # of a multiprocessor
# Cycles of an H200 at 1.98 GHz, fitted to sweeps for scores (Mode.GLOBAL, chunks of 16): 8 kb with four and six columns
# a lane, 0.557 and 0.599 ms, and 100 kb with six, 8.06 ms. Mode.LOCAL takes 8, 14 and 9 % more. Sweeps with four and
# six columns of 8, 32, 100, 130, 200, 300, 500 kb and 1 Mb took 0.91 to 1.02 times what follows from these numbers.
LATENCY, CHAIN = 55, 9
"""What a row takes a warp that has a multiprocessor to itself, and each of a lane's columns in it."""
FULL = 12
"""What it takes more where each scheduler has a warp."""
ROW, CELL = 10, 13.5
"""What both take a scheduler that has several warps."""
STORING = 55
"""What a row of values of four columns a lane takes more: 8 kb in 0.866 ms, with chunks of 8."""
HANDING_OVER = 14
"""Rows that a strip is behind the one on its left, besides those of its lanes and a chunk."""
PLANNING = 430_000
"""What a call takes more in linear memory than where all is kept, for planning tiles and computing them again: 0.21 ms,
as measured at 8 and 16 kb."""


class StripShape(NamedTuple):
    """How a kernel's lanes share a matrix (macros of layout.cuh).

    Attributes:
        columns: of the matrix, per lane.
        warps: of a block; each has a strip of its own.
        steps: of a chunk: rows that are handed on together.
        resident: blocks that a multiprocessor is to hold; a thread's registers follow from it.
        values: whether what all cells hold is kept.
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

    @property
    def rows_at_once(self) -> int:
        """Rows that the lanes of a warp stand on in a chunk: a kernel keeps at most one of so many neighbours."""
        return WARP - 1 + self.steps

    @property
    def lag(self) -> int:
        """Rows that a strip is behind the one on its left."""
        return WARP + self.steps + HANDING_OVER

    def strips(self, columns: int) -> int:
        """Warps for so many columns."""
        return -(-columns // self.width)

    def wave(self, multiprocessors: int, rows: int, columns: int) -> int:
        """Rows that follow one another in one matrix: those that follow begin when those before them end."""
        strips = self.strips(columns)
        at_once = min(strips, multiprocessors * self.warps * self.resident)
        return rows * -(-strips // at_once) + self.lag * at_once

    def values_stride(self, rows: int) -> int:
        """Words of a strip's values."""
        return -(-(rows + WARP) // self.steps) * self.steps * self.width

    def values_size(self, rows: int, columns: int) -> int:
        """Words of a rectangle's values."""
        return self.strips(columns) * self.values_stride(rows)

    def defines(self, mode: Mode, wide: bool) -> dict[str, int]:
        """The macros of pairwise.cu."""
        return {
            "COLUMNS": self.columns,
            "BLOCK": self.block,
            "STEPS": self.steps,
            "RESIDENT": self.resident,
            "VALUES": int(self.values),
            "LOCAL": int(mode == Mode.LOCAL),
            "WIDE": int(wide),
        }

    def trace_defines(self) -> dict[str, int]:
        """The macros of trace.cu."""
        return {
            "COLUMNS": self.columns,
            "STEPS": self.steps,
            "VALUES": 1,
            "LOCAL": 0,
            "WIDE": 0,
            "NO_LETTER": AMBIGUOUS_QUERY,
            "MODE_LOCAL": int(Mode.LOCAL),
            "MODE_GLOBAL": int(Mode.GLOBAL),
            "CIGAR_MATCH": CIGAR_MATCH,
            "CIGAR_INSERTION": CIGAR_INSERTION,
            "CIGAR_DELETION": CIGAR_DELETION,
            "CIGAR_SHIFT": CIGAR_SHIFT,
        }


# With six columns a lane each of an H200's schedulers has one strip of 100 kb to do, and two of 200 kb. From 8 kb to
# 1 Mb lanes of 9, 12 and 16 columns were never faster than the better of these but by 1 % at 300 kb: a row took a warp
# 150 to 350 cycles.
# Blocks of one warp are spread over all multiprocessors and schedulers, which larger ones are not.
SCORE_SHAPES = tuple(StripShape(columns, 1, 16, 8, False) for columns in (4, 6))
VALUE_SHAPES = (StripShape(4, 1, 8, 8, True),)
WIDE_SCORE_SHAPES, WIDE_VALUE_SHAPES = (StripShape(4, 1, 16, 8, False),), VALUE_SHAPES


def fastest_shape(shapes: tuple[StripShape, ...], multiprocessors: int, sizes: list[tuple[int, int]]) -> StripShape:
    """The shape that takes the fewest cycles for matrices (rows, columns) that are computed at once, by count."""
    if len(shapes) == 1:
        return shapes[0]
    counted = Counter(sizes)
    return min(shapes, key=lambda shape: cycles(shape, multiprocessors, counted))


def linear_is_faster(
    scores: tuple[StripShape, ...], values: tuple[StripShape, ...], multiprocessors: int, rows: int, columns: int
) -> bool:
    """Whether one matrix by itself takes less time with some of its values computed again than with all kept.

    On an H200 the model has it so from 5,900 bases of both sequences on. Measured are 1 kb, where it is slower (0.60 ms
    for 0.47), and 8 and 16 kb, where it is faster (1.02 for 1.07 ms and 1.63 for 1.97, with chunks of 8).
    """
    size = {(rows, columns): 1}
    swept, kept = (min(cycles(shape, multiprocessors, size) for shape in shapes) for shapes in (scores, values))
    return swept + PLANNING < kept


def cycles(shape: StripShape, multiprocessors: int, sizes: Mapping[tuple[int, int], int]) -> float:
    """Of a launch, estimated; `sizes` has how many matrices there are of each (rows, columns)."""
    matrices = sum(sizes.values())
    strips = sum(count * shape.strips(columns) for (_, columns), count in sizes.items())
    at_once = min(strips, multiprocessors * shape.warps * shape.resident)
    schedulers = multiprocessors * SCHEDULERS
    warps = -(-at_once // schedulers)
    per_row = LATENCY + CHAIN * shape.columns + FULL * min(1, at_once / schedulers)
    if warps > 1:
        per_row = max(per_row, warps * (ROW + CELL * shape.columns))
    per_row += STORING * shape.values
    if matrices == 1:  # those that follow begin when those before them end
        ((rows, columns),) = sizes
        return per_row * shape.wave(multiprocessors, rows, columns)
    alone = max(rows + shape.strips(columns) * shape.lag for rows, columns in sizes)
    rows_of_strips = sum(count * rows * shape.strips(columns) for (rows, columns), count in sizes.items())
    return per_row * max(alone, rows_of_strips / at_once + shape.lag * strips / matrices / 2)
