"""ISA-L's functions for kernels, which call them for many blocks at a time without the interpreter's lock.

python-isal compresses or inflates one block per call and takes the lock each time. The functions of ISA-L's public
header (`igzip_lib.h`, version 2) are therefore looked up in python-isal's extension, or in the library that it is
linked with: see docs/decisions/0020-isa-l-from-kernels.md.
"""

import ctypes
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from isal import isal_zlib
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from quire.errors import QuireError

CRC32 = "crc32_gzip_refl"
_STREAM_BYTES = 1 << 18  # struct isal_zstream takes about 130 kB, struct inflate_state about 90 kB


class Stream(NamedTuple):
    """ISA-L's functions for one kind of stream, and memory for its struct, for one thread at a time.

    Attributes:
        initialise, run, checksum: addresses of functions.
        words: uint64[], the struct as 64-bit words.
    """

    initialise: np.uint64
    run: np.uint64
    checksum: np.uint64
    words: NDArray[np.uint64]


def new_stream(initialise: str, run: str) -> Stream:
    """Return a stream for the named functions, with uninitialised memory."""
    return Stream(address_of(initialise), address_of(run), address_of(CRC32), np.empty(_STREAM_BYTES // 8, np.uint64))


@lru_cache
def address_of(name: str) -> np.uint64:
    """Return the address of a function of ISA-L; raise QuireError if python-isal does not export it."""
    try:
        return np.uint64(ctypes.cast(getattr(ctypes.CDLL(isal_zlib.__file__), name), ctypes.c_void_p).value or 0)
    except (OSError, AttributeError):
        raise QuireError(
            f"{isal_zlib.__file__}: exports no function {name} of ISA-L; install python-isal from PyPI or conda-forge."
        ) from None


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
    """Call the C function uint32_t f(uint32_t, const unsigned char *, uint64_t) at `address`; `before` starts at 0."""

    def generate(_context, builder, _signature, arguments):
        untyped, word, double = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        function = ir.FunctionType(word, [word, untyped, double]).as_pointer()
        pointer = builder.inttoptr(arguments[2], untyped)
        return builder.call(builder.inttoptr(arguments[0], function), [arguments[1], pointer, arguments[3]])

    return types.uint32(types.uint64, types.uint32, types.uint64, types.uint64), generate
