"""The arrays of an FM-index from a text and its suffix array, built on a card: the twin of `cpu`."""

import numpy as np

from quire.algorithms.suffix_array.gpu import CardText
from quire.algorithms.suffix_array.selection_gpu import TILE_WORDS, mark, select, write
from quire.device.card import Card, CardArray, Kernel

SOURCE = "quire/algorithms/fm_index/construction/construction.cu"
DEFINES = {"TILE_WORDS": TILE_WORDS}
_COUNTS_BYTES = TILE_WORDS // 2  # of shared memory: 16 bytes per warp
_HALF = (1 << 32) - 1


def _kernel(card: Card, entry: str) -> Kernel:
    return card.kernel(SOURCE, entry, **DEFINES)


def occurrence_blocks(
    card: Card, text: CardText, suffix_array: CardArray, words_per_block: int
) -> tuple[CardArray, np.ndarray, int]:
    """Write the Burrows-Wheeler transform straight into occurrence blocks; see `cpu.occurrence_blocks`.

    Blocks stay on the card; the counts are on the host.
    """
    rows = len(suffix_array)
    block_count = rows // (32 * words_per_block - 64) + 1
    blocks, primary = card.empty(block_count * words_per_block, np.uint64), card.zeros(1, np.int64)
    _kernel(card, "write_planes").for_each(
        block_count * (32 * words_per_block - 64),
        text,
        suffix_array,
        rows,
        words_per_block,
        block_count,
        blocks,
        primary,
    )
    tiles = -(-block_count // TILE_WORDS)
    low_sums, high_sums = card.empty(tiles, np.uint64), card.empty(tiles, np.uint64)
    shape = (words_per_block, block_count, rows)
    _kernel(card, "sum_counts")(tiles, TILE_WORDS, blocks, *shape, low_sums, high_sums, shared_bytes=_COUNTS_BYTES)
    # Two counts per word: the lower half does not overflow, since all counts are below 2^32.
    low_sums, high_sums = (card.xp.cumsum(sums, dtype=np.uint64) for sums in (low_sums, high_sums))
    _kernel(card, "write_counters")(tiles, TILE_WORDS, blocks, *shape, low_sums, high_sums, shared_bytes=_COUNTS_BYTES)
    low, high = int(low_sums[-1]), int(high_sums[-1])
    counts = np.array([low & _HALF, low >> 32, high & _HALF, high >> 32], np.int64)
    counts[0] -= 1  # the sentinel
    return blocks, counts, int(primary[0])


def prefix_intervals(card: Card, text: CardText, suffix_array: CardArray, prefix_length: int) -> CardArray:
    """Return the prefix table: uint32[4^k, 2] on the card, the interval of every k-mer."""
    table = card.empty((4**prefix_length, 2), np.uint32)
    intervals = _kernel(card, "prefix_intervals")
    intervals.for_each(4**prefix_length, text, suffix_array, len(suffix_array), prefix_length, table)
    return table


def sample_suffix_array(card: Card, suffix_array: CardArray, sa_sampling: int) -> tuple[CardArray, CardArray]:
    """Return the suffix array of the rows whose suffix starts at a multiple of `sa_sampling`, and `sampled_rows`."""
    rows = len(suffix_array)
    values = card.empty((rows - 1) // sa_sampling + 1, np.uint32)
    sampled_rows = card.empty(2 * ((rows - 1) // 64 + 1), np.uint64)
    bits = mark(card, _kernel(card, "mark_sampled"), rows, suffix_array, rows, sa_sampling)
    selection, _ = select(card, bits, rows)
    write(_kernel(card, "write_sampled"), selection, suffix_array, values, sampled_rows)
    return values, sampled_rows


def rows_from(card: Card, suffix_array: CardArray, position: int) -> CardArray:
    """Return the sorted rows (uint32) whose suffix starts at or after `position`."""
    rows = len(suffix_array)
    chosen = card.empty(rows - position, np.uint32)
    bits = mark(card, _kernel(card, "mark_from"), rows, suffix_array, rows, position)
    selection, _ = select(card, bits, rows)
    write(_kernel(card, "write_rows"), selection, chosen)
    return chosen
