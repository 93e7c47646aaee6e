"""Read many pieces, or take their checksums, in one call without the interpreter's lock.

A piece has about ten kilobytes, and a range of a sample has about a hundred pieces. Sixteen threads that take the lock
for each piece mostly wait for each other. A kernel therefore calls the C library's `pread` and ISA-L's checksum.
"""

import ctypes
from functools import lru_cache

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from quire.io.isa_l import CRC32, address_of, call_checksum
from quire.simd.compiled import compiled


def checksums(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the CRC-32 (uint32[n]) of the pieces of `data` between offsets (int64[n + 1])."""
    out = np.empty(len(offsets) - 1, np.uint32)
    _checksums(address_of(CRC32), data, offsets, out)
    return out


def read_pieces(files: NDArray[np.int64], pieces: NDArray[np.int64], out: NDArray[np.uint8]) -> bool:
    """Read pieces end to end to `out`; any thread may call it.

    `files` are descriptors of open files; a row of `pieces` begins with index of the file, offset, bytes and CRC-32.

    Returns:
        True if all pieces were read and have their checksums. If not, the content of `out` is undefined.
    """
    return bool(_read(_pread_address(), address_of(CRC32), files, pieces, out))


@lru_cache
def _pread_address() -> np.uint64:
    return np.uint64(ctypes.cast(ctypes.CDLL(None).pread, ctypes.c_void_p).value or 0)


@intrinsic
def _call_pread(_typing_context, address, file, buffer, size, offset):
    """Call ssize_t pread(int, void *, size_t, off_t) at `address` (uint64)."""

    def generate(_context, builder, _signature, arguments):
        untyped, word, double = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        function = ir.FunctionType(double, [word, untyped, double, double]).as_pointer()
        pointer = builder.inttoptr(arguments[2], untyped)
        return builder.call(
            builder.inttoptr(arguments[0], function), [arguments[1], pointer, arguments[3], arguments[4]]
        )

    return types.int64(types.uint64, types.int32, types.uint64, types.uint64, types.int64), generate


@compiled
def _checksums(check, data, offsets, out):
    """Fill `out` with the CRC-32 of each piece."""
    begin = np.uint64(data.ctypes.data)
    for k in range(len(out)):
        size = np.uint64(offsets[k + 1] - offsets[k])
        out[k] = call_checksum(check, np.uint32(0), begin + np.uint64(offsets[k]), size)


@compiled
def _read(read, check, files, pieces, out):
    """Read the pieces end to end; return False at the first that is missing or has another checksum."""
    target, room = np.uint64(out.ctypes.data), np.int64(len(out))
    for k in range(len(pieces)):
        file, offset, size = np.int32(files[pieces[k, 0]]), pieces[k, 1], pieces[k, 2]
        if size > room:
            return False
        got = np.int64(0)
        while got < size:
            more = _call_pread(read, file, target + np.uint64(got), np.uint64(size - got), offset + got)
            if more <= 0:
                return False
            got += more
        if np.int64(call_checksum(check, np.uint32(0), target, np.uint64(size))) != pieces[k, 3]:
            return False
        target += np.uint64(size)
        room -= size
    return True
