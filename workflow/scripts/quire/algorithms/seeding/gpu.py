"""Seeding on a card: kernels search all seeds, choose depths, and write and sort the hits of every read.

If one page is the whole axis, or all pages are on the card together, each seed is searched once, up to the first depth
within the cap. If pages are uploaded in turn, hits are first counted at all depths and then located at the chosen ones,
so every page is visited twice.

Memory per seed: its read (4 bytes), its chosen depth or interval (8), and its interval on each page (8). With pages in
turn: its counts at seven depths (28) first, then its interval on a page (8). A read adds 36 bytes, and 8 for each hit.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, words_of_distance
from quire.algorithms.fm_index.gpu import CardPages, page_table
from quire.algorithms.seeding import (
    DIAGONAL_BIAS,
    FEW_HITS,
    MAXIMUM_SEEDS,
    RAREST_LIMIT,
    RAREST_LIMIT_BESIDE,
    SEED_LENGTHS,
    SeedingParameters,
)
from quire.device.card import THREADS, Card, CardArray, Kernel
from quire.reads.gpu import CardReads

SOURCE = "quire/algorithms/seeding/seeding.cu"
SEARCH = "quire/algorithms/seeding/search.cu"
MOST_PAGES = 16  # pages that are searched together
WARP_ROOM = 256  # hits of a read that are sorted in shared memory; more are sorted in global memory


@cache
def _defines(seed_length: int) -> dict[str, int]:
    """Return the macros of the kernels for seeds of this least length."""
    depths = SeedingParameters(1, 1, seed_length).depths()
    return {
        "SEED_LENGTH": seed_length,
        "MAXIMUM_SEEDS": MAXIMUM_SEEDS,
        "DIAGONAL_BIAS": DIAGONAL_BIAS,
        "RAREST_LIMIT": RAREST_LIMIT,
        "FEW_HITS": FEW_HITS,
        "RAREST_LIMIT_BESIDE": RAREST_LIMIT_BESIDE,
        "DEPTH_COUNT": len(depths),
        "PACKED_DEPTHS": sum(int(depth) << 8 * level for level, depth in enumerate(depths)),
        "MOST_PAGES": MOST_PAGES,
        "THREADS": THREADS,
        "WARP_ROOM": WARP_ROOM,
    }


KERNELS = [
    *((SOURCE, _defines(length)) for length in SEED_LENGTHS),
    *(
        (SEARCH, {"WORDS_PER_BLOCK": words_of_distance(distance), **_defines(length)})
        for length in SEED_LENGTHS
        for distance in SAMPLING_DISTANCES
    ),
]
MOST_HITS = 1024  # largest maximum_hits: this many pairs of hash and hit fit a block's shared memory on every card
PLANNED_HITS = 4  # hits per seed that `bytes_per_read` plans for; the engine halves a batch with more


class CardSeeds(NamedTuple):
    """The seeds of a batch (seeding.cuh: Seeds).

    Attributes:
        offsets: int64[reads + 1], offsets of the seeds of each read, those of strand 0 first.
        read: int32[room], the read of each seed; `room` is at least the number of seeds.
        stride, maximum_hits: see `SeedingParameters`.
    """

    offsets: CardArray
    read: CardArray
    stride: int
    maximum_hits: int


class _Rarest(NamedTuple):
    """Reads that keep hits of their rarest seed.

    Attributes:
        reads: int64[listed], their indices.
        seeds: int32[all reads], the rarest seed of each of them.
        kept: int32[listed], number of hits written so far, also from earlier pages.
    """

    reads: CardArray
    seeds: CardArray
    kept: CardArray


def find_hits(
    card: Card,
    pages: list[FmIndex] | CardPages,
    reads: CardReads,
    text: CardArray,
    parameters: SeedingParameters,
) -> tuple[CardArray, CardArray]:
    """Locate the seeds of every read in all pages, as `quire.algorithms.seeding.cpu.find_hits` does.

    The pages are those of the whole axis, in order; a list if all are on the card.

    Returns:
        offsets int64[n + 1] and hits uint64[] on the card, the hits of each read in ascending order.

    Raises:
        ValueError: `maximum_hits` is not in 1..MOST_HITS.
        OutOfDeviceMemory: a smaller batch may fit.
    """
    if not 1 <= parameters.maximum_hits <= MOST_HITS:
        raise ValueError(f"maximum_hits is {parameters.maximum_hits}; on a card it is from 1 to {MOST_HITS}")
    if len(reads) == 0:
        return card.zeros(1, np.int64), card.empty(0, np.uint64)
    kernels = _Kernels(card, parameters.seed_length)
    seeds = _lay_seeds(kernels, reads, parameters)
    chosen = card.empty(len(seeds.read), np.uint64)
    if len(pages) == 1:
        pages = [next(iter(pages))]
        kernels("search_one_page", pages[0]).for_each(len(chosen), pages[0], reads, seeds, text, chosen)
        found = [chosen]
    elif isinstance(pages, list) and len(pages) <= MOST_PAGES and len({page.words_per_block for page in pages}) == 1:
        found = _search_pages(kernels, pages, reads, seeds, text, chosen)
    else:
        _choose_depths(kernels, pages, reads, seeds, text, chosen)
        found = None
    read_hits, rarest = card.empty(len(reads), np.int32), card.empty(len(reads), np.int32)
    kernels("count_hits_of_reads").for_each(len(reads), seeds, len(reads), chosen, read_hits, rarest)
    offsets, total = card.offsets_and_totals(read_hits)
    listed = card.nonzero(rarest)
    hits = card.empty(total.wait()[0], np.uint64)
    written, kept = card.zeros(len(reads), np.int32), card.zeros(len(listed), np.int32)
    numbers = iter(range(len(pages)))  # `enumerate` would keep a page alive while the next one is made
    for page in pages:
        number = next(numbers)
        here = found[number] if found is not None else _search_chosen(kernels, page, reads, seeds, text, chosen)
        locate = kernels("locate_hits", page)
        _for_each_warp(locate, len(reads), page, reads, seeds, here, offsets, written, hits)
        if len(listed):
            _locate_rarest(kernels, page, reads, seeds, _Rarest(listed, rarest, kept), offsets, hits)
        del here, page  # free them before those of the next page are allocated
    room = 8 * WARP_ROOM * THREADS // 32
    _for_each_warp(kernels("sort_hits"), len(reads), offsets, len(reads), hits, shared_bytes=room)
    return offsets, hits


def bytes_per_read(parameters: SeedingParameters, length: float, pages: int, together: bool) -> int:
    """Return the card memory that seeding needs for a read of mean `length`, including a usual number of hits.

    `together` is True if all pages are on the card, in a list.
    """
    seeds = min(2 * (length / parameters.stride + 1), 2 * MAXIMUM_SEEDS)
    hits = 8 * PLANNED_HITS
    if pages == 1:
        each = hits
    elif together and pages <= MOST_PAGES:
        each = 8 * pages + hits
    else:
        each = max(4 * len(parameters.depths()), 8 + hits)
    return int(seeds * (12 + each)) + 36


@dataclass(frozen=True)
class _Kernels:
    """The kernels of a card for seeds of one least length."""

    card: Card
    seed_length: int

    def __call__(self, entry: str, page: FmIndex | None = None) -> Kernel:
        """Return a kernel; those that read a page are compiled for its size of occurrence blocks, to save registers."""
        defines = _defines(self.seed_length)
        if page is None:
            return self.card.kernel(SOURCE, entry, **defines)
        return self.card.kernel(SEARCH, entry, WORDS_PER_BLOCK=page.words_per_block, **defines)


def _for_each_warp(kernel: Kernel, count: int, *arguments: object, shared_bytes: int = 0) -> None:
    """Launch a warp for each of `count` items."""
    kernel(-(-32 * count // THREADS), THREADS, *arguments, shared_bytes=shared_bytes)


def _lay_seeds(kernels: _Kernels, reads: CardReads, parameters: SeedingParameters) -> CardSeeds:
    """Lay out the seeds of all reads. Memory is allocated for an upper bound, which needs no answer from the card."""
    card = kernels.card
    counts = card.empty(len(reads), np.int32)
    kernels("count_seeds").for_each(len(reads), reads, parameters.stride, counts)
    offsets = card.offsets(counts)
    # A read has at most (length - seed_length) // stride + 2 seeds on each strand.
    ends = reads.bases // parameters.stride + len(reads) * (1 if parameters.stride <= parameters.seed_length else 2)
    read = card.empty(2 * min(ends, MAXIMUM_SEEDS * len(reads)), np.int32)
    kernels("own_seeds").for_each(len(reads), offsets, len(reads), read)
    return CardSeeds(offsets, read, parameters.stride, parameters.maximum_hits)


def _search_pages(
    kernels: _Kernels, pages: list[FmIndex], reads: CardReads, seeds: CardSeeds, text: CardArray, chosen: CardArray
) -> CardArray:
    """Fill chosen (uint64[room]) as `_choose_depths` does; return the intervals on all pages: uint64[pages, room]."""
    room = len(chosen)
    found = kernels.card.empty((len(pages), room), np.uint64)
    search = kernels("search_pages", pages[0])
    search.for_each(room, page_table(pages, MOST_PAGES), len(pages), reads, seeds, text, room, chosen, found)
    return found


def _choose_depths(
    kernels: _Kernels,
    pages: list[FmIndex] | CardPages,
    reads: CardReads,
    seeds: CardSeeds,
    text: CardArray,
    chosen: CardArray,
) -> None:
    """Fill chosen (uint64[room]) with the depth and count of each seed over all pages (seeding.cuh: Found)."""
    room = len(chosen)
    counts = kernels.card.zeros((_defines(kernels.seed_length)["DEPTH_COUNT"], room), np.int32)
    numbers = iter(range(len(pages)))
    for page in pages:
        is_last = int(next(numbers) + 1 == len(pages))
        kernels("count_hits", page).for_each(room, page, reads, seeds, text, is_last, room, counts)
        del page
    kernels("choose_depths").for_each(room, reads, seeds, counts, room, chosen)


def _search_chosen(
    kernels: _Kernels, page: FmIndex, reads: CardReads, seeds: CardSeeds, text: CardArray, chosen: CardArray
) -> CardArray:
    """Return the interval of each seed on a page at its chosen depth (seeding.cuh: Found): uint64[room]."""
    found = kernels.card.empty(len(chosen), np.uint64)
    kernels("search_chosen", page).for_each(len(chosen), page, reads, seeds, text, chosen, found)
    return found


def _locate_rarest(
    kernels: _Kernels,
    page: FmIndex,
    reads: CardReads,
    seeds: CardSeeds,
    rarest: _Rarest,
    offsets: CardArray,
    hits: CardArray,
) -> None:
    """Write the hits with the smallest hashes, on one page, of the rarest seeds of the listed reads."""
    count = len(rarest.reads)
    rows = kernels.card.empty((count, 2), np.uint32)
    kernels("search_rarest", page).for_each(count, page, reads, seeds, rarest.reads, count, rarest.seeds, rows)
    pairs = seeds.maximum_hits + 2 * THREADS
    kernels("locate_rarest", page)(
        count, THREADS, page, reads, seeds, rarest.reads, rarest.seeds, rows, offsets, rarest.kept, hits,
        shared_bytes=16 * pairs + 4 * (THREADS // 32),
    )  # fmt: skip
