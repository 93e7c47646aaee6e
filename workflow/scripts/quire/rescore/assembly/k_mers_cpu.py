"""Numbering of the k-mers of a region's sequences."""

from typing import NamedTuple

import numpy as np

from quire.simd.bits import load_bytes, trailing_zeros
from quire.simd.compiled import compiled, inlined

NONE = -1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
LETTERS = 5  # A, C, G, T and N
_COUNT, _OF_REFERENCE = range(2)  # entries of _Numbers.sizes


class _Numbers(NamedTuple):
    """Workspace of `number_k_mers`.

    Attributes:
        codes: uint8, of all sequences.
        numbers: int32 per code, the result.
        table: int32[slots], hash table of the k-mers' numbers.
        following: int32[k-mers, letters], number of the next k-mer, by its last base.
        example: int64[k-mers], a position of each k-mer in the codes.
        last_sequence: int32[k-mers], the last sequence in which it was seen.
        repeated: uint8[k-mers].
        sizes: int64[2], number of k-mers so far; number of the reference's k-mers, 0 if it repeats one.
    """

    codes: np.ndarray
    numbers: np.ndarray
    table: np.ndarray
    following: np.ndarray
    example: np.ndarray
    last_sequence: np.ndarray
    repeated: np.ndarray
    sizes: np.ndarray


@compiled
def number_k_mers(sequences, k, repeats_allowed):
    """Assign numbers to the distinct k-mers; those of the reference come first, in its order.

    Reads mostly repeat the reference: along it, the numbers are increased base by base, without any lookup. Elsewhere
    the current k-mer and the next base determine the next k-mer, which is hashed only if no earlier sequence continued
    with that base.

    Returns:
        int32 per code: number of the k-mer that starts there, NONE at the last k - 1 of a sequence; the number of
        k-mers, 0 if repeats are not allowed and the reference has one; uint8 per k-mer: 1 if some sequence contains it
        twice.
    """
    space = _number_space(sequences, k)
    length = sequences.ends[0] - sequences.starts[0] - k + 1
    for s in range(len(sequences.starts)):
        _number_sequence(space, sequences.starts, sequences.ends, s, k)
        if s == 0 and space.sizes[_COUNT] == length:
            space.sizes[_OF_REFERENCE] = length
        elif s == 0 and not repeats_allowed:
            return space.numbers, 0, space.repeated[:0]
    return space.numbers, space.sizes[_COUNT], space.repeated[: space.sizes[_COUNT]]


@compiled
def _number_space(sequences, k):
    """Allocate the workspace; a row of `following` is filled when its k-mer is found."""
    most = len(sequences.codes)
    slots = 1
    while slots < 2 * most + 1:
        slots *= 2
    return _Numbers(
        sequences.codes,
        np.full(most, NONE, np.int32),
        np.full(slots, NONE, np.int32),
        np.empty((most, LETTERS), np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.int32),
        np.zeros(most, np.uint8),
        np.zeros(2, np.int64),
    )


@inlined
def _number_sequence(space, starts, ends, s, k):
    """Assign numbers to the k-mers of a sequence."""
    # `last_sequence` shows which k-mers the sequence repeats. K-mers of the reference are entered there only after the
    # sequence has gone back on the reference: while it moves forward, it cannot meet one of them twice.
    codes, numbers, last_sequence = space.codes, space.numbers, space.last_sequence
    begin, stop = starts[s], ends[s] - k + 1
    reference_first, reference_size = starts[0], space.sizes[_OF_REFERENCE]
    front = np.int64(0)  # after the last of the reference's k-mers that the sequence has met
    went_back = False
    value, hashed, power = np.uint64(0), np.int64(NONE), np.uint64(1)
    for _ in range(k - 1):
        power *= _MULTIPLIER
    number = np.int64(NONE)
    first = begin
    while first < stop:
        if 0 <= number < reference_size - 1:
            ours, theirs = first + k - 1, reference_first + number + k
            run = equal_bases(codes, ours, ours + min(stop - first, reference_size - 1 - number), codes, theirs)
            if run > 0:
                for i in range(run):
                    numbers[first + i] = number + 1 + i
                if not went_back and number + 1 < front:
                    went_back = True
                    _enter_reference(space, begin, first, s)
                if went_back:
                    for i in range(number + 1, number + 1 + run):
                        if last_sequence[i] == s:
                            space.repeated[i] = 1
                        last_sequence[i] = s
                number += run
                front = max(front, number + 1)
                first += run
                continue
        before, base = number, np.int64(codes[first + k - 1])
        number = np.int64(space.following[before, base]) if before != NONE else np.int64(NONE)
        if number == NONE:
            if hashed == first - 1 and hashed != NONE:
                value = (value - np.uint64(codes[hashed] + 1) * power) * _MULTIPLIER + np.uint64(
                    codes[first + k - 1] + 1
                )
            else:
                value = _hash(codes, first, k)
            hashed = first
            number = _number_at(space, first, k, value)
            if before != NONE:
                space.following[before, base] = number
        if number < front and not went_back:
            went_back = True
            _enter_reference(space, begin, first, s)
        if number >= reference_size or went_back:
            if last_sequence[number] == s:
                space.repeated[number] = 1
            last_sequence[number] = s
        front = max(front, number + 1) if number < reference_size else front
        numbers[first] = number
        first += 1


@inlined
def equal_bases(codes, at, stop, reference, place):
    """Count the leading codes of codes[at:stop] that equal reference[place:], eight at a time."""
    most = min(stop - at, len(reference) - place)
    same = np.int64(0)
    while same + 8 <= most:
        word = load_bytes(codes, at + same) ^ load_bytes(reference, place + same)
        if word != 0:
            return same + (trailing_zeros(word) >> 3)
        same += 8
    while same < most and codes[at + same] == reference[place + same]:
        same += 1
    return same


@compiled
def _enter_reference(space, begin, end, s):
    """Enter sequence s as the last one with the reference's k-mers that start in [begin, end)."""
    for first in range(begin, end):
        if space.numbers[first] < space.sizes[_OF_REFERENCE]:
            space.last_sequence[space.numbers[first]] = s


@inlined
def _hash(codes, first, k):
    value = np.uint64(0)
    for i in range(k):
        value = value * _MULTIPLIER + np.uint64(codes[first + i] + 1)
    return value


@inlined
def _number_at(space, first, k, value):
    """Return the number of the k-mer at `first`, whose hash is `value`, after adding it if it is new."""
    table, last = space.table, len(space.table) - 1
    slot = np.int64((value ^ (value >> np.uint64(29))) & np.uint64(last))
    while table[slot] != NONE and not _same(space.codes, space.example[table[slot]], first, k):
        slot = (slot + 1) & last
    if table[slot] == NONE:
        number = space.sizes[_COUNT]
        space.sizes[_COUNT] += 1
        table[slot] = number
        space.example[number] = first
        space.last_sequence[number] = NONE
        for base in range(LETTERS):
            space.following[number, base] = NONE
    return np.int64(table[slot])


@inlined
def _same(codes, a, b, k):
    for i in range(k):  # noqa: SIM110 (Numba has no all() of a generator)
        if codes[a + i] != codes[b + i]:
            return False
    return True
