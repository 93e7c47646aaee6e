"""Placing of clipped bases in a window of the reference: the best stretch of one diagonal, without gaps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.sequence.codes import COMPLEMENT
from quire.simd.compiled import compiled

MISMATCH = 4  # matching bases that compensate for a mismatch
WORD = 10  # bases of an exact match without which a diagonal is not searched
PLACED = 0.5  # least score of a placement, as a share of the bases to place
UNIQUE = 6  # least lead in score over the second placement
_SHORT_WORD, LEAST_WORDS = 5, 9  # distinct words of a stretch; a short tandem repeat has fewer and fits everywhere


class Fit(NamedTuple):
    """Where the reference continues like a sequence.

    Attributes:
        score: matching bases, less MISMATCH for each mismatch.
        second: the best score on another diagonal.
        first, last: the placed part of the sequence, half-open.
        start: position in the window of its first base, on the window's strand.
        forward: False if the reverse complement was placed; `first` and `last` still count on the sequence's strand.
    """

    score: int
    second: int
    first: int
    last: int
    start: int
    forward: bool


def place(window: NDArray[np.uint8], sequence: NDArray[np.uint8], both_strands: bool) -> Fit | None:
    """Return the best placement of a sequence (codes) in a window (codes); None if no word of it is there."""
    found = [(_best(window, sequence), True)]
    if both_strands:
        found.append((_best(window, COMPLEMENT[sequence[::-1]]), False))
    (best, forward), *others = sorted(found, key=lambda one: (-one[0][0], not one[1]))
    score, second, first, last, start = map(int, best)
    if score <= 0:
        return None
    second = max([second, *(int(other[0]) for other, _ in others)])
    if not forward:
        first, last = len(sequence) - last, len(sequence) - first
    return Fit(score, second, first, last, start, forward)


@compiled
def _best(window, sequence):
    """Return score, second score, first, last and start of the best stretch; ties go to the smallest diagonal."""
    size, length = len(window), len(sequence)
    answer = np.zeros(5, np.int64)
    if size < WORD or length < WORD:
        return answer
    mask = (1 << 2 * WORD) - 1
    # Words of the sequence: a small hash table of their last positions, chained.
    heads, chain = np.full(1 << 12, -1, np.int32), np.full(length, -1, np.int32)
    words = np.zeros(length, np.int64)
    value, filled = np.int64(0), 0
    for i in range(length):
        code = np.int64(sequence[i])
        filled = filled + 1 if code < 4 else 0
        value = (value << 2 | code & 3) & mask
        if filled >= WORD:
            words[i] = value
            slot = (value * 2654435761 >> 8) & 4095
            chain[i] = heads[slot]
            heads[slot] = i
    seen = np.zeros(size + length, np.bool_)
    value, filled = np.int64(0), 0
    for p in range(size):
        code = np.int64(window[p])
        filled = filled + 1 if code < 4 else 0
        value = (value << 2 | code & 3) & mask
        if filled < WORD:
            continue
        i = heads[(value * 2654435761 >> 8) & 4095]
        while i >= 0:
            diagonal = p - np.int64(i) + length
            if words[i] == value and not seen[diagonal]:
                seen[diagonal] = True
                score, first, last = _stretch(window, sequence, p - np.int64(i))
                if score > answer[0] or (score == answer[0] and p - i + first < answer[4]):
                    answer[1] = answer[0]
                    answer[0], answer[2], answer[3], answer[4] = score, first, last, p - i + first
                elif score > answer[1]:
                    answer[1] = score
            i = chain[i]
    if different_words(sequence[answer[2] : answer[3]]) < LEAST_WORDS:
        answer[:] = 0
    return answer


@compiled
def _stretch(window, sequence, shift):
    """Return score, first and last base of the best stretch of the sequence at `shift` in the window."""
    low, high = max(np.int64(0), -shift), min(np.int64(len(sequence)), len(window) - shift)
    score, begin = np.int64(0), low
    best, first, last = np.int64(0), low, low
    for i in range(low, high):
        if sequence[i] > 3:
            continue
        if score == 0:
            begin = i
        score += np.int64(1) if window[shift + i] == sequence[i] else np.int64(-MISMATCH)
        if score <= 0:
            score = np.int64(0)
        elif score > best:
            best, first, last = score, begin, i + 1
    return best, first, last


@compiled
def different_words(codes):
    """Count the distinct words of _SHORT_WORD bases."""
    seen = np.zeros(1 << 2 * _SHORT_WORD, np.bool_)
    value, filled, count = np.int64(0), 0, 0
    for code in codes:
        filled = filled + 1 if code < 4 else 0
        value = (value << 2 | np.int64(code) & 3) & ((1 << 2 * _SHORT_WORD) - 1)
        if filled >= _SHORT_WORD and not seen[value]:
            seen[value] = True
            count += 1
    return count
