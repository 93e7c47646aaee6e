"""Windows with Numba: candidates are joined to windows, and LANES windows are solved at a time.

A window is a word like a candidate, of up to DIAGONALS - 2k ends.
"""

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Ends
from quire.algorithms.complete.cpu_arrays import BatchArrays
from quire.algorithms.complete.windows import DIAGONALS, FIRST_SHIFT, ORIENTED_SHIFT
from quire.algorithms.complete.windows.cpu_lanes import (
    LANES,
    WIDTH,
    fields_of,
    mark_unknown,
    place_window,
    room_for_lanes,
    solve,
)
from quire.simd.bits import prefetch, trailing_zeros
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import interval_of

ONE = np.uint64(1)
FEW = 64  # candidates that are sorted by insertion
DIGIT = 8  # bits by which candidates are sorted at a time
DIGIT_MASK = np.uint64((1 << DIGIT) - 1)


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
    """Sort candidates in place by oriented read and first end; the candidates of each read fit in the cache."""
    other = np.empty_like(candidates)
    owners = np.uint64(ORIENTED_SHIFT)
    grouped = True
    for i in range(1, len(candidates)):
        grouped &= candidates[i] >> owners >= candidates[i - 1] >> owners
    if not grouped:
        _sort_digits(candidates, other, 0, len(candidates), ORIENTED_SHIFT)
    first = 0
    while first < len(candidates):
        last = first + 1
        while last < len(candidates) and candidates[last] >> owners == candidates[first] >> owners:
            last += 1
        if last - first > FEW:
            _sort_digits(candidates, other, first, last, FIRST_SHIFT)
        else:
            for i in range(first + 1, last):
                candidate, place = candidates[i], i
                while place > first and candidates[place - 1] > candidate:
                    candidates[place] = candidates[place - 1]
                    place -= 1
                candidates[place] = candidate
        first = last


@compiled
def _sort_digits(candidates, other, first, last, low_bit):
    """Sort candidates [first, last) by their bits from `low_bit` on, digit by digit; `other` is scratch.

    Digits in which all candidates agree are skipped.
    """
    every, some = ~np.uint64(0), np.uint64(0)
    for i in range(first, last):
        every &= candidates[i]
        some |= candidates[i]
    source, target, passes = candidates, other, 0
    starts = np.empty(1 << DIGIT, np.int64)
    for shift in range(low_bit, 64, DIGIT):
        if not (every ^ some) >> np.uint64(shift) & DIGIT_MASK:
            continue
        starts[:] = 0
        for i in range(first, last):
            starts[source[i] >> np.uint64(shift) & DIGIT_MASK] += 1
        before = first
        for digit in range(len(starts)):
            starts[digit], before = before, before + starts[digit]
        for i in range(first, last):
            digit = source[i] >> np.uint64(shift) & DIGIT_MASK
            target[starts[digit]] = source[i]
            starts[digit] += 1
        source, target = target, source
        passes += 1
    if passes & 1:
        candidates[first:last] = other[first:last]


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
    given = batch
    batch = borrowed(given)
    offsets, text, differences = batch.offsets, batch.text, batch.differences
    longest = np.int64(0)
    for window in windows:
        read = fields_of(window)[0] >> 1
        longest = max(longest, offsets[read + 1] - offsets[read])
    room = room_for_lanes(longest, differences)
    lanes = borrowed(room)
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
