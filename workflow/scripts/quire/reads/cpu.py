"""Orientation of reads on both strands, with Numba."""

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths
from quire.reads import ReadBatch, Reads, offsets_of_mates, packed_words
from quire.sequence.codes import AMBIGUOUS, COMPLEMENT
from quire.sequence.ties.cpu import hash_names
from quire.simd.bits import UNKNOWN, copy_items, load_bytes, reverse_complement, store_bytes, two_bits_each
from quire.simd.compiled import compiled


def orient(mate1: ReadBatch, mate2: ReadBatch | None = None) -> Reads:
    """Return the reads of one or two batches (first mates and their second mates) on both strands."""
    bases = mate1.bases if mate2 is None else np.concatenate([mate1.bases, mate2.bases])
    offsets = offsets_of_mates(mate1, mate2)
    name_hash = np.tile(hash_names(mate1.names, mate1.name_offsets), 1 if mate2 is None else 2)
    lengths = np.diff(offsets)
    word_offsets = offsets_from_lengths(packed_words(lengths))
    codes = np.empty((2, len(bases)), np.uint8)
    packed = np.zeros((2, int(word_offsets[-1]) + 1), np.uint64)
    ambiguous = np.zeros(len(lengths), np.bool_)
    _lay_on_both_strands(bases, offsets, word_offsets, codes, packed, ambiguous)
    return Reads(offsets, codes, word_offsets, packed, ambiguous, name_hash)


@compiled
def _lay_on_both_strands(bases, offsets, word_offsets, codes, packed, ambiguous):
    """Fill `codes`, `packed` (initially 0) and `ambiguous` of `Reads` from the codes 0 to 4 of the reads as read."""
    forward, reverse = codes[0], codes[1]
    for read in range(len(offsets) - 1):
        begin, end = offsets[read], offsets[read + 1]
        word = word_offsets[read]
        eights = (end - begin) & ~7  # number of bases processed eight at a time
        unknown = np.uint64(0)  # not 0 if a base is ambiguous
        for i in range(0, eights, 8):
            eight = load_bytes(bases, begin + i)
            unknown |= eight & UNKNOWN
            store_bytes(forward, begin + i, eight)
            packed[0, word + (i >> 5)] |= two_bits_each(eight) << np.uint64(2 * (i & 31))
            turned = reverse_complement(load_bytes(bases, end - 8 - i))
            store_bytes(reverse, begin + i, turned)
            packed[1, word + (i >> 5)] |= two_bits_each(turned) << np.uint64(2 * (i & 31))
        for i in range(eights, end - begin):
            code, turned_code = bases[begin + i], COMPLEMENT[bases[end - 1 - i]]
            unknown |= np.uint64(code & AMBIGUOUS)
            forward[begin + i], reverse[begin + i] = code, turned_code
            packed[0, word + (i >> 5)] |= np.uint64(code & 3) << np.uint64(2 * (i & 31))
            packed[1, word + (i >> 5)] |= np.uint64(turned_code & 3) << np.uint64(2 * (i & 31))
        ambiguous[read] = unknown != 0


def subset(reads: Reads, chosen: NDArray[np.int64]) -> Reads:
    """Return the reads with these indices (int64[], ascending) as a new batch."""
    offsets = offsets_from_lengths(np.diff(reads.offsets)[chosen])
    word_offsets = offsets_from_lengths(np.diff(reads.word_offsets)[chosen])
    codes = np.empty((2, int(offsets[-1])), np.uint8)
    # One word of padding after the last read, as in `orient`.
    packed = np.empty((2, int(word_offsets[-1]) + 1), np.uint64)
    packed[:, -1] = 0
    _take(chosen, reads.offsets, reads.codes, offsets, codes)
    _take(chosen, reads.word_offsets, reads.packed, word_offsets, packed)
    return Reads(offsets, codes, word_offsets, packed, reads.ambiguous[chosen], reads.name_hash[chosen])


@compiled
def items_from(values, begins, offsets):
    """Return the values (uint8[]) of ragged items, end to end: those from begins[i] on, of which `offsets` has room."""
    taken = np.empty(offsets[-1], np.uint8)
    for i in range(len(offsets) - 1):
        copy_items(taken, offsets[i], values, begins[i], begins[i] + offsets[i + 1] - offsets[i])
    return taken


@compiled
def _take(chosen, offsets, items, new_offsets, taken):
    """Copy the chosen items of a ragged array [2, flat] to `new_offsets` in `taken`."""
    for strand in range(2):
        source, target = items[strand], taken[strand]
        for i in range(len(chosen)):
            # Unsigned indices let the loop vectorise; slices would count references.
            begin, at = np.uint64(offsets[chosen[i]]), np.uint64(new_offsets[i])
            for k in range(np.uint64(new_offsets[i + 1] - new_offsets[i])):
                target[at + k] = source[begin + k]
