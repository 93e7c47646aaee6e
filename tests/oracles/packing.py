"""Slow packing of records: the description of `quire.buckets.packing_cpu` in plain Python, on bytes."""

import struct
from typing import NamedTuple

FIXED = struct.Struct("<iiiBBHHHiiii")
WHOLE, TWO_BITS = 1, 2


class Record(NamedTuple):
    """The parts of a record."""

    fixed: bytes
    name_and_cigar: bytes
    bases: int
    sequence: bytes
    qualities: bytes
    tags: bytes


def taken_apart(record: bytes) -> Record | None:
    """Return the parts of a record; None if they are longer than the record."""
    _, _, _, name_bytes, _, _, operations, _, bases, *_ = FIXED.unpack_from(record)
    sequence = FIXED.size + name_bytes + 4 * operations
    qualities = sequence + (bases + 1) // 2
    tags = qualities + bases
    if bases < 0 or tags > len(record):
        return None
    return Record(
        record[: FIXED.size], record[FIXED.size : sequence], bases, record[sequence:qualities], record[qualities:tags],
        record[tags:],
    )  # fmt: skip


def packed(records: list[bytes]) -> bytes:
    """Return the bytes of a piece."""
    if not records:
        return b""
    found = [taken_apart(record) for record in records]
    highest = max((max(one.qualities, default=0) for one in found[:16] if one), default=0)
    out, before = bytes([highest]), None
    for record, parts in zip(records, found, strict=True):
        if before is None or parts is None:
            out += bytes([WHOLE]) + record
        else:
            kind, bases = _bases(parts)
            out += bytes([kind]) + changes(parts.fixed, before.fixed)
            out += changes(parts.name_and_cigar, before.name_and_cigar) + bases
            out += qualities_packed(parts.qualities, highest)
            out += changes(parts.tags, before.tags, len(before.tags) - len(parts.tags))
        before = parts or before
    return out


def changes(part: bytes, before: bytes, shift: int = 0) -> bytes:
    """Return which bytes of each eight differ from those of the previous record, and these bytes."""
    out = b""
    for first in range(0, len(part), 8):
        other = before[first + shift :][:8] if first + shift >= 0 else b""
        pairs = list(zip(part[first : first + 8], other.ljust(8, b"\0"), strict=False))
        out += bytes([sum((new != old) << i for i, (new, old) in enumerate(pairs))])
        out += bytes(new for new, old in pairs if new != old)
    return out


def _bases(record: Record) -> tuple[int, bytes]:
    halves = [half for byte in record.sequence for half in (byte >> 4, byte & 15)]
    padding = halves[record.bases :]
    if any(padding) or not all(half in (1, 2, 4, 8) for half in halves[: record.bases]):
        return 0, record.sequence
    codes = [(1, 2, 4, 8).index(half) for half in halves[: record.bases]] + [0] * (3 + len(halves) - record.bases)
    # The first base of a byte is in its higher half, and keeps its position among four.
    fours = [codes[i : i + 4] for i in range(0, len(halves), 4)]
    return TWO_BITS, bytes(b | a << 2 | d << 4 | c << 6 for a, b, c, d in fours)


def qualities_packed(qualities: bytes, highest: int) -> bytes:
    """Pack qualities as bit planes, 32 values at a time."""
    out = b""
    for first in range(0, len(qualities), 32):
        values = [(highest - quality) % 256 for quality in qualities[first : first + 32]]
        planes = [sum((value >> weight & 1) << i for i, value in enumerate(values)) for weight in range(8)]
        out += bytes([sum((plane != 0) << weight for weight, plane in enumerate(planes))])
        out += b"".join(plane.to_bytes((len(values) + 7) // 8, "little") for plane in reversed(planes) if plane)
    return out
