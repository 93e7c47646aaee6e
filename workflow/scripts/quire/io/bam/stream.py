"""A whole BAM file in the order of its records, a few megabytes at a time; blocks are inflated ahead by a pool."""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.bam.layout import FIXED_FIELDS, SIZE_BYTES
from quire.io.inflate import DamagedBlock, inflate_blocks, whole_blocks
from quire.simd.compiled import compiled

PIECE_BYTES = 1 << 21  # compressed bytes read at a time
_SMALLEST_RECORD = FIXED_FIELDS.itemsize - SIZE_BYTES
_LARGEST_RECORD = 1 << 28


@dataclass(frozen=True)
class HeaderGroup:
    """A read group of the header: its ID and its library (LB; "unknown" where it has none)."""

    identifier: str
    library: str


@dataclass(frozen=True)
class BamHeader:
    """What the header of a BAM file says.

    Attributes:
        contigs: lengths by name, in the order of their numbers.
        groups: read groups in the header's order.
        first_record: virtual offset (SAM specification, 4.1.1) of the first record.
    """

    contigs: dict[str, int]
    groups: list[HeaderGroup]
    first_record: int


def read_header(path: str | Path) -> BamHeader:
    """The header of a BAM file.

    Raises:
        InputError: no BAM file.
    """
    try:
        with pysam.AlignmentFile(str(path), check_sq=False) as stream:
            if not stream.is_bam:
                raise ValueError("another format")
            groups = [
                HeaderGroup(group["ID"], group.get("LB", "unknown")) for group in stream.header.to_dict().get("RG", [])
            ]
            contigs = dict(zip(stream.references, stream.lengths, strict=True))
            return BamHeader(contigs, groups, stream.tell())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as BAM ({error}); make the alignment again.") from error


def stream_records(path: str | Path, first_record: int, pool: ThreadPoolExecutor, ahead: int) -> Iterator[NDArray]:
    """All records of a BAM file, as uint8 arrays of whole records end to end, in the order of the file.

    Args:
        path: of the file.
        first_record: virtual offset of the first record.
        pool: inflates; ahead: pieces that are inflated before they are asked for.

    Raises:
        InputError: a damaged or truncated file.
    """
    left, skip = np.empty(0, np.uint8), first_record & 0xFFFF
    for piece in _inflated(Path(path), first_record >> 16, pool, ahead):
        text = np.concatenate([left, piece[skip:]])
        skip = 0
        end = _whole_records(text)
        if end < 0 or len(text) - end > _LARGEST_RECORD:
            raise InputError(f"{path}: holds something that is no record; it is damaged, copy or make it again.")
        if end:
            yield text[:end]
        left = text[end:].copy()
    if len(left):
        raise InputError(f"{path}: ends in the middle of a record; it is truncated, copy or make it again.")


def _inflated(path: Path, place: int, pool: ThreadPoolExecutor, ahead: int) -> Iterator[NDArray[np.uint8]]:
    """The inflated pieces of a file from a block on, in order."""
    pieces: deque[tuple[int, Future[tuple[NDArray[np.uint8], int]]]] = deque()
    at = place
    try:
        with open(path, "rb") as stream:
            while True:
                while len(pieces) <= ahead:
                    at = place
                    content = np.empty(PIECE_BYTES, np.uint8)
                    content = content[: os.preadv(stream.fileno(), [content.data], place)]
                    whole = whole_blocks(content)
                    if whole == 0 and len(content):
                        raise InputError(f"{path}: ends in the middle of a block; it is truncated, copy it again.")
                    if whole == 0:
                        break
                    pieces.append((place, pool.submit(inflate_blocks, content[:whole])))
                    place += whole
                if not pieces:
                    return
                at, piece = pieces.popleft()
                yield piece.result()[0]
    except DamagedBlock as error:
        raise InputError(
            f"{path}: the block at byte {at + error.offset} is damaged; copy the file or align again."
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and the disk.") from None


@compiled
def _whole_records(text):
    """Bytes of the whole records at the beginning; -1 where a size cannot be one."""
    at = np.int64(0)
    while at + SIZE_BYTES <= len(text):
        size = np.int64(0)
        for i in range(SIZE_BYTES):
            size |= np.int64(text[at + i]) << (8 * i)
        if size < _SMALLEST_RECORD or size >= 1 << 31:
            return np.int64(-1)
        if at + SIZE_BYTES + size > len(text):
            break
        at += SIZE_BYTES + size
    return at
