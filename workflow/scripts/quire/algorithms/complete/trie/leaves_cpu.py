"""Leaves of the trie, with Numba: paths that are complete or have few rows left become candidates.

A leaf is a row of `leaves` (int64[n, LEAF_FIELDS]): its interval from LOW to HIGH, its PIECE and DEPTH, and in STATE
its row of cells, or 0 if the piece is complete.
"""

import numpy as np

from quire.algorithms.complete.trie.rows_cpu import equal_cells, is_complete, next_row
from quire.algorithms.complete.windows.cpu import candidate_at
from quire.algorithms.fm_index.cpu import announce_row, start_of_row
from quire.sequence.words_cpu import code_at
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

LOW, HIGH, PIECE, DEPTH, STATE, LEAF_FIELDS = 0, 1, 2, 3, 4, 5
PLACES = 1024  # rows that are located together


@inlined
def list_leaf(leaves, leaf, node, piece, state):
    """Write a leaf: a piece at a node with its row of cells, or 0 if it is complete."""
    low, high, depth = node
    leaves[leaf, LOW], leaves[leaf, HIGH], leaves[leaf, PIECE], leaves[leaf, DEPTH] = low, high, piece, depth
    leaves[leaf, STATE] = np.int64(state)


@compiled
def follow(page, pieces, trie, batch, leaves, candidates, used):
    """Append a candidate for each row of leaves whose path, continued in the text, completes its piece.

    Return the candidates (uint64[], or a larger copy) and their new number.
    """
    text, islands, differences, count = batch.text, batch.islands, batch.differences, len(leaves)
    places, owners = np.empty(PLACES, np.int64), np.empty(PLACES, np.int64)
    leaf, row = 0, leaves[0, LOW] if count else 0
    while leaf < count:
        number = 0
        while leaf < count and number < PLACES:
            while row < leaves[leaf, HIGH] and number < PLACES:
                announce_row(page, row)
                places[number], owners[number] = row, leaf
                row, number = row + 1, number + 1
            if row == leaves[leaf, HIGH]:
                leaf += 1
                row = leaves[leaf, LOW] if leaf < count else 0
        if used + number > len(candidates):
            candidates = np.append(candidates[:used], np.empty(used + 2 * number, np.uint64))
        for i in range(number):
            places[i] = page.start + start_of_row(page, places[i])
            prefetch(text, max(places[i] - 1, 0) >> 5)
        for i in range(number):
            owner = owners[i]
            position, depth, piece = places[i], leaves[owner, DEPTH], leaves[owner, PIECE]
            end = position + depth
            if end < trie.first_end or end >= trie.last_end:
                continue
            state, length = np.uint64(leaves[owner, STATE]), pieces.length[piece]
            complete = state == 0
            while not complete and position > 0:
                position -= 1
                symbol = np.int64(code_at(text, position))
                equal = equal_cells(pieces.letters, piece, symbol, depth, pieces.limit)
                state = next_row(state, equal, pieces.limit, length - depth - 1)
                depth += 1
                if state == 0:
                    break
                complete = is_complete(state, pieces.limit, length - depth)
            if not complete:
                continue
            candidate, is_one = candidate_at(
                islands, pieces.oriented[piece], end - 1, end + pieces.behind[piece], differences
            )
            if is_one:
                candidates[used] = candidate
                used += 1
    return candidates, used
