"""Bundles: hits of a read on close diagonals of one strand and island.

Most bundles of short seeds are *alone*: no hit of the same strand is within LARGEST_GAP, so they are not joined with
another bundle. They usually have a single hit, a lone hit, and nearly all differ so much from the read that they need
no closer inspection. A lone hit must therefore be cheap: its island is found only if it matters (`find_island`).
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.seeding import DIAGONAL_BIAS
from quire.algorithms.seeding.steps_cpu import seed_end, spread
from quire.align.parameters import BUNDLE_GAP, LARGEST_GAP, MOST_CANDIDATES, WIDEST_BUNDLE
from quire.simd.bits import count_ones, prefetch, trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.search import interval_of

# Hits on close diagonals of one strand and island.
BUNDLE = np.dtype(
    [
        ("seeds", np.uint64),  # a bit for each seed of the read
        ("strand", np.int64),
        ("island", np.int64),  # below 0 for a lone hit whose island is not known, or that is not within one
        ("lowest", np.int64),  # lowest, highest and most frequent diagonal
        ("highest", np.int64),
        ("most_frequent", np.int64),
        ("differing", np.int64),  # mismatches on the most frequent diagonal; below 0 for a bundle that is not alone
    ],
    align=True,  # otherwise Numba copies some fields byte by byte
)


class IslandAxis(NamedTuple):
    """The axis to which reads are mapped.

    Attributes:
        text: uint64[], packed bases.
        island_axis: int64[islands + 1], where the islands begin, then the end of the axis.
        alternate: uint8[islands], 1 for islands of alternate contigs; empty if there are none.
    """

    text: np.ndarray
    island_axis: np.ndarray
    alternate: np.ndarray


class Query(NamedTuple):
    """One read and how it was seeded.

    Attributes:
        length, name_hash: number of its bases, hash of its name.
        packed: uint64[], the packed bases of all reads.
        forward, reverse: indices in `packed` of the first words of its strands.
        seed_length, stride: least length of its seeds, and number of bases between their ends.
    """

    length: int
    name_hash: int
    packed: np.ndarray
    forward: int
    reverse: int
    seed_length: int
    stride: int


_UNKNOWN, _NOT_ALONE = -1, -1
_PAIRS = np.uint64(0x5555555555555555)  # the lower bit of each base in a word
_NO_DIAGONAL = np.int64(-(1 << 62))


@inlined
def bundle_hits(hits, first, last_hit, query, axis, bundles, used):
    """Group the sorted hits [first, last_hit) of a read into bundles; return the end of the bundles.

    Bundles are written to bundles[used:], and the parts of the axis to compare them with are prefetched.
    """
    begin = used
    used -= 1
    length, seed_length, island_axis = query.length, query.seed_length, axis.island_axis
    step = spread(length, seed_length, query.stride)
    current, current_count, best_count = _NO_DIAGONAL, 0, 0
    apart_from_next, first_of_group = True, used + 1
    for i in range(first, last_hit):
        # `place` is strand and diagonal as one number, which jumps where the strand changes.
        place, apart = hits[i] >> np.uint64(8), apart_from_next
        first_of_group = used + 1 if apart else first_of_group
        apart_from_next = i + 1 == last_hit or (hits[i + 1] >> np.uint64(8)) - place > np.uint64(LARGEST_GAP)
        strand = np.int64(hits[i] >> np.uint64(63))
        diagonal = np.int64((hits[i] << np.uint64(1)) >> np.uint64(9)) - DIAGONAL_BIAS
        ordinal = hits[i] & np.uint64(255)
        if apart and apart_from_next:
            used += 1
            _begin_bundle(bundles, used, strand, np.int64(_UNKNOWN), diagonal, axis.text, length)
            bundles[used].seeds, bundles[used].highest = np.uint64(1) << ordinal, diagonal
            bundles[used].differing = 0
            continue
        last = diagonal + min(seed_length + np.int64(ordinal) * step, length)
        on_axis = last >= seed_length and last <= island_axis[-1]
        if on_axis and (
            used < begin or not _belongs(bundles[used], strand, diagonal, last - seed_length, last, island_axis)
        ):
            island = interval_of(island_axis, last - seed_length)
            on_axis = last <= island_axis[island + 1]  # a match across the border of two islands does not count
            if on_axis:
                used += 1
                _begin_bundle(bundles, used, strand, np.int64(island), diagonal, axis.text, length)
                bundles[used].seeds, bundles[used].differing = np.uint64(0), _NOT_ALONE
                current, current_count, best_count = diagonal, 0, 0
        if on_axis:
            bundles[used].highest = diagonal
            bundles[used].seeds |= np.uint64(1) << ordinal
            current_count = current_count + 1 if diagonal == current else 1
            current = diagonal
            if current_count > best_count:
                best_count = current_count
                bundles[used].most_frequent = current
        if apart_from_next and used == first_of_group:
            bundles[used].differing = 0
    return used + 1


@inlined
def find_island(bundles, i, query, island_axis):
    """Write the island of the bundle of a lone hit; return False if its seed is not within one."""
    seed_length = query.seed_length
    last = bundles[i].lowest + seed_end(trailing_zeros(bundles[i].seeds), query.length, seed_length, query.stride)
    if last < seed_length or last > island_axis[-1]:
        return False
    island = interval_of(island_axis, last - seed_length)
    if last > island_axis[island + 1]:
        return False
    bundles[i].island = island
    return True


@compiled
def compare_alone(bundles, query, axis, near, limit, numbers, listed):
    """Compare the read with the axis on the diagonals of lone bundles, and list the bundles that may matter.

    Most hits end here, so the loop is separate and keeps everything in registers. Lone hits with more than `limit`
    mismatches are not listed. Counting stops above the limit also for a bundle that is listed in any case. `near` is
    the span of an island on the axis; `numbers` (int64[], more than `limit`) is scratch; `listed` (int64[], as long as
    `bundles`) receives the indices of the listed bundles.

    Returns:
        The number of listed bundles, and the smallest number of mismatches that at least MOST_CANDIDATES lone bundles
        on the island `near` do not exceed; `limit` if there is none below it.
    """
    length, packed, text = query.length, query.packed, axis.text
    numbers[: limit + 1] = 0
    count = 0
    one, last = np.uint64(1), np.uint64((length - 1) >> 5)  # `last` is the index of the read's last word
    second = min(one, last)
    mask = _PAIRS >> np.uint64(-2 * length & 63)  # for the last word
    first_mask, second_mask = mask if last == 0 else _PAIRS, mask if last == 1 else _PAIRS
    second_mask = np.uint64(0) if last == 0 else second_mask
    forward, reverse = np.uint64(query.forward), np.uint64(query.reverse)
    forward_1, forward_2 = packed[forward], packed[forward + second]
    reverse_1, reverse_2 = packed[reverse], packed[reverse + second]
    end = np.uint64(max(axis.island_axis[-1] - length + 1, 0))
    for i in range(len(bundles)):
        listed[count] = i
        if bundles[i].differing < 0:
            count += 1
            continue
        diagonal, differing = bundles[i].most_frequent, limit + 1
        # Unsigned, since Numba checks signed indices for negative values; a negative diagonal becomes too large.
        if np.uint64(diagonal) < end:
            is_forward = bundles[i].strand == 0
            at, shift = np.uint64(diagonal) >> np.uint64(5), np.uint64(2 * (diagonal & 31))
            rest = np.uint64(63) - shift
            low, middle = text[at], text[at + second]
            difference = (forward_1 if is_forward else reverse_1) ^ (low >> shift | text[at + one] << one << rest)
            differing = count_ones((difference | difference >> one) & first_mask)
            difference = (forward_2 if is_forward else reverse_2) ^ (
                middle >> shift | text[at + second + one] << one << rest
            )
            differing += count_ones((difference | difference >> one) & second_mask)
            number = np.uint64(2)
            while number <= last and differing <= limit:
                difference = packed[(forward if is_forward else reverse) + number] ^ (
                    text[at + number] >> shift | text[at + number + one] << one << rest
                )
                differing += count_ones((difference | difference >> one) & (mask if number == last else _PAIRS))
                number += one
            if differing <= limit:
                numbers[differing] += near[0] <= diagonal and diagonal + length <= near[1]
        bundles[i].differing = differing
        count += differing <= limit or bundles[i].island >= 0
    together = np.int64(0)
    for differing in range(limit):
        together += numbers[differing]
        if together >= MOST_CANDIDATES:
            return count, np.int64(differing)
    return count, limit


@inlined
def _begin_bundle(bundles, i, strand, island, diagonal, text, length):
    """Write a bundle of one diagonal, and prefetch the axis there."""
    bundles[i].strand, bundles[i].island = strand, island
    bundles[i].lowest, bundles[i].most_frequent = diagonal, diagonal
    prefetch(text, diagonal >> 5)
    prefetch(text, (diagonal + length) >> 5)


@inlined
def _belongs(bundle, strand, diagonal, begin, last, island_axis):
    """Return True if a hit whose seed is [begin, last) on the axis belongs to the bundle of the previous hit."""
    if strand != bundle.strand or diagonal - bundle.highest > BUNDLE_GAP or diagonal - bundle.lowest > WIDEST_BUNDLE:
        return False
    return begin >= island_axis[bundle.island] and last <= island_axis[bundle.island + 1]
