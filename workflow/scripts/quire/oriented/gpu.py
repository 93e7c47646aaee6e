"""Reads of one batch on a card: the twin of `quire.oriented`, with the same content."""

from typing import NamedTuple

import numpy as np

from quire.batch import offsets_from_lengths
from quire.device.card import ALIGNMENT, Card
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


class Layout(NamedTuple):
    """Where the parts of a batch stand in a staging buffer: bytes; every part begins at a multiple of ALIGNMENT.

    Attributes:
        bases: of all reads, from byte 0 on: their number.
        offsets, word_offsets, names, name_offsets: first byte of each part.
        size: bytes in all.
        count: reads; named: names, which mates share; words: of `CardReads.packed`; letters: of the names.
    """

    bases: int
    offsets: int
    word_offsets: int
    names: int
    name_offsets: int
    size: int
    count: int
    named: int
    words: int
    letters: int


def layout_of(mate1, mate2=None) -> Layout:
    """The layout of one or two `ReadBatch`es in one buffer."""
    mates = [mate1] if mate2 is None else [mate1, mate2]
    count, named = sum(len(mate) for mate in mates), len(mate1)
    words = 1 + sum(int((_words(mate)).sum()) for mate in mates)
    bases, letters = sum(len(mate.bases) for mate in mates), len(mate1.names)
    places, place = [], bases
    for size in (8 * (count + 1), 8 * (count + 1), letters, 8 * (named + 1)):
        place = -(-place // ALIGNMENT) * ALIGNMENT
        places.append(place)
        place += size
    return Layout(bases, *places, place, count, named, words, letters)


def fill(buffer: np.ndarray, layout: Layout, mate1, mate2=None) -> None:
    """Copy a batch into a buffer (uint8[layout.size] or more) of the host."""
    mates = [mate1] if mate2 is None else [mate1, mate2]
    begin = 0
    for mate in mates:
        buffer[begin : begin + len(mate.bases)] = mate.bases
        begin += len(mate.bases)
    lengths = np.concatenate([np.diff(mate.offsets) for mate in mates])
    words = np.concatenate([_words(mate) for mate in mates])
    for place, items in ((layout.offsets, lengths), (layout.word_offsets, words)):
        target = buffer[place : place + 8 * (layout.count + 1)].view(np.int64)
        target[0] = 0
        np.cumsum(items, out=target[1:])
    buffer[layout.names : layout.names + layout.letters] = mate1.names
    buffer[layout.name_offsets : layout.size].view(np.int64)[:] = mate1.name_offsets


def _words(mate) -> np.ndarray:
    """Packed words (int64[n]) of each read, one of padding included."""
    return (np.diff(mate.offsets) + BASES_PER_WORD - 1) // BASES_PER_WORD + 1


def orient_staged(card: Card, staged, layout: Layout) -> CardReads:
    """Lay the reads of a filled buffer, now on the card (uint8[layout.size]), on both strands.

    The result uses the buffer's memory.
    """

    def part(place: int, size: int, dtype):
        return staged[place : place + size].view(dtype)

    return _lay(
        card, staged[: layout.bases], part(layout.offsets, 8 * (layout.count + 1), np.int64),
        part(layout.word_offsets, 8 * (layout.count + 1), np.int64), part(layout.names, layout.letters, np.uint8),
        part(layout.name_offsets, 8 * (layout.named + 1), np.int64), layout,
    )  # fmt: skip


def orient(card: Card, mate1, mate2=None) -> CardReads:
    """Lay the reads of one or two `ReadBatch`es on both strands, on the card.

    Args:
        card: where to.
        mate1: first mates or single reads.
        mate2: second mates in the same order, or None.
    """
    mates = [mate1] if mate2 is None else [mate1, mate2]
    offsets = offsets_from_lengths(np.concatenate([np.diff(mate.offsets) for mate in mates]))
    word_offsets = offsets_from_lengths(np.concatenate([_words(mate) for mate in mates]))
    bases = np.concatenate([mate.bases for mate in mates])
    arrays = (card.upload(array) for array in (bases, offsets, word_offsets, mate1.names, mate1.name_offsets))
    return _lay(card, *arrays, layout_of(mate1, mate2))


def _lay(card: Card, given, offsets, word_offsets, names, name_offsets, layout: Layout) -> CardReads:
    bases, words, count = layout.bases, layout.words, layout.count
    word_read = card.empty(words, np.int32)
    card.kernel(SOURCE, "owners_of_words").for_each(words, word_offsets, count, words, word_read)
    codes, packed = card.empty((2, bases), np.uint8), card.empty((2, words), np.uint64)
    ambiguous, name_hash = card.zeros(count, np.uint8), card.empty(count, np.uint64)
    card.kernel(SOURCE, "hash_names").for_each(count, names, name_offsets, layout.named, count, name_hash)
    card.kernel(SOURCE, "orient").for_each(words, given, offsets, word_offsets, word_read, bases, words, codes, packed,
                                           ambiguous)  # fmt: skip
    return CardReads(offsets, codes, bases, word_offsets, packed, words, ambiguous, name_hash, count)
