"""The FM-index of a page on a card, and searching it."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.tuning.designs import Design, advise, best_design
from quire.device.card import THREADS, Card, CardArray

BASES_PER_QUERY = 32  # at most, of a packed query


class CardPage(NamedTuple):
    """Arrays of an `FmIndex` on a card, and where its page lies on the axis (fm_index.cuh: Page)."""

    blocks: CardArray
    words_per_block: int
    C: CardArray
    primary: int
    prefix_table: CardArray
    prefix_length: int
    suffix_array: CardArray
    sa_sampling: int
    sampled_rows: CardArray
    unowned_rows: CardArray
    unowned_count: int
    start: int
    owned_length: int


def arrays_of(index: FmIndex) -> list[np.ndarray]:
    """The arrays of an index that a page has on a card, flat, in the order that `page_on_card` takes them."""
    arrays = (index.blocks, index.C, index.prefix_table, index.suffix_array, index.sampled_rows, index.unowned_rows)
    return [np.asarray(array).reshape(-1) for array in arrays]


def upload_page(card: Card, index: FmIndex, start: int, owned_length: int) -> CardPage:
    """Copy an index to a card.

    Args:
        card: where to.
        index: of the page.
        start: first axis position of the page; owned_length: hits from here on (in the page) belong to the next page.
    """
    advise(card.name, int(index.words_per_block))
    return page_on_card(index, [card.upload(array) for array in arrays_of(index)], start, owned_length)


def page_on_card(index: FmIndex, arrays: list[CardArray], start: int, owned_length: int) -> CardPage:
    """A page whose arrays are on the card already; see `upload_page`."""
    blocks, C, prefix_table, suffix_array, sampled_rows, unowned_rows = arrays
    return CardPage(
        blocks, int(index.words_per_block), C, int(index.primary), prefix_table, int(index.prefix_length), suffix_array,
        int(index.sa_sampling), sampled_rows, unowned_rows, len(index.unowned_rows), start, owned_length,
    )  # fmt: skip


def page_bytes(index: FmIndex) -> int:
    """Memory that a page takes on a card."""
    return sum(array.nbytes for array in arrays_of(index))


def intervals(
    card: Card, page: CardPage, patterns: CardArray, offsets: CardArray, design: Design | None = None
) -> CardArray:
    """Find the interval of each pattern: the twin of `quire.algorithms.fm_index.cpu.intervals`.

    Args:
        card: that holds the page.
        page: whose index is searched.
        patterns: uint8 on the card, the codes of all patterns one after the other; one above 3 matches nothing.
        offsets: int64[m + 1] on the card, of the patterns.
        design: of the search; None for the one that the card is fastest with.

    Returns:
        int64[m, 2] on the card: (low, high).
    """
    return _search(card, page, "search_patterns", len(offsets) - 1, design, (patterns, offsets))


def search_packed(
    card: Card, page: CardPage, queries: CardArray, length: int, design: Design | None = None
) -> CardArray:
    """Find the intervals of queries of one length, from their last base on and without the prefix table.

    Args:
        card: that holds the page.
        page: whose index is searched.
        queries: uint64[m] on the card, base i of a query in bits 2i and 2i + 1 of its word.
        length: bases of each, 1 to 32.
        design: of the search; None for the one that the card is fastest with.

    Returns:
        int64[m, 2] on the card: (low, high).
    """
    if not 1 <= length <= BASES_PER_QUERY:
        raise ValueError(f"a packed query has 1 to {BASES_PER_QUERY} bases, not {length}")
    return _search(card, page, "search_packed", len(queries), design, (queries, length))


def _search(
    card: Card, page: CardPage, entry: str, count: int, design: Design | None, given: tuple[object, ...]
) -> CardArray:
    words = page.words_per_block
    design = best_design(card, words) if design is None else design
    found = card.empty((count, 2), np.int64)
    blocks = -(-count * design.lanes_per_query // THREADS)
    kernel = design.kernel(card, entry, words)
    kernel(blocks, THREADS, page, *given, count, found, shared_bytes=design.shared_bytes(words))
    return found
