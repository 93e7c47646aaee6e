"""The FM-index of a page in a card's memory; kernels search it with the functions of fm_index.cuh."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.device.card import Card, CardArray


class CardPage(NamedTuple):
    """The arrays of an `FmIndex` on a card and the place of its page on the axis (fm_index.cuh: Page)."""

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
    """Return the arrays of an index that a card holds, flat, in the order in which `page_on_card` takes them."""
    arrays = (index.blocks, index.C, index.prefix_table, index.suffix_array, index.sampled_rows, index.unowned_rows)
    return [np.asarray(array).reshape(-1) for array in arrays]


def upload_page(card: Card, index: FmIndex, start: int, owned_length: int) -> CardPage:
    """Copy an index to a card, with the first axis position of its page and the bases that the page owns."""
    return page_on_card(index, [card.upload(array) for array in arrays_of(index)], start, owned_length)


def page_on_card(index: FmIndex, arrays: list[CardArray], start: int, owned_length: int) -> CardPage:
    """Return a page whose arrays are already on the card; see `upload_page`."""
    blocks, C, prefix_table, suffix_array, sampled_rows, unowned_rows = arrays
    return CardPage(
        blocks, int(index.words_per_block), C, int(index.primary), prefix_table, int(index.prefix_length), suffix_array,
        int(index.sa_sampling), sampled_rows, unowned_rows, len(index.unowned_rows), start, owned_length,
    )  # fmt: skip


def page_bytes(index: FmIndex) -> int:
    """Return the memory that a page takes on a card, in bytes."""
    return sum(array.nbytes for array in arrays_of(index))
