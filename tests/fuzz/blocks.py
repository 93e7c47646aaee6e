"""Fuzzers of gzip and BGZF: headers, extra fields, sizes and checksums, judged by parsers in plain Python and zlib."""

import gzip
import random
import struct
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
from quire.errors import InputError
from quire.io import gzip_ahead
from quire.io.files import open_input, read_errors
from quire.io.inflate_cpu import DamagedBlock, inflate_blocks
from quire.io.text_chunks import text_chunks

from tests.fuzz.mutations import BGZF_END, bgzf_block, little_endian, mutate_bytes, number
from tests.fuzz.target import Refused, Target
from tests.fuzz.text import text_of

FIXED = 12  # bytes of gzip's header with the length of the extra field
TRAILER = 8
# Offset and size of the fields at the start of a block of 18 bytes of header: see section 4.1 of the SAM specification.
FIELDS = {
    "ID1": (0, 1), "ID2": (1, 1), "CM": (2, 1), "FLG": (3, 1), "XFL": (8, 1), "OS": (9, 1), "XLEN": (10, 2),
    "SI1": (12, 1), "SI2": (13, 1), "SLEN": (14, 2), "BSIZE": (16, 2),
}  # fmt: skip


def text() -> bytes:
    """Return a text of some lines."""
    generator = random.Random(11)
    return b"".join(b"%d\t%s\n" % (n, bytes(generator.choices(b"ACGT", k=40))) for n in range(60))


class Bgzf(Target):
    """The blocks of a BGZF file; the answer is their content."""

    name, suffix = "bgzf", ".bgzf"

    def valid(self, folder: Path) -> list[bytes]:
        """Return files of one and of several blocks, with further extra fields and with stored data."""
        parts = [text()[at : at + 700] for at in range(0, len(text()), 700)]
        more = struct.pack("<2sH3s", b"XX", 3, b"abc")
        return [
            bgzf_block(text()) + BGZF_END,
            b"".join(map(bgzf_block, parts)) + BGZF_END,
            b"".join(
                with_extra(bgzf_block(part), more, before) for part, before in zip(parts, (0, 1, 0), strict=False)
            ),
            b"".join(bgzf_block(part, 0) for part in parts),
        ]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change fields of a block, its extra field, its trailer, whole blocks or any bytes."""
        blocks = split(content)
        at = generator.randrange(len(blocks))
        block, drawn = bytearray(blocks[at]), generator.random()
        if drawn < 0.4:
            for _ in range(generator.choice((1, 1, 2))):
                offset, size = FIELDS[generator.choice(list(FIELDS))]
                change(generator, block, offset, size)
        elif drawn < 0.55:
            change(generator, block, len(block) - generator.choice((4, 8)), 4)
        elif drawn < 0.75:
            fields = mutate_bytes(generator, bytes(block[FIXED : FIXED + int.from_bytes(block[10:12], "little")]))
            block = bytearray(block[:10] + struct.pack("<H", len(fields)) + fields + block[18:])
            if generator.random() < 0.5 and len(fields) > 5:
                block[len(fields) + 10 : len(fields) + 12] = struct.pack("<H", len(block) - 1)
        elif drawn < 0.85:
            blocks[at:at] = generator.choice(([], [bytes(block)], [BGZF_END], [b"\0" * 30], [gzip.compress(b"more\n")]))
        else:
            return mutate_bytes(generator, content)
        blocks[at] = bytes(block)
        return b"".join(blocks)[: None if generator.random() < 0.9 else generator.randrange(len(content))]

    def read(self, path: Path) -> object:
        """Return the content of the blocks."""
        content = path.read_bytes()
        # Bytes behind the array would make a block that is cut look whole.
        room = np.frombuffer(bytearray(content + BGZF_END), np.uint8)
        try:
            found, used = inflate_blocks(room[: len(content)])
        except DamagedBlock as error:
            raise InputError(f"{path}: {error}.") from None
        if used < len(content):
            raise InputError(f"{path}: ends within a block.")
        return found.tobytes()

    def judge(self, path: Path) -> object:
        """Return the content by plain Python."""
        content, found = path.read_bytes(), b""
        while content:
            if len(content) < FIXED or content[:3] != b"\x1f\x8b\x08" or content[3] & 0xFE != 4:
                raise Refused("no block")
            extra = int.from_bytes(content[10:12], "little")
            size = block_size(content[FIXED : FIXED + extra], extra)
            block, content = content[:size], content[size:]
            if len(block) < size or size < FIXED + extra + TRAILER:
                raise Refused("the size of a block")
            found += inflated(block, FIXED + extra)
        return found


def block_size(fields: bytes, length: int) -> int:
    """Return the size of a block that its extra field of `length` bytes states.

    Raises:
        Refused: it states none, or its subfields do not fill it.
    """
    size = None
    while len(fields) == length and length >= 4:
        tag, (used,) = fields[:2], struct.unpack_from("<H", fields, 2)
        if tag == b"BC" and used == 2 and len(fields) >= 6 and size is None:
            size = int.from_bytes(fields[4:6], "little") + 1
        fields, length = fields[4 + used :], length - 4 - used
    if length or size is None:
        raise Refused("the extra field")
    return size


def inflated(block: bytes, start: int) -> bytes:
    """Return the content of a block whose deflate data begin at `start`.

    Raises:
        Refused: the data are damaged.
    """
    checksum, size = struct.unpack("<II", block[-TRAILER:])
    packer = zlib.decompressobj(-15)
    try:
        found = packer.decompress(block[start:-TRAILER])
    except zlib.error as error:
        raise Refused(str(error)) from None
    if not packer.eof or len(found) != size or size > 1 << 16 or zlib.crc32(found) != checksum:
        raise Refused("size or checksum")
    return found


class Gzip(Target):
    """The members of a gzip file; the answer is their content, by both of Quire's readers, and by several threads."""

    name, suffix = "gzip", ".gz"

    def valid(self, folder: Path) -> list[bytes]:
        """Return files of one and of several members, with all fields of the header, and blocks before a member."""
        gzip_ahead.STRETCH_BYTES = 700
        half = text()[:1000]
        return [
            gzip.compress(text()),
            gzip.compress(half) + gzip.compress(b"") + gzip.compress(text()),
            member(text(), 2 | 4 | 8 | 16),
            many_blocks(),
            many_blocks() + member(text(), 8) + many_blocks(),
            bgzf_block(half) + gzip.compress(text()),
            bgzf_block(half) + BGZF_END + bytes(50),
        ]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change the header, the trailer, or any bytes; or make a member with other fields."""
        drawn, data = generator.random(), bytearray(content)
        if drawn < 0.3:
            change(generator, data, generator.randrange(FIXED), generator.choice((1, 2)))
        elif drawn < 0.4:
            change(generator, data, max(len(data) - generator.choice((4, 8)), 0), 4)
        elif drawn < 0.6:
            return member(text(), generator.randrange(256) & 0x1F, generator) + generator.choice((b"", content))
        elif drawn < 0.7:
            return content + generator.choice((b"\0", bytes(600), b"x", b"\x1f", b"\x1f\x8b", content, text()))
        else:
            return mutate_bytes(generator, content)
        return bytes(data)

    def read(self, path: Path) -> object:
        """Return the content of the file."""
        with read_errors(path), open_input(path) as stream:
            found = stream.read()
        for threads in (1, 2):
            with read_errors(path), closing(text_chunks(path, 1000, threads)) as chunks:
                again = b"".join(chunk.tobytes() for chunk in chunks)
            assert found == again, threads
        return found

    def judge(self, path: Path) -> object:
        """Return the content by zlib."""
        return text_of(path)


def member(content: bytes, flags: int, generator: random.Random | None = None) -> bytes:
    """Return a gzip member with the fields of `flags` (RFC 1952); a generator makes them wrong now and then."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6)
    fields = {4: b"\x07\0XX\x03\0abc", 8: b"name\0", 16: b"comment\0"}
    for flag, field in fields.items():
        if flags & flag:
            head += mutate_bytes(generator, field) if generator and generator.random() < 0.2 else field
    if flags & 2:
        wrong = generator is not None and generator.random() < 0.3
        head += struct.pack("<H", (zlib.crc32(head) + wrong) & 0xFFFF)
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(content), len(content))


def many_blocks() -> bytes:
    """Return a member with a block for each 128 codes of deflate."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31, 1)
    return packer.compress(3 * text()) + packer.flush()


def split(content: bytes) -> list[bytes]:
    """Return the blocks of a valid BGZF file."""
    blocks = []
    while content:
        extra = int.from_bytes(content[10:12], "little")
        size = block_size(content[FIXED : FIXED + extra], extra)
        blocks.append(content[:size])
        content = content[size:]
    return blocks


def with_extra(block: bytes, field: bytes, before: bool | int) -> bytes:
    """Return a block with one more subfield, before or after its size."""
    size = struct.pack("<2sHH", b"BC", 2, len(block) + len(field) - 1)
    fields = field + size if before else size + field
    return block[:10] + struct.pack("<H", len(fields)) + fields + block[18:]


def change(generator: random.Random, data: bytearray, offset: int, size: int) -> None:
    """Change a number: to one at a limit, or to one near it."""
    old = int.from_bytes(data[offset : offset + size], "little")
    new = number(generator) if generator.random() < 0.5 else old + generator.randrange(-3, 4)
    data[offset : offset + size] = little_endian(new, size)
