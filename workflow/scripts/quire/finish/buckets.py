"""A sample's records by where they lie on the genome: stretches of it, one after another in a scratch file.

The genome, its contigs end to end, is cut into buckets of equal width. A record belongs to the bucket that holds its
position. Buckets whose records may share a fragment with it (`quire.finish.marking`) get a copy, which is looked at and
not written, so that each bucket can be marked by itself. Records without a position have a bucket of their own, the
last.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import QuireError
from quire.finish.marking import SPAN
from quire.finish.marking.cpu import LEFT_ALONE, unclipped
from quire.io.bam.decode import Records
from quire.io.bgzf import compress_pieces
from quire.io.inflate import DamagedBlock, inflate_blocks
from quire.ragged import offsets_from_lengths
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled, inlined

MOST_BUCKETS = 2048
LEAST_WIDTH = 1 << 17  # bases: copies are few
_SCRATCH_LEVEL = 1


class BucketLayout(NamedTuple):
    """How the genome is cut.

    Attributes:
        contig_offsets: int64[contigs + 1], where each contig begins when all lie end to end.
        width: bases of a bucket.
        buckets: with positions; one more holds the records without.
    """

    contig_offsets: NDArray[np.int64]
    width: int
    buckets: int


def layout(contig_lengths: list[int]) -> BucketLayout:
    """Buckets for a genome; they depend on nothing else."""
    offsets = offsets_from_lengths(contig_lengths)
    width = max(LEAST_WIDTH, -(-int(offsets[-1]) // MOST_BUCKETS))
    return BucketLayout(offsets, width, max(1, -(-int(offsets[-1]) // width)))


class Dealt(NamedTuple):
    """Records of a stretch of a file, dealt out to the buckets.

    Attributes:
        blocks: uint8[], BGZF; each bucket's begin a block.
        block_offsets: int64[buckets + 2], where each bucket's blocks begin.
        raw_bytes: int64[buckets + 1], of each bucket's records, copies included.
        records: that were dealt out, each counted once.
    """

    blocks: NDArray[np.uint8]
    block_offsets: NDArray[np.int64]
    raw_bytes: NDArray[np.int64]
    records: int


def deal(records: Records, genome: BucketLayout) -> Dealt:
    """Deal records out, those of a bucket in the order in which they came."""
    data, offsets = _deal(records.data, records.starts, records.fixed, *genome)
    blocks, block_offsets = compress_pieces(data, offsets, _SCRATCH_LEVEL)
    return Dealt(blocks, block_offsets, np.diff(offsets), len(records.starts))


@inlined
def place_of(fields, contig_offsets):
    """A record's position on the contigs end to end."""
    return contig_offsets[fields.contig] + fields.position


@inlined
def reach(data, start, fields, contig_offsets):
    """First and last place whose records may share a fragment with this one; its own place where none can."""
    place = place_of(fields, contig_offsets)
    if fields.flag & LEFT_ALONE:
        return place, place
    low, high = unclipped(data, start, fields)
    return place + low - fields.position - SPAN, place + high - fields.position + SPAN


@compiled
def _deal(data, starts, fixed, contig_offsets, width, buckets):
    """The records' bytes by bucket, and int64[buckets + 2] where each bucket's begin."""
    n = len(starts)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    offsets = np.zeros(buckets + 2, np.int64)
    for i in range(n):
        first[i] = last[i] = buckets
        if fixed[i].contig >= 0:
            low, high = reach(data, starts[i], fixed[i], contig_offsets)
            first[i], last[i] = max(low, 0) // width, min(high // width, buckets - 1)
        size = _size(starts, i, len(data))
        for bucket in range(first[i], last[i] + 1):
            offsets[bucket + 1] += size
    for bucket in range(buckets + 1):
        offsets[bucket + 1] += offsets[bucket]
    out, at = np.empty(offsets[-1], np.uint8), offsets[:-1].copy()
    for i in range(n):
        size = _size(starts, i, len(data))
        for bucket in range(first[i], last[i] + 1):
            at[bucket] = copy_bytes(out, at[bucket], data, starts[i], starts[i] + size)
    return out, offsets


@inlined
def _size(starts, i, end):
    """Bytes of record i."""
    return (starts[i + 1] if i + 1 < len(starts) else end) - starts[i]


class Piece(NamedTuple):
    """A bucket's part of a stretch of a file: bytes of the scratch file, and the library of the records."""

    offset: int
    size: int
    raw_bytes: int
    library: int


class ScratchFile:
    """Buckets on disk: dealt records go in one stretch after another, and come out bucket by bucket.

    Attributes:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream = open(path, "wb+")
        # Of each stretch where it begins, its library, where its buckets' blocks begin in it, and their inflated bytes.
        self._stretches: list[tuple[int, int, NDArray[np.uint32], NDArray[np.uint32]]] = []

    def append(self, dealt: Dealt, library: int) -> None:
        """Write what was dealt out of a stretch of a library's file."""
        begin = self._stream.tell()
        self._stream.write(dealt.blocks.data)
        self._stretches.append(
            (begin, library, dealt.block_offsets.astype(np.uint32), dealt.raw_bytes.astype(np.uint32))
        )

    def pieces(self, bucket: int) -> list[Piece]:
        """What a bucket consists of, in the order in which it was written."""
        return [
            Piece(begin + int(offsets[bucket]), int(offsets[bucket + 1] - offsets[bucket]), int(raw[bucket]), library)
            for begin, library, offsets, raw in self._stretches
            if raw[bucket]
        ]

    def flush(self) -> None:
        """Write everything to the file, before any is read."""
        self._stream.flush()

    def read(self, pieces: list[Piece]) -> Iterator[NDArray[np.uint8]]:
        """The records of pieces, one after another. Any thread may read.

        Raises:
            QuireError: the file was changed since it was written.
        """
        with open(self.path, "rb") as stream:
            for piece in pieces:
                stream.seek(piece.offset)
                content = np.fromfile(stream, np.uint8, piece.size)
                try:
                    records, used = inflate_blocks(content)
                except DamagedBlock as error:
                    raise self._damaged(piece.offset + error.offset) from None
                if used != piece.size or len(records) != piece.raw_bytes:
                    raise self._damaged(piece.offset)
                yield records

    def close(self) -> None:
        """Give the file back."""
        self._stream.close()

    def _damaged(self, place: int) -> QuireError:
        return QuireError(
            f"{self.path}: temporary file is damaged at byte {place}; check the disk, and run again: nothing is lost."
        )
