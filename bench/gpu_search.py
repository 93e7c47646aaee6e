"""Exact search on a card: queries of 32 bases from random places of the text, unsorted, no prefix table, both ends.

One thread takes the steps of one query, as in all of Quire's searches on a card. The index is of random cyclic texts
(gpu_search.cu), whose blocks a search visits like those of a random genome. Two floors of the same run: independent
random reads of as many blocks, and the bytes of the blocks at the speed of a copy. The first steps of a query visit
blocks in the second-level cache, so a search can be faster than either. Needs only NumPy and CuPy.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, words_of_distance
from quire.device.card import THREADS, Card, CardArray, Kernel

from bench.cards import Clock, copy_bandwidth, first_card, median_time, profiled, resources, seconds_by_events
from bench.common import add_figures, arguments, print_setting, print_table, write_measurement

SOURCE = "../../bench/gpu_search.cu"  # from workflow/scripts
BASES = 32  # of a query
HEADER = ("distance", "registers", "threads/SM", "ms", "G queries/s", "G visits/s", "GB/s", "of the reads' speed")


def kernel(card: Card, entry: str, words_per_block: int) -> Kernel:
    """Return a kernel of gpu_search.cu for one block size, with as many resident threads as its registers allow."""
    resident = {4: 2048, 8: 1536}.get(words_per_block, 1024) // THREADS
    return card.kernel(SOURCE, entry, WORDS_PER_BLOCK=words_per_block, THREADS=THREADS, RESIDENT=resident)


def random_page(card: Card, rows: int, sampling_distance: int, seed: int = 1) -> FmIndex:
    """Make a page of random cyclic texts: its blocks and C are those of an FM-index, and no row can be located.

    Args:
        card: card that gets the page.
        rows: smallest number of rows, rounded up to whole blocks; below 2^32.
        sampling_distance: bases of a block.
        seed: seed of the random bases.
    """
    words = words_of_distance(sampling_distance)
    block_count = -(-rows // sampling_distance) + 1  # one position after the last row
    rows = (block_count - 1) * sampling_distance
    if rows >= 1 << 32:
        raise ValueError(f"an index has fewer than 2^32 rows, not {rows}")
    blocks, held = card.empty(block_count * words, np.uint64), card.empty((4, block_count), np.int64)
    primary = rows // 2
    kernel(card, "random_planes", words).for_each(block_count, blocks, words, block_count, primary, seed, held)
    counts = np.zeros(4, np.int64)
    for code in range(4):
        before = card.offsets(held[code])
        kernel(card, "write_counters", words).for_each(block_count, blocks, words, block_count, code, before)
        counts[code] = int(before[-1])
    counts[0] -= 1  # the sentinel
    C = np.concatenate(([1], 1 + np.cumsum(counts))).astype(np.int64)
    whole = card.upload(np.array([0, rows], np.uint32))  # the prefix table for prefixes of length 0
    nothing, no_rows = card.empty(0, np.uint64), card.empty(0, np.uint32)
    return FmIndex(blocks, words, card.upload(C), primary, whole, 0, no_rows, 1, nothing, no_rows, 0, 0, rows - 1)


def sample_queries(card: Card, page: FmIndex, length: int, count: int, seed: int = 1) -> CardArray:
    """Draw queries from random places of a page's text: uint64[count], base i in bits 2i and 2i + 1."""
    queries = card.empty(count, np.uint64)
    kernel(card, "sample_queries", page.words_per_block).for_each(count, page, length, count, seed, queries)
    return queries


def search_packed(card: Card, page: FmIndex, queries: CardArray, length: int) -> CardArray:
    """Return the intervals of queries (`sample_queries`) of 1 to 32 bases: int64[m, 2], (low, high)."""
    found = card.empty((len(queries), 2), np.int64)
    search = kernel(card, "search_packed", page.words_per_block)
    search.for_each(len(queries), page, queries, length, len(queries), found)
    return found


def visits(card: Card, page: FmIndex, queries: CardArray, length: int) -> int:
    """Count the distinct blocks that each step of a search visits; the last base of a query needs none."""
    visited = card.empty(len(queries), np.int64)
    count = kernel(card, "count_visits", page.words_per_block)
    count.for_each(len(queries), page, queries, length, len(queries), visited)
    return int(visited.sum())


def reader_of_blocks(card: Card, page: FmIndex, count: int) -> tuple[Callable[[], None], int]:
    """Return a launch that reads at least `count` random, independent blocks of an index, and their number."""
    units, reads = page.words_per_block // 2, 64
    groups = -(-count // reads)
    sums, block_count = card.empty(groups * units, np.uint64), len(page.blocks) // page.words_per_block
    read = kernel(card, "read_random_blocks", page.words_per_block)

    def launch() -> None:
        read.for_each(groups * units, page.blocks, block_count, units, reads, groups, sums)

    return launch, groups * reads


def measure_distance(
    card: Card, distance: int, gigabytes: float, count: int, clock: Clock
) -> tuple[tuple[object, ...], float, float]:
    """Measure one sampling distance and print its index, queries and floors.

    Returns:
        A row of HEADER, visits and queries per second.
    """
    words = words_of_distance(distance)
    page = random_page(card, int(gigabytes * 1e9 / (8 * words)) * distance, distance)
    queries = sample_queries(card, page, BASES, count)
    visited = visits(card, page, queries, BASES)
    with profiled(card):
        found = search_packed(card, page, queries, BASES)
    empty = count - int((found[:, 0] < found[:, 1]).sum())
    del found
    launch, reads = reader_of_blocks(card, page, max(count, 1 << 10))
    read_seconds, bandwidth = median_time(card, clock, launch) / reads, copy_bandwidth(card, len(page.blocks))
    print(
        f"distance {distance}: {page.blocks.nbytes / 1e9:.3f} GB, {int(page.C[4])} rows; {count} queries of "
        f"{BASES}, {empty} without a hit; {visited / count:.2f} visits per query\n"
        f"floors: random reads of {8 * words} bytes {1e-9 / read_seconds:.1f} G/s: {visited * read_seconds * 1e3:.2f} "
        f"ms; bytes at the speed of a copy, {bandwidth / 1e9:.0f} GB/s: {visited * 8 * words / bandwidth * 1e3:.2f} ms"
    )
    seconds = median_time(card, clock, partial(search_packed, card, page, queries, BASES))
    speed = visited / seconds
    row = (
        distance, *resources(kernel(card, "search_packed", words), THREADS, 0), f"{seconds * 1e3:.2f}",
        f"{count / seconds / 1e9:.3f}", f"{speed / 1e9:.2f}", f"{speed * 8 * words / 1e9:.0f}",
        f"{speed * read_seconds:.2f}",
    )  # fmt: skip
    return row, speed, count / seconds


def measure(
    card: Card, gigabytes: float, count: int, clock: Clock, distances: Sequence[int] = SAMPLING_DISTANCES
) -> None:
    """Print a table of all distances."""
    rows, dense = [], (0.0, 0.0)
    for distance in distances:
        row, speed, queries = measure_distance(card, distance, gigabytes, count, clock)
        rows.append(row)
        if distance <= 192:
            dense = max(dense, (speed, queries))
        if distance == 448:
            add_figures({"distance 448, G visits/s: measured": round(speed / 1e9, 2)})
    print_table(HEADER, rows)
    for what, speed in zip(("visits", "queries"), dense, strict=True):
        add_figures({f"distance <= 192, G {what}/s: measured": round(speed / 1e9, 2)})


def main() -> None:
    """Measure on the first free card."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--gigabytes", type=float, default=1.1, help="of each index")
    parser.add_argument("--queries", type=int, default=1 << 26)
    parser.add_argument("--distances", type=int, nargs="+", default=SAMPLING_DISTANCES, choices=SAMPLING_DISTANCES)
    given = parser.parse_args()
    print_setting(())
    with first_card() as card:
        if card is not None:
            measure(card, given.gigabytes, given.queries, seconds_by_events, given.distances)
            write_measurement()


if __name__ == "__main__":
    main()
