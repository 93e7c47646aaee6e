"""BGZF blocks (SAM specification, section 4.1), inflated and checked by ISA-L without the interpreter's lock."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from io import FileIO

import numpy as np
from numpy.typing import NDArray

from quire.io.bgzf_cpu import LARGEST_BLOCK, TRAILER_BYTES
from quire.io.isa_l import call_checksum, call_with_state, new_stream
from quire.simd.compiled import compiled, inlined

_GZIP_BYTES = 12  # size of gzip's header, including the length of the extra field

# struct inflate_state (igzip_lib.h of ISA-L 2) as 64-bit words: next_out; avail_out, total_out; next_in; read_in;
# avail_in, read_in_length; tables and internal state.


class DamagedBlock(ValueError):
    """Bytes that are not a BGZF block, or a block whose data do not match its checksum.

    Attributes:
        offset: offset of the block in the given bytes or file.
    """

    def __init__(self, offset: int) -> None:
        super().__init__(f"a damaged block at byte {offset}")
        self.offset = offset


class NoBlock(DamagedBlock):
    """Bytes that are not a BGZF block."""


def inflate_ahead(file: FileIO, executor: Executor, size: int, ahead: int) -> Iterator[NDArray[np.uint8]]:
    """Yield the inflated blocks of a file, from its position on, in stretches that an executor inflates ahead.

    Errors are raised after the text before them.

    Stretches of `size` compressed bytes, at least a block, are read when needed, and `ahead` of them inflated ahead.

    Raises:
        DamagedBlock: a block is damaged, or (NoBlock) no block begins where one should.
        EOFError: the file ends within a block.
    """
    waiting: deque[tuple[int, Future[tuple[NDArray[np.uint8], int]]]] = deque()
    left, place = np.empty(0, np.uint8), file.tell()
    failure: Exception | None = None
    at_end = False
    while True:
        while len(waiting) < ahead and not at_end and failure is None:
            content = np.empty(len(left) + size, np.uint8)
            content[: len(left)] = left
            got = file.readinto(content[len(left) :].data) or 0
            content, at_end = content[: len(left) + got], got == 0
            try:
                used = whole_blocks(content)
                failure = EOFError("the file ends within a block") if at_end and used < len(content) else None
            except NoBlock as error:
                used, failure = error.offset, NoBlock(place + error.offset)
            if used:
                waiting.append((place, executor.submit(inflate_blocks, content[:used])))
            place, left = place + used, content[used:]
        if not waiting:
            if failure is not None:
                raise failure
            return
        start, future = waiting.popleft()
        try:
            text, _ = future.result()
        except DamagedBlock as error:
            raise DamagedBlock(start + error.offset) from None
        yield text


def inflate_blocks(data: NDArray[np.uint8], before: NDArray[np.uint8] | None = None) -> tuple[NDArray[np.uint8], int]:
    """Inflate all whole blocks at the beginning of `data` after the bytes `before`. Any thread may call it.

    Returns:
        The inflated bytes, and the size of the whole blocks in `data`; an incomplete block follows these.
    """
    table = np.empty((len(data) // (_GZIP_BYTES + TRAILER_BYTES) + 1, 3), np.int64)
    count, used = _find_blocks(data, table)
    if count < 0:
        raise NoBlock(used)
    table = table[:count]
    head = 0 if before is None else len(before)
    starts = head + np.concatenate([[0], np.cumsum(table[:, 2])])
    out = np.empty(int(starts[-1]), np.uint8)
    if before is not None:
        out[:head] = before
    stream = new_stream("isal_inflate_init", "isal_inflate_stateless")
    wrong = _inflate(stream, data, table, starts, out)
    if wrong >= 0:
        raise DamagedBlock(int(table[wrong, 0]))
    return out, used


def whole_blocks(data: NDArray[np.uint8]) -> int:
    """Return the size of the whole blocks at the beginning of `data`; raise NoBlock if none begins there."""
    count, used = _find_blocks(data, np.empty((len(data) // (_GZIP_BYTES + TRAILER_BYTES) + 1, 3), np.int64))
    if count < 0:
        raise NoBlock(used)
    return int(used)


@inlined
def _number(data, at, size):
    """Return a little-endian number of `size` bytes."""
    value = np.int64(0)
    for i in range(size):
        value |= np.int64(data[at + i]) << (8 * i)
    return value


@inlined
def _block_size(data, field, last):
    """Return the size of a block that its extra field states; 0 unless its subfields fill it and one has the size."""
    size = 0
    while field + 4 <= last:
        length = _number(data, field + 2, 2)
        if data[field] == 66 and data[field + 1] == 67 and length == 2 and field + 6 <= last:  # "BC"
            if size > 0:
                return 0
            size = _number(data, field + 4, 2) + 1
        field += 4 + length
    return size if field == last else 0


@compiled
def _find_blocks(data, table):
    """Fill rows of (start of the deflate data, their size, inflated size); return their number and the blocks' size."""
    # If no block begins where one should, return -1 and that offset.
    count, at = 0, 0
    while at + _GZIP_BYTES <= len(data):
        # Magic, deflate, an extra field and no other one, whose bytes would be before the deflate data.
        if data[at] != 0x1F or data[at + 1] != 0x8B or data[at + 2] != 8 or data[at + 3] & 0xFE != 4:
            return -1, at
        field, last = at + _GZIP_BYTES, at + _GZIP_BYTES + _number(data, at + 10, 2)
        if last > len(data):
            break
        size = _block_size(data, field, last)
        if size < last - at + TRAILER_BYTES:
            return -1, at
        if at + size > len(data):
            break
        inflated = _number(data, at + size - 4, 4)
        if inflated > LARGEST_BLOCK:
            return -1, at
        table[count, 0], table[count, 1] = last, at + size - TRAILER_BYTES - last
        table[count, 2] = inflated
        count += 1
        at += size
    return count, at


@compiled
def _inflate(stream, data, table, starts, out):
    """Inflate the blocks of the table; return the first whose data are wrong, or -1."""
    state = stream.words
    pointer = np.uint64(state.ctypes.data)
    for block in range(len(table)):
        begin, size, inflated = table[block, 0], table[block, 1], table[block, 2]
        target = np.uint64(out.ctypes.data) + np.uint64(starts[block])
        call_with_state(stream.initialise, pointer)
        state[0], state[1] = target, np.uint64(inflated)
        state[2] = np.uint64(data.ctypes.data) + np.uint64(begin)
        state[4] = np.uint64(size)
        status = call_with_state(stream.run, pointer)
        if status != 0 or state[1] >> np.uint64(32) != np.uint64(inflated):
            return np.int64(block)
        checksum = call_checksum(stream.checksum, np.uint32(0), target, np.uint64(inflated))
        if np.int64(checksum) != _number(data, begin + size, 4):
            return np.int64(block)
    return np.int64(-1)
