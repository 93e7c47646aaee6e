"""Orientation of reads on a card, with the same result as `quire.reads.cpu`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quire.device.card import ALIGNMENT, Card, CardArray
from quire.ragged import offsets_from_lengths
from quire.reads import ReadBatch, packed_words

SOURCE = "quire/reads/reads.cu"


class CardReads(NamedTuple):
    """Arrays of `quire.reads.Reads` on a card, with the row lengths of arrays of two rows (reads.cuh: Reads).

    Attributes:
        offsets, word_offsets: int64[read_count + 1].
        codes: uint8[2, bases].
        packed: uint64[2, words].
        ambiguous: uint8[read_count].
        name_hash: uint64[read_count].
        longest: no read has more bases.
    """

    offsets: CardArray
    codes: CardArray
    bases: int
    word_offsets: CardArray
    packed: CardArray
    words: int
    ambiguous: CardArray
    name_hash: CardArray
    read_count: int
    longest: int

    def __len__(self) -> int:
        return self.read_count

    def subset(self, card: Card, chosen: CardArray) -> "CardReads":
        """Return the reads with these indices (int64[] on the card, ascending) as a new batch."""
        count = len(chosen)
        sizes = card.empty((2, count), np.int32)
        card.kernel(SOURCE, "sizes_of_reads").for_each(count, self, chosen, count, sizes)
        (offsets, word_offsets), totals = card.offsets_and_totals(sizes)
        bases, words = totals.wait()
        words += 1
        codes, packed = card.empty((2, bases), np.uint8), card.empty((2, words), np.uint64)
        ambiguous, name_hash = card.empty(count, np.uint8), card.empty(count, np.uint64)
        take = card.kernel(SOURCE, "take_reads")
        take(max(1, count), 64, self, chosen, count, offsets, word_offsets, bases, words, codes, packed, ambiguous,
             name_hash)  # fmt: skip
        return CardReads(offsets, codes, bases, word_offsets, packed, words, ambiguous, name_hash, count, self.longest)


class Layout(NamedTuple):
    """Positions of the parts of a batch in a staging buffer; each begins at a multiple of ALIGNMENT bytes.

    Attributes:
        bases: number of bases; their codes are the first part, at byte 0.
        offsets, word_offsets, names, name_offsets: first byte of each of the other parts.
        size: total number of bytes.
        read_count: number of reads, twice the number of names if there are mates.
        name_count: number of names, which mates share.
        words: number of words in a row of `CardReads.packed`.
        letters: number of letters in all names.
        longest: number of bases of the longest read.
    """

    bases: int
    offsets: int
    word_offsets: int
    names: int
    name_offsets: int
    size: int
    read_count: int
    name_count: int
    words: int
    letters: int
    longest: int


def layout_of(mate1: ReadBatch, mate2: ReadBatch | None = None) -> Layout:
    """Return the layout of one or two batches in one buffer."""
    mates = _mates(mate1, mate2)
    reads, names = sum(len(mate) for mate in mates), len(mate1)
    lengths = [np.diff(mate.offsets) for mate in mates]
    words = 1 + sum(int(packed_words(some).sum()) for some in lengths)
    longest = max(int(some.max(initial=0)) for some in lengths)
    bases, letters = sum(len(mate.bases) for mate in mates), len(mate1.names)
    begins, end = [], bases
    for size in (8 * (reads + 1), 8 * (reads + 1), letters, 8 * (names + 1)):
        begins.append(-(-end // ALIGNMENT) * ALIGNMENT)
        end = begins[-1] + size
    offsets, word_offsets, name_letters, name_offsets = begins
    return Layout(bases, offsets, word_offsets, name_letters, name_offsets, end, reads, names, words, letters, longest)


def fill(buffer: NDArray[np.uint8], layout: Layout, mate1: ReadBatch, mate2: ReadBatch | None = None) -> None:
    """Copy a batch to a buffer in host memory (uint8[], at least `layout.size` bytes)."""
    mates = _mates(mate1, mate2)
    begin = 0
    for mate in mates:
        buffer[begin : begin + len(mate.bases)] = mate.bases
        begin += len(mate.bases)
    lengths = np.concatenate([np.diff(mate.offsets) for mate in mates])
    for place, sizes in ((layout.offsets, lengths), (layout.word_offsets, packed_words(lengths))):
        target = buffer[place : place + 8 * (layout.read_count + 1)].view(np.int64)
        target[0] = 0
        np.cumsum(sizes, out=target[1:])
    buffer[layout.names : layout.names + layout.letters] = mate1.names
    buffer[layout.name_offsets : layout.size].view(np.int64)[:] = mate1.name_offsets


def orient_staged(card: Card, staged: CardArray, layout: Layout) -> CardReads:
    """Return the reads of a filled buffer, which was copied to the card (uint8[layout.size]), on both strands.

    The result uses the buffer's memory.
    """

    def part(begin: int, size: int, dtype: DTypeLike) -> CardArray:
        return staged[begin : begin + size].view(dtype)

    given = _Given(
        bases=staged[: layout.bases],
        offsets=part(layout.offsets, 8 * (layout.read_count + 1), np.int64),
        word_offsets=part(layout.word_offsets, 8 * (layout.read_count + 1), np.int64),
        names=part(layout.names, layout.letters, np.uint8),
        name_offsets=part(layout.name_offsets, 8 * (layout.name_count + 1), np.int64),
    )
    return _lay_on_both_strands(card, given, layout)


def orient(card: Card, mate1: ReadBatch, mate2: ReadBatch | None = None) -> CardReads:
    """Return the reads of one or two batches (first mates and their second mates) on both strands, on the card."""
    mates = _mates(mate1, mate2)
    lengths = np.concatenate([np.diff(mate.offsets) for mate in mates])
    given = _Given(
        bases=card.upload(np.concatenate([mate.bases for mate in mates])),
        offsets=card.upload(offsets_from_lengths(lengths)),
        word_offsets=card.upload(offsets_from_lengths(packed_words(lengths))),
        names=card.upload(mate1.names),
        name_offsets=card.upload(mate1.name_offsets),
    )
    return _lay_on_both_strands(card, given, layout_of(mate1, mate2))


class _Given(NamedTuple):
    """A batch as read, on the card: arrays as in `ReadBatch`, word offsets as in `CardReads`."""

    bases: CardArray
    offsets: CardArray
    word_offsets: CardArray
    names: CardArray
    name_offsets: CardArray


def _mates(mate1: ReadBatch, mate2: ReadBatch | None) -> list[ReadBatch]:
    return [mate1] if mate2 is None else [mate1, mate2]


def _lay_on_both_strands(card: Card, given: _Given, layout: Layout) -> CardReads:
    bases, words, count = layout.bases, layout.words, layout.read_count
    word_read = card.empty(words, np.int32)
    card.kernel(SOURCE, "owners_of_words").for_each(words, given.word_offsets, count, words, word_read)
    codes, packed = card.empty((2, bases), np.uint8), card.empty((2, words), np.uint64)
    ambiguous, name_hash = card.zeros(count, np.uint8), card.empty(count, np.uint64)
    card.kernel(SOURCE, "hash_names").for_each(
        count, given.names, given.name_offsets, layout.name_count, count, name_hash
    )
    card.kernel(SOURCE, "orient").for_each(
        words, given.bases, given.offsets, given.word_offsets, word_read, bases, words, codes, packed, ambiguous
    )
    return CardReads(
        given.offsets, codes, bases, given.word_offsets, packed, words, ambiguous, name_hash, count, layout.longest
    )
