"""BGZF blocks (SAM specification, section 4.1), compressed by ISA-L.

python-isal compresses a block a call and takes the interpreter's lock several times on the way; sixteen threads that do
so hold up the one thread that owns a card. ISA-L's own functions are therefore called from a kernel, for many blocks
without the lock. They are found in python-isal's extension or in the library that it is linked with; where they are not
(another platform), python-isal's function does the work.
"""

import ctypes
import struct
import zlib
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from isal import isal_zlib
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from quire.io.deflate_streams import deflate_stream
from quire.io.sniff import BGZF_HEADER
from quire.ragged import pack_bytes
from quire.simd.compiled import compiled, inlined

BLOCK_PAYLOAD = 65280  # bytes of data a block, as htslib has it; leaves room when data do not compress
LARGEST_BLOCK = 65536
HEADER = np.frombuffer(BGZF_HEADER, np.uint8)
HEADER_BYTES = 18  # with the block's size behind it
GZIP_WINDOW, GZIP_HEADER_BYTES = 31, 10  # zlib's code for gzip's format, and what precedes its data

# struct isal_zstream (igzip_lib.h of ISA-L 2) as 64-bit words: next_in; avail_in, total_in; next_out; avail_out,
# total_out; hufftables; level, level_buf_size; level_buf; end_of_stream, flush, gzip_flag, hist_bits; internal state.
LEVEL_BYTES = 1 << 20  # more than the largest level asks for
GZIP_WITHOUT_HEADER = 2


def compress_blocks(data: bytes | memoryview | NDArray[np.uint8], level: int = 1) -> NDArray[np.uint8]:
    """BGZF blocks of `data`, without the block that ends a file. Any thread may call it.

    The blocks of python-isal, where it has to do the work, differ from those of ISA-L called directly; what they hold
    does not.

    Args:
        data: bytes, or contiguous uint8.
        level: of ISA-L, 0 to 3.

    Raises:
        isal.isal_zlib.IsalError: another level.
    """
    # Writable also where the data are not: the kernel is compiled for one kind of array.
    array = data if isinstance(data, np.ndarray) else np.frombuffer(bytearray(data), np.uint8)
    return compress_pieces(array, np.array([0, len(array)]), level)[0]


def compress_pieces(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], level: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """BGZF blocks of pieces that lie end to end; each begins a block. Any thread may call it.

    Args:
        data: contiguous.
        offsets: int64[n + 1] of the pieces, from 0 to the end of the data.
        level: of ISA-L, 0 to 3.

    Returns:
        The blocks, and int64[n + 1]: where those of each piece begin.
    """
    most_blocks = int((-(-np.diff(offsets) // BLOCK_PAYLOAD)).sum())
    out = np.empty(most_blocks * LARGEST_BLOCK, np.uint8)
    begins = np.zeros(len(offsets), np.int64)
    functions = library_functions()
    if functions is None or not _compress_with(functions, data, offsets, level, out, begins):
        pieces = [b"".join(_blocks(data[first:last], level)) for first, last in pairwise(offsets.tolist())]
        return pack_bytes(pieces)
    return out[: begins[-1]], begins


@lru_cache
def library_functions() -> tuple[int, int] | None:
    """Addresses of isal_deflate_stateless_init and isal_deflate_stateless, if they are there and do as expected."""
    try:
        library = ctypes.CDLL(isal_zlib.__file__)
        functions = (_address(library.isal_deflate_stateless_init), _address(library.isal_deflate_stateless))
    except (OSError, AttributeError):
        return None
    sample = np.frombuffer(bytearray(b"A block to try the library with. " * 100), np.uint8)
    out = np.empty(LARGEST_BLOCK, np.uint8)
    begins = np.zeros(2, np.int64)
    done = _compress_with(functions, sample, np.array([0, len(sample)]), 1, out, begins)
    try:
        right = done and zlib.decompress(out[: begins[1]].tobytes(), GZIP_WINDOW) == sample.tobytes()
    except zlib.error:
        right = False
    return functions if right else None


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _compress_with(
    functions: tuple[int, int],
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    level: int,
    out: NDArray[np.uint8],
    begins: NDArray[np.int64],
) -> bool:
    """Fill `out` with the blocks of the pieces and `begins` with where they begin; False if the library refused."""
    level_buffer = np.empty(LEVEL_BYTES, np.uint8)
    initialise, deflate = map(np.uint64, functions)
    with deflate_stream() as stream:
        return bool(_compress(initialise, deflate, data, offsets, level, stream, level_buffer, out, begins))


def _blocks(data: NDArray[np.uint8], level: int) -> list[bytes | memoryview]:
    """The blocks by python-isal, in pieces to be joined."""
    view = data.data
    pieces: list[bytes | memoryview] = []
    for start in range(0, len(view), BLOCK_PAYLOAD):
        payload = view[start : start + BLOCK_PAYLOAD]
        member = memoryview(isal_zlib.compress(payload, level, GZIP_WINDOW))[GZIP_HEADER_BYTES:]
        if len(member) + HEADER_BYTES > LARGEST_BLOCK:
            # Random bytes: a "stored" deflate block is at most five bytes longer than its data.
            stored = struct.pack("<BHH", 1, len(payload), len(payload) ^ 0xFFFF)
            member = memoryview(b"".join((stored, payload, member[-8:])))
        pieces += (HEADER.tobytes() + struct.pack("<H", len(member) + HEADER_BYTES - 1), member)
    return pieces


@intrinsic
def _call(_typing_context, address, pointer):
    """Call the C function int f(void *) at `address` (uint64) with `pointer` (uint64)."""

    def generate(_context, builder, _signature, arguments):
        untyped = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.IntType(32), [untyped]).as_pointer()
        target, argument = builder.inttoptr(arguments[0], function), builder.inttoptr(arguments[1], untyped)
        return builder.call(target, [argument])

    return types.int32(types.uint64, types.uint64), generate


@compiled
def _compress(initialise, deflate, data, offsets, level, stream, level_buffer, out, begins):
    """Write all blocks of all pieces of `data` to `out`; False if the library refused."""
    used = np.int64(0)
    for piece in range(len(offsets) - 1):
        begins[piece] = used
        for start in range(offsets[piece], offsets[piece + 1], BLOCK_PAYLOAD):
            size = min(BLOCK_PAYLOAD, offsets[piece + 1] - start)
            block = _compress_block(initialise, deflate, data, start, size, level, stream, level_buffer, out, used)
            if block < 0:
                return False
            used += block
    begins[len(offsets) - 1] = used
    return True


@inlined
def _compress_block(initialise, deflate, data, start, size, level, stream, level_buffer, out, at):
    """Write one block to `out` from `at` on; returns its bytes, or -1 if the library refused."""
    pointer = np.uint64(stream.ctypes.data)
    _call(initialise, pointer)
    room = np.uint64(LARGEST_BLOCK - HEADER_BYTES)
    stream[0] = np.uint64(data.ctypes.data) + np.uint64(start)
    stream[1] = np.uint64(size)
    stream[2] = np.uint64(out.ctypes.data) + np.uint64(at + HEADER_BYTES)
    stream[3] = room
    stream[5] = np.uint64(level) | np.uint64(len(level_buffer)) << np.uint64(32)
    stream[6] = np.uint64(level_buffer.ctypes.data)
    stream[7] = np.uint64(1) | np.uint64(GZIP_WITHOUT_HEADER) << np.uint64(32)  # the last and only piece of input
    if _call(deflate, pointer) != 0 or stream[1] & np.uint64(0xFFFFFFFF) != 0:
        return np.int64(-1)
    block = np.int64(room - (stream[3] & np.uint64(0xFFFFFFFF))) + HEADER_BYTES
    for i in range(len(HEADER)):
        out[at + i] = HEADER[i]
    out[at + 16], out[at + 17] = (block - 1) & 255, (block - 1) >> 8
    return block
