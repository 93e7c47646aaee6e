"""A strand in work: what its windows share, the windows themselves, and what comes out of them."""

import numpy as np

from quire.algorithms.complete.seeds.cpu_merging import BITS, NONE
from quire.algorithms.complete.seeds.cpu_windows import GROUPS, LANES, solve
from quire.sequence.words import packed_word
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind

MOST_WINDOWS = GROUPS * LANES  # that are placed before they are solved
_PAIRS = np.uint64(0x5555555555555555)


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
def lay_strand(batch, strand, memory, layout):
    """Lay the planes of a strand (2 * read + strand); see `WindowLayout.read`."""
    read, side, first = strand >> 1, strand & 1, layout.read
    length = batch.offsets[read + 1] - batch.offsets[read]
    origin, packed = batch.word_offsets[read], batch.packed
    half, one = np.uint64(32), np.uint64(1)
    for word in range((length + 63) >> 6):
        # Every read has a word of padding.
        left, right = packed[side, origin + 2 * word], packed[side, origin + 2 * word + 1]
        memory[first + 3 * word] = np.int64(_even_bits(left) | _even_bits(right) << half)
        memory[first + 3 * word + 1] = np.int64(_even_bits(left >> one) | _even_bits(right >> one) << half)
        memory[first + 3 * word + 2] = 0
    if batch.ambiguous[read]:
        for i in range(length):
            if batch.codes[side, batch.offsets[read] + i] > 3:
                memory[first + 3 * (i >> 6) + 2] |= np.int64(1) << (i & 63)


@inlined
def lay_piece(memory, layout, piece, begin, end):
    """Lay the bases [begin, end) of a piece of the strand; see `WindowLayout.pieces`."""
    first = layout.pieces + piece * 2 * layout.words
    for word in range(begin >> 5, (end + 31) >> 5):
        bits = _PAIRS
        if 32 * word < begin:
            bits &= _PAIRS << np.uint64(2 * (begin - 32 * word))
        if 32 * word + 32 > end:
            bits &= _PAIRS >> np.uint64(2 * (32 * word + 32 - end))
        memory[first + word] = np.int64(bits)


@inlined
def place_text(memory, layout, place, text, begin, bases):
    """Write [begin, begin + bases) of the axis to the window `place`; bases beyond the axis become A."""
    target = (place // LANES) * layout.group * LANES + place % LANES
    words = (bases + 31) >> 5
    if begin >= 0 and (begin >> 5) + words < len(text):
        shift = np.uint64(2 * (begin & 31))
        index = begin >> 5
        here = text[index]
        for word in range(words):
            behind = text[index + word + 1]
            joined = here >> shift | (behind << np.uint64(1)) << (np.uint64(63) - shift)
            memory[target + word * LANES] = np.int64(joined)
            here = behind
        return
    for word in range(words):
        joined = np.uint64(0)
        for i in range(32):
            base = begin + 32 * word + i
            if 0 <= base < 32 * (len(text) - 1):
                joined |= (packed_word(text, base) & np.uint64(3)) << np.uint64(2 * i)
        memory[target + word * LANES] = np.int64(joined)


@inlined
def compare_middle(memory, layout, place, packed, side, word, length, differences):
    """Fill `differing` for the diagonal in the middle of a window; the strand's words begin at packed[side, word]."""
    source = (place // LANES) * layout.group * LANES + place % LANES
    shift = np.uint64(2 * differences)
    last = (length + 2 * differences + 31) >> 5
    here = np.uint64(memory[source])
    for i in range((length + 31) >> 5):
        behind = np.uint64(memory[source + (i + 1) * LANES]) if i + 1 < last else np.uint64(0)
        bases = here >> shift | (behind << np.uint64(1)) << (np.uint64(63) - shift)
        difference = bases ^ packed[side, word + i]
        memory[layout.differing + i] = np.int64((difference | difference >> np.uint64(1)) & _PAIRS)
        here = behind


@inlined
def is_exact(memory, layout, piece, begin, end):
    """Whether the bases [begin, end) of a piece are equal on the diagonal that was compared."""
    first = layout.pieces + piece * 2 * layout.words
    differing = np.int64(0)
    for word in range(begin >> 5, (end + 31) >> 5):
        differing |= memory[layout.differing + word] & memory[first + word]
    return differing == 0


@inlined
def begin_group(memory, layout, place):
    """Nothing of the group of a window's lane is unknown yet."""
    first = (place // LANES) * layout.group
    for item in range(first + layout.unknown, first + layout.has_unknown + 1):
        for lane in range(LANES):
            memory[item * LANES + lane] = 0


@inlined
def keep_window(memory, layout, place, diagonal, last):
    """The window stays."""
    first = (place // LANES) * layout.group
    memory[(first + layout.diagonal) * LANES + place % LANES] = diagonal
    memory[(first + layout.last) * LANES + place % LANES] = last


@compiled
def place_unknown(memory, layout, place, ambiguous, begin, bases, low, high):
    """Mark the bases [begin, begin + bases) of the axis that match nothing: ambiguous, or not within [low, high)."""
    group = (place // LANES) * layout.group
    memory[(group + layout.has_unknown) * LANES] = 1
    target = (group + layout.unknown) * LANES + place % LANES
    first = first_behind(ambiguous, begin)
    for i in range(bases):
        position = begin + i
        while first < len(ambiguous) and ambiguous[first, 1] <= position:
            first += 1
        if position < low or position >= high or (first < len(ambiguous) and ambiguous[first, 0] <= position):
            memory[target + (i >> 6) * LANES] |= np.int64(1) << (i & 63)


@compiled
def solve_windows(memory, layout, count, strand, length, differences, unknown, found, used):
    """Solve the first `count` windows and append those with ends to `found`; returns their end.

    unknown: whether the read holds an N.
    """
    for group in range((count + LANES - 1) // LANES):
        if not solve(memory, layout, group, length, differences, unknown):
            continue
        for lane in range(min(LANES, count - group * LANES)):
            diagonal = memory[(group * layout.group + layout.diagonal) * LANES + lane]
            last = memory[(group * layout.group + layout.last) * LANES + lane]
            held, any_end = np.int64(0), False
            for i in range(2 * differences, -1, -1):
                distance = memory[(layout.distances + i) * LANES + lane]
                if distance > differences or diagonal - differences + i + length > last:
                    distance = np.int64(NONE)
                any_end |= distance != NONE
                held = held << BITS | distance
            if any_end:
                found.strand[used], found.diagonal[used], found.distances[used] = strand, diagonal, held
                used += 1
    return used
