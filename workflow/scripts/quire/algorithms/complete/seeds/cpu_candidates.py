"""From intervals to windows: rows are located, and what lies around them is solved, CHUNK candidates at a time."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete.seeds.cpu_pieces import FROM
from quire.algorithms.complete.seeds.cpu_strand import (
    MOST_WINDOWS,
    begin_group,
    compare_middle,
    is_exact,
    keep_window,
    lay_piece,
    lay_strand,
    place_text,
    place_unknown,
    solve_windows,
)
from quire.algorithms.complete.seeds.cpu_windows import LANES
from quire.algorithms.fm_index.pages.cpu import announce_row, page_of, walk_to_sampled
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled
from quire.simd.search import interval_of

CHUNK = 512
BLOCK_BITS = 12  # bases of the axis that one item of `AxisArrays.special` is for


class AxisArrays(NamedTuple):
    """The axis (see `quire.algorithms.complete.Axis`).

    Attributes:
        text, ambiguous, islands: as there.
        special: uint8[], of blocks of the axis, 1 where an island begins or ends or an ambiguous base lies.
    """

    text: np.ndarray
    ambiguous: np.ndarray
    islands: np.ndarray
    special: np.ndarray


class CandidateChunk(NamedTuple):
    """A chunk of candidates, in the order of their strands.

    Attributes:
        item: int64[CHUNK], the piece.
        page: int64[CHUNK], its number.
        row: int64[CHUNK], and then the place in the page.
        steps, listed: int64[CHUNK], for locating.
    """

    item: np.ndarray
    page: np.ndarray
    row: np.ndarray
    steps: np.ndarray
    listed: np.ndarray


@compiled
def special_blocks(ambiguous, islands):
    """See `AxisArrays.special`; two blocks more than the axis has."""
    special = np.zeros((islands[-1] >> BLOCK_BITS) + 2, np.uint8)
    for i in range(len(islands)):
        special[islands[i] >> BLOCK_BITS] = 1
        special[max(islands[i] - 1, 0) >> BLOCK_BITS] = 1
    for i in range(len(ambiguous)):
        special[ambiguous[i, 0] >> BLOCK_BITS : ((ambiguous[i, 1] - 1) >> BLOCK_BITS) + 1] = 1
    return special


@compiled
def room_for_candidates():
    """An empty chunk."""
    return CandidateChunk(
        np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64),
        np.empty(CHUNK, np.int64),
    )  # fmt: skip


@compiled
def locate_candidates(table, pieces, count, candidates):
    """Turn the first `count` rows into axis positions of the first base of their pieces; -1 for what a page lacks.

    Bases of a piece that were not searched need not match. A page owns a candidate by that position, whichever part of
    the piece it has searched.
    """
    item, pages, rows, steps, listed = candidates
    found, bounds = pieces.found, pieces.bounds
    for number in range(len(table)):
        page = page_of(table, number)
        left = 0
        for i in range(count):
            listed[left] = i
            if pages[i] == number:
                announce_row(page, rows[i])
                steps[i] = 0
                left += 1
        if left == 0:
            continue
        if page.sa_sampling > 1:
            walk_to_sampled(page, rows, steps, listed, left)
        for i in range(count):
            if pages[i] == number:
                place = np.int64(page.suffix_array[rows[i]]) + steps[i]
                begin = place - (found[item[i], number, FROM] - bounds[item[i], 0])
                rows[i] = page.start + begin if 0 <= begin < page.owned_length else np.int64(-1)


@compiled
def verify(batch, axis, pieces, first, count, candidates, memory, layout, found, used):
    """Solve the windows of the first `count` candidates, and append those with ends; returns their end.

    first: the strand that the first of `pieces` are of.
    """
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    text, axis_ambiguous, islands, special = axis
    items, _, positions, _, _ = candidates
    offsets, _, word_offsets, packed, ambiguous, differences = batch
    bounds, per_strand = pieces.bounds, differences + 1
    axis_end = islands[len(islands) - 1]
    for i in range(count):
        if positions[i] >= 0:
            prefetch(text, positions[i] >> 5)
    i = 0
    while i < count:
        strand = first + items[i] // per_strand
        first_item = (strand - first) * per_strand
        read, side = strand >> 1, strand & 1
        length, word = offsets[read + 1] - offsets[read], word_offsets[read]
        lay_strand(batch, strand, memory, layout)
        for piece in range(per_strand):
            lay_piece(memory, layout, piece, bounds[first_item + piece, 0], bounds[first_item + piece, 1])
        place = 0
        while i < count and items[i] < first_item + per_strand:
            position, own = positions[i], items[i] - first_item
            diagonal = position - bounds[items[i], 0]
            i += 1
            if position < 0:
                continue
            low, high = np.int64(0), axis_end
            begin, end = diagonal - differences, diagonal + length + differences
            is_special = begin < 0 or end > axis_end
            if not is_special:
                is_special = special[begin >> BLOCK_BITS] != 0 or special[end >> BLOCK_BITS] != 0
            if is_special:
                island = interval_of(islands, position)
                low, high = islands[island], islands[island + 1]
            place_text(memory, layout, place, text, begin, end - begin)
            compare_middle(memory, layout, place, packed, side, word, length, differences)
            # The window belongs to the first piece, whole, that lies on its diagonal within the island.
            finder = 0
            while finder <= own:
                piece_begin, piece_end = bounds[first_item + finder, 0], bounds[first_item + finder, 1]
                within = piece_begin < piece_end and diagonal + piece_begin >= low and diagonal + piece_end <= high
                if within and is_exact(memory, layout, finder, piece_begin, piece_end):
                    break
                finder += 1
            if finder != own:
                continue
            if place % LANES == 0:
                begin_group(memory, layout, place)
            keep_window(memory, layout, place, diagonal, high)
            if is_special:
                place_unknown(memory, layout, place, axis_ambiguous, begin, end - begin, low, high)
            place += 1
            if place == MOST_WINDOWS:
                used = solve_windows(memory, layout, place, strand, length, differences, ambiguous[read], found, used)
                place = 0
        used = solve_windows(memory, layout, place, strand, length, differences, ambiguous[read], found, used)
    return used
