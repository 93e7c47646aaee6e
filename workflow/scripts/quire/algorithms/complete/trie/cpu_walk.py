"""Walking the trie of a page with Numba: one list of nodes in work, of which some are taken from its end at a time.

A node stands in `nodes` (int64[n, 4]: LOW, HIGH, DEPTH, COUNT); its COUNT items, a piece and its row each, stand in
the same order in `item_piece` and `item_row`. Above the depth of the prefix table LOW is the string itself, two bits a
base, HIGH is STRING, and no memory of the index is touched; at that depth HIGH is UNKNOWN until the table is asked. The
rows of a node's children are made first, and its interval takes only those steps on which some piece is alive. What the
next turn reads of the index is announced when a node is listed.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete.trie.cpu_leaves import DEPTH as LEAF_DEPTH
from quire.algorithms.complete.trie.cpu_leaves import HIGH as LEAF_HIGH
from quire.algorithms.complete.trie.cpu_leaves import LOW as LEAF_LOW
from quire.algorithms.complete.trie.cpu_leaves import PIECE, STATE, follow
from quire.algorithms.complete.trie.cpu_rows import ONE, bounded, equal_cells, first_row, is_complete, next_row
from quire.algorithms.fm_index.cpu import backward_step, prefetch_row
from quire.algorithms.fm_index.pages.cpu import page_of
from quire.simd.bits import count_ones, prefetch
from quire.simd.compiled import compiled, inlined

LOW, HIGH, DEPTH, COUNT = 0, 1, 2, 3
UNKNOWN, STRING = -1, -2
ITEMS_AT_ONCE = 4096  # of a turn, or one node's
NODES_AT_ONCE = 64  # enough to hide a read from memory
LEAF_ROWS = 4  # an interval of so many rows is left for the text
LEAVES_AT_ONCE = 1024


class TriePieces(NamedTuple):
    """Pieces with one limit.

    Attributes:
        oriented: int64[n], 2 * read + strand.
        length: int64[n].
        behind: int64[n], bases of the read behind the piece.
        letters: see `letters_of`.
        bases, unknown: see `last_bases_of`.
        bounds: int32[n, limit + 1], see `bounds_of`; or [0, 0].
        limit: of each.
    """

    oriented: np.ndarray
    length: np.ndarray
    behind: np.ndarray
    letters: np.ndarray
    bases: np.ndarray
    unknown: np.ndarray
    bounds: np.ndarray
    limit: int


@compiled
def walk(table, number, pieces, text, islands, deepest, skipped, differences, most, candidates, used):
    """Append the candidates that a page holds of pieces.

    Args:
        table, number: the page among the pages.
        pieces: `TriePieces`.
        text, islands: of the axis.
        deepest: depth at which paths end whether or not their pieces do; the page owns the ends from `deepest` behind
            its start on, to `deepest` behind the next page's.
        skipped: depth of the prefix table, or 0 to begin with the root.
        differences: k.
        most: candidates after which the walk stops.
        candidates: uint64[], to be made larger where it is full; used: how many there are.

    Returns:
        The candidates, and how many there are now: more than `most` if the walk stopped.
    """
    page = page_of(table, number)
    first_end = page.start + deepest if number > 0 else 0
    last_end = page.start + page.owned_length + deepest if number + 1 < len(table) else np.int64(1) << 60
    limit = pieces.limit
    count = len(pieces.oriented)
    nodes = np.empty((1, 4), np.int64)
    item_piece, item_row = np.empty(count, np.int32), np.empty(count, np.uint64)
    taken = np.empty((NODES_AT_ONCE, 4), np.int64)
    taken_piece, taken_row = np.empty(1, np.int32), np.empty(1, np.uint64)
    children, alive = np.empty((4, 1), np.uint64), np.empty(4, np.int64)
    leaves = np.empty((1, 5), np.int64)
    items = leaf_count = 0
    bound = pieces.bounds.size > 0
    for piece in range(count):
        if not bound or not pieces.bounds[piece, 0]:
            item_piece[items], item_row[items] = piece, first_row(limit)
            items += 1
    nodes[0, LOW], nodes[0, HIGH] = 0, np.int64(STRING) if skipped else page.C[4]
    nodes[0, DEPTH], nodes[0, COUNT] = 0, items
    node_count = 1 if items else 0
    while node_count:
        # Take nodes from the end of the list, and their items.
        turn = own = 0
        while (
            node_count and turn < NODES_AT_ONCE and (turn == 0 or own + nodes[node_count - 1, COUNT] <= ITEMS_AT_ONCE)
        ):
            node_count -= 1
            for field in range(4):
                taken[turn, field] = nodes[node_count, field]
            own += nodes[node_count, COUNT]
            turn += 1
        items -= own
        if own > len(taken_piece):
            taken_piece, taken_row = np.empty(2 * own, np.int32), np.empty(2 * own, np.uint64)
            children = np.empty((4, 2 * own), np.uint64)
        for item in range(own):
            taken_piece[item], taken_row[item] = item_piece[items + item], item_row[items + item]
        # An item has at most four children, each of which may be a node or a leaf of its own.
        if items + 4 * own > len(item_piece):
            item_piece = np.append(item_piece[:items], np.empty(items + 8 * own, np.int32))
            item_row = np.append(item_row[:items], np.empty(items + 8 * own, np.uint64))
        if node_count + 4 * own > len(nodes):
            nodes = np.append(nodes[:node_count], np.empty((node_count + 8 * own, 4), np.int64)).reshape(-1, 4)
        if leaf_count + 4 * own > len(leaves):
            leaves = np.append(leaves[:leaf_count], np.empty((leaf_count + 8 * own, 5), np.int64)).reshape(-1, 5)
        begin = own  # the node that was taken last has the first items
        for which in range(turn):
            low, high, depth = taken[which, LOW], taken[which, HIGH], taken[which, DEPTH]
            end, begin = begin, begin - taken[which, COUNT]
            if high == UNKNOWN:
                low, high = np.int64(page.prefix_table[2 * low]), np.int64(page.prefix_table[2 * low + 1])
                kept = items
                if low < high:
                    for item in range(begin, end):
                        kept, leaf_count = _list_item(
                            pieces, np.int64(taken_piece[item]), taken_row[item], depth, low, high, deepest,
                            item_piece, item_row, kept, leaves, leaf_count,
                        )  # fmt: skip
                node_count, items = _list_node(page, nodes, node_count, low, high, depth, items, kept)
                continue
            node_count, items = _make_children(
                page, pieces, taken_piece, taken_row, begin, end, low, depth, skipped, children, alive, nodes,
                node_count, item_piece, item_row, items,
            )  # fmt: skip
            for symbol in range(4):
                if alive[symbol] == 0:
                    continue
                if depth < skipped:
                    child_low = low | symbol << (2 * depth)
                    child_high = np.int64(UNKNOWN if depth + 1 == skipped else STRING)
                else:
                    child_low, child_high = backward_step(
                        page.blocks, page.words_per_block, page.C, page.primary, np.int64(symbol), low, high
                    )
                    if child_low >= child_high:
                        continue
                kept = items
                for item in range(begin, end):
                    row = children[symbol, item - begin]
                    if row:
                        kept, leaf_count = _list_item(
                            pieces, np.int64(taken_piece[item]), row, depth + 1, child_low, child_high, deepest,
                            item_piece, item_row, kept, leaves, leaf_count,
                        )  # fmt: skip
                node_count, items = _list_node(page, nodes, node_count, child_low, child_high, depth + 1, items, kept)
        if leaf_count >= LEAVES_AT_ONCE or node_count == 0:
            candidates, used = follow(
                page, pieces, leaves, leaf_count, text, islands, first_end, last_end, differences, candidates, used
            )
            leaf_count = 0
            if used > most:
                break
    return candidates, used


@inlined
def _make_children(
    page, pieces, taken_piece, taken_row, begin, end, low, depth, skipped, children, alive, nodes, node_count,
    item_piece, item_row, items,
):  # fmt: skip
    """Rows of the children of items [begin, end) of a node: children[symbol, item - begin], 0 for a dead one.

    Where a row has no difference left and one cell, all that follows is given: above the prefix table such an item
    becomes a node at the table's depth at once. Returns the numbers of nodes and items in the list.
    """
    limit = pieces.limit
    bound = pieces.bounds.size > 0
    top = np.uint64(limit * limit)
    below = (ONE << top) - ONE
    alive[0] = alive[1] = alive[2] = alive[3] = 0
    for item in range(begin, end):
        piece, row = np.int64(taken_piece[item]), taken_row[item]
        left = pieces.length[piece] - depth - 1
        cells = row >> top
        spent = row & below == 0
        if spent and cells & (cells - ONE) == 0 and depth < skipped:
            children[0, item - begin] = children[1, item - begin] = children[2, item - begin] = np.uint64(0)
            children[3, item - begin] = np.uint64(0)
            cell = np.uint64(depth + count_ones(cells - ONE) - limit)
            missing = np.uint64(skipped - depth)
            if pieces.unknown[piece] >> cell & ((ONE << missing) - ONE):
                continue
            if bound and bounded(row, pieces.bounds, piece, limit, skipped) == 0:
                continue
            bases = pieces.bases[piece] >> (cell + cell) & ((ONE << (missing + missing)) - ONE)
            item_piece[items], item_row[items] = piece, row
            nodes[node_count, LOW] = low | np.int64(bases << np.uint64(2 * depth))
            nodes[node_count, HIGH], nodes[node_count, DEPTH], nodes[node_count, COUNT] = UNKNOWN, skipped, 1
            prefetch(page.prefix_table, 2 * nodes[node_count, LOW])
            node_count, items = node_count + 1, items + 1
            continue
        for symbol in range(4):
            equal = equal_cells(pieces.letters, piece, symbol, depth, limit)
            if spent:
                child = (cells & equal) << top
                if left < limit:
                    child &= (ONE << (top + np.uint64(max(left + limit + 1, 0)))) - ONE
            else:
                child = next_row(row, equal, limit, left)
            if bound and child:
                child = bounded(child, pieces.bounds, piece, limit, depth + 1)
            children[symbol, item - begin] = child
            alive[symbol] += np.int64(child != 0)
    return node_count, items


@inlined
def _list_item(pieces, piece, row, depth, low, high, deepest, item_piece, item_row, items, leaves, leaf_count):
    """List a row of a node of this depth as one of its items or, if the path ends here, as a leaf.

    Returns the numbers of items and leaves.
    """
    complete = high >= 0 and is_complete(row, pieces.limit, pieces.length[piece] - depth)
    if complete or (high >= 0 and (high - low <= LEAF_ROWS or depth == deepest)):
        leaves[leaf_count, LEAF_LOW], leaves[leaf_count, LEAF_HIGH] = low, high
        leaves[leaf_count, PIECE], leaves[leaf_count, LEAF_DEPTH] = piece, depth
        leaves[leaf_count, STATE] = 0 if complete else np.int64(row)
        return items, leaf_count + 1
    item_piece[items], item_row[items] = piece, row
    return items + 1, leaf_count


@inlined
def _list_node(page, nodes, node_count, low, high, depth, first, last):
    """List a node with the items [first, last), if there are any; returns the numbers of nodes and items."""
    if last > first:
        nodes[node_count, LOW], nodes[node_count, HIGH] = low, high
        nodes[node_count, DEPTH], nodes[node_count, COUNT] = depth, last - first
        node_count += 1
        if high >= 0:
            prefetch_row(page.blocks, page.words_per_block, low)
            prefetch_row(page.blocks, page.words_per_block, high)
        elif high == UNKNOWN:
            prefetch(page.prefix_table, 2 * low)
    return node_count, last
