"""Windows with Numba: candidates are joined to windows, and LANES windows are solved at a time, each in a vector lane.

A window is a word like a candidate, of up to DIAGONALS - 2k ends. Bit x of a row of the automaton (Wu and Manber 1992)
is diagonal x, on which base i of the read is at position base + x + i of the axis. 32 bases take two words, *planes* of
the low and the high bits of their codes, and a third plane marks bases that match nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import BatchArrays, Ends
from quire.algorithms.complete.windows import DIAGONALS, FIRST_SHIFT, ORIENTED_SHIFT
from quire.sequence.words_cpu import packed_word
from quire.simd.bits import copy_items, prefetch, trailing_zeros
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind, interval_of
from quire.simd.vectors import any_bit, bit_and, bit_or, bit_xor, load, shift_left, shift_right, splat, store, subtract

ONE = np.uint64(1)
DIGIT = 11  # bits by which candidates are sorted at a time
DIGIT_MASK = np.uint64((1 << DIGIT) - 1)
LANES = 16  # of uint32, one AVX-512 register
WIDTH = np.uint64((1 << FIRST_SHIFT) - 1)
PLACE = np.uint64((1 << (ORIENTED_SHIFT - FIRST_SHIFT)) - 1)
LOW, HIGH, UNKNOWN, PLANES = 0, 1, 2, 3


class Lanes(NamedTuple):
    """Windows that are solved together; W is the number of words of 32 bases that the longest read takes.

    Attributes:
        axis: uint32[W + 1, PLANES, LANES] flat, the bases of the axis from diagonal 0 on.
        reads: uint32[W, PLANES, LANES] flat, the bases of the reads.
        starts: uint32[LANES], the first row of a window: its diagonals.
        lengths: int64[LANES], bases of the reads, 0 for a lane without a window.
        unfinished: uint32[LANES], all ones in a lane whose read has not ended.
        rows: uint32[k + 1, LANES] flat, the last row of each lane for each number of differences.
        last: uint32[k + 1, LANES] flat, scratch.
    """

    axis: np.ndarray
    reads: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    unfinished: np.ndarray
    rows: np.ndarray
    last: np.ndarray


@inlined
def fields_of(window):
    """Return the oriented read, the first end and the number of ends of a candidate or window."""
    oriented = np.int64(window >> np.uint64(ORIENTED_SHIFT))
    return oriented, np.int64(window >> np.uint64(FIRST_SHIFT) & PLACE), np.int64(window & WIDTH) + 1


@compiled
def room_for_lanes(longest, differences):
    """Allocate the lanes for windows of reads of at most `longest` bases."""
    words, levels = (longest + 31) >> 5, differences + 1
    return Lanes(
        np.zeros((words + 1) * PLANES * LANES, np.uint32), np.zeros(words * PLANES * LANES, np.uint32),
        np.zeros(LANES, np.uint32), np.zeros(LANES, np.int64), np.zeros(LANES, np.uint32),
        np.zeros(levels * LANES, np.uint32), np.zeros(levels * LANES, np.uint32),
    )  # fmt: skip


@inlined
def place_window(lanes, lane, batch, fields):
    """Copy the packed bases of a window (`fields_of`) and of its read to a lane; `solve` spreads them to planes.

    Return True if a base of either matches nothing.
    """
    oriented, first, count = fields
    read, side = oriented >> 1, oriented & 1
    length, differences = batch.offsets[read + 1] - batch.offsets[read], batch.differences
    word, packed, text, unknown = batch.word_offsets[read], batch.packed, batch.text, batch.unknown
    axis, reads = lanes.axis, lanes.reads
    base = first - differences - length
    words = (length + 31) >> 5
    for i in range(words + 1):
        begin = base + 32 * i
        if begin >= 0:
            bases = packed_word(text, begin)
        else:
            bases = text[0] << np.uint64(-2 * begin) if begin > -32 else np.uint64(0)
        item = i * PLANES * LANES + lane
        axis[item], axis[item + LANES] = np.uint32(bases), np.uint32(bases >> np.uint64(32))
    for i in range(words):
        bases = packed[side, word + i]
        item = i * PLANES * LANES + lane
        reads[item], reads[item + LANES] = np.uint32(bases), np.uint32(bases >> np.uint64(32))
    lanes.starts[lane] = np.uint32((np.uint64(1) << np.uint64(count + 2 * differences)) - np.uint64(1))
    lanes.lengths[lane] = length
    run = first_behind(unknown, base)
    some = run < len(unknown) and unknown[run, 0] < first + count + differences
    return some or batch.ambiguous[read] or batch.islands[interval_of(batch.islands, first - 1)] > base


@compiled
def mark_unknown(lanes, batch, windows):
    """Mark the bases in windows that match nothing: Ns, ambiguous ones, and those before the window's island.

    A mismatch before the island costs as much as an insertion at its begin, so the distances are those within it.
    """
    for plane in range(UNKNOWN, len(lanes.axis) // LANES, PLANES):
        lanes.axis[plane * LANES : (plane + 1) * LANES] = 0
    for plane in range(UNKNOWN, len(lanes.reads) // LANES, PLANES):
        lanes.reads[plane * LANES : (plane + 1) * LANES] = 0
    one = np.uint32(1)
    for lane in range(len(windows)):
        oriented, first, _ = fields_of(windows[lane])
        read, side, length = oriented >> 1, oriented & 1, lanes.lengths[lane]
        for i in range(length if batch.ambiguous[read] else 0):
            if batch.codes[side, batch.offsets[read] + i] > 3:
                lanes.reads[((i >> 5) * PLANES + UNKNOWN) * LANES + lane] |= one << np.uint32(i & 31)
        base = first - batch.differences - length
        low = batch.islands[interval_of(batch.islands, first - 1)]
        run = first_behind(batch.unknown, base)
        for i in range(32 * (((length + 31) >> 5) + 1)):
            while run < len(batch.unknown) and batch.unknown[run, 1] <= base + i:
                run += 1
            if base + i < low or (run < len(batch.unknown) and batch.unknown[run, 0] <= base + i):
                lanes.axis[((i >> 5) * PLANES + UNKNOWN) * LANES + lane] |= one << np.uint32(i & 31)


@inlined
def _all(value):
    """Return a uint32 in every lane."""
    return splat(np.uint32(value), LANES)


@inlined
def _even_bits(words):
    """Return the 16 even bits of every lane, side by side in its low half."""
    words = bit_and(words, _all(0x55555555))
    words = bit_and(bit_or(words, shift_right(words, _all(1))), _all(0x33333333))
    words = bit_and(bit_or(words, shift_right(words, _all(2))), _all(0x0F0F0F0F))
    words = bit_and(bit_or(words, shift_right(words, _all(4))), _all(0x00FF00FF))
    return bit_and(bit_or(words, shift_right(words, _all(8))), _all(0x0000FFFF))


@inlined
def _spread(memory, words):
    """Spread packed bases, 16 in each of two words, to planes of 32."""
    for item in range(0, words * PLANES * LANES, PLANES * LANES):
        first, second = load(memory, item, LANES), load(memory, item + LANES, LANES)
        low = bit_or(_even_bits(first), shift_left(_even_bits(second), _all(16)))
        first, second = shift_right(first, _all(1)), shift_right(second, _all(1))
        store(memory, item, low)
        store(memory, item + LANES, bit_or(_even_bits(first), shift_left(_even_bits(second), _all(16))))


@inlined
def _from(memory, item, shift):
    """Return the bits of a plane from bit `shift` of a word on, the rest from the next word."""
    here, following = load(memory, item, LANES), load(memory, item + PLANES * LANES, LANES)
    return bit_or(shift_right(here, shift), shift_left(shift_left(following, _all(1)), bit_xor(shift, _all(31))))


@inlined
def _spread_bit(memory, item, shift):
    """Return all ones where bit `shift` of a word is set, else zero."""
    return subtract(_all(0), bit_and(shift_right(load(memory, item, LANES), shift), _all(1)))


@inlined
def _next(row, equal, above, beside):
    """Return a row after one more base of the read."""
    # `above` is the previous row with one difference less: a base of the read is substituted, or inserted, which moves
    # to the diagonal below. `beside` is this row with one difference less: a base of the axis is deleted.
    same = bit_or(bit_and(row, equal), above)
    return bit_or(same, bit_or(shift_right(above, _all(1)), shift_left(beside, _all(1))))


@compiled
def solve(lanes, differences, any_unknown):
    """Fill `lanes.rows` with the last rows of the windows; return True if any row has a diagonal alive."""
    axis, reads, lengths, unfinished, rows, last = (
        lanes.axis, lanes.reads, lanes.lengths, lanes.unfinished, lanes.rows, lanes.last,
    )  # fmt: skip
    words = (lengths.max() + 31) >> 5
    _spread(axis, words + 1)
    _spread(reads, words)
    rows[:] = 0
    for lane in range(LANES):
        unfinished[lane] = np.uint32(0xFFFFFFFF if lengths[lane] > 0 else 0)
    r0 = r1 = r2 = r3 = r4 = r5 = load(lanes.starts, 0, LANES)
    begin, found = np.int64(0), False
    while True:
        end = np.int64(1) << 60
        for lane in range(LANES):
            if begin < lengths[lane] < end:
                end = lengths[lane]
        if end == np.int64(1) << 60:
            return found
        work = load(unfinished, 0, LANES)
        for i in range(begin, end):
            item, shift = (i >> 5) * PLANES * LANES, _all(i & 31)
            other = bit_or(
                bit_xor(_from(axis, item, shift), _spread_bit(reads, item, shift)),
                bit_xor(_from(axis, item + HIGH * LANES, shift), _spread_bit(reads, item + HIGH * LANES, shift)),
            )
            if any_unknown:
                unknown = _spread_bit(reads, item + UNKNOWN * LANES, shift)
                other = bit_or(other, bit_or(unknown, _from(axis, item + UNKNOWN * LANES, shift)))
            equal = bit_xor(other, _all(0xFFFFFFFF))
            before, r0 = r0, bit_and(r0, equal)
            alive = r0
            if differences >= 1:
                old = r1
                r1 = _next(r1, equal, before, r0)
                before, alive = old, r1
            if differences >= 2:
                old = r2
                r2 = _next(r2, equal, before, r1)
                before, alive = old, r2
            if differences >= 3:
                old = r3
                r3 = _next(r3, equal, before, r2)
                before, alive = old, r3
            if differences >= 4:
                old = r4
                r4 = _next(r4, equal, before, r3)
                before, alive = old, r4
            if differences >= 5:
                r5 = _next(r5, equal, before, r4)
                alive = r5
            if i & 3 == 3 and not any_bit(bit_and(alive, work)):
                return found
        for level in range(differences + 1):
            row = r0 if level == 0 else r1 if level == 1 else r2 if level == 2 else r3 if level == 3 else r4
            store(last, level * LANES, r5 if level == 5 else row)
        for lane in range(LANES):
            if lengths[lane] == end:
                unfinished[lane] = 0
                for level in range(differences + 1):
                    rows[level * LANES + lane] = last[level * LANES + lane]
                    found |= rows[level * LANES + lane] != 0
        begin = end


@inlined
def encode_candidate(oriented, first, last):
    """Return the word of a candidate; see the package."""
    word = np.uint64(oriented) << np.uint64(ORIENTED_SHIFT) | np.uint64(first) << np.uint64(FIRST_SHIFT)
    return word | np.uint64(last - first)


@inlined
def candidate_at(islands, oriented, base, end, differences):
    """Return the candidate of a read that would end at `end` without gaps, and whether there is one.

    `base` is a position on the axis where the read is aligned; the ends lie in its island.
    """
    island = interval_of(islands, base)
    first = max(end - differences, islands[island] + 1)
    last = min(end + differences, islands[island + 1])
    return encode_candidate(oriented, first, last), first <= last


def join_candidates(candidates: NDArray[np.uint64], differences: int) -> NDArray[np.uint64]:
    """Join candidates (uint64[n], which are overwritten) to windows (uint64[], sorted)."""
    sort_candidates(candidates)
    return candidates[: _join(candidates, DIAGONALS - 2 * differences)]


@compiled
def sort_candidates(candidates):
    """Sort candidates in place by oriented read and first end, digit by digit from the lowest on.

    Digits in which all candidates agree are skipped.
    """
    every, some = ~np.uint64(0), np.uint64(0)
    for candidate in candidates:
        every &= candidate
        some |= candidate
    source, target = candidates, np.empty_like(candidates)
    starts = np.empty(1 << DIGIT, np.int64)
    passes = 0
    for shift in range(FIRST_SHIFT, 64, DIGIT):
        if not (every ^ some) >> np.uint64(shift) & DIGIT_MASK:
            continue
        starts[:] = 0
        for candidate in source:
            starts[candidate >> np.uint64(shift) & DIGIT_MASK] += 1
        before = 0
        for digit in range(len(starts)):
            starts[digit], before = before, before + starts[digit]
        for candidate in source:
            digit = candidate >> np.uint64(shift) & DIGIT_MASK
            target[starts[digit]] = candidate
            starts[digit] += 1
        source, target = target, source
        passes += 1
    if passes & 1:
        copy_items(target, 0, source, 0, len(source))


@compiled
def _join(candidates, most):
    """Join sorted candidates that overlap to windows of at most `most` ends; return the number of windows."""
    used = 0
    owner, first, reached = np.int64(-1), np.int64(0), np.int64(0)  # of the current window
    for candidate in candidates:
        oriented, begin, count = fields_of(candidate)
        end = begin + count
        if oriented == owner:
            if end <= reached:
                continue
            # Candidates of two islands never overlap, but they may touch.
            if begin < reached:
                begin = reached
                if end - first <= most:
                    reached = end
                    candidates[used - 1] = encode_candidate(owner, first, end - 1)
                    continue
        owner, first, reached = oriented, begin, end
        candidates[used] = encode_candidate(owner, first, end - 1)
        used += 1
    return used


def find_ends(windows: NDArray[np.uint64], batch: BatchArrays) -> Ends:
    """Return the ends that lie in windows (uint64[n]), in the order of the windows."""
    room = int((windows & WIDTH).sum()) + len(windows)
    ends = Ends(np.empty(room, np.int64), np.empty(room, np.uint8), np.empty(room, np.int64), np.empty(room, np.uint8))
    count = _fill(windows, batch, ends)
    return Ends._make(array[:count] for array in ends)


@compiled
def _fill(windows, batch, ends):
    """Write the ends of all windows; return the number of ends."""
    offsets, longest = batch.offsets, np.int64(0)
    for window in windows:
        read = fields_of(window)[0] >> 1
        longest = max(longest, offsets[read + 1] - offsets[read])
    return _fill_in_lanes(windows, batch, ends, room_for_lanes(longest, batch.differences), longest)


@compiled
def _fill_in_lanes(windows, batch, ends, lanes, longest):
    """Do the same for reads of at most `longest` bases, in lanes that the caller holds: here they are borrowed."""
    batch, lanes = borrowed(batch), borrowed(lanes)
    text, differences = batch.text, batch.differences
    used = 0
    for begin in range(0, len(windows), LANES):
        end = min(begin + LANES, len(windows))
        for window in range(end, min(end + LANES, len(windows))):
            prefetch(text, max(fields_of(windows[window])[1] - longest, 0) >> 5)
        any_unknown = False
        for lane in range(LANES):
            if begin + lane < end:
                any_unknown |= place_window(lanes, lane, batch, fields_of(windows[begin + lane]))
            else:
                lanes.lengths[lane] = 0
        if any_unknown:
            mark_unknown(lanes, batch, windows[begin:end])
        if solve(lanes, differences, any_unknown):
            used = _append(lanes, windows[begin:end], differences, ends, used)
    return used


@inlined
def _append(lanes, windows, differences, ends, used):
    """Append the ends of windows that were solved in the lanes from 0 on; return the number of all ends."""
    reads, strands, places, distances = ends
    rows = lanes.rows
    for lane in range(len(windows)):
        oriented, first, count = fields_of(windows[lane])
        alive = np.uint64(rows[differences * LANES + lane]) >> np.uint64(differences) & (ONE << np.uint64(count)) - ONE
        while alive:
            x, level = trailing_zeros(alive), 0
            alive &= alive - ONE
            while not rows[level * LANES + lane] >> np.uint32(differences + x) & np.uint32(1):
                level += 1
            reads[used], strands[used] = oriented >> 1, oriented & 1
            places[used], distances[used] = first + x, level
            used += 1
    return used
