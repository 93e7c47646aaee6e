"""Votes of a mate's k-mers for the diagonals of a window of the axis: where in it the mate may lie.

A k-mer is a number as the packed axis has it: its first base in the lowest bits. Which k-mers a mate has stands in a
set of bits, which the processor's nearest cache holds, as a table of places it does not.
"""

import numpy as np

from quire.align.parameters import (
    BAND_MARGIN,
    FEWEST_KMERS,
    KMER,
    MONOTONOUS_KMERS,
    MOST_MONOTONOUS_KMERS,
    SECOND_KMERS,
)
from quire.sequence.words import packed_word
from quire.simd.compiled import compiled, inlined

KMERS = 1 << (2 * KMER)
KMERS_IN_WORD = 32 - KMER + 1  # whole ones of 32 bases
_MASK = np.uint64(KMERS - 1)
_SIX, _WITHIN, _ONE, _TWO = np.uint64(6), np.uint64(63), np.uint64(1), np.uint64(2)


@inlined
def has_kmer(known, kmer):
    """Whether the bit of a k-mer (uint64) is set."""
    return (known[kmer >> _SIX] >> (kmer & _WITHIN)) & _ONE != 0


@compiled
def learn(codes, strand, begin, end, places, known):
    """Take up the k-mers without N of a mate, codes[strand, begin:end]; returns whether it is a microsatellite.

    Args:
        codes: uint8[2, flat].
        places: int16[KMERS], becomes the last place of each k-mer in the mate.
        known: uint64[KMERS / 64], bits of k-mers, all 0 before.
    """
    kmer, valid, different, whole = np.uint64(0), 0, 0, 0
    for i in range(begin, end):
        code = codes[strand, i]
        valid = valid + 1 if code < 4 else 0
        kmer = kmer >> _TWO | np.uint64(code & 3) << np.uint64(2 * KMER - 2)
        if valid >= KMER:
            whole += 1
            different += not has_kmer(known, kmer)
            known[kmer >> _SIX] |= _ONE << (kmer & _WITHIN)
            places[kmer] = i - begin - KMER + 1
    return _is_monotonous(different, whole)


@compiled
def forget(codes, strand, begin, end, known):
    """Clear the bits that `learn` set for the same mate."""
    kmer = np.uint64(0)
    for i in range(begin, end):
        kmer = kmer >> _TWO | np.uint64(codes[strand, i] & 3) << np.uint64(2 * KMER - 2)
        if i - begin >= KMER - 1:
            known[kmer >> _SIX] = np.uint64(0)


@inlined
def _is_monotonous(different, whole):
    """Whether a mate of `whole` k-mers without N, `different` of them different, is a microsatellite or nearly."""
    return different <= max(MONOTONOUS_KMERS, min(MOST_MONOTONOUS_KMERS, whole // 2))


@compiled
def best_diagonals(length, monotonous, text, begin, end, places, known, votes, reached):
    """Diagonals (relative to `begin`) with most k-mers in common; -1 for none.

    The best is the first to reach the most. The second is the lowest of those that have most of all beyond the band of
    the best (for a microsatellite beyond twice as much), if they are at most SECOND_KMERS less.

    Args:
        length: of the mate; monotonous: what `learn` said of it, which took it up in `places` and `known`.
        text: the packed axis, of which the window is [begin, end).
        votes: int16[end - begin + length or more], all 0 before and after.
        reached: int64[], as long, scratch.
    """
    if end - begin < KMER or length < KMER:
        return np.int64(-1), np.int64(-1)
    diagonals = end - begin + length
    second = np.int64(-1)
    if monotonous:
        best, best_votes = _count_known(length, text, begin, end, known, votes)
        second_votes = max(FEWEST_KMERS, best_votes - SECOND_KMERS) - 1
        if best >= 0:
            # A place that fits both bands as well would be found twice, and look like one.
            for diagonal in range(diagonals):
                if votes[diagonal] > second_votes and abs(diagonal - best) > 2 * BAND_MARGIN:
                    second, second_votes = np.int64(diagonal), np.int64(votes[diagonal])
    else:
        best, best_votes, count = _vote(text, begin, end, places, known, votes, reached)
        second_votes = max(FEWEST_KMERS, best_votes - SECOND_KMERS) - 1
        for item in range(count):
            diagonal = reached[item]
            number = np.int64(votes[diagonal])
            if abs(diagonal - best) > BAND_MARGIN and (
                number > second_votes or (number == second_votes and 0 <= diagonal < second)
            ):
                second, second_votes = diagonal, number
    votes[:diagonals] = 0
    return best, second


@inlined
def _vote(text, begin, end, places, known, votes, reached):
    """Let the k-mers of a window vote, each for the diagonal of its last place in the mate.

    Returns the diagonal that is the first to reach the most votes, and these, -1 if none has FEWEST_KMERS; and how many
    do, which stand in `reached`.
    """
    best, best_votes, count = np.int64(-1), np.int64(FEWEST_KMERS - 1), 0
    kmers = end - begin - KMER + 1
    for first in range(0, kmers, KMERS_IN_WORD):
        word = packed_word(text, begin + first)
        for place in range(first, min(first + KMERS_IN_WORD, kmers)):
            kmer = word & _MASK
            word >>= _TWO
            if has_kmer(known, kmer):
                diagonal = place - np.int64(places[kmer])
                if diagonal >= 0:
                    number = np.int64(votes[diagonal]) + 1
                    votes[diagonal] = number
                    reached[count] = diagonal
                    count += number == FEWEST_KMERS
                    if number > best_votes:
                        best, best_votes = diagonal, number
    return best, best_votes, count


@inlined
def _count_known(length, text, begin, end, known, votes):
    """Give each diagonal as many votes as the stretch under a mate of this length has k-mers of it.

    Stretches that reach beyond the window have none.

    Returns the first diagonal of most votes, and these; -1 if none has FEWEST_KMERS.
    """
    best, best_votes = np.int64(-1), np.int64(FEWEST_KMERS - 1)
    kmers, last_place = end - begin - KMER + 1, length - KMER
    for place in range(kmers):
        votes[place] = has_kmer(known, packed_word(text, begin + place) & _MASK)
    stretch = np.int64(0)
    for place in range(min(last_place, kmers)):
        stretch += votes[place]
    for diagonal in range(kmers):
        leaving, votes[diagonal] = np.int64(votes[diagonal]), 0
        if diagonal + last_place < kmers:
            stretch += leaving if last_place == 0 else np.int64(votes[diagonal + last_place])
            votes[diagonal] = stretch
            if stretch > best_votes:
                best, best_votes = np.int64(diagonal), stretch
            stretch -= leaving
    return best, best_votes
