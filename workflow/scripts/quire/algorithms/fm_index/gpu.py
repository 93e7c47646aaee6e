"""The FM-index of a page on a card."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.device.card import Card


class CardPage(NamedTuple):
    """Arrays of an `FmIndex` on a card, and where its page lies on the axis (fm_index.cuh: Page)."""

    blocks: object
    words_per_block: int
    C: object
    primary: int
    prefix_table: object
    prefix_length: int
    suffix_array: object
    sa_sampling: int
    sampled_rows: object
    unowned_rows: object
    unowned_count: int
    start: int
    owned_length: int


def upload_page(card: Card, index: FmIndex, start: int, owned_length: int) -> CardPage:
    """Copy an index to a card.

    Args:
        card: where to.
        index: of the page.
        start: first axis position of the page; owned_length: hits from here on (in the page) belong to the next page.
    """
    blocks, C, prefix_table, suffix_array, sampled_rows, unowned_rows = (
        card.upload(np.asarray(array).reshape(-1))
        for array in (index.blocks, index.C, index.prefix_table, index.suffix_array, index.sampled_rows,
                      index.unowned_rows)
    )  # fmt: skip
    return CardPage(
        blocks, int(index.words_per_block), C, int(index.primary), prefix_table, int(index.prefix_length), suffix_array,
        int(index.sa_sampling), sampled_rows, unowned_rows, len(index.unowned_rows), start, owned_length,
    )  # fmt: skip


def page_bytes(index: FmIndex) -> int:
    """Memory that a page takes on a card."""
    arrays = (index.blocks, index.C, index.prefix_table, index.suffix_array, index.sampled_rows, index.unowned_rows)
    return sum(array.nbytes for array in arrays)
