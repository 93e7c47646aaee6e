"""Shapes: how the lanes of a card's kernels share the matrices of semi-global alignment, as macros."""

from typing import NamedTuple

from quire.algorithms.semiglobal import Overhang
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT, CIGAR_SOFT_CLIP

WARP = 32
KEPT = 8  # CIGAR elements that the first walk keeps; most alignments have no more
EXACT_DEFINES = {"CIGAR_MATCH": CIGAR_MATCH, "CIGAR_SHIFT": CIGAR_SHIFT}
TRACE_DEFINES = {
    **EXACT_DEFINES,
    "CIGAR_DELETION": CIGAR_DELETION,
    "CIGAR_INSERTION": CIGAR_INSERTION,
    "CIGAR_SOFT_CLIP": CIGAR_SOFT_CLIP,
    "KEPT": KEPT,
    **{overhang.name: int(overhang) for overhang in Overhang},
}
_CELL_BITS, _WORD_BITS = 4, 32


class FillShape(NamedTuple):
    """Division of a matrix among the lanes of a kernel (macros of layout.cuh).

    Attributes:
        lanes: lanes of a warp per word of tasks.
        columns: columns of the matrix per lane.
        blocks: blocks of one warp that a multiprocessor should hold (fewer on sm_120); it limits a thread's registers.
        paired: whether a word holds the cells of two tasks.
        strips: whether an alternate may be longer than lanes * columns; it is then computed in strips of this width.
    """

    lanes: int
    columns: int
    blocks: int
    paired: bool = True
    strips: bool = False

    @property
    def capacity(self) -> int:
        """Columns that the lanes hold at once."""
        return self.lanes * self.columns

    @property
    def slots(self) -> int:
        """Tasks that a warp computes at once."""
        return WARP // self.lanes * (2 if self.paired else 1)

    @property
    def line_words(self) -> int:
        """Words of traceback of a line: one step of a warp."""
        cells_per_word = _WORD_BITS // _CELL_BITS // (2 if self.paired else 1)
        return -(-self.columns // cells_per_word) * WARP

    def layout(self) -> dict[str, int]:
        """Return the macros of layout.cuh."""
        return {
            "LANES": self.lanes,
            "COLUMNS": self.columns,
            "PAIRED": int(self.paired),
            "STRIPS": int(self.strips),
        }

    def fill_defines(self) -> dict[str, int]:
        """Return the macros of semiglobal.cu."""
        return {**self.layout(), "BLOCKS": self.blocks}

    def trace_defines(self) -> dict[str, int]:
        """Return the macros of trace.cu."""
        return {**self.layout(), **TRACE_DEFINES}


# By capacity, the last one for alternates of any length. 152 and 400 columns just hold common reads and haplotypes.
SHAPES_OF_PAIRS = (
    FillShape(4, 8, 20),
    FillShape(4, 16, 16),
    FillShape(8, 13, 16),
    FillShape(8, 16, 16),
    FillShape(8, 19, 12),
    FillShape(8, 25, 12),
    FillShape(16, 16, 16),
    FillShape(16, 20, 12),
    FillShape(16, 25, 12),
    FillShape(32, 16, 16),
    FillShape(32, 25, 12),
    FillShape(32, 16, 12, strips=True),
)
SHAPES_OF_ONE = (
    FillShape(8, 16, 12, paired=False),
    FillShape(32, 16, 12, paired=False),
    FillShape(32, 16, 12, paired=False, strips=True),
)
