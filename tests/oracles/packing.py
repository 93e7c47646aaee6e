"""Slow packing of records: the description of `quire.buckets.packing` in plain Python, on bytes."""

import struct
from typing import NamedTuple

FIXED = struct.Struct("<iiiBBHHHiiii")
BITS = (
    *("whole", "mirrored", "near", "same_bin", "same_bases", "same_name", "one_match", "two_bits"),
    *("nm_zero", "nm", "md_matches", "md", "mc_matches", "mc", "ms_short", "ms", "as_short", "as", "xs_short", "xs"),
    *("others", "group"),
)


class Record(NamedTuple):
    """The parts of a record."""

    contig: int
    position: int
    mapping_quality: int
    bin: int
    flag: int
    mate_contig: int
    mate_position: int
    length: int
    name: bytes
    cigar: bytes
    bases: int
    sequence: bytes
    qualities: bytes
    tags: bytes

    @property
    def places(self) -> tuple[int, ...]:
        return self.contig, self.position, self.mate_contig, self.mate_position, self.length


def taken_apart(record: bytes) -> Record | None:
    """Return the parts of a record; None if the record lacks one."""
    _, contig, position, name_bytes, quality, number, operations, flag, bases, *mate = FIXED.unpack_from(record)
    name, cigar = FIXED.size, FIXED.size + name_bytes
    sequence = cigar + 4 * operations
    qualities = sequence + (bases + 1) // 2
    tags = qualities + bases
    if name_bytes == 0 or bases < 0 or tags > len(record) or len(record) - tags > 65535 or record[cigar - 1]:
        return None
    return Record(
        contig, position, quality, number, flag, *mate, record[name : cigar - 1], record[cigar:sequence], bases,
        record[sequence:qualities], record[qualities:tags], record[tags:],
    )  # fmt: skip


def packed(records: list[bytes]) -> bytes:
    """Return the bytes of a piece."""
    if not records:
        return b""
    found = [taken_apart(record) for record in records]
    highest = max((max(one.qualities, default=0) for one in found[:16] if one), default=0)
    out, before, group = bytes([highest]), None, b""
    for record, parts in zip(records, found, strict=True):
        if before is None or parts is None:
            out += bits({"whole"}) + record
            if before is None and parts is not None:
                group = last_group(parts.tags)
        else:
            out += _behind_the_first(parts, before, highest, group)
        before = parts or before
    return out


def bits(names: set[str], mapping_quality: int = 0) -> bytes:
    """Return the first four bytes."""
    assert names <= set(BITS)
    return (sum(1 << i for i, name in enumerate(BITS) if name in names) | mapping_quality << 24).to_bytes(4, "little")


def _behind_the_first(record: Record, before: Record, highest: int, group: bytes) -> bytes:
    names: set[str] = set()
    body = struct.pack("<H", record.flag) + _places(record, before, names)
    if record.bin == before.bin:
        names.add("same_bin")
    else:
        body += struct.pack("<H", record.bin)
    if record.bases == before.bases:
        names.add("same_bases")
    else:
        body += struct.pack("<I", record.bases)
    if record.name == before.name:
        names.add("same_name")
    else:
        same = 0
        while record.name[same : same + 1] == before.name[same : same + 1] != b"":
            same += 1
        body += bytes([same, len(record.name) - same]) + record.name[same:]
    if record.cigar == struct.pack("<I", (record.bases << 4) % 2**32):
        names.add("one_match")
    else:
        body += struct.pack("<H", len(record.cigar) // 4) + record.cigar
    body += _bases(record, names) + qualities_packed(record.qualities, highest) + _tags(record, group, names)
    return bits(names, record.mapping_quality) + body


def _places(record: Record, before: Record, names: set[str]) -> bytes:
    mirrored = (before.mate_contig, before.mate_position, before.contig, before.position, -before.length)
    distance = record.mate_position - record.position
    if record.places == mirrored:
        names.add("mirrored")
        return b""
    if before.contig == record.contig == record.mate_contig and all(
        -(2**15) <= value < 2**15 for value in (distance, record.length)
    ):
        names.add("near")
        return struct.pack("<ihh", record.position, distance, record.length)
    return struct.pack("<iiiii", *record.places)


def _bases(record: Record, names: set[str]) -> bytes:
    halves = [half for byte in record.sequence for half in (byte >> 4, byte & 15)]
    padding = halves[record.bases :]
    if any(padding) or not all(half in (1, 2, 4, 8) for half in halves[: record.bases]):
        return record.sequence
    names.add("two_bits")
    codes = [(1, 2, 4, 8).index(half) for half in halves[: record.bases]] + [0] * (3 + len(halves) - record.bases)
    # The first base of a byte is in its higher half, and keeps its position among four.
    fours = [codes[i : i + 4] for i in range(0, len(halves), 4)]
    return bytes(b | a << 2 | d << 4 | c << 6 for a, b, c, d in fours)


def qualities_packed(qualities: bytes, highest: int) -> bytes:
    """Pack qualities as bit planes, 32 values at a time."""
    out = b""
    for first in range(0, len(qualities), 32):
        values = [(highest - quality) % 256 for quality in qualities[first : first + 32]]
        planes = [sum((value >> weight & 1) << i for i, value in enumerate(values)) for weight in range(8)]
        out += bytes([sum((plane != 0) << weight for weight, plane in enumerate(planes))])
        out += b"".join(plane.to_bytes((len(values) + 7) // 8, "little") for plane in reversed(planes) if plane)
    return out


SIZES = {"A": 1, "c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "f": 4}


def split_tags(tags: bytes) -> list[bytes]:
    """Return the tags as a list."""
    found = []
    while tags:
        kind = chr(tags[2])
        if kind in SIZES:
            size = 3 + SIZES[kind]
        elif kind == "B":
            size = 8 + SIZES[chr(tags[3])] * int.from_bytes(tags[4:8], "little")
        else:
            size = tags.index(0, 3) + 1
        found.append(tags[:size])
        tags = tags[size:]
    return found


def last_group(tags: bytes) -> bytes:
    """Return the tag RG if it is the last."""
    found = split_tags(tags)
    return found[-1] if found and found[-1].startswith(b"RGZ") else b""


def _tags(record: Record, group: bytes, names: set[str]) -> bytes:
    tags, out = record.tags, b""
    if group and tags.endswith(group):
        names.add("group")
        tags = tags[: len(tags) - len(group)]
    found = split_tags(tags)
    if found and found[0].startswith(b"NMC"):
        value = found.pop(0)[3:]
        names.add("nm" if value[0] else "nm_zero")
        out += value.strip(b"\0")
    for tag, what, usual in ((b"MDZ", "md", b"%d"), (b"MCZ", "mc", b"%dM")):
        if found and found[0].startswith(tag):
            text = found[0][3:-1]
            if text == usual % record.bases and record.bases < 10**6:
                names.add(f"{what}_matches")
            elif len(text) < 256:
                names.add(what)
                out += bytes([len(text)]) + text
            else:
                continue
            found.pop(0)
    for tag, what in ((b"ms", "ms"), (b"AS", "as"), (b"XS", "xs")):
        for kind, name in ((b"C", f"{what}_short"), (b"S", what)):
            if found and found[0].startswith(tag + kind):
                names.add(name)
                out += found.pop(0)[3:]
                break
    if found:
        names.add("others")
        others = b"".join(found)
        out += struct.pack("<H", len(others)) + others
    return out
