"""Mutations of bytes and of lines, drawn from a seeded generator."""

import random
import struct
import zlib
from collections.abc import Iterator

# Numbers at the limits of fields of 8 to 32 bits.
NUMBERS = (
    0, 1, 2, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**29, 2**31 - 1, 2**31, 2**32 - 1,
    -1, -2, -100, -128, -32768, -(2**31),
)  # fmt: skip
LETTERS = b"\x00\t\n\r \"'@+>;,:=|/\\-.*NAac09~\x7f\x80\xff"
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
LARGEST_BLOCK = 0xFF00  # uncompressed bytes


def number(generator: random.Random) -> int:
    """Return a number at or near a limit, or a small one."""
    drawn = generator.random()
    if drawn < 0.6:
        return generator.choice(NUMBERS)
    return generator.choice(NUMBERS) + generator.randrange(-3, 4) if drawn < 0.8 else generator.randrange(-300, 3000)


def little_endian(value: int, size: int) -> bytes:
    """Return the lowest bytes of a number, whatever its sign and size."""
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def mutate_bytes(generator: random.Random, content: bytes) -> bytes:
    """Return `content` with one to four changes: flips, numbers, deletions, copies, truncation."""
    data = bytearray(content)
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        if not data:
            return bytes(data)
        at = generator.randrange(len(data))
        kind = generator.randrange(8)
        if kind == 0:
            data[at] ^= 1 << generator.randrange(8)
        elif kind == 1:
            data[at] = generator.randrange(256)
        elif kind == 2:
            size = generator.choice((1, 2, 4))
            data[at : at + size] = little_endian(number(generator), size)
        elif kind == 3:
            del data[at : at + generator.choice((1, 1, 2, 4, 17, 300))]
        elif kind == 4:
            data[at:at] = bytes(generator.choice(LETTERS) for _ in range(generator.choice((1, 1, 3))))
        elif kind == 5:
            source = generator.randrange(len(data))
            data[at:at] = data[source : source + generator.choice((1, 4, 40, 400))]
        elif kind == 6:
            data[at] = generator.choice(LETTERS)
        else:
            del data[at:]
    return bytes(data)


def mutate_lines(generator: random.Random, content: bytes, separator: bytes = b"\t") -> bytes:
    """Return a text with a change of lines or fields, or of bytes in a quarter of the draws."""
    lines = content.split(b"\n")
    kind = generator.randrange(8)
    at = generator.randrange(len(lines))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(generator.randrange(len(lines) + 1), lines[at])
    elif kind == 2:
        other = generator.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        ending = generator.choice((b"\r\n", b"\r", b"\n\n", b""))
        return content.replace(b"\n", ending) if generator.random() < 0.5 else content[: content.rfind(b"\n")] + ending
    elif kind < 6:
        fields = lines[at].split(separator)
        field = generator.randrange(len(fields))
        fields[field] = mutate_field(generator, fields[field])
        if generator.random() < 0.2:
            fields.insert(field, generator.choice(fields))
        elif generator.random() < 0.2:
            del fields[field]
        lines[at] = separator.join(fields)
    else:
        return mutate_bytes(generator, content)
    return b"\n".join(lines)


def mutate_field(generator: random.Random, field: bytes) -> bytes:
    """Return another value of a text field: a number at a limit, hostile text, or changed bytes."""
    hostile = (b"", b".", b"*", b"-", b"NaN", b"inf", b"1e400", b"0x10", b"1_000", b"\xc3\xa4", b"\xff",
               b"' OR", b"${HOME}",
               b"<script>", b"../../x", b"\x00", b"a" * 300, b"9" * 40)  # fmt: skip
    drawn = generator.random()
    if drawn < 0.4:
        return str(number(generator)).encode()
    return generator.choice(hostile) if drawn < 0.7 else mutate_bytes(generator, field)


def bgzf(content: bytes, generator: random.Random | None = None) -> bytes:
    """Return `content` as BGZF with correct checksums, in blocks whose sizes the generator draws.

    The first has 300 bytes or more, since samtools recognises a file by them.
    """
    blocks: list[bytes] = []
    while content:
        sizes = (300, 5000, LARGEST_BLOCK) if not blocks else (1, 30, 300, 5000, LARGEST_BLOCK)
        size = LARGEST_BLOCK if generator is None else generator.choice(sizes)
        blocks.append(bgzf_block(content[:size]))
        content = content[size:]
    return b"".join(blocks) + BGZF_END


def inflated_members(content: bytes) -> Iterator[bytes]:
    """Yield the content of each member of a gzip or BGZF file; zeros after a member are padding, as for Python's gzip.

    Reserved bits of a member's flags are ignored, as by ISA-L: the checksum holds the content.

    Raises:
        zlib.error: a member is damaged.
        EOFError: the last member is truncated.
    """
    while content:
        member = zlib.decompressobj(31)
        inflated = member.decompress(content[:3] + bytes([content[3] & 0x1F]) + content[4:] if content[3:] else content)
        if not member.eof:
            raise EOFError("truncated")
        yield inflated
        content = member.unused_data.lstrip(b"\0")


def bgzf_block(content: bytes, level: int = 1) -> bytes:
    """Return one BGZF block."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    extra = struct.pack("<HBBHH", 6, 66, 67, 2, len(body) + 25)
    return b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + extra + body + struct.pack("<II", zlib.crc32(content), len(content))
