"""A walk through the trie of a page, with Numba: each turn takes several nodes from the end of a stack.

Above the depth of the prefix table, `low` of a node is the string itself, two bits per base, and `high` is STRING: the
index is not read. At that depth `high` is UNKNOWN until the table is read. The rows of a node's children are made
first, and only children with a piece alive take their step in the index. The memory that the next turn reads is
prefetched when a node is listed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import BatchArrays
from quire.algorithms.complete.pieces import Pieces
from quire.algorithms.complete.trie.leaves_cpu import LEAF_FIELDS, follow, list_leaf
from quire.algorithms.complete.trie.rows_cpu import (
    ONE,
    equal_cells,
    first_row,
    is_complete,
    next_row,
    prepare_pieces,
)
from quire.algorithms.fm_index.cpu import backward_step, page_of, prefetch_row
from quire.simd.bits import count_ones, prefetch
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

LOW, HIGH, DEPTH, COUNT, FIRST, NODE_FIELDS = 0, 1, 2, 3, 4, 5  # columns of `Work.nodes` and `Turn.nodes`
NODES, ITEMS, LEAVES = 0, 1, 2  # items of `Work.used`
UNKNOWN, STRING = -1, -2
ITEMS_AT_ONCE = 4096  # most items of a turn, unless a single node has more
NODES_AT_ONCE = 64  # most nodes of a turn: enough to hide the latency of memory
LEAF_ROWS = 4  # an interval of at most this many rows is followed in the text
LEAVES_AT_ONCE = 1024


class Trie(NamedTuple):
    """Limits that all paths of a page have in common.

    Attributes:
        deepest: depth at which every path ends.
        skipped: depth of the prefix table, or 0 to begin with the root.
        first_end, last_end: ends on the axis that the page owns, [first_end, last_end).
    """

    deepest: int
    skipped: int
    first_end: int
    last_end: int


class Node(NamedTuple):
    """A node: its interval and its depth."""

    low: int
    high: int
    depth: int


class Work(NamedTuple):
    """Stacks of the nodes and leaves that are still to be processed.

    Attributes:
        nodes: int64[n, NODE_FIELDS]: interval from LOW to HIGH, DEPTH, and COUNT of items.
        pieces, rows: int32[m] and uint64[m], the items of all nodes in their order: a piece, and its row at the node.
        leaves: see `cpu_leaves`.
        used: int64[3], the numbers of NODES, ITEMS and LEAVES.
    """

    nodes: np.ndarray
    pieces: np.ndarray
    rows: np.ndarray
    leaves: np.ndarray
    used: np.ndarray


class Turn(NamedTuple):
    """Nodes that were taken from the end of the stack.

    Attributes:
        nodes: int64[NODES_AT_ONCE, NODE_FIELDS], as in `Work`; a node's items are COUNT from FIRST on.
        pieces, rows: of all items.
        children: uint64[4, items], rows of the children of the current node, 0 for a dead one; item 0 is its first.
    """

    nodes: np.ndarray
    pieces: np.ndarray
    rows: np.ndarray
    children: np.ndarray


def candidates_of(
    table: NDArray[np.int64], number: int, pieces: Pieces, batch: BatchArrays, most: int
) -> Iterator[NDArray[np.uint64]]:
    """Yield the candidates (uint64[]) that page `number` of a table owns, about `most` at a time.

    `pieces` have one limit above 0.
    """
    lengths = pieces.end - pieces.begin
    deepest = min(int(lengths.max()) + pieces.limit, int(overlap_of(table)))
    trie = trie_of(table, number, deepest, int(lengths.min()) - pieces.limit)
    prepared = prepare_pieces(pieces, batch)
    work = begin_walk(table, number, prepared, trie)
    while work.used[0]:
        work, candidates = walk(table, number, prepared, trie, batch, work, most)
        yield candidates


@compiled
def trie_of(table, number, deepest, shortest):
    """Return the `Trie` of a page; `shortest` is the smallest depth at which a piece may end."""
    page = page_of(table, number)
    skipped = page.prefix_length if page.prefix_length <= min(shortest, deepest) else 0
    first_end = page.start + deepest if number > 0 else 0
    last_end = page.start + page.owned_length + deepest if number + 1 < len(table) else np.int64(1) << 60
    return Trie(np.int64(deepest), np.int64(skipped), np.int64(first_end), np.int64(last_end))


@compiled
def overlap_of(table):
    """Return the number of bases that every page, except those at the axis' end, shares with the next ones."""
    axis_end, overlap = np.int64(0), np.int64(1) << 30
    for number in range(len(table)):
        page = page_of(table, number)
        axis_end = max(axis_end, page.start + page.C[4] - 1)
    for number in range(len(table)):
        page = page_of(table, number)
        if page.start + page.C[4] - 1 < axis_end:
            overlap = min(overlap, page.C[4] - 1 - page.owned_length)
    return overlap


@compiled
def begin_walk(table, number, pieces, trie):
    """Return the work before the first turn: the root with all pieces."""
    count = len(pieces.oriented)
    work = Work(np.empty((1, NODE_FIELDS), np.int64), np.empty(count, np.int32), np.empty(count, np.uint64),
                np.empty((1, LEAF_FIELDS), np.int64), np.zeros(3, np.int64))  # fmt: skip
    work.pieces[:], work.rows[:] = np.arange(count), first_row(pieces.limit)
    work.nodes[0, LOW], work.nodes[0, HIGH] = 0, np.int64(STRING) if trie.skipped else page_of(table, number).C[4]
    work.nodes[0, DEPTH], work.nodes[0, COUNT] = 0, count
    work.used[NODES], work.used[ITEMS] = 1, count
    return work


@compiled
def walk(table, number, pieces, trie, batch, work, most):
    """Walk until the work is done or `most` candidates are found; return the work and the candidates (uint64[])."""
    page = page_of(table, number)
    turn, pieces = _room_for_turn(1), borrowed(pieces)
    candidates, found = np.empty(1024, np.uint64), 0
    while work.used[NODES] and found < most:
        taken, own = _next_turn(work)
        if own > len(turn.pieces):
            turn = _room_for_turn(2 * own)
        _take(work, turn, taken, own)
        work = _with_room(work, 4 * own)
        lent, lent_turn = borrowed(work), borrowed(turn)
        for which in range(taken):
            _expand(page, pieces, trie, lent_turn, which, lent)
        if work.used[LEAVES] >= LEAVES_AT_ONCE or work.used[NODES] == 0:
            candidates, found = follow(page, pieces, trie, batch, work.leaves[: work.used[LEAVES]], candidates, found)
            work.used[LEAVES] = 0
    return work, candidates[:found].copy()


@inlined
def _room_for_turn(items):
    return Turn(np.empty((NODES_AT_ONCE, NODE_FIELDS), np.int64), np.empty(items, np.int32),
                np.empty(items, np.uint64), np.empty((4, items), np.uint64))  # fmt: skip


@inlined
def _next_turn(work):
    """Return the number of nodes that the next turn takes, and that of their items."""
    last, taken, own = work.used[NODES], 0, 0
    while taken < min(last, NODES_AT_ONCE):
        count = work.nodes[last - 1 - taken, COUNT]
        if taken and own + count > ITEMS_AT_ONCE:
            break
        own += count
        taken += 1
    return taken, own


@inlined
def _take(work, turn, taken, own):
    """Move nodes from the end of the stack to a turn."""
    work.used[NODES] -= taken
    work.used[ITEMS] -= own
    begin = 0
    for which in range(taken):
        for field in range(NODE_FIELDS):
            turn.nodes[which, field] = work.nodes[work.used[NODES] + which, field]
        turn.nodes[which, FIRST] = begin
        begin += turn.nodes[which, COUNT]
    for item in range(own):
        turn.pieces[item] = work.pieces[work.used[ITEMS] + item]
        turn.rows[item] = work.rows[work.used[ITEMS] + item]


@inlined
def _with_room(work, more):
    """Return the work with room for `more` nodes, items and leaves: each child may be a node or a leaf of its own."""
    nodes, pieces, rows, leaves, used = work
    if used[ITEMS] + more > len(pieces):
        pieces = np.append(pieces[: used[ITEMS]], np.empty(used[ITEMS] + 2 * more, np.int32))
        rows = np.append(rows[: used[ITEMS]], np.empty(used[ITEMS] + 2 * more, np.uint64))
    if used[NODES] + more > len(nodes):
        nodes = np.append(nodes[: used[NODES]], np.empty((used[NODES] + 2 * more, NODE_FIELDS), np.int64))
        nodes = nodes.reshape(-1, NODE_FIELDS)
    if used[LEAVES] + more > len(leaves):
        leaves = np.append(leaves[: used[LEAVES]], np.empty((used[LEAVES] + 2 * more, LEAF_FIELDS), np.int64))
        leaves = leaves.reshape(-1, LEAF_FIELDS)
    return Work(nodes, pieces, rows, leaves, used)


@inlined
def _expand(page, pieces, trie, turn, which, work):
    """List the children of a node."""
    low, high, depth = turn.nodes[which, LOW], turn.nodes[which, HIGH], turn.nodes[which, DEPTH]
    first, count = turn.nodes[which, FIRST], turn.nodes[which, COUNT]
    if high == UNKNOWN:
        node = Node(np.int64(page.prefix_table[2 * low]), np.int64(page.prefix_table[2 * low + 1]), depth)
        before = work.used[ITEMS]
        if node.low < node.high:
            for item in range(first, first + count):
                _list_item(pieces, trie, node, np.int64(turn.pieces[item]), turn.rows[item], work)
        _list_node(page, node, before, work)
        return
    alive = _make_children(page, pieces, trie, turn, which, work)
    for symbol in range(4):
        if not alive >> symbol & 1:
            continue
        if depth < trie.skipped:
            child_high = np.int64(UNKNOWN if depth + 1 == trie.skipped else STRING)
            node = Node(low | symbol << (2 * depth), child_high, depth + 1)
        else:
            child_low, child_high = backward_step(
                page.blocks, page.words_per_block, page.C, page.primary, np.int64(symbol), low, high
            )
            if child_low >= child_high:
                continue
            node = Node(child_low, child_high, depth + 1)
        before = work.used[ITEMS]
        for item in range(count):
            row = turn.children[symbol, item]
            if row:
                _list_item(pieces, trie, node, np.int64(turn.pieces[first + item]), row, work)
        _list_node(page, node, before, work)


@inlined
def _make_children(page, pieces, trie, turn, which, work):
    """Fill `turn.children` for a node; return a word with a bit set for each base on which a piece is alive."""
    # A row without differences left and with one cell alive determines the rest of the string. Above the prefix table
    # such an item becomes a node at the depth of the table at once.
    low, depth, first = turn.nodes[which, LOW], turn.nodes[which, DEPTH], turn.nodes[which, FIRST]
    limit, skipped, children = pieces.limit, trie.skipped, turn.children
    top = np.uint64(limit * limit)
    below = (ONE << top) - ONE
    alive = 0
    for item in range(turn.nodes[which, COUNT]):
        piece, row = np.int64(turn.pieces[first + item]), turn.rows[first + item]
        left = pieces.length[piece] - depth - 1
        cells = row >> top
        spent = row & below == 0
        if spent and cells & (cells - ONE) == 0 and depth < skipped:
            children[0, item] = children[1, item] = children[2, item] = children[3, item] = np.uint64(0)
            cell = np.uint64(depth + count_ones(cells - ONE) - limit)
            missing = np.uint64(skipped - depth)
            if pieces.unknown[piece] >> cell & ((ONE << missing) - ONE):
                continue
            bases = pieces.bases[piece] >> (cell + cell) & ((ONE << (missing + missing)) - ONE)
            before = work.used[ITEMS]
            work.pieces[before], work.rows[before] = piece, row
            work.used[ITEMS] = before + 1
            string = low | np.int64(bases << np.uint64(2 * depth))
            _list_node(page, Node(string, np.int64(UNKNOWN), skipped), before, work)
            continue
        for symbol in range(4):
            equal = equal_cells(pieces.letters, piece, symbol, depth, limit)
            if spent:
                child = (cells & equal) << top
                if left < limit:
                    child &= (ONE << (top + np.uint64(max(left + limit + 1, 0)))) - ONE
            else:
                child = next_row(row, equal, limit, left)
            children[symbol, item] = child
            alive |= np.int64(child != 0) << symbol
    return alive


@inlined
def _list_item(pieces, trie, node, piece, row, work):
    """List a piece with its row at a node as one of its items or, if the path ends here, as a leaf."""
    low, high, depth = node
    complete = high >= 0 and is_complete(row, pieces.limit, pieces.length[piece] - depth)
    if complete or (high >= 0 and (high - low <= LEAF_ROWS or depth == trie.deepest)):
        list_leaf(work.leaves, work.used[LEAVES], node, piece, np.uint64(0) if complete else row)
        work.used[LEAVES] += 1
    else:
        work.pieces[work.used[ITEMS]], work.rows[work.used[ITEMS]] = piece, row
        work.used[ITEMS] += 1


@inlined
def _list_node(page, node, first, work):
    """List a node with the items from `first` on, if there are any."""
    nodes, used = work.nodes, work.used
    low, high, depth = node
    if used[ITEMS] == first:
        return
    at = used[NODES]
    nodes[at, LOW], nodes[at, HIGH], nodes[at, DEPTH], nodes[at, COUNT] = low, high, depth, used[ITEMS] - first
    used[NODES] = at + 1
    if high >= 0:
        prefetch_row(page.blocks, page.words_per_block, low)
        prefetch_row(page.blocks, page.words_per_block, high)
    elif high == UNKNOWN:
        prefetch(page.prefix_table, 2 * low)
