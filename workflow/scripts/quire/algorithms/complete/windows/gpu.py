"""Windows on a card: candidates are sorted, cut to windows that do not overlap, and solved by one thread each.

A window here is a candidate without the ends that an earlier candidate of the read has: at most 2k + 1 ends on 4k + 1
diagonals, so a row of the automaton fits in 32 bits.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quire.algorithms.complete import Axis, Ends
from quire.algorithms.complete.windows import FIRST_SHIFT, ORIENTED_SHIFT
from quire.device.card import THREADS, Card, CardArray, OutOfDeviceMemory
from quire.reads.gpu import CardReads

SOURCE = "quire/algorithms/complete/windows/windows.cu"
NO_CANDIDATE = np.uint64(0xFFFFFFFFFFFFFFFF)  # windows.cuh

DEFINES = {"FIRST_SHIFT": FIRST_SHIFT, "ORIENTED_SHIFT": ORIENTED_SHIFT, "THREADS": THREADS}


class CardAxis(NamedTuple):
    """`quire.algorithms.complete.Axis` on a card, with the numbers of its spans and islands (windows.cuh: Axis)."""

    text: CardArray
    ambiguous: CardArray
    spans: int
    islands: CardArray
    island_count: int


def upload_axis(card: Card, axis: Axis) -> CardAxis:
    """Copy an axis to a card."""
    ambiguous = np.ascontiguousarray(axis.ambiguous, np.int64).reshape(-1)
    islands = np.ascontiguousarray(axis.islands, np.int64)
    return CardAxis(
        card.upload(axis.text), card.upload(ambiguous), len(ambiguous) // 2, card.upload(islands), len(islands) - 1
    )


def windows_of(card: Card, candidates: list[CardArray]) -> CardArray:
    """Return the windows (uint64[n], sorted) of candidates (uint64[] each, in any order)."""
    candidates = card.xp.sort(card.xp.concatenate([*candidates, card.empty(0, np.uint64)]))
    marks = card.empty(len(candidates), np.int32)
    card.kernel(SOURCE, "mark_windows", **DEFINES).for_each(len(candidates), candidates, len(candidates), marks)
    offsets = card.offsets(marks)
    windows = card.empty(int(offsets[-1]), np.uint64)
    write = card.kernel(SOURCE, "write_windows", **DEFINES)
    write.for_each(len(candidates), candidates, len(candidates), offsets, windows)
    return windows


def find_ends(
    card: Card, windows: CardArray, reads: CardReads, axis: CardAxis, differences: int, room: int, first_read: int
) -> Iterator[Ends]:
    """Yield the ends (arrays on the card) of windows of `windows_of` in their order, in parts of about `room`.

    Reads are numbered from `first_read` on.
    """
    step = max(room // (2 * differences + 1), 1)
    begin = 0
    while begin < len(windows):
        ends = None
        try:
            ends = _find_part(card, windows[begin : begin + step], reads, axis, differences, first_read)
        except OutOfDeviceMemory:
            if step == 1:
                raise
        if ends is None:
            card.release()
            step //= 2
        else:
            yield ends
            begin += step


def _find_part(
    card: Card, windows: CardArray, reads: CardReads, axis: CardAxis, differences: int, first_read: int
) -> Ends:
    count = len(windows)
    distances, numbers = card.empty(count, np.uint64), card.empty(count, np.int32)
    solve = card.kernel(SOURCE, "solve_windows", **DEFINES)
    solve.for_each(count, reads, axis, windows, count, differences, distances, numbers)
    offsets = card.offsets(numbers)
    room = int(offsets[-1])
    ends = Ends(
        card.empty(room, np.int64), card.empty(room, np.uint8), card.empty(room, np.int64), card.empty(room, np.uint8)
    )
    write = card.kernel(SOURCE, "write_ends", **DEFINES)
    write.for_each(count, windows, distances, offsets, count, first_read, *ends)
    return ends
