"""A walk through the trie on a card: each launch takes a slice from the end of a stack of items in the card's memory.

An item is a piece at a node, with its row: 20 bytes. A launch expands at most ITEMS_AT_ONCE items, one thread each, and
their children replace them at the end of the stack. So the stack stays short (the children of a slice times the depth),
and no launch takes long. Pieces are sorted by their last bases: pieces that share nodes are neighbours and read the
same memory.

If the rest of a piece contains n separate strings that do not occur in the page, at least n differences are still to
come (the array D of bwa). A row whose differences leave no room for them is dead. These *bounds* save no time on the
CPU.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete.pieces import lay_pieces
from quire.algorithms.complete.windows.gpu import DEFINES as WINDOW_DEFINES
from quire.algorithms.complete.windows.gpu import NO_CANDIDATE, CardAxis
from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, words_of_distance
from quire.algorithms.fm_index.gpu import CardPages
from quire.device.card import Card, CardArray, Kernel
from quire.reads.gpu import CardReads

SOURCE = "quire/algorithms/complete/trie/trie.cu"
DEFINES = {**WINDOW_DEFINES, "LEAF_ROWS": 2, "STEPS": 4, "ROWS_SHIFT": 28}
KERNELS = [(SOURCE, {"WORDS_PER_BLOCK": words_of_distance(distance), **DEFINES}) for distance in SAMPLING_DISTANCES]
BOUNDED_FROM = 2  # smallest limit of pieces that get bounds
ITEMS_AT_ONCE = 1 << 22  # at most; four times as many must be less than 1 << ROWS_SHIFT
BYTES_OF_ITEM = 4 * (20 + 8 + 8) + 20  # when expanded: its children, their kinds and a scan, and the item itself
ROWS_AT_ONCE = 1 << 24


class CardPieces(NamedTuple):
    """Pieces with one limit (rows.cuh: Pieces).

    Attributes:
        oriented, begins, ends: int32[n].
        bounds: int32[n, limit + 1], or None. Item t > 0: the last base, counted from the piece's end, before which at
            least t strings lie that do not occur in the page; -1 for none. Item 0: 1 if the piece has more such strings
            than its limit.
        limit: differences of each.
        piece_count: n.
    """

    oriented: CardArray
    begins: CardArray
    ends: CardArray
    bounds: CardArray | None
    limit: int
    piece_count: int


class TrieItems(NamedTuple):
    """Pieces at nodes (trie.cu: Items): uint32[n], uint32[n], uint32[n], uint64[n]."""

    piece: CardArray
    low: CardArray
    high: CardArray
    row: CardArray


class _TrieWalk(NamedTuple):
    """Parameters that all items of a page share (trie.cu: Walk)."""

    deepest: int
    skipped: int
    first_end: int
    last_end: int
    differences: int


def candidates_of(
    card: Card, pages: list[FmIndex] | CardPages, reads: CardReads, axis: CardAxis, differences: int
) -> list[CardArray]:
    """Return the candidates (uint64[] each) in all pages of reads cut by `pieces_of`."""
    laid = lay_pieces(card.download(reads.offsets), int(axis.islands[-1]), differences)
    candidates: list[CardArray] = []
    numbers = iter(range(len(pages)))  # `enumerate` would hold a page while the next one is made
    for page in pages:
        number = next(numbers)
        for oriented, begins, ends, limit in laid:
            given = [card.upload(array.astype(np.int32)) for array in (oriented, begins, ends)]
            of_limit = _sorted(card, page, reads, CardPieces(given[0], given[1], given[2], None, limit, len(oriented)))
            deepest = int((ends - begins).max()) + limit
            walk = _TrieWalk(
                deepest,
                page.prefix_length if page.prefix_length <= int((ends - begins).min()) - limit else 0,
                page.start + deepest if number > 0 else 0,
                page.start + page.owned_length + deepest if number + 1 < len(pages) else 1 << 60,
                differences,
            )
            candidates += _walk(card, page, reads, axis, of_limit, walk)
            del given, of_limit
        del page
    return candidates


def _kernel(card: Card, entry: str, page: FmIndex) -> Kernel:
    return card.kernel(SOURCE, entry, WORDS_PER_BLOCK=page.words_per_block, **DEFINES)


def _sorted(card: Card, page: FmIndex, reads: CardReads, pieces: CardPieces) -> CardPieces:
    """Return pieces sorted by their last bases, with their bounds in a page."""
    keys = card.empty(pieces.piece_count, np.uint64)
    _kernel(card, "last_bases", page).for_each(pieces.piece_count, reads, pieces, keys)
    order = card.xp.argsort(keys)
    pieces = pieces._replace(oriented=pieces.oriented[order], begins=pieces.begins[order], ends=pieces.ends[order])
    if pieces.limit < BOUNDED_FROM:
        return pieces
    bounds = card.empty((pieces.piece_count, pieces.limit + 1), np.int32)
    _kernel(card, "find_bounds", page).for_each(pieces.piece_count, page, reads, pieces, bounds)
    return pieces._replace(bounds=bounds)


def _walk(
    card: Card, page: FmIndex, reads: CardReads, axis: CardAxis, pieces: CardPieces, walk: _TrieWalk
) -> list[CardArray]:
    """Return the candidates of pieces in a page: uint64[] each."""
    items = _room(card, max(pieces.piece_count, 1))
    rows = int(page.C[4])
    _kernel(card, "begin_items", page).for_each(pieces.piece_count, pieces, walk.skipped, rows, items)
    expand, list_items = _kernel(card, "expand", page), _kernel(card, "list_items", page)
    at_once = max(min(ITEMS_AT_ONCE, card.free_bytes() // 4 // BYTES_OF_ITEM), 1)
    count, found = pieces.piece_count, _Compactor(card)
    while count:
        first = max(count - at_once, 0)
        places = 4 * (count - first)
        children, held = _room(card, places), card.empty(places, np.int64)
        expand.for_each(count - first, page, reads, pieces, walk, items, first, count - first, children, held)
        offsets = card.offsets(held)
        leaf_rows, listed = divmod(int(offsets[-1]), 1 << DEFINES["ROWS_SHIFT"])
        count = first + listed
        if count > len(items.piece):
            items = _grown(card, items, first, 2 * count)
        list_items.for_each(places, children, offsets, places, first, items)
        follow = _kernel(card, "follow", page)
        for row in range(0, leaf_rows, ROWS_AT_ONCE):
            here = found.room(min(ROWS_AT_ONCE, leaf_rows - row))
            follow.for_each(len(here), page, reads, axis, pieces, walk, children, offsets, places, row, len(here), here)
    return found.compacted()


class _Compactor:
    """Collector of the candidates of many launches, which drops NO_CANDIDATE in steps of ROWS_AT_ONCE."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._arrays: list[CardArray] = []
        self._waiting: list[CardArray] = []
        self._rows = 0

    def room(self, rows: int) -> CardArray:
        """Return an array for the results of `rows` rows: uint64[rows]."""
        if self._rows + rows > ROWS_AT_ONCE:
            self._compact()
        self._waiting.append(self._card.empty(rows, np.uint64))
        self._rows += rows
        return self._waiting[-1]

    def compacted(self) -> list[CardArray]:
        """Return all candidates: uint64[] each."""
        self._compact()
        return self._arrays

    def _compact(self) -> None:
        if self._waiting:
            together = self._card.xp.concatenate(self._waiting)
            self._waiting, self._rows = [], 0
            self._arrays.append(together[self._card.xp.flatnonzero(together != NO_CANDIDATE)])


def _room(card: Card, count: int) -> TrieItems:
    piece, low, high = (card.empty(count, np.uint32) for _ in range(3))
    return TrieItems(piece, low, high, card.empty(count, np.uint64))


def _grown(card: Card, items: TrieItems, count: int, room: int) -> TrieItems:
    """Return a longer stack that begins with the first `count` items of another."""
    grown = _room(card, room)
    for old, new in zip(items, grown, strict=True):
        new[:count] = old[:count]
    return grown
