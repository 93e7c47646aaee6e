"""Reads as sequenced (`ReadBatch`, `PairBatch`), and on both strands for seeding and extension (`Reads`).

Readers of FASTQ and BAM produce `PairBatch`es, so later stages do not depend on a file format.

Read r of a paired batch of n pairs is mate 1 of pair r for r < n and mate 2 of pair r - n otherwise. The *strand* of a
read is 0 for the sequence as read and 1 for its reverse complement. Every coordinate "in the read" is a 0-based
coordinate in the sequence of that strand.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.sequence.packing import BASES_PER_WORD


@dataclass(frozen=True)
class ReadBatch:
    """Consecutive reads of one input.

    Attributes:
        names: uint8, flat; a name ends before the first white space, and a trailing /1 or /2 is removed.
        name_offsets: int64[n + 1], where each name begins in `names`.
        bases: uint8, flat codes: A 0, C 1, G 2, T and U 3, any other IUPAC letter or '.' 4, in either case.
        qualities: uint8, flat, phred 0..93; shares `offsets` with `bases`.
        offsets: int64[n + 1], where each read begins in `bases`.
        first_ordinal: 0-based ordinal of the first read in its input.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    first_ordinal: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, begin: int, end: int) -> "ReadBatch":
        """Return reads [begin, end) as a batch that shares the memory."""
        first, last = self.offsets[begin], self.offsets[end]
        first_letter, last_letter = self.name_offsets[begin], self.name_offsets[end]
        return ReadBatch(
            self.names[first_letter:last_letter],
            self.name_offsets[begin : end + 1] - first_letter,
            self.bases[first:last],
            self.qualities[first:last],
            self.offsets[begin : end + 1] - first,
            self.first_ordinal + begin,
        )

    def name(self, i: int) -> str:
        """Return the name of read `i` of the batch."""
        return self.names[self.name_offsets[i] : self.name_offsets[i + 1]].tobytes().decode("ascii")


@dataclass(frozen=True)
class PairBatch:
    """First mates (or single reads) with their second mates, if any; read `i` of both has the same name.

    Attributes:
        mate1, mate2: the reads as they are mapped.
        untrimmed: the reads in full length if ends of some are clipped (`quire.align.read_ends`); otherwise None.
        umis, umi_offsets: flat text (uint8) of the UMI of each read or pair, and int64[n + 1]; both None without UMIs.
    """

    mate1: ReadBatch
    mate2: ReadBatch | None
    untrimmed: "PairBatch | None" = None
    umis: NDArray[np.uint8] | None = None
    umi_offsets: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.mate1)

    def part(self, begin: int, end: int) -> "PairBatch":
        """Return reads or pairs [begin, end) as a batch that shares the memory."""
        mates = self.mate1.part(begin, end), self.mate2 and self.mate2.part(begin, end)
        umis, offsets = self.umis, self.umi_offsets
        if umis is not None and offsets is not None:
            umis, offsets = umis[offsets[begin] : offsets[end]], offsets[begin : end + 1] - offsets[begin]
        return PairBatch(*mates, self.untrimmed and self.untrimmed.part(begin, end), umis, offsets)


@dataclass
class Reads:
    """The reads of one batch on both strands.

    Attributes:
        offsets: int64[n + 1], base offset of each read.
        codes: uint8[2, bases], 0..3, and 4 for N; the row is the strand.
        word_offsets: int64[n + 1], word offset of each read in `packed` (every read has one word of padding).
        packed: uint64[2, words], base i of a read in bits 2*(i % 32) of its word i // 32; N is stored as A.
        ambiguous: bool[n], True if the read has an N.
        name_hash: uint64[n], hash of the read's name; the same for both mates.
    """

    offsets: NDArray[np.int64]
    codes: NDArray[np.uint8]
    word_offsets: NDArray[np.int64]
    packed: NDArray[np.uint64]
    ambiguous: NDArray[np.bool_]
    name_hash: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def packed_words(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of packed words (int64[n]) of reads of these lengths, including one word of padding each."""
    return (lengths + BASES_PER_WORD - 1) // BASES_PER_WORD + 1


def offsets_of_mates(mate1: ReadBatch, mate2: ReadBatch | None = None) -> NDArray[np.int64]:
    """Return base offsets (int64[n + 1]) of all first mates, then of all second mates, if any."""
    if mate2 is None:
        return mate1.offsets
    return np.concatenate([mate1.offsets, mate2.offsets[1:] + mate1.offsets[-1]])
