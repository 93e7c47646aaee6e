"""Shapes: how the lanes of a card's kernels share the matrices of semi-global alignment, as macros."""

from typing import NamedTuple

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
}
_CELLS_PER_WORD = 4  # of each of two tasks, with four bits each


class FillShape(NamedTuple):
    """Division of a matrix among the lanes of a kernel (macros of layout.cuh).

    Attributes:
        lanes: lanes of a warp per two tasks.
        columns: columns of the matrix per lane.
        blocks: blocks of one warp that a multiprocessor should hold (fewer on sm_120); it limits a thread's registers.
        strips: whether an alternate may be longer than lanes * columns; it is then computed in strips of this width.
    """

    lanes: int
    columns: int
    blocks: int
    strips: bool = False

    @property
    def capacity(self) -> int:
        """Columns that the lanes hold at once."""
        return self.lanes * self.columns

    @property
    def slots(self) -> int:
        """Tasks that a warp computes at once."""
        return WARP // self.lanes * 2

    @property
    def line_words(self) -> int:
        """Words of traceback of a line: one step of a warp."""
        return -(-self.columns // _CELLS_PER_WORD) * WARP

    def layout(self) -> dict[str, int]:
        """Return the macros of layout.cuh."""
        return {"LANES": self.lanes, "COLUMNS": self.columns, "STRIPS": int(self.strips)}

    def fill_defines(self) -> dict[str, int]:
        """Return the macros of semiglobal.cu."""
        return {**self.layout(), "BLOCKS": self.blocks}

    def trace_defines(self) -> dict[str, int]:
        """Return the macros of trace.cu."""
        return {**self.layout(), **TRACE_DEFINES}


# By capacity, the last one for alternates of any length. 152 and 400 columns just hold common reads and haplotypes.
SHAPES = (
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
