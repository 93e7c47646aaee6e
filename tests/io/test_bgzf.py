"""BGZF blocks: equal data become equal bytes wherever ISA-L's memory is."""

import ctypes
import gzip
import mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from quire.io import bgzf_cpu
from quire.io.isa_l import Stream, new_stream

ADDRESSES = 60


def payloads() -> list[np.ndarray]:
    """Return payloads of four letters: short ones, for which ISA-L takes a small table, and longer ones."""
    generator = np.random.default_rng(1)
    sizes = [
        *generator.integers(8, 290, 60),
        289,
        290,
        *generator.integers(290, 600, 60),
        *generator.integers(2000, 9000, 20),
    ]
    return [generator.choice(np.frombuffer(b"ACGT", np.uint8), size) for size in sizes]


def compressed(stream: Stream, payload: np.ndarray, level: int) -> bytes:
    out = np.empty(bgzf_cpu.LARGEST_BLOCK, np.uint8)
    return out[: bgzf_cpu._compress(stream, level, np.empty(bgzf_cpu._LEVEL_BYTES, np.uint8), payload, out)].tobytes()


def different_blocks(level: int) -> int:
    """Count the blocks that change with the address of ISA-L's struct, and with the previous content of its memory."""
    memory = mmap.mmap(-1, 1 << 34, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
    begin = np.frombuffer(memory, np.uint8).ctypes.data
    usual = new_stream("isal_deflate_init", "isal_deflate")
    expected = [compressed(usual, payload, level) for payload in payloads()]
    generator, different = np.random.default_rng(2), 0
    for place in generator.integers(0, (1 << 34) - usual.words.nbytes, ADDRESSES):
        words = (ctypes.c_uint64 * len(usual.words)).from_address(begin + int(place) // 8 * 8)
        stream = usual._replace(words=np.ctypeslib.as_array(words))
        stream.words[:] = generator.integers(0, 1 << 63, dtype=np.uint64)
        different += sum(
            compressed(stream, payload, level) != block for payload, block in zip(payloads(), expected, strict=True)
        )
    return different


@pytest.mark.parametrize("level", [1, 2])
def test_no_address_decides(level: int) -> None:
    assert different_blocks(level) == 0


@pytest.mark.parametrize("level", [1, 2])
def test_threads_agree(level: int) -> None:
    data = np.concatenate(payloads())
    expected = bgzf_cpu.compress_blocks(data, level).tobytes()
    assert gzip.decompress(expected) == data.tobytes()
    with ThreadPoolExecutor(4) as threads:
        assert {blocks.tobytes() for blocks in threads.map(bgzf_cpu.compress_blocks, [data] * 20, [level] * 20)} == {
            expected
        }
