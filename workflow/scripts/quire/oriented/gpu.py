"""Reads of one batch on a card: the twin of `quire.oriented`, with the same content."""

from typing import NamedTuple

import numpy as np

from quire.batch import offsets_from_lengths
from quire.device.card import Card
from quire.oriented import BASES_PER_WORD

SOURCE = "quire/oriented/oriented.cu"


class CardReads(NamedTuple):
    """Arrays of `quire.oriented.Reads` on a card, with the row lengths of the two-row ones (oriented.cuh: Reads).

    Attributes:
        offsets: int64[count + 1].
        codes: uint8[2, bases].
        word_offsets: int64[count + 1].
        packed: uint64[2, words].
        ambiguous: uint8[count]; name_hash: uint64[count].
    """

    offsets: object
    codes: object
    bases: int
    word_offsets: object
    packed: object
    words: int
    ambiguous: object
    name_hash: object
    count: int

    def __len__(self) -> int:
        return self.count

    def subset(self, card: Card, chosen) -> "CardReads":
        """The reads with these indices (int64[] on the card, ascending) as a batch of their own."""
        xp = card.xp
        offsets = card.offsets((self.offsets[1:] - self.offsets[:-1])[chosen])
        word_offsets = card.offsets((self.word_offsets[1:] - self.word_offsets[:-1])[chosen])
        bases, words = int(offsets[-1]), int(word_offsets[-1]) + 1
        codes, packed = card.empty((2, bases), np.uint8), card.empty((2, words), np.uint64)
        packed[:, -1] = 0
        count = len(chosen)
        ambiguous, name_hash = card.empty(count, np.uint8), card.empty(count, np.uint64)
        take = card.kernel(SOURCE, "take_reads")
        take(count, 64, self, chosen.astype(xp.int64), offsets, word_offsets, bases, words, codes, packed, ambiguous,
             name_hash)  # fmt: skip
        return CardReads(offsets, codes, bases, word_offsets, packed, words, ambiguous, name_hash, count)


def orient(card: Card, mate1, mate2=None) -> CardReads:
    """Lay the reads of one or two `ReadBatch`es on both strands, on the card.

    Args:
        card: where to.
        mate1: first mates or single reads.
        mate2: second mates in the same order, or None.
    """
    mates = [mate1] if mate2 is None else [mate1, mate2]
    lengths = np.concatenate([np.diff(mate.offsets) for mate in mates])
    offsets = offsets_from_lengths(lengths)
    word_offsets = offsets_from_lengths((lengths + BASES_PER_WORD - 1) // BASES_PER_WORD + 1)
    bases, words, count = int(offsets[-1]), int(word_offsets[-1]) + 1, len(lengths)
    given = card.empty(bases, np.uint8)
    for mate, begin in zip(mates, (0, len(mate1.bases)), strict=False):
        given[begin : begin + len(mate.bases)] = card.upload(mate.bases)
    offsets, word_offsets = card.upload(offsets), card.upload(word_offsets)
    word_read = card.empty(words, np.int32)
    card.kernel(SOURCE, "owners_of_words").for_each(words, word_offsets, count, words, word_read)
    codes, packed = card.empty((2, bases), np.uint8), card.empty((2, words), np.uint64)
    ambiguous, name_hash = card.zeros(count, np.uint8), card.empty(count, np.uint64)
    names, name_offsets = card.upload(mate1.names), card.upload(mate1.name_offsets)
    card.kernel(SOURCE, "hash_names").for_each(count, names, name_offsets, len(mate1), count, name_hash)
    card.kernel(SOURCE, "orient").for_each(words, given, offsets, word_offsets, word_read, bases, words, codes, packed,
                                           ambiguous)  # fmt: skip
    return CardReads(offsets, codes, bases, word_offsets, packed, words, ambiguous, name_hash, count)
