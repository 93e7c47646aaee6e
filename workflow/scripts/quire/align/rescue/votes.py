"""Votes of a mate's k-mers for the diagonals of a window of the axis: where in it the mate may lie.

A k-mer is a number as the packed axis has it: its first base in the lowest bits. Which k-mers a mate has stands in a
set of bits, which the processor's nearest cache holds, as a table of places it does not.
"""

import numpy as np

from quire.align.parameters import BAND_MARGIN, FEWEST_KMERS, KMER, SECOND_KMERS
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
def learn(codes, strand, begin, end, places, earlier, known):
    """Take up the k-mers without N of a mate, codes[strand, begin:end].

    Args:
        codes: uint8[2, flat].
        places: int16[KMERS], becomes the last place of each k-mer in the mate.
        earlier: int16[end - begin or more], becomes the place before each place of the same k-mer; -1 for none.
        known: uint64[KMERS / 64], bits of k-mers, all 0 before.
    """
    kmer, valid = np.uint64(0), 0
    for i in range(begin, end):
        code = codes[strand, i]
        valid = valid + 1 if code < 4 else 0
        kmer = kmer >> _TWO | np.uint64(code & 3) << np.uint64(2 * KMER - 2)
        if valid >= KMER:
            place = i - begin - KMER + 1
            earlier[place] = places[kmer] if has_kmer(known, kmer) else -1
            known[kmer >> _SIX] |= _ONE << (kmer & _WITHIN)
            places[kmer] = place


@compiled
def forget(codes, strand, begin, end, known):
    """Clear the bits that `learn` set for the same mate."""
    kmer = np.uint64(0)
    for i in range(begin, end):
        kmer = kmer >> _TWO | np.uint64(codes[strand, i] & 3) << np.uint64(2 * KMER - 2)
        if i - begin >= KMER - 1:
            known[kmer >> _SIX] = np.uint64(0)


@compiled
def best_diagonals(length, text, begin, end, places, earlier, known, votes, reached):
    """Diagonals (relative to `begin`) with most k-mers in common; -1 for none.

    Of equals the one nearest the window's middle, and of two as near the lower one. The second is chosen so of those
    beyond the band of the best, if it has at most SECOND_KMERS less.

    Args:
        length: of the mate, which `learn` took up in `places`, `earlier` and `known`.
        text: the packed axis, of which the window is [begin, end).
        votes: int16[end - begin + length or more], all 0 before and after.
        reached: int64[], as long, scratch.
    """
    if end - begin < KMER or length < KMER:
        return np.int64(-1), np.int64(-1)
    count = _vote(text, begin, end, places, earlier, known, votes, reached)
    twice_middle = end - begin - length
    best = _most(reached, count, votes, twice_middle, FEWEST_KMERS, np.int64(0), np.int64(-1))
    second = np.int64(-1)
    if best >= 0:
        fewest = max(FEWEST_KMERS, np.int64(votes[best]) - SECOND_KMERS)
        second = _most(reached, count, votes, twice_middle, fewest, best, np.int64(BAND_MARGIN))
    votes[: end - begin + length] = 0
    return best, second


@inlined
def _vote(text, begin, end, places, earlier, known, votes, reached):
    """Let the k-mers of a window vote, each for the diagonals of all its places in the mate.

    Returns how many diagonals have FEWEST_KMERS, which stand in `reached`.
    """
    count = 0
    kmers = end - begin - KMER + 1
    for first in range(0, kmers, KMERS_IN_WORD):
        word = packed_word(text, begin + first)
        for place in range(first, min(first + KMERS_IN_WORD, kmers)):
            kmer = word & _MASK
            word >>= _TWO
            if has_kmer(known, kmer):
                place_in_mate = np.int64(places[kmer])
                while place_in_mate >= 0:
                    diagonal = place - place_in_mate
                    if diagonal >= 0:
                        number = np.int64(votes[diagonal]) + 1
                        votes[diagonal] = number
                        reached[count] = diagonal
                        count += number == FEWEST_KMERS
                    place_in_mate = np.int64(earlier[place_in_mate])
    return count


@inlined
def _most(reached, count, votes, twice_middle, fewest, other, beyond):
    """The diagonal of most votes, of at least `fewest`, among those more than `beyond` away from another; -1 for none.

    Of equals the one nearest the middle, and of two as near the lower one.
    """
    best, best_votes, best_distance = np.int64(-1), np.int64(fewest), np.int64(1) << 62
    for item in range(count):
        diagonal = reached[item]
        number = np.int64(votes[diagonal])
        if number < best_votes or abs(diagonal - other) <= beyond:
            continue
        distance = abs(2 * diagonal - twice_middle)
        if number > best_votes or distance < best_distance or (distance == best_distance and diagonal < best):
            best, best_votes, best_distance = diagonal, number, distance
    return best
