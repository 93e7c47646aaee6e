"""From the windows of a strand to its ends: sorted, each once, with the smallest distance that a window gives it."""

from typing import NamedTuple

import numpy as np

from quire.simd.compiled import compiled, inlined

BITS = 4  # of a distance in the word that holds those of a window
NONE = (1 << BITS) - 1
NOWHERE = -(1 << 60)


class FoundWindows(NamedTuple):
    """Windows with ends, in the order of their strands.

    Attributes:
        strand: int64[], 2 * read + strand.
        diagonal: int64[], the one in the middle of the window.
        distances: int64[], of the diagonals from the lowest on, BITS each, NONE where there is no end.
    """

    strand: np.ndarray
    diagonal: np.ndarray
    distances: np.ndarray


class EndArrays(NamedTuple):
    """Room for ends: the arrays of `Ends`."""

    read: np.ndarray
    strand: np.ndarray
    end: np.ndarray
    distance: np.ndarray


@compiled
def room_for_pending(differences):
    """Ends of the windows so far that later windows may still change: the lowest diagonal, and distances from there."""
    pending = np.full(2 * differences + 2, NONE, np.int64)
    pending[0] = NOWHERE
    return pending


@compiled
def merge(found, first, last, length, differences, ends, used):
    """Append the ends of windows [first, last), all of one strand, whose read has `length` bases; returns their end."""
    strand = found.strand[first]
    diagonals = found.diagonal[first:last]
    pending = room_for_pending(differences)
    if last - first > 1:
        order = np.argsort(diagonals)
        for i in range(last - first):
            window = first + order[i]
            used = take(pending, found.diagonal[window], found.distances[window], strand, length, ends, used)
    else:
        used = take(pending, found.diagonal[first], found.distances[first], strand, length, ends, used)
    return flush(pending, strand, length, ends, used)


@inlined
def take(pending, diagonal, distances, strand, length, ends, used):
    """Take the next window of a strand, sorted by diagonal; appends the ends that lie before it."""
    width = len(pending) - 1
    low = diagonal - (width >> 1)
    if low != pending[0]:
        used = _append(pending, min(low - pending[0], width), strand, length, ends, used)
        moved = min(low - pending[0], width)
        for i in range(1, width + 1):
            pending[i] = pending[i + moved] if i + moved <= width else NONE
        pending[0] = low
    for i in range(1, width + 1):
        pending[i] = min(pending[i], distances & NONE)
        distances >>= BITS
    return used


@inlined
def flush(pending, strand, length, ends, used):
    """Append the ends that are left."""
    used = _append(pending, len(pending) - 1, strand, length, ends, used)
    pending[:] = NONE
    pending[0] = NOWHERE
    return used


@inlined
def _append(pending, count, strand, length, ends, used):
    """Append the ends of the first `count` diagonals that are pending."""
    read, strands, end, distance = ends
    for i in range(1, count + 1):
        if pending[i] != NONE:
            read[used], strands[used] = strand >> 1, strand & 1
            end[used], distance[used] = pending[0] + i - 1 + length, pending[i]
            used += 1
    return used
