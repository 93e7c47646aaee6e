"""Tags of BAM records, with texts at every offset in a word and at the end of the data."""

import random

import numpy as np
import pytest
from quire.io.bam.tags_cpu import end_of_text, find_tags, text_tag
from quire.ragged import pack_bytes
from quire.simd.compiled import compiled


@compiled
def _end(data, at, end):
    return end_of_text(data, at, end)


@compiled
def _text(data, at, end, first, second):
    return text_tag(data, at, end, first, second)


@compiled
def _found(data, at, end, names, offsets, group):
    return find_tags(data, at, end, names, offsets, group)


def _bytes(data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), np.uint8)


@pytest.mark.parametrize("letter", [1, 0x7F, 0x80, 0x81, 0xFF])
def test_the_end_of_a_text(letter: int) -> None:
    """The NUL is found anywhere, next to bytes that differ from it by one bit, or is missing."""
    for length in range(20):
        for after in range(10):
            data = _bytes(bytes([letter]) * length + b"\0" + bytes([letter]) * after)
            for at in range(length + 1):
                assert _end(data, at, len(data)) == length
                assert _end(data, at, max(at, length - 1)) == max(at, length - 1)
            without = data[: max(1, length)]
            assert _end(without[:length], 0, length) == length


def test_tags_of_many_lengths() -> None:
    """MD, NM and the read group are found in random records at the end of the data, with similar group names."""
    generator = random.Random(5)
    for _ in range(500):
        groups = [b"S" * generator.randrange(1, 20) + b"%d" % k for k in range(3)]
        names, offsets = pack_bytes(groups)
        chosen, md = generator.randrange(3), b"A1" * generator.randrange(12) + b"7"
        parts = [
            b"NMC\5",
            b"MDZ" + md + b"\0",
            b"RGZ" + groups[chosen] + b"\0",
            b"xsZ" + b"y" * generator.randrange(9) + b"\0",
        ]
        generator.shuffle(parts)
        text = b"".join(parts)
        begin = generator.randrange(9)
        data = _bytes(b"\0" * begin + text)
        distance, first, last, group = _found(data, begin, len(data), names, offsets, generator.randrange(3))
        assert (distance, data[first:last].tobytes(), group) == (5, md, chosen)
        first, last = _text(data, begin, len(data), ord("M"), ord("D"))
        assert data[first:last].tobytes() == md
        assert _text(data, begin, len(data), ord("N"), ord("O")) == (-1, -1)
