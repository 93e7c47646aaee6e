"""BGZF blocks in (SAM specification, section 4.1), inflated and checked by ISA-L.

As in `quire.io.bgzf`, ISA-L's own functions are called from a kernel for many blocks at a time without the
interpreter's lock; python-isal's function does the work where they are not found.
"""

import ctypes
import threading
import zlib
from functools import lru_cache

import numpy as np
from isal import isal_zlib
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from quire.io.files import DAMAGE
from quire.simd.compiled import compiled, inlined

LARGEST_BLOCK = 65536  # bytes, compressed or not
_HEADER_BYTES = 12  # of gzip up to the length of the extra field, that included
_TRAILER_BYTES = 8  # CRC32 and size of the data
_RAW_DEFLATE = -15  # zlib's code for data without header and checksum
# struct inflate_state (igzip_lib.h of ISA-L 2) as 64-bit words: next_out; avail_out, total_out; next_in; read_in;
# avail_in, read_in_length; tables and state. It takes about 90 kB.
_STATE_BYTES = 1 << 18
_states = threading.local()


class DamagedBlock(ValueError):
    """Bytes that are no BGZF block, or one whose data do not fit its checksum.

    Attributes:
        offset: of the block, from the beginning of the bytes that were given.
    """

    def __init__(self, offset: int) -> None:
        super().__init__(f"a damaged block at byte {offset}")
        self.offset = offset


def inflate_blocks(data: NDArray[np.uint8], before: NDArray[np.uint8] | None = None) -> tuple[NDArray[np.uint8], int]:
    """Inflate all whole blocks at the beginning of some bytes. Any thread may call it.

    Args:
        data: contiguous bytes that begin with a block.
        before: what the answer is to begin with, such as what is left of the blocks before.

    Returns:
        The inflated bytes, and how many of `data` the blocks took; what is left begins an incomplete block.

    Raises:
        DamagedBlock: no block where one should begin, or data that do not fit their checksum.
    """
    table = np.empty((len(data) // (_HEADER_BYTES + _TRAILER_BYTES) + 1, 3), np.int64)
    count, used = _find_blocks(data, table)
    if count < 0:
        raise DamagedBlock(used)
    table = table[:count]
    head = 0 if before is None else len(before)
    starts = head + np.concatenate([[0], np.cumsum(table[:, 2])])
    out = np.empty(int(starts[-1]), np.uint8)
    if before is not None:
        out[:head] = before
    functions = library_functions()
    if functions is None:
        wrong = _inflate_in_python(data, table, starts, out)
    else:
        wrong = _inflate(np.array(functions, np.uint64), data, table, starts, out, _state())
    if wrong >= 0:
        raise DamagedBlock(int(table[wrong, 0]))
    return out, used


def whole_blocks(data: NDArray[np.uint8]) -> int:
    """Bytes of the whole blocks at the beginning of some bytes; nothing is inflated.

    Raises:
        DamagedBlock: no block where one should begin.
    """
    count, used = _find_blocks(data, np.empty((len(data) // (_HEADER_BYTES + _TRAILER_BYTES) + 1, 3), np.int64))
    if count < 0:
        raise DamagedBlock(used)
    return int(used)


def _state() -> NDArray[np.uint64]:
    """This thread's memory for ISA-L."""
    if not hasattr(_states, "words"):
        _states.words = np.zeros(_STATE_BYTES // 8, np.uint64)
    return _states.words  # type: ignore[no-any-return]


def address_of(name: str) -> int:
    """Address of a function of ISA-L's; 0 if it is not found."""
    try:
        return ctypes.cast(getattr(ctypes.CDLL(isal_zlib.__file__), name), ctypes.c_void_p).value or 0
    except (OSError, AttributeError):
        return 0


@lru_cache
def library_functions() -> tuple[int, int, int] | None:
    """Addresses of ISA-L's functions to begin, to inflate and to check, if they are there and do as expected."""
    addresses = [address_of(name) for name in ("isal_inflate_init", "isal_inflate_stateless", "crc32_gzip_refl")]
    if not all(addresses):
        return None
    sample = b"A block to try the library with. " * 100
    deflate = zlib.compressobj(wbits=_RAW_DEFLATE)
    packed = deflate.compress(sample) + deflate.flush()
    trailer = zlib.crc32(sample).to_bytes(4, "little") + len(sample).to_bytes(4, "little")
    data = np.frombuffer(bytearray(packed + trailer), np.uint8)
    table, starts = np.array([[0, len(packed), len(sample)]]), np.array([0, len(sample)])
    out = np.empty(len(sample), np.uint8)
    found = _inflate(np.array(addresses, np.uint64), data, table, starts, out, _state())
    right = found < 0 and out.tobytes() == sample
    return (addresses[0], addresses[1], addresses[2]) if right else None


@inlined
def _number(data, at, size):
    """A little-endian number of `size` bytes."""
    value = np.int64(0)
    for i in range(size):
        value |= np.int64(data[at + i]) << (8 * i)
    return value


@compiled
def _find_blocks(data, table):
    """Fill rows of (begin of the deflate data, its bytes, bytes inflated): (rows, bytes of whole blocks).

    Where no block begins, rows is -1 and the second number the place.
    """
    count, at = 0, 0
    while at + _HEADER_BYTES <= len(data):
        # Magic, deflate, an extra field.
        if data[at] != 0x1F or data[at + 1] != 0x8B or data[at + 2] != 8 or not data[at + 3] & 4:
            return -1, at
        field, last = at + _HEADER_BYTES, at + _HEADER_BYTES + _number(data, at + 10, 2)
        if last > len(data):
            break
        size = 0
        while field + 4 <= last:
            length = _number(data, field + 2, 2)
            if data[field] == 66 and data[field + 1] == 67 and length == 2:  # "BC"
                size = _number(data, field + 4, 2) + 1
            field += 4 + length
        if size < last - at + _TRAILER_BYTES:
            return -1, at
        if at + size > len(data):
            break
        inflated = _number(data, at + size - 4, 4)
        if inflated > LARGEST_BLOCK:
            return -1, at
        table[count, 0], table[count, 1] = last, at + size - _TRAILER_BYTES - last
        table[count, 2] = inflated
        count += 1
        at += size
    return count, at


def _inflate_in_python(
    data: NDArray[np.uint8], table: NDArray[np.int64], starts: NDArray[np.int64], out: NDArray[np.uint8]
) -> int:
    """`_inflate` by python-isal."""
    for block, (begin, size, inflated) in enumerate(table.tolist()):
        try:
            content = isal_zlib.decompress(data[begin : begin + size], _RAW_DEFLATE, LARGEST_BLOCK)
        except DAMAGE:
            return block
        checksum = int.from_bytes(data[begin + size : begin + size + 4].tobytes(), "little")
        if len(content) != inflated or isal_zlib.crc32(content) != checksum:
            return block
        out[starts[block] : starts[block + 1]] = np.frombuffer(content, np.uint8)
    return -1


@intrinsic
def call_with_state(_typing_context, address, state):
    """Call the C function int f(void *) at `address` (uint64) with `state` (uint64)."""

    def generate(_context, builder, _signature, arguments):
        untyped = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.IntType(32), [untyped]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), [builder.inttoptr(arguments[1], untyped)])

    return types.int32(types.uint64, types.uint64), generate


@intrinsic
def call_checksum(_typing_context, address, before, data, size):
    """Call the C function uint32_t f(uint32_t, const unsigned char *, uint64_t) at `address`; `before` is 0 first."""

    def generate(_context, builder, _signature, arguments):
        untyped, word, double = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        function = ir.FunctionType(word, [word, untyped, double]).as_pointer()
        pointer = builder.inttoptr(arguments[2], untyped)
        return builder.call(builder.inttoptr(arguments[0], function), [arguments[1], pointer, arguments[3]])

    return types.uint32(types.uint64, types.uint32, types.uint64, types.uint64), generate


@compiled
def _inflate(functions, data, table, starts, out, state):
    """Inflate the blocks of the table; the first whose data are wrong, or -1.

    functions: uint64[3], addresses as `library_functions` gives them.
    """
    initialise, inflate, checksum = functions[0], functions[1], functions[2]
    pointer = np.uint64(state.ctypes.data)
    for block in range(len(table)):
        begin, size, inflated = table[block, 0], table[block, 1], table[block, 2]
        target = np.uint64(out.ctypes.data) + np.uint64(starts[block])
        call_with_state(initialise, pointer)
        state[0], state[1] = target, np.uint64(inflated)
        state[2] = np.uint64(data.ctypes.data) + np.uint64(begin)
        state[4] = np.uint64(size)
        status = call_with_state(inflate, pointer)
        if status != 0 or state[1] >> np.uint64(32) != np.uint64(inflated):
            return np.int64(block)
        if np.int64(call_checksum(checksum, np.uint32(0), target, np.uint64(inflated))) != _number(
            data, begin + size, 4
        ):
            return np.int64(block)
    return np.int64(-1)
