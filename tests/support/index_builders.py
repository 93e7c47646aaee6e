"""FM-indexes for kernel tests, made with NumPy alone from a suffix array by prefix doubling: slow, for short texts."""

from collections.abc import Sequence

import numpy as np
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.gpu import upload_page
from quire.device.card import Card

from tests.support.card_builders import Host

# Default parameters of `quire.index.build` in tests.
INDEX_PARAMETERS = {"sampling_distance": 64, "sa_sampling": 1}


def suffix_array(codes: np.ndarray) -> np.ndarray:
    """Return uint32[n + 1]: starts of the sorted suffixes, the empty one first."""
    rank = np.append(np.asarray(codes, np.int64) + 1, 0)
    width = 1
    while True:
        behind = np.append(rank[width:], np.zeros(min(width, len(rank)), np.int64))[: len(rank)]
        keys = rank * (len(rank) + 5) + behind
        order = np.argsort(keys, kind="stable")
        rank = np.empty(len(rank), np.int64)
        rank[order] = np.cumsum(np.append(0, np.diff(keys[order]) != 0))
        if rank.max() == len(rank) - 1:
            return order.astype(np.uint32)
        width *= 2


def build_index(codes, words_per_block=4, prefix_length=5, sa_sampling=1, owned_length=None, start=0) -> FmIndex:
    """Build the index of a text of codes 0..3.

    Args:
        codes: codes of the text.
        words_per_block: 4, 8, 16 or 32.
        prefix_length: k of the prefix table.
        sa_sampling: positions that are multiples of it are kept.
        owned_length: start of the suffixes that the next page owns; None if this page owns all.
        start: axis position of the page.
    """
    codes = np.asarray(codes, np.int64)
    rows = suffix_array(codes).astype(np.int64)
    bwt = np.where(rows > 0, np.append(codes, 0)[rows - 1], 0)  # an empty text also has one row
    kept = np.flatnonzero(rows % sa_sampling == 0)
    owned_length = len(codes) if owned_length is None else owned_length
    unowned = np.flatnonzero(rows >= owned_length)  # the empty suffix too
    return FmIndex(
        blocks=_blocks(bwt, words_per_block),
        words_per_block=words_per_block,
        C=np.append(1, 1 + np.cumsum(np.bincount(codes, minlength=4))).astype(np.int64),
        primary=int(np.flatnonzero(rows == 0)[0]),
        prefix_table=_prefix_table(codes, rows, prefix_length).reshape(-1),
        prefix_length=prefix_length,
        suffix_array=rows[kept].astype(np.uint32),
        sa_sampling=sa_sampling,
        sampled_rows=np.empty(0, np.uint64) if sa_sampling == 1 else _sampled_rows(len(rows), kept),
        unowned_rows=unowned.astype(np.uint32),
        unowned_count=len(unowned),
        start=start,
        owned_length=owned_length,
    )  # fmt: skip


def cut_pages(card: Card | Host, codes, owned_lengths: Sequence[int], overlap: int, **parameters) -> list[FmIndex]:
    """Cut an axis into pages on a card, or of the CPU.

    Args:
        card: card that receives the pages.
        codes: codes 0..3 of the axis.
        owned_lengths: bases that each page owns, in order; their sum is the length of the axis.
        overlap: bases that a page continues into the next one, at least the depth of a seed.
        parameters: parameters of `build_index`.
    """
    assert sum(owned_lengths) == len(codes)
    pages, start = [], 0
    for owned in owned_lengths:
        text = codes[start : start + owned + overlap]
        page = build_index(text, owned_length=owned, start=start, **parameters)
        pages.append(page if isinstance(card, Host) else upload_page(card, page))
        start += owned
    return pages


def _words_of_bits(bits: np.ndarray, words: int) -> np.ndarray:
    """Return uint64[words] with bit i in bit i % 64 of word i // 64."""
    filled = np.zeros(64 * words, np.uint8)
    filled[: len(bits)] = bits
    return np.packbits(filled, bitorder="little").view(np.uint64)


def _blocks(bwt: np.ndarray, words_per_block: int) -> np.ndarray:
    groups = words_per_block // 2 - 1
    count = len(bwt) // (64 * groups) + 1
    blocks = np.zeros((count, words_per_block), np.uint64)
    starts = np.minimum(np.arange(count) * 64 * groups, len(bwt))
    before = [np.append(0, np.cumsum(bwt == code))[starts].astype(np.uint64) for code in range(4)]
    blocks[:, 0] = before[0] | before[1] << np.uint64(32)
    blocks[:, 1] = before[2] | before[3] << np.uint64(32)
    for bit in (0, 1):
        blocks[:, 2 + bit :: 2] = _words_of_bits(bwt >> bit & 1, count * groups).reshape(count, groups)
    return blocks.reshape(-1)


def _prefix_table(codes: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    table = np.zeros((4**k, 2), np.uint32)
    long_enough = np.flatnonzero(rows <= len(codes) - k)
    kmers = sum(codes[rows[long_enough] + i] * 4 ** (k - 1 - i) for i in range(k))
    present, first, counts = np.unique(kmers, return_index=True, return_counts=True)
    table[present, 0] = long_enough[first]
    table[present, 1] = long_enough[first] + counts
    return table


def _sampled_rows(rows: int, kept: np.ndarray) -> np.ndarray:
    is_kept = np.zeros(rows, np.uint8)
    is_kept[kept] = 1
    words = (rows - 1) // 64 + 1
    sampled = np.zeros((words, 2), np.uint64)
    sampled[:, 0] = _words_of_bits(is_kept, words)
    sampled[:, 1] = np.append(0, np.cumsum(is_kept))[np.arange(words) * 64]
    return sampled.reshape(-1)
