"""How the lanes of a card's kernels share a matrix, the macros that say so, and which shape is fastest for a size."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from quire.algorithms.pairwise import Mode
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT

WARP = 32
CELLS_PER_PAIR = 16  # of two words of directions
PAIR_BYTES = 8
LARGEST_GAP_OPEN = 65535
"""Price of a gap's first base that the words on borders have room for."""


SCHEDULERS = 4  # of a multiprocessor
# Cycles, as measured on an H200: what a row takes a warp that has a scheduler to itself, and each of a lane's columns
# in it; and what they take a scheduler that has several warps.
LATENCY, CHAIN, CHAIN_BITS = 75, 10, 22
ROW, CELL, CELL_BITS = 40, 11, 23
HANDING_OVER = 4
"""Chunks that a block is behind the one on its left, besides those of its warps."""


class StripShape(NamedTuple):
    """How a kernel's lanes share a matrix (macros of layout.cuh).

    Attributes:
        columns: of the matrix, per lane.
        warps: of a block that compute.
        steps: of a chunk: rows between two barriers.
        resident: blocks that a multiprocessor is to hold; a thread's registers follow from it.
        bits: whether directions are kept.
    """

    columns: int
    warps: int
    steps: int
    resident: int
    bits: bool

    @property
    def width(self) -> int:
        """Columns of a block."""
        return WARP * self.columns * self.warps

    @property
    def block(self) -> int:
        """Threads of a block: those of the warps that compute, and of one that hands words on."""
        return WARP * (self.warps + 1)

    @property
    def shared_bytes(self) -> int:
        """Of a block: what warps hand on to each other, and the strip that was taken."""
        return (self.warps + 1) * 2 * self.steps * 8 + 8

    @property
    def rows_at_once(self) -> int:
        """Rows that the lanes of a warp stand on in a chunk: a kernel keeps at most one of so many neighbours."""
        return WARP - 1 + self.steps

    def strips(self, columns: int) -> int:
        """Blocks for so many columns."""
        return -(-columns // self.width)

    def bits_stride(self, rows: int) -> int:
        """Pairs of words of a warp's directions."""
        steps = -(-(rows + WARP) // self.steps) * self.steps
        return steps * self.columns // CELLS_PER_PAIR * WARP

    def bits_size(self, rows: int, columns: int) -> int:
        """Pairs of words of a rectangle's directions."""
        return self.strips(columns) * self.warps * self.bits_stride(rows)

    def defines(self, mode: Mode, wide: bool) -> dict[str, int]:
        """The macros of pairwise.cu."""
        return {
            "COLUMNS": self.columns,
            "WARPS": self.warps,
            "BLOCK": self.block,
            "STEPS": self.steps,
            "RESIDENT": self.resident,
            "BITS": int(self.bits),
            "LOCAL": int(mode == Mode.LOCAL),
            "WIDE": int(wide),
        }

    def trace_defines(self) -> dict[str, int]:
        """The macros of trace.cu."""
        return {
            "COLUMNS": self.columns,
            "WARPS": self.warps,
            "STEPS": self.steps,
            "BITS": 1,
            "LOCAL": 0,
            "WIDE": 0,
            "PAIRS_IN_WINDOW": self.window,
            "CIGAR_MATCH": CIGAR_MATCH,
            "CIGAR_INSERTION": CIGAR_INSERTION,
            "CIGAR_DELETION": CIGAR_DELETION,
            "CIGAR_SHIFT": CIGAR_SHIFT,
        }

    @property
    def window(self) -> int:
        """Pairs of words per lane that the warp that follows a path has at hand: the way through a strip, and gaps."""
        return 12 * self.columns


# With twelve columns a lane one strip of 400 kb is as wide as what each of an H200's multiprocessors has to do.
SCORE_SHAPES = (
    *(StripShape(columns, 4, 16, 2, False) for columns in (4, 6)),
    *(StripShape(columns, 8, 16, 1, False) for columns in (9, 12, 16)),
)
BITS_SHAPES = tuple(StripShape(columns, 4, 16, 2, True) for columns in (2, 4))
# Scores that a signed byte does not hold take more registers than two blocks leave to a thread.
WIDE_SCORE_SHAPES, WIDE_BITS_SHAPES = (StripShape(4, 4, 16, 1, False),), (StripShape(4, 4, 16, 1, True),)


def fastest_shape(shapes: tuple[StripShape, ...], multiprocessors: int, sizes: list[tuple[int, int]]) -> StripShape:
    """The shape that takes the fewest cycles for matrices (rows, columns) that are computed at once, by count."""
    counted = Counter(sizes)
    return min(shapes, key=lambda shape: cycles(shape, multiprocessors, counted))


def cycles(shape: StripShape, multiprocessors: int, sizes: Mapping[tuple[int, int], int]) -> float:
    """Of a launch, estimated; `sizes` has how many matrices there are of each (rows, columns)."""
    matrices = sum(sizes.values())
    strips = sum(count * shape.strips(columns) for (_, columns), count in sizes.items())
    blocks = -(-min(strips, multiprocessors * shape.resident) // multiprocessors)
    chain, cell = (CHAIN_BITS, CELL_BITS) if shape.bits else (CHAIN, CELL)
    warps = blocks * shape.warps / SCHEDULERS
    per_row = max(LATENCY + chain * shape.columns, warps * (ROW + cell * shape.columns))
    lag = shape.warps * (WARP + shape.steps) + HANDING_OVER * shape.steps
    at_once = multiprocessors * blocks
    if matrices == 1:  # those that follow begin when those before them end
        ((rows, _),) = sizes
        return per_row * (rows * -(-strips // at_once) + lag * min(strips, at_once))
    alone = max(rows + shape.strips(columns) * lag for rows, columns in sizes)
    rows_of_strips = sum(count * rows * shape.strips(columns) for (rows, columns), count in sizes.items())
    return per_row * max(alone, rows_of_strips / at_once + lag * strips / matrices / 2)
