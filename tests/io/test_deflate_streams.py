"""Where ISA-L's streams lie: where the same data become the same bytes."""

import gzip
import platform
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from multiprocessing import get_context

import numpy as np
import pytest
from quire.io import deflate_streams
from quire.io.bgzf import compress_pieces
from quire.io.deflate_streams import STREAM_BYTES, deflate_stream

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="ISA-L's assembly for x86-64, and Linux's mmap"
)
STREAMS = 20


def crc32c(number: int) -> int:
    """Of four bytes, as the processor's instruction has it: begun at 0, not inverted."""
    crc = 0
    for byte in number.to_bytes(4, "little"):
        for bit in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if (crc ^ byte >> bit) & 1 else 0)
    return crc


def entry(address: int) -> int:
    """In the table of level 2, which has 2^15; the lower bits are that of smaller tables."""
    return crc32c(address >> 16 & 0xFFFFFFFF) % (1 << 15)


def pieces() -> tuple[np.ndarray, np.ndarray]:
    """Short pieces, for which ISA-L takes a table of few entries, and long ones, of four letters; and their offsets."""
    generator = np.random.default_rng(1)
    offsets = np.cumsum([0, *generator.integers(20, 200, 2000), *generator.integers(2000, 9000, 20)])
    return generator.choice(np.frombuffer(b"ACGT", np.uint8), offsets[-1]), offsets


def compressed(level: int) -> bytes:
    blocks, begins = compress_pieces(*pieces(), level)
    return blocks.tobytes() + begins.tobytes()


def test_streams_lie_where_the_entry_is_0() -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(deflate_stream()) for _ in range(100)]
        addresses = {stream.ctypes.data for stream in streams}
        assert len(addresses) == 100
        assert {entry(address) for address in addresses} == {0}
        for stream in streams:
            assert stream.nbytes == STREAM_BYTES
            stream[:] = 1  # all of it can be written to
    with deflate_stream() as stream:
        assert stream.ctypes.data in addresses


def test_a_stream_comes_back_after_an_error() -> None:
    with pytest.raises(KeyError), deflate_stream() as stream:
        raise KeyError
    with deflate_stream() as again:
        assert again is stream


@pytest.mark.parametrize("level", [1, 2])
def test_every_stream_gives_the_same_bytes(level: int) -> None:
    """Other addresses, what calls before left there, threads and processes that are forked change nothing."""
    expected = compressed(level)
    with ExitStack() as stack:
        for _ in range(STREAMS):
            stack.enter_context(deflate_stream())[:] = 0xA5A5A5A5A5A5A5A5
            assert compressed(level) == expected
        with ProcessPoolExecutor(2, get_context("fork")) as processes:
            assert set(processes.map(compressed, [level] * 4)) == {expected}
    assert compressed(level) == expected
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(compressed, [level] * STREAMS)) == {expected}


@pytest.mark.parametrize("flag", [deflate_streams._FIXED_NOREPLACE, 0])
def test_addresses_that_are_taken(monkeypatch: pytest.MonkeyPatch, flag: int) -> None:
    """None is given twice, also where Linux does not know the flag and takes an address as a wish."""
    with ExitStack() as stack:
        taken = {stack.enter_context(deflate_stream()).ctypes.data for _ in range(STREAMS)}
        monkeypatch.setattr(deflate_streams, "_FIXED_NOREPLACE", flag)
        monkeypatch.setattr(deflate_streams, "_candidates", count(1))
        address = deflate_streams._new_stream().ctypes.data
    assert entry(address) == 0
    assert address not in taken


def test_without_such_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deflate_streams, "_free", [])
    monkeypatch.setattr(deflate_streams, "_map", lambda _address: False)
    monkeypatch.setattr(deflate_streams, "_candidates", count(1))
    blocks, _ = compress_pieces(*pieces(), 2)
    assert gzip.decompress(blocks.tobytes()) == pieces()[0].tobytes()
    assert [stream.nbytes for stream in deflate_streams._free] == [STREAM_BYTES]
