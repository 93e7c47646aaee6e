"""A random index on a card for timing searches, and queries that occur in it: see synthetic.cu."""

from collections.abc import Callable

import numpy as np

from quire.algorithms.fm_index import words_of_distance
from quire.algorithms.fm_index.gpu import CardPage
from quire.device.card import Card, CardArray

SOURCE = "quire/algorithms/fm_index/tuning/synthetic.cu"


def random_page(card: Card, rows: int, sampling_distance: int, seed: int = 1) -> CardPage:
    """A page of random cyclic texts: its blocks and C are those of an FM-index; it can locate nothing.

    Args:
        card: where to.
        rows: at least, up to whole blocks; below 2^32.
        sampling_distance: of its blocks.
        seed: of the random bases.
    """
    words = words_of_distance(sampling_distance)
    block_count = -(-rows // sampling_distance) + 1  # one past the rows
    rows = (block_count - 1) * sampling_distance
    if rows >= 1 << 32:
        raise ValueError(f"an index has fewer than 2^32 rows, not {rows}")
    blocks, held = card.empty(block_count * words, np.uint64), card.empty((4, block_count), np.int64)
    primary = rows // 2
    card.kernel(SOURCE, "random_planes").for_each(block_count, blocks, words, block_count, primary, seed, held)
    counts = np.zeros(4, np.int64)
    for code in range(4):
        before = card.offsets(held[code])
        card.kernel(SOURCE, "write_counters").for_each(block_count, blocks, words, block_count, code, before)
        counts[code] = int(before[-1])
    counts[0] -= 1  # the sentinel
    C = np.concatenate(([1], 1 + np.cumsum(counts))).astype(np.int64)
    whole = card.upload(np.array([0, rows], np.uint32))  # the table of the prefix of no base
    nothing, no_rows = card.empty(0, np.uint64), card.empty(0, np.uint32)
    return CardPage(blocks, words, card.upload(C), primary, whole, 0, no_rows, 1, nothing, no_rows, 0, 0, rows - 1)


def sample_queries(card: Card, page: CardPage, length: int, count: int, seed: int = 1) -> CardArray:
    """Queries from random places of a page's text: uint64[count] on the card, as `gpu.search_packed` takes them."""
    queries = card.empty(count, np.uint64)
    card.kernel(SOURCE, "sample_queries").for_each(count, page, length, count, seed, queries)
    return queries


def visits(card: Card, page: CardPage, queries: CardArray, length: int) -> int:
    """Distinct blocks that a search visits, step by step and query by query; the last base of a query needs none."""
    visited = card.empty(len(queries), np.int64)
    card.kernel(SOURCE, "count_visits").for_each(len(queries), page, queries, length, len(queries), visited)
    return int(visited.sum())


def reader_of_blocks(card: Card, page: CardPage, count: int) -> tuple[Callable[[], None], int]:
    """A launch that reads random blocks of an index, at least `count`, independent of one another; and how many.

    What such reads take is the floor of a search that visits as many.
    """
    units, reads = page.words_per_block // 2, 64
    groups = -(-count // reads)
    sums, block_count = card.empty(groups * units, np.uint64), len(page.blocks) // page.words_per_block
    kernel = card.kernel(SOURCE, "read_random_blocks")

    def launch() -> None:
        kernel.for_each(groups * units, page.blocks, block_count, units, reads, groups, sums)

    return launch, groups * reads
