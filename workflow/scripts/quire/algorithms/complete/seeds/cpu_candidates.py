"""From intervals to windows: rows are located, and what lies around them is solved, CHUNK candidates at a time."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete.seeds.cpu_merging import BITS, NONE, Found
from quire.algorithms.complete.seeds.cpu_pieces import FROM, HIGH, LOW
from quire.algorithms.complete.seeds.cpu_windows import LANES, Windows, place_text, solve
from quire.algorithms.fm_index.cpu import previous_row, sampled_rank
from quire.algorithms.fm_index.pages.cpu import announce_row, page_of
from quire.sequence.words import packed_word
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

CHUNK = 512
BLOCK_BITS = 12  # bases of the axis that one item of `AxisArrays.special` is for
_PAIRS = np.uint64(0x5555555555555555)


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


class Candidates(NamedTuple):
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


class Verifying(NamedTuple):
    """The windows in work, and what each lane is of.

    Attributes:
        windows: LANES of them.
        planes: int64[3 * words], of the strand in work: low bits, high bits, what matches nothing.
        strand, diagonal, last: int64[LANES], of each lane: strand, the diagonal in the middle, the last end allowed.
        state: int64[3], lanes in use, words of the longest of their reads, whether anything in them matches nothing.
    """

    windows: Windows
    planes: np.ndarray
    strand: np.ndarray
    diagonal: np.ndarray
    last: np.ndarray
    state: np.ndarray


USED, WORDS, UNKNOWN = 0, 1, 2


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
    return Candidates(
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
    for number in range(len(table)):
        page = page_of(table, number)
        left = 0
        for i in range(count):
            listed[left] = i
            if pages[i] == number:
                announce_row(page, rows[i])
                steps[i] = 0
                left += 1
        of_page = left
        if page.sa_sampling > 1:
            while left > 0:
                kept = 0
                for place in range(left):
                    i = listed[place]
                    rank = sampled_rank(page.sampled_rows, rows[i])
                    if rank >= 0:
                        rows[i] = rank
                        prefetch(page.suffix_array, rank)
                        continue
                    rows[i] = previous_row(page.blocks, page.words_per_block, page.C, page.primary, rows[i])
                    steps[i] += 1
                    announce_row(page, rows[i])
                    listed[kept] = i
                    kept += 1
                left = kept
        if of_page == 0:
            continue
        for i in range(count):
            if pages[i] == number:
                place = np.int64(page.suffix_array[rows[i]]) + steps[i]
                begin = place - (pieces.found[item[i], number, FROM] - pieces.bounds[item[i], 0])
                rows[i] = page.start + begin if 0 <= begin < page.owned_length else np.int64(-1)


@inlined
def island_of(islands, position):
    """Number of the island of an axis position."""
    low, high = 0, len(islands) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if islands[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@inlined
def matches(packed, word, begin, end, text, position):
    """Whether bases [begin, end) of a packed read equal the axis from `position` on."""
    while begin < end:
        difference = packed_word(packed, word * 32 + begin) ^ packed_word(text, position)
        difference = (difference | (difference >> np.uint64(1))) & _PAIRS
        if end - begin < 32:
            difference &= (np.uint64(1) << np.uint64(2 * (end - begin))) - np.uint64(1)
        if difference:
            return False
        begin += 32
        position += 32
    return True


@inlined
def is_first_of(batch, pieces, item, strand, diagonal, text, low, high):
    """Whether a piece, whole, is on the diagonal within an island [low, high), and no earlier piece of the strand is."""
    packed, word = batch.packed[strand & 1], batch.word_offsets[strand >> 1]
    for other in range(item, item - item % (batch.differences + 1) - 1, -1):
        begin, end = pieces.bounds[other, 0], pieces.bounds[other, 1]
        on_it = begin < end and diagonal + begin >= low and diagonal + end <= high
        on_it = on_it and matches(packed, word, begin, end, text, diagonal + begin)
        if on_it != (other == item):
            return False
    return True


@compiled
def room_for_verifying(longest, windows):
    """No lane in use."""
    return Verifying(
        windows, np.zeros(3 * ((longest + 63) // 64), np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64), np.zeros(3, np.int64),
    )  # fmt: skip


@inlined
def _even_bits(word):
    """The 32 even bits of a word, side by side."""
    word &= _PAIRS
    word = (word | word >> np.uint64(1)) & np.uint64(0x3333333333333333)
    word = (word | word >> np.uint64(2)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word | word >> np.uint64(4)) & np.uint64(0x00FF00FF00FF00FF)
    word = (word | word >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    return (word | word >> np.uint64(16)) & np.uint64(0x00000000FFFFFFFF)


@compiled
def lay_planes(batch, strand, planes):
    """Fill the planes with a strand of a read."""
    read = strand >> 1
    length = batch.offsets[read + 1] - batch.offsets[read]
    packed, first = batch.packed[strand & 1], batch.word_offsets[read]
    for word in range((length + 63) // 64):
        # Every read has a word of padding.
        one, two = packed[first + 2 * word], packed[first + 2 * word + 1]
        half = np.uint64(32)
        planes[3 * word] = np.int64(_even_bits(one) | _even_bits(two) << half)
        planes[3 * word + 1] = np.int64(_even_bits(one >> np.uint64(1)) | _even_bits(two >> np.uint64(1)) << half)
        planes[3 * word + 2] = 0
    if batch.ambiguous[read]:
        for i in range(length):
            if batch.codes[strand & 1, batch.offsets[read] + i] > 3:
                planes[3 * (i >> 6) + 2] |= np.int64(1) << (i & 63)


@compiled
def verify(batch, axis, pieces, first, count, candidates, verifying, found, used):
    """Solve the windows of the first `count` candidates, and append those with ends; returns their end."""
    text, special = axis.text, axis.special
    item, _, positions, _, _ = candidates
    per_strand, before = batch.differences + 1, -1
    for i in range(count):
        if positions[i] >= 0:
            prefetch(text, positions[i] >> 5)
    for i in range(count):
        position = positions[i]
        if position < 0:
            continue
        strand = first + item[i] // per_strand
        length = batch.offsets[(strand >> 1) + 1] - batch.offsets[strand >> 1]
        diagonal = position - pieces.bounds[item[i], 0]
        low, high = np.int64(0), axis.islands[-1]
        begin, end = diagonal - batch.differences, diagonal + length + batch.differences
        is_special = begin < 0 or end > high
        if not is_special:
            is_special = special[begin >> BLOCK_BITS] != 0 or special[end >> BLOCK_BITS] != 0
        if is_special:
            island = island_of(axis.islands, position)
            low, high = axis.islands[island], axis.islands[island + 1]
        if not is_first_of(batch, pieces, item[i], strand, diagonal, text, low, high):
            continue
        if strand != before:
            lay_planes(batch, strand, verifying.planes)
            before = strand
        used = add_window(batch, axis, strand, length, diagonal, low, high, is_special, verifying, found, used)
    return used


@inlined
def add_window(batch, axis, strand, length, diagonal, low, high, is_special, verifying, found, used):
    """Take a window of the strand whose planes are laid into a free lane; solves all lanes when none is left."""
    windows, state = verifying.windows, verifying.state
    lane, words = state[USED], (length + 63) >> 6
    begin = diagonal - batch.differences
    place_text(windows, lane, axis.text, begin, words)
    read, text_unknown, planes = windows.read, windows.text_unknown, verifying.planes
    for word in range(3 * words):
        read[word * LANES + lane] = planes[word]
    for word in range(words + 1):
        text_unknown[word * LANES + lane] = 0
    if is_special:
        place_unknown(windows, lane, axis, begin, length + 2 * batch.differences, low, high)
    windows.lengths[lane] = length
    verifying.strand[lane], verifying.diagonal[lane], verifying.last[lane] = strand, diagonal, high
    state[WORDS] = max(state[WORDS], words)
    state[UNKNOWN] |= np.int64(is_special or batch.ambiguous[strand >> 1])
    state[USED] += 1
    if state[USED] == LANES:
        used = solve_lanes(verifying, batch.differences, found, used)
    return used


@compiled
def place_unknown(windows, lane, axis, begin, bases, low, high):
    """Mark the bases [begin, begin + bases) of the axis that match nothing: ambiguous, or not within [low, high)."""
    unknown, ambiguous = windows.text_unknown, axis.ambiguous
    first, last = 0, len(ambiguous)
    while first < last:
        middle = (first + last) >> 1
        if ambiguous[middle, 1] > begin:
            last = middle
        else:
            first = middle + 1
    for i in range(bases):
        position = begin + i
        while first < len(ambiguous) and ambiguous[first, 1] <= position:
            first += 1
        if position < low or position >= high or (first < len(ambiguous) and ambiguous[first, 0] <= position):
            unknown[(i >> 6) * LANES + lane] |= np.int64(1) << (i & 63)


@compiled
def solve_lanes(verifying, differences, found, used):
    """Solve the lanes in use and append the windows with ends; returns their end."""
    windows, _, strand, diagonal, last, state = verifying
    count, words, unknown = state[USED], state[WORDS], state[UNKNOWN] != 0
    state[:] = 0
    if count == 0 or not solve(windows, words, differences, unknown):
        return used
    distances, lengths = windows.distances, windows.lengths
    for lane in range(count):
        held, any_end = np.int64(0), False
        for i in range(2 * differences, -1, -1):
            distance = distances[i * LANES + lane]
            if distance > differences or diagonal[lane] - differences + i + lengths[lane] > last[lane]:
                distance = np.int64(NONE)
            any_end |= distance != NONE
            held = held << BITS | distance
        if any_end:
            found.strand[used], found.diagonal[used], found.distances[used] = strand[lane], diagonal[lane], held
            used += 1
    return used
