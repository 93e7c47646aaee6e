"""Walking the trie of a page with Numba: one list of nodes in work, of which some are taken from its end at a time.

A node stands in `nodes` (int64[n, 4]: LOW, HIGH, DEPTH, COUNT); its COUNT items, a piece and its row each, stand in the
same order in `item_piece` and `item_row`. Above the depth of the prefix table LOW is the string itself, two bits a base,
and no memory of the index is touched; at that depth HIGH is UNKNOWN until the table is asked. What the next turn will
read of the index is announced when a node is listed.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete.trie.cpu_rows import bounded, equal_cells, first_row, is_complete, next_row
from quire.algorithms.complete.windows.cpu import candidate_at
from quire.algorithms.fm_index.cpu import backward_step, prefetch_row
from quire.algorithms.fm_index.pages.cpu import announce_row, page_of, start_of_row
from quire.sequence.words import code_at
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

LOW, HIGH, DEPTH, COUNT = 0, 1, 2, 3
UNKNOWN = -1
ITEMS_AT_ONCE = 4096  # rows of a turn, or one node's
NODES_AT_ONCE = 64  # enough to hide a read from memory
LEAF_ROWS = 4  # an interval of so many rows is left for the text
LEAVES = 2048  # places that wait to be located together
AHEAD = 16


class Pieces(NamedTuple):
    """Pieces with one limit.

    Attributes:
        oriented: int64[n], 2 * read + strand.
        length: int64[n].
        behind: int64[n], bases of the read behind the piece.
        letters: see `letters_of`.
        bounds: int32[n, limit + 1], see `bounds_of`; or [0, 0].
        limit: of each.
    """

    oriented: np.ndarray
    length: np.ndarray
    behind: np.ndarray
    letters: np.ndarray
    bounds: np.ndarray
    limit: int


class Leaves(NamedTuple):
    """Rows to be located, int64[LEAVES] each but `state`, uint64: a row of cells, or 0 for a complete piece."""

    row: np.ndarray
    piece: np.ndarray
    depth: np.ndarray
    state: np.ndarray


@compiled
def walk(table, number, pieces, text, islands, deepest, skipped, differences, most, candidates, used):
    """Append the candidates that a page holds of pieces.

    Args:
        table, number: the page among the pages.
        pieces: `Pieces`.
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
    leaves = Leaves(np.empty(LEAVES, np.int64), np.empty(LEAVES, np.int64), np.empty(LEAVES, np.int64),
                    np.empty(LEAVES, np.uint64))  # fmt: skip
    waiting = 0
    nodes = np.empty((8 * NODES_AT_ONCE, 4), np.int64)
    item_piece, item_row = np.empty(8 * ITEMS_AT_ONCE, np.int32), np.empty(8 * ITEMS_AT_ONCE, np.uint64)
    taken_piece, taken_row = np.empty(ITEMS_AT_ONCE, np.int32), np.empty(ITEMS_AT_ONCE, np.uint64)
    taken = np.empty((NODES_AT_ONCE, 4), np.int64)
    count = len(pieces.oriented)
    if count > len(item_piece):
        item_piece, item_row = np.empty(count, np.int32), np.empty(count, np.uint64)
    item_count = 0
    bound = pieces.bounds.size > 0
    for piece in range(count):
        if bound and pieces.bounds[piece, 0]:
            continue
        item_piece[item_count], item_row[item_count] = piece, first_row(limit)
        item_count += 1
    nodes[0, LOW], nodes[0, HIGH], nodes[0, DEPTH], nodes[0, COUNT] = 0, page.C[4], 0, item_count
    node_count = 1 if item_count else 0
    while node_count:
        # Take nodes from the end of the list, and their items.
        turn = items = 0
        while node_count and turn < NODES_AT_ONCE and (turn == 0 or items + nodes[node_count - 1, COUNT] <= ITEMS_AT_ONCE):
            node_count -= 1
            for field in range(4):
                taken[turn, field] = nodes[node_count, field]
            items += nodes[node_count, COUNT]
            turn += 1
        item_count -= items
        if items > len(taken_piece):
            taken_piece, taken_row = np.empty(items, np.int32), np.empty(items, np.uint64)
        for item in range(items):
            taken_piece[item], taken_row[item] = item_piece[item_count + item], item_row[item_count + item]
        # Each item has at most four children.
        if item_count + 4 * items > len(item_piece):
            item_piece = np.append(item_piece[:item_count], np.empty(item_count + 8 * items, np.int32))
            item_row = np.append(item_row[:item_count], np.empty(item_count + 8 * items, np.uint64))
        if node_count + 4 * turn > len(nodes):
            nodes = np.append(nodes[:node_count], np.empty((node_count + 8 * turn, 4), np.int64)).reshape(-1, 4)
        # The last node taken has the first items.
        begin = items
        for which in range(turn):
            low, high, depth = taken[which, LOW], taken[which, HIGH], taken[which, DEPTH]
            end, begin = begin, begin - taken[which, COUNT]
            if high == UNKNOWN:
                low, high = np.int64(page.prefix_table[2 * low]), np.int64(page.prefix_table[2 * low + 1])
                if low >= high:
                    continue
                kept = item_count
                is_leaf = high - low <= LEAF_ROWS or depth == deepest
                for item in range(begin, end):
                    piece, row = np.int64(taken_piece[item]), taken_row[item]
                    complete = is_complete(row, limit, pieces.length[piece] - depth)
                    if not complete and not is_leaf:
                        item_piece[kept], item_row[kept] = piece, row
                        kept += 1
                        continue
                    for place in range(low, high):
                        if waiting == LEAVES:
                            candidates, used = _locate(page, pieces, leaves, waiting, text, islands, first_end, last_end, differences, candidates, used)
                            waiting = 0
                            if used > most:
                                return candidates, used
                        leaves.row[waiting], leaves.piece[waiting], leaves.depth[waiting] = place, piece, depth
                        leaves.state[waiting] = np.uint64(0) if complete else row
                        waiting += 1
                if kept > item_count:
                    nodes[node_count, LOW], nodes[node_count, HIGH] = low, high
                    nodes[node_count, DEPTH], nodes[node_count, COUNT] = depth, kept - item_count
                    prefetch_row(page.blocks, page.words_per_block, low)
                    prefetch_row(page.blocks, page.words_per_block, high)
                    node_count, item_count = node_count + 1, kept
                continue
            for symbol in range(4):
                if depth < skipped:
                    child_low = low | symbol << (2 * depth)
                    child_high = np.int64(UNKNOWN) if depth + 1 == skipped else np.int64(1) << 62
                else:
                    child_low, child_high = backward_step(
                        page.blocks, page.words_per_block, page.C, page.primary, np.int64(symbol), low, high
                    )
                    if child_low >= child_high:
                        continue
                known = depth >= skipped
                is_leaf = known and (child_high - child_low <= LEAF_ROWS or depth + 1 == deepest)
                kept = item_count
                for item in range(begin, end):
                    piece = np.int64(taken_piece[item])
                    left = pieces.length[piece] - depth - 1
                    row = next_row(taken_row[item], equal_cells(pieces.letters, piece, symbol, depth, limit), limit, left)
                    if bound and row != 0:
                        row = bounded(row, pieces.bounds, piece, limit, depth + 1)
                    if row == 0:
                        continue
                    complete = known and is_complete(row, limit, left)
                    if not complete and not is_leaf:
                        item_piece[kept], item_row[kept] = piece, row
                        kept += 1
                        continue
                    for place in range(child_low, child_high):
                        if waiting == LEAVES:
                            candidates, used = _locate(page, pieces, leaves, waiting, text, islands, first_end, last_end, differences, candidates, used)
                            waiting = 0
                            if used > most:
                                return candidates, used
                        leaves.row[waiting], leaves.piece[waiting], leaves.depth[waiting] = place, piece, depth + 1
                        leaves.state[waiting] = np.uint64(0) if complete else row
                        waiting += 1
                if kept > item_count:
                    nodes[node_count, LOW], nodes[node_count, HIGH] = child_low, child_high
                    nodes[node_count, DEPTH], nodes[node_count, COUNT] = depth + 1, kept - item_count
                    if known:
                        prefetch_row(page.blocks, page.words_per_block, child_low)
                        prefetch_row(page.blocks, page.words_per_block, child_high)
                    elif child_high == UNKNOWN:
                        prefetch(page.prefix_table, 2 * child_low)
                    node_count, item_count = node_count + 1, kept
    return _locate(page, pieces, leaves, waiting, text, islands, first_end, last_end, differences, candidates, used)


@compiled
def _locate(page, pieces, leaves, count, text, islands, first_end, last_end, differences, candidates, used):
    """Follow the paths of leaves in the text; those that complete their piece become candidates."""
    if used + count > len(candidates):
        candidates = np.append(candidates[:used], np.empty(used + 2 * count, np.uint64))
    for i in range(min(AHEAD, count)):
        announce_row(page, leaves.row[i])
    for i in range(count):
        if i + AHEAD < count:
            announce_row(page, leaves.row[i + AHEAD])
        # From here on the axis position at which the path stands.
        leaves.row[i] = page.start + start_of_row(page, leaves.row[i])
        prefetch(text, max(leaves.row[i] - 1, 0) >> 5)
    for i in range(count):
        position, depth, piece = leaves.row[i], leaves.depth[i], leaves.piece[i]
        end = position + depth
        if end < first_end or end >= last_end:
            continue
        row, length, limit = leaves.state[i], pieces.length[piece], pieces.limit
        complete = row == 0
        while not complete and position > 0:
            position -= 1
            symbol = np.int64(code_at(text, position))
            row = next_row(row, equal_cells(pieces.letters, piece, symbol, depth, limit), limit, length - depth - 1)
            depth += 1
            if row == 0:
                break
            complete = is_complete(row, limit, length - depth)
        if not complete:
            continue
        oriented = pieces.oriented[piece]
        candidate, is_one = candidate_at(islands, oriented, end - 1, end + pieces.behind[piece], differences)
        if is_one:
            candidates[used] = candidate
            used += 1
    return candidates, used
