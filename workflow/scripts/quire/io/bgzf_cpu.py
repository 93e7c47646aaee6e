"""BGZF blocks (SAM specification, section 4.1), compressed by ISA-L without the interpreter's lock.

With one release of ISA-L, equal data give equal blocks, whatever the thread and the addresses of its memory: see
docs/decisions/0020-isa-l-from-kernels.md.
"""

import numpy as np
from numpy.typing import NDArray

from quire.io.isa_l import call_checksum, call_with_state, new_stream
from quire.io.sniff import BGZF_HEADER
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled, inlined

BLOCK_PAYLOAD = 65280  # bytes of data in a block, as in htslib; leaves room for data that do not compress
LARGEST_BLOCK = 65536
HEADER = np.frombuffer(BGZF_HEADER, np.uint8)
HEADER_BYTES = 18  # including the size of the block
TRAILER_BYTES = 8  # CRC-32 and size of the data

# ISA-L's assembly for levels 1 and 2 (igzip_icf_body_h1_gr_bt.asm) hashes a register that still holds an address when
# it starts on a block, which may decide between two matches. Its main loop starts once 289 bytes are available: a block
# that is first given exactly these bytes does not depend on addresses. Shorter blocks are compressed at level 0, by
# other code.
_FIRST_INPUT = 289

# struct isal_zstream (igzip_lib.h of ISA-L 2) as 64-bit words: next_in; avail_in, total_in; next_out; avail_out,
# total_out; hufftables; level, level_buf_size; level_buf; end_of_stream, flush, gzip_flag, hist_bits; internal state.
_LEVEL_BYTES = 1 << 20  # more than any level needs
_GZIP_WITHOUT_HEADER = 2
_LOW_HALF = 0xFFFFFFFF


def compress_blocks(data: bytes | memoryview | NDArray[np.uint8], level: int = 1) -> NDArray[np.uint8]:
    """Compress `data` to BGZF blocks (uint8[]), without the block that ends a file. Any thread may call it.

    Args:
        data: bytes, or contiguous uint8.
        level: compression level of ISA-L, 0 to 3.
    """
    # Bytes are copied, since the kernel is compiled for writable arrays only.
    array = data if isinstance(data, np.ndarray) else np.frombuffer(bytearray(data), np.uint8)
    out = np.empty(-(-len(array) // BLOCK_PAYLOAD) * LARGEST_BLOCK, np.uint8)
    stream, level_buffer = new_stream("isal_deflate_init", "isal_deflate"), np.empty(_LEVEL_BYTES, np.uint8)
    return out[: _compress(stream, level, level_buffer, array, out)]


@compiled
def _compress(stream, level, level_buffer, data, out):
    """Write all blocks of `data` to `out` and return their size."""
    used = np.int64(0)
    for start in range(0, len(data), BLOCK_PAYLOAD):
        payload = data[start : start + BLOCK_PAYLOAD]
        block = _compress_block(stream, level, level_buffer, payload, out, used)
        if block == 0:
            block = _store_block(stream.checksum, payload, out, used)
        for i in range(len(HEADER)):
            out[used + i] = HEADER[i]
        _put_number(out, used + len(HEADER), block - 1, 2)
        used += block
    return used


@inlined
def _compress_block(stream, level, level_buffer, payload, out, at):
    """Compress a payload to `out` after room for the header at `at`; return the block's size, 0 if this fails."""
    words = stream.words
    pointer, room = np.uint64(words.ctypes.data), np.uint64(LARGEST_BLOCK - HEADER_BYTES)
    call_with_state(stream.initialise, pointer)
    first = min(len(payload), _FIRST_INPUT)
    words[0], words[1] = np.uint64(payload.ctypes.data), np.uint64(first)
    words[2], words[3] = np.uint64(out.ctypes.data) + np.uint64(at + HEADER_BYTES), room
    words[5] = np.uint64(level if len(payload) > _FIRST_INPUT else 0) | np.uint64(len(level_buffer)) << np.uint64(32)
    words[6] = np.uint64(level_buffer.ctypes.data)
    words[7] = np.uint64(_GZIP_WITHOUT_HEADER) << np.uint64(32)
    if first < len(payload):
        call_with_state(stream.run, pointer)
        words[1] = words[1] & ~np.uint64(_LOW_HALF) | np.uint64(len(payload) - first)
    words[7] |= np.uint64(1)  # end_of_stream
    status = call_with_state(stream.run, pointer)
    left = words[3] & np.uint64(_LOW_HALF)
    return np.int64(0) if status != 0 or left == 0 else np.int64(room - left) + HEADER_BYTES


@inlined
def _store_block(checksum, payload, out, at):
    """Write an incompressible payload as a "stored" deflate block (RFC 1951, section 3.2.4); return the same."""
    at, size = at + HEADER_BYTES, len(payload)
    out[at] = 1  # the last block, stored
    _put_number(out, at + 1, size, 2)
    _put_number(out, at + 3, ~size, 2)
    end = copy_items(out, at + 5, payload, 0, size)
    _put_number(
        out, end, np.int64(call_checksum(checksum, np.uint32(0), np.uint64(payload.ctypes.data), np.uint64(size))), 4
    )
    _put_number(out, end + 4, size, 4)
    return HEADER_BYTES + 5 + size + TRAILER_BYTES


@inlined
def _put_number(out, at, value, size):
    """Write the lowest `size` bytes of a number, little-endian."""
    for i in range(size):
        out[at + i] = value >> 8 * i & 255
