"""Memory for ISA-L's struct isal_zstream at such addresses that the same data become the same bytes.

ISA-L's assembly for x86-64 (igzip_icf_body_h1_gr_bt.asm, levels 1 and 2) enters the third byte of its input into its
table of matches by the hash of a register that should hold the input and still holds the address of the stream
(`.write_first_byte`). Which matches it finds hangs on that address: of one block in some ten thousand it makes other
bytes, with the same content. The hash is the CRC-32C of bits 16 to 47 of the address, of which level 1 takes the lowest
13 bits, level 2 the lowest 15, and short blocks fewer. Streams therefore lie where these 15 bits are 0.
"""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import numpy as np
from numpy.typing import NDArray

STREAM_BYTES = 1 << 18  # the struct takes half of it
_ENTRY_BITS = 15
_ADDRESS_SHIFT = 16
_CRC32C = 0x105EC76F1  # its polynomial, the lowest bit of the CRC first
_LOWEST, _HIGHEST = 1 << 44, 1 << 46  # far from programs, heaps, libraries and stacks, which lie above, and from 0
_CANDIDATES = 1 << 13  # of which a fifth lies between these
_READ_WRITE = 0x1 | 0x2
_PRIVATE, _ANONYMOUS, _FIXED_NOREPLACE = 0x2, 0x20, 0x100000

# A list gives and takes, and a counter counts, in one step: threads need no lock, which a fork could leave closed.
_free: list[NDArray[np.uint64]] = []
_candidates = count(1)


@contextmanager
def deflate_stream() -> Iterator[NDArray[np.uint64]]:
    """uint64[STREAM_BYTES / 8] with anything in it, for one thread as long as the context lasts.

    No more are kept than ever were in use at a time.
    """
    try:
        stream = _free.pop()
    except IndexError:
        stream = _new_stream()
    try:
        yield stream
    finally:
        _free.append(stream)


def _new_stream() -> NDArray[np.uint64]:
    """Memory at one of the addresses; anywhere if other code than this assembly runs, or none of them can be had."""
    if (sys.platform, platform.machine()) == ("linux", "x86_64"):
        while (candidate := next(_candidates)) < _CANDIDATES:
            address = _address(candidate << _ENTRY_BITS)
            if _LOWEST <= address < _HIGHEST and _map(address):
                return np.ctypeslib.as_array((ctypes.c_uint64 * (STREAM_BYTES // 8)).from_address(address))
    return np.zeros(STREAM_BYTES // 8, np.uint64)


def _address(crc: int) -> int:
    """The address whose bits 16 to 47 have this CRC-32C (begun at 0, not inverted): the CRC's 32 steps taken back."""
    for _ in range(32):
        crc = crc << 1 ^ (_CRC32C if crc >> 31 else 0)
    return crc << _ADDRESS_SHIFT


def _map(address: int) -> bool:
    """Map memory at an address for as long as the process lives; False if that cannot be had."""
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    found = library.mmap(address, STREAM_BYTES, _READ_WRITE, _PRIVATE | _ANONYMOUS | _FIXED_NOREPLACE, -1, 0)
    if found != address:  # before Linux 4.17 somewhere else; munmap refuses what mmap returns when it failed
        library.munmap(found, STREAM_BYTES)
    return bool(found == address)
