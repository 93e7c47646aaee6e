"""Votes of the k-mers of a mate for the diagonals of a window of the axis where the mate may align.

A k-mer is a number with its first base in the lowest bits, as in the packed axis. A set of bits marks the k-mers of the
mate; it fits the first-level cache, while a table of places does not.
"""

from typing import NamedTuple

import numpy as np

from quire.align.parameters import BAND_MARGIN, FEWEST_KMERS, KMER
from quire.sequence.words_cpu import packed_word
from quire.simd.bits import count_ones
from quire.simd.compiled import compiled, inlined

KMERS = 1 << (2 * KMER)
KMERS_IN_WORD = 32 - KMER + 1  # k-mers in 32 bases
_MASK = np.uint64(KMERS - 1)
_SIX, _WITHIN, _ONE, _TWO = np.uint64(6), np.uint64(63), np.uint64(1), np.uint64(2)
_EVEN = np.uint64(0x5555555555555555)
assert KMER == 8  # `_compare` relies on it


class KmerScratch(NamedTuple):
    """Memory for the k-mers of a mate and the votes for diagonals, reused for all mates.

    Attributes:
        places: int16[KMERS], last place in the mate of each of its k-mers.
        earlier: int16[longest mate], previous place of the k-mer at each place; -1 for none.
        known: uint64[KMERS / 64], set bits for the mate's k-mers.
        votes: int16[longest window], votes of diagonals; all 0 between windows.
        reached: int64[longest window], diagonals with at least FEWEST_KMERS votes.
        words: uint64[], the 32 bases of the mate from each multiple of KMERS_IN_WORD on.
        whole: uint64[], set bits for the k-mers without N in each of these words.
    """

    places: np.ndarray
    earlier: np.ndarray
    known: np.ndarray
    votes: np.ndarray
    reached: np.ndarray
    words: np.ndarray
    whole: np.ndarray


def make_scratch(longest_mate: int, longest_window: int) -> KmerScratch:
    """Return memory for mates and windows of these lengths in bases."""
    return KmerScratch(
        np.empty(KMERS, np.int16),
        np.empty(longest_mate, np.int16),
        np.zeros(KMERS // 64, np.uint64),
        np.zeros(longest_window, np.int16),
        np.empty(longest_window, np.int64),
        np.empty(longest_mate // KMERS_IN_WORD + 1, np.uint64),
        np.empty(longest_mate // KMERS_IN_WORD + 1, np.uint64),
    )


@inlined
def has_kmer(known, kmer):
    """Return True if the bit of a k-mer (uint64) is set."""
    return (known[kmer >> _SIX] >> (kmer & _WITHIN)) & _ONE != 0


@compiled
def learn(bases, scratch):
    """Add the k-mers without N of a mate (uint8[], oriented codes) to a `KmerScratch` that has none."""
    places, earlier, known = scratch.places, scratch.earlier, scratch.known
    kmer, valid = np.uint64(0), 0
    for i in range(len(bases)):
        code = bases[i]
        valid = valid + 1 if code < 4 else 0
        kmer = kmer >> _TWO | np.uint64(code & 3) << np.uint64(2 * KMER - 2)
        if valid >= KMER:
            place = i - KMER + 1
            earlier[place] = places[kmer] if has_kmer(known, kmer) else -1
            known[kmer >> _SIX] |= _ONE << (kmer & _WITHIN)
            places[kmer] = place


@compiled
def forget(bases, scratch):
    """Clear the bits that `learn` set for the same mate."""
    kmer, known = np.uint64(0), scratch.known
    for i in range(len(bases)):
        kmer = kmer >> _TWO | np.uint64(bases[i] & 3) << np.uint64(2 * KMER - 2)
        if i >= KMER - 1:
            known[kmer >> _SIX] = np.uint64(0)


@compiled
def best_diagonals(bases, text, begin, end, target, scratch):
    """Return the two diagonals (relative to `begin`) with most k-mers in common; -1 for none.

    Of equal ones the one closest to the target (relative to `begin`) wins, then the lower one. The second is the best
    outside the band of the first. `scratch` has the k-mers of `bases` (`learn`); its votes are all 0 before and after.
    """
    if end - begin < KMER or len(bases) < KMER:
        return np.int64(-1), np.int64(-1)
    votes, reached = scratch.votes, scratch.reached
    count = _vote(text, begin, end, scratch, (end - begin) * (len(bases) // KMERS_IN_WORD + 1))
    if count < 0:
        count = _compare(bases, text, begin, end, scratch)
    best = _most(reached, count, votes, target, np.int64(0), np.int64(-1))
    second = np.int64(-1)
    if best >= 0:
        second = _most(reached, count, votes, target, best, np.int64(BAND_MARGIN))
    votes[: end - begin] = 0
    return best, second


@inlined
def _vote(text, begin, end, scratch, most):
    """Let the k-mers of a window vote, each for the diagonals of all its places in the mate."""
    # Write the diagonals that reach FEWEST_KMERS to `scratch.reached` and return their number; -1 for more than `most`
    # votes, as in a long tandem repeat, whose k-mers occur many times in the mate.
    places, earlier, known = scratch.places, scratch.earlier, scratch.known
    votes, reached = scratch.votes, scratch.reached
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
                    most -= 1
                if most < 0:
                    return -1
    return count


@inlined
def _compare(bases, text, begin, end, scratch):
    """Count the agreeing k-mers on each diagonal, a word at a time: the same result as `_vote` at a fixed cost."""
    words, whole, votes, reached = scratch.words, scratch.whole, scratch.votes, scratch.reached
    groups = 0
    for place in range(0, len(bases) - KMER + 1, KMERS_IN_WORD):
        word, starts, valid = np.uint64(0), np.uint64(0), 0
        for i in range(min(32, len(bases) - place)):
            code = bases[place + i]
            word |= np.uint64(code & 3) << np.uint64(2 * i)
            valid = valid + 1 if code < 4 else 0
            if valid >= KMER:
                starts |= _ONE << np.uint64(2 * (i - KMER + 1))
        words[groups], whole[groups] = word, starts
        groups += 1
    count = 0
    kmers = end - begin - KMER + 1
    for diagonal in range(kmers):
        number = np.int64(0)
        for group in range(groups):
            base = diagonal + KMERS_IN_WORD * group
            if base >= kmers:
                break
            different = packed_word(text, begin + base) ^ words[group]
            # Bit 2i is set if base i agrees; then if bases i and i + 1 do, then four, then eight bases.
            same = ~(different | different >> _ONE) & _EVEN
            same &= same >> np.uint64(2)
            same &= same >> np.uint64(4)
            same &= same >> np.uint64(8)
            same &= whole[group]
            if kmers - base < KMERS_IN_WORD:
                same &= (_ONE << np.uint64(2 * (kmers - base))) - _ONE
            number += count_ones(same)
        votes[diagonal] = number
        reached[count] = diagonal
        count += number >= FEWEST_KMERS
    return count


@inlined
def _most(reached, count, votes, target, other, beyond):
    """Return the diagonal with most votes, at least FEWEST_KMERS, more than `beyond` away from `other`; -1 for none."""
    # Of equal ones the one closest to the target wins, then the lower one.
    best, best_votes, best_distance = np.int64(-1), np.int64(FEWEST_KMERS), np.int64(1) << 62
    for item in range(count):
        diagonal = reached[item]
        number = np.int64(votes[diagonal])
        if number < best_votes or abs(diagonal - other) <= beyond:
            continue
        distance = abs(diagonal - target)
        if number > best_votes or distance < best_distance or (distance == best_distance and diagonal < best):
            best, best_votes, best_distance = diagonal, number, distance
    return best
