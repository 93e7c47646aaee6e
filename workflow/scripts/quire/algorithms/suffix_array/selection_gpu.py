"""Selection of elements on a card by one bit each: counted, scanned, and written to their places (selection.cuh)."""

from typing import NamedTuple

import numpy as np

from quire.device.card import Card, CardArray, Kernel

SOURCE = "quire/algorithms/suffix_array/selection.cu"
TILE_WORDS = 256
DEFINES = {"TILE_WORDS": TILE_WORDS}
TILE_ELEMENTS = 32 * TILE_WORDS
TILE_BYTES = 16 * TILE_WORDS + TILE_WORDS // 4  # of shared memory: a TileWord per thread, 8 bytes per warp


class ElementSelection(NamedTuple):
    """Bits, and the result of their scan (selection.cuh: Selection).

    Attributes:
        bits: uint32[ceil(elements / 32)].
        elements: number of elements.
        ties: 0: elements with a set bit are chosen; 1: set bits are heads of groups, and all members of groups of at
            least two are chosen.
        chosen_before: uint32[tiles], the number of elements chosen before each tile.
        head_before: uint32[tiles], 1 + the last set bit before each tile, 0 if there is none.
    """

    bits: CardArray
    elements: int
    ties: int
    chosen_before: CardArray
    head_before: CardArray

    @property
    def tiles(self) -> int:
        """The number of blocks of a kernel that writes the selection."""
        return -(-self.elements // TILE_ELEMENTS)


def mark(card: Card, kernel: Kernel, count: int, *arguments: object) -> CardArray:
    """Return bits (uint32[ceil(count / 32)]), the last argument of `kernel`, which has one thread per element."""
    bits = card.empty(-(-count // 32), np.uint32)
    kernel.for_each(count, *arguments, bits)
    return bits


def select(card: Card, bits: CardArray, count: int, ties: bool = False) -> tuple[ElementSelection, CardArray]:
    """Scan bits; return a selection that can be written, and the number of chosen elements (uint32[1] on the card)."""
    tiles = -(-count // TILE_ELEMENTS)
    selection = ElementSelection(bits, count, int(ties), card.empty(tiles, np.uint32), card.empty(tiles, np.uint32))
    total = card.zeros(1, np.uint32)
    steps = [card.kernel(SOURCE, name, **DEFINES) for name in ("sum_tiles", "scan_tiles")]
    steps[0](tiles, TILE_WORDS, selection, shared_bytes=TILE_BYTES)
    steps[1](1, TILE_WORDS, selection, tiles, total, shared_bytes=TILE_BYTES)
    return selection, total


def write(kernel: Kernel, selection: ElementSelection, *arguments: object) -> None:
    """Launch a kernel that writes a selection."""
    kernel(selection.tiles, TILE_WORDS, selection, *arguments, shared_bytes=TILE_BYTES)


def selection_bytes(count: int) -> int:
    """Return the memory of a selection among `count` elements, in bytes."""
    return 4 * (-(-count // 32)) + 8 * (-(-count // TILE_ELEMENTS)) + 4
