"""Suffix sorting on a card: one radix sort by the first 32 bases, then prefix doubling of the suffixes that still tie.

1. Every suffix of at least 32 bases is sorted by its first 32 (one 64-bit key); if memory is short, in buckets of
   leading bases. The up to 32 shorter suffixes are sorted on the host and inserted.
2. Neighbours that agree form groups. The rank of a suffix is the first row of its group. Members of a group are sorted
   by the rank of the suffix 32 bases later, which makes groups of suffixes that agree in 64; and so on, doubling
   (Manber and Myers 1993) and skipping the resolved suffixes (Larsson and Sadakane 2007).

The suffix array of a text is unique: it depends neither on memory nor on the order of threads.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quire.algorithms.suffix_array.selection_gpu import TILE_WORDS, mark, select, selection_bytes, write
from quire.device.card import Card, CardArray, Kernel, OutOfDeviceMemory
from quire.sequence.packing import BASES_PER_WORD

SOURCE = "quire/algorithms/suffix_array/suffix_array.cu"
DEFINES = {"TILE_WORDS": TILE_WORDS}
KEY_BASES = 32  # of one 64-bit key
LONGEST_TEXT = (1 << 32) - 2  # rows are uint32, and one more than bases
MOST_LEADING_BASES = 8  # buckets are counted for every word of this length
# Per suffix while it is sorted: its key, argsort's copy of it and its index (8 bytes each), the second buffers of the
# radix sort for both, and position and row (4 bytes each).
SORT_BYTES = 5 * 8 + 2 * 4
TIE_BYTES = 3 * 4  # per tied suffix: position, row, and head of its group
_SMALL_ARRAYS = 32 * 512  # at most 32 are alive, and an array takes a multiple of 512 bytes
USABLE_SHARE = 0.95  # of free memory; the rest is lost to fragmentation


class CardText(NamedTuple):
    """The text of a page on a card (text.cuh: Text): base i is `start` + i bases into the packed `words`.

    Attributes:
        words: uint64[], at least one more than hold the text, since kernels read one more.
        start, length: in bases.
    """

    words: CardArray
    start: int
    length: int


class _Ties(NamedTuple):
    """Suffixes that tie with a neighbour, in the order of their rows, uint32[m] each (suffix_array.cu: Ties)."""

    position: CardArray
    row: CardArray
    head: CardArray


def upload_text(card: Card, words: np.ndarray, start: int, length: int) -> CardText:
    """Copy the words (uint64, at least one more than hold the text) of [start, start + length) of an axis to a card."""
    first, within = divmod(start, BASES_PER_WORD)
    after = first - (-(within + length) // BASES_PER_WORD) + 1
    return CardText(card.upload(words[first:after]), within, length)


def working_bytes(length: int, at_once: int, ties: int = 0) -> int:
    """Estimate the bytes that sorting the suffixes of a text takes in addition to the text.

    At most `at_once` suffixes are sorted in one call, never fewer than the largest bucket or group of equal suffixes.
    `ties` suffixes agree with another in their first 32 bases.
    """
    fixed = 8 * (length + 1) + selection_bytes(length + 1) + _SMALL_ARRAYS
    return fixed + TIE_BYTES * ties + SORT_BYTES * at_once


def suffix_array(card: Card, text: CardText) -> CardArray:
    """Sort all suffixes of a text; return uint32[length + 1] on the card (see `quire.algorithms.suffix_array`).

    Raises:
        OutOfDeviceMemory: the card is too small for the text: see `working_bytes`.
        ValueError: the text is too long.
    """
    if text.length > LONGEST_TEXT:
        raise ValueError(f"a text of {text.length} bases is longer than {LONGEST_TEXT}; use smaller pages")
    budget = int(card.free_bytes() * USABLE_SHARE)
    order = _order_by_keys(card, text, budget)
    if text.length >= KEY_BASES:
        _refine(card, text, order, budget)
    return order


def _order_by_keys(card: Card, text: CardText, budget: int) -> CardArray:
    """Sort the suffixes by their first 32 bases; of equal ones the short ones come first, in their order."""
    order = card.empty(text.length + 1, np.uint32)
    count = max(text.length - KEY_BASES + 1, 0)
    short_positions, short_keys = _short_suffixes(card, text, count)
    positions, keys, shorts = card.upload(short_positions), card.upload(short_keys), len(short_positions)
    bounds, totals = card.zeros(shorts, np.int64), card.zeros(shorts, np.int64)
    base = 0
    for slots, bucket_keys in _buckets(card, text, count, (budget - working_bytes(text.length, 0)) // SORT_BYTES):
        size = len(bucket_keys)
        by_key = card.xp.argsort(bucket_keys)
        _kernel(card, "bound_short").for_each(
            shorts, bucket_keys, by_key, size, keys, shorts, bounds, totals, threads=32
        )
        _kernel(card, "place_bucket").for_each(size, by_key, slots, size, base, bounds, shorts, order)
        base += size
        del slots, bucket_keys, by_key
    place = _kernel(card, "place_short")
    place.for_each(shorts, positions, totals, shorts, order, threads=32)
    return order


def _short_suffixes(card: Card, text: CardText, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (uint32) and keys (uint64, padded with A) of the suffixes from `first` on, in their order."""
    # Of two suffixes that are equal when padded, the shorter comes first, so (key, length) sorts them.
    word = (text.start + first) // BASES_PER_WORD
    tail = card.download(text.words[word : word + 2])
    bases = [int(tail[i // 32]) >> (2 * (i % 32)) & 3 for i in range(BASES_PER_WORD * len(tail))]
    begin = text.start + first - BASES_PER_WORD * word
    short = []
    for position in range(first, text.length + 1):
        key = 0
        for base in bases[begin + position - first : begin + text.length - first]:
            key = 4 * key + base
        length = text.length - position
        short.append((key << 2 * (KEY_BASES - length), length, position))
    short.sort()
    return np.array([entry[2] for entry in short], np.uint32), np.array([entry[0] for entry in short], np.uint64)


def _buckets(
    card: Card, text: CardText, count: int, at_once: int
) -> Iterator[tuple[tuple[CardArray | None, None], CardArray]]:
    """Yield the suffixes 0..count - 1 in buckets of ascending keys: (slots, keys uint64)."""
    if count == 0:
        return
    if count <= at_once:
        keys = card.empty(count, np.uint64)
        _kernel(card, "text_keys").for_each(count, text, count, keys)
        yield (None, None), keys
        return
    leading = min(MOST_LEADING_BASES, max(count.bit_length() // 2 - 3, 1))
    shift = 2 * (KEY_BASES - leading)
    counts = card.zeros(4**leading, np.uint32)
    _kernel(card, "count_leading").for_each(count, text, count, shift, counts)
    for low, high in _bounds_of_buckets(card.download(counts).astype(np.int64), at_once):
        bits = mark(card, _kernel(card, "mark_bucket"), count, text, count, shift, low, high)
        selection, total = select(card, bits, count)
        size = int(total[0])
        positions, keys = card.empty(size, np.uint32), card.empty(size, np.uint64)
        write(_kernel(card, "take_bucket"), selection, text, positions, keys)
        del bits, selection
        yield (positions, None), keys
        del positions, keys, total
        card.release()  # so that a larger bucket finds contiguous memory


def _bounds_of_buckets(counts: np.ndarray, at_once: int) -> list[tuple[int, int]]:
    """Cut the leading words into ranges [low, high) of at most `at_once` suffixes and at least one."""
    if counts.max() > at_once:
        raise OutOfDeviceMemory(f"too little memory to sort the {counts.max()} suffixes of one bucket")
    bounds, low, inside = [], 0, 0
    for word, number in enumerate(counts.tolist()):
        if inside + number > at_once:
            bounds.append((low, word))
            low, inside = word, 0
        inside += number
    return [*bounds, (low, len(counts))]


def _refine(card: Card, text: CardText, order: CardArray, budget: int) -> None:
    """Sort the suffixes that agree in their first 32 bases, within their groups."""
    rows = text.length + 1
    heads = mark(card, _kernel(card, "mark_groups"), rows, text, order, rows)
    selection, total = select(card, heads, rows, ties=True)
    left = int(total[0])
    if left == 0:
        return
    ranks = card.empty(rows, np.uint32)
    ties = _Ties(*(card.empty(left, np.uint32) for _ in range(3)))
    write(_kernel(card, "rank_groups"), selection, (order, None), ranks, order, ties, 0)
    del heads, selection, total
    at_once = (budget - working_bytes(text.length, 0, left)) // SORT_BYTES
    depth = KEY_BASES
    while left:
        kept = begin = 0
        while begin < left:
            end = _end_of_slice(card, ties.head, begin, left, at_once)
            if left > at_once:
                card.release()  # as between buckets
            part = _Ties(*(column[begin:end] for column in ties))
            kept += _refine_slice(card, part, depth, ranks, order, ties, kept)
            begin = end
        left, depth = kept, 2 * depth


def _end_of_slice(card: Card, heads: CardArray, begin: int, end: int, at_once: int) -> int:
    """Return the end of the last whole group of a slice that begins at `begin` and has at most `at_once` suffixes."""
    if end - begin <= at_once:
        return end
    wanted = begin + max(at_once, 0)
    last = begin + int(card.xp.searchsorted(heads[begin:end], heads[wanted : wanted + 1])[0])
    if last == begin:
        raise OutOfDeviceMemory(f"too little memory to sort more than {at_once} suffixes with the same beginning")
    return last


def _refine_slice(
    card: Card, part: _Ties, depth: int, ranks: CardArray, order: CardArray, ties: _Ties, kept: int
) -> int:
    """Sort a part of the ties; move those that still tie to slots from `kept` on, and return their number."""
    count = len(part.position)
    keys = card.empty(count, np.uint64)
    _kernel(card, "tie_keys").for_each(count, part, ranks, depth, count, keys)
    by_key = card.xp.argsort(keys)
    sorted_position, own_row = card.empty(count, np.uint32), card.empty(count, np.uint32)
    own_row[:] = part.row  # `rank_groups` overwrites the slots that it reads
    heads = card.empty(-(-count // 32), np.uint32)
    _kernel(card, "mark_ties").for_each(count, keys, by_key, part.position, count, heads, sorted_position)
    selection, total = select(card, heads, count, ties=True)
    write(_kernel(card, "rank_groups"), selection, (sorted_position, own_row), ranks, order, ties, kept)
    return int(total[0])


def _kernel(card: Card, entry: str) -> Kernel:
    return card.kernel(SOURCE, entry, **DEFINES)
