"""Reads of one batch on both strands, as codes and as packed words: the form that seeding and extension read.

Read r of a paired batch of n pairs is mate 1 of pair r for r < n and mate 2 of pair r - n otherwise. A *strand* of a
read is 0 for the sequence as read and 1 for its reverse complement; every coordinate "in the read" is a coordinate in
the oriented sequence, 0-based.
"""

from dataclasses import dataclass

import numpy as np

from quire.batch import offsets_from_lengths

BASES_PER_WORD = 32


@dataclass
class Reads:
    """Oriented reads of one batch.

    Attributes:
        offsets: int64[n + 1], base offset of each read.
        codes: uint8[2, bases], codes 0..3 and 4 for N; row = strand.
        word_offsets: int64[n + 1], word offset of each read in `packed` (one word of padding a read).
        packed: uint64[2, words], base i of a read in bits 2*(i % 32) of its word i // 32; N is stored as A.
        ambiguous: bool[n], whether the read holds an N.
        name_hash: uint64[n], hash of the read's name; the same for both mates.
    """

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    name_hash: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def subset(self, chosen: np.ndarray) -> "Reads":
        """The reads with these indices (int64[], ascending) as a batch of their own."""
        bases, offsets = _ranges(self.offsets, chosen)
        words, word_offsets = _ranges(self.word_offsets, chosen)
        # `take` keeps rows contiguous, where indexing would transpose them and Numba compile every kernel once more.
        codes = np.take(self.codes, bases, axis=1)
        # One word of padding behind the last read, as `orient` leaves it.
        packed = np.zeros((2, len(words) + 1), np.uint64)
        np.take(self.packed, words, axis=1, out=packed[:, :-1])
        return Reads(offsets, codes, word_offsets, packed, self.ambiguous[chosen], self.name_hash[chosen])


def _ranges(offsets: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Flat indices of the chosen items of a ragged array, and their new offsets."""
    lengths = (offsets[1:] - offsets[:-1])[chosen]
    new = offsets_from_lengths(lengths)
    return np.repeat(offsets[chosen] - new[:-1], lengths) + np.arange(new[-1]), new


def bases_of_mates(mate1, mate2=None) -> tuple[np.ndarray, np.ndarray]:
    """Codes (uint8, flat) and offsets (int64[n + 1]) of all first mates, then of all second ones if there are any."""
    if mate2 is None:
        return mate1.bases, mate1.offsets
    codes = np.concatenate([mate1.bases, mate2.bases])
    return codes, np.concatenate([mate1.offsets, mate2.offsets[1:] + mate1.offsets[-1]])


def orient(mate1, mate2=None) -> Reads:
    """Lay the reads of one or two `ReadBatch`es on both strands.

    Args:
        mate1: first mates or single reads.
        mate2: second mates in the same order, or None.
    """
    from quire.oriented.cpu import hash_names, lay_on_both_strands

    codes, offsets = bases_of_mates(mate1, mate2)
    names_hash = np.tile(hash_names(mate1.names, mate1.name_offsets), 1 if mate2 is None else 2)
    lengths = np.diff(offsets)
    word_offsets = offsets_from_lengths((lengths + BASES_PER_WORD - 1) // BASES_PER_WORD + 1)
    both = np.empty((2, len(codes)), np.uint8)
    packed = np.zeros((2, int(word_offsets[-1]) + 1), np.uint64)
    ambiguous = np.zeros(len(lengths), np.bool_)
    lay_on_both_strands(codes, offsets, word_offsets, both, packed, ambiguous)
    return Reads(offsets, both, word_offsets, packed, ambiguous, names_hash)
