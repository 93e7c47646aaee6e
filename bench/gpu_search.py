"""Exact search on a card: queries of 32 bases from random places of the text, unsorted, no prefix table, both ends.

Bars on an H200, on indexes of at least 1 GB: 28 G distinct block visits/s and 0.8 G queries/s at a sampling distance of
at most 192, and 24 G visits/s at 448.

The index is of random cyclic texts (synthetic.cu), whose blocks a search visits as it does those of a random genome.
All designs must give the same intervals before they are timed. Two floors, of the same run: independent random reads
of as many blocks, and the bytes of the blocks at the speed of a copy. The first steps of a query visit blocks that the
second-level cache holds, so that a search can be faster than either. Needs NumPy and CuPy, nothing else.
"""

from collections.abc import Sequence
from statistics import median

import numpy as np
from quire.algorithms.fm_index import SAMPLING_DISTANCES
from quire.algorithms.fm_index.gpu import BASES_PER_QUERY, CardPage, search_packed
from quire.algorithms.fm_index.tuning.designs import best_design
from quire.algorithms.fm_index.tuning.synthetic import random_page, reader_of_blocks, sample_queries, visits
from quire.algorithms.fm_index.tuning.tune import REPEATS, Clock, seconds_by_events, time_designs
from quire.device.card import THREADS, Card

from bench.cards import first_card, profiled, resources
from bench.common import arguments, print_setting, print_table, write_measurement

HEADER = ("design", "registers", "threads/SM", "ms", "G queries/s", "G visits/s", "GB/s", "of the reads' speed")


def repeated(card: Card, clock: Clock, launch) -> float:
    """Median seconds of a launch, after one that compiles."""
    launch()
    return median(clock(card, launch) for _ in range(REPEATS))


def copy_bandwidth(card: Card, page: CardPage, clock: Clock) -> float:
    """Bytes a second, read and written, of a copy of the index's blocks within the card's memory."""
    target = card.empty(len(page.blocks), np.uint64)

    def copy() -> None:
        target[:] = page.blocks

    return 2 * page.blocks.nbytes / repeated(card, clock, copy)


def measure_distance(card: Card, distance: int, gigabytes: float, count: int, clock: Clock) -> tuple[float, float]:
    """Print the table of one sampling distance.

    Returns:
        The best design's visits and queries a second.
    """
    words = 2 + distance // 32
    page = random_page(card, int(gigabytes * 1e9 / (8 * words)) * distance, distance)
    queries = sample_queries(card, page, BASES_PER_QUERY, count)
    visited = visits(card, page, queries, BASES_PER_QUERY)
    with profiled(card):
        found = search_packed(card, page, queries, BASES_PER_QUERY)
    empty = count - int((found[:, 0] < found[:, 1]).sum())
    del found
    launch, reads = reader_of_blocks(card, page, max(count, 1 << 10))
    read_seconds, bandwidth = repeated(card, clock, launch) / reads, copy_bandwidth(card, page, clock)
    print(
        f"## distance {distance}: {page.blocks.nbytes / 1e9:.3f} GB, {int(page.C[4])} rows; {count} queries of "
        f"{BASES_PER_QUERY}, {empty} without a hit; {visited / count:.2f} visits per query\n"
        f"floors: random reads of {8 * words} bytes {1e-9 / read_seconds:.1f} G/s: {visited * read_seconds * 1e3:.2f} "
        f"ms; bytes at the speed of a copy, {bandwidth / 1e9:.0f} GB/s: {visited * 8 * words / bandwidth * 1e3:.2f} ms"
    )
    rows, best = [], (0.0, 0.0)
    for design, seconds in time_designs(card, page, queries, BASES_PER_QUERY, clock):
        speed, chosen = visited / seconds, " *" if design == best_design(card, words) else ""
        facts = resources(design.kernel(card, "search_packed", words), THREADS, design.shared_bytes(words))
        rows.append((
            f"{design}{chosen}", *facts, f"{seconds * 1e3:.2f}",
            f"{count / seconds / 1e9:.3f}", f"{speed / 1e9:.2f}", f"{speed * 8 * words / 1e9:.0f}",
            f"{speed * read_seconds:.2f}",
        ))  # fmt: skip
        best = max(best, (speed, count / seconds))
    print_table(HEADER, rows)
    return best


def measure(
    card: Card, gigabytes: float, count: int, clock: Clock, distances: Sequence[int] = SAMPLING_DISTANCES
) -> None:
    """Print a table a distance (*: the design that this card uses as it is tuned now), and the bars."""
    speeds = {distance: measure_distance(card, distance, gigabytes, count, clock) for distance in distances}
    dense = [speed for distance, speed in speeds.items() if distance <= 192]
    bars = [("distance <= 192, G visits/s", 28, max((speed[0] for speed in dense), default=0)),
            ("distance <= 192, G queries/s", 0.8, max((speed[1] for speed in dense), default=0)),
            ("distance 448, G visits/s", 24, speeds.get(448, (0, 0))[0])]  # fmt: skip
    lines = [(name, bar, f"{got / 1e9:.2f}", "yes" if got >= bar * 1e9 else "NO") for name, bar, got in bars]
    print_table(("bar (H200)", "at least", "measured", "reached"), lines)


def main() -> None:
    """Measure on the first card that is free; say so where there is none."""
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
