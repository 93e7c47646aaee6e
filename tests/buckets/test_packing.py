"""Packed pieces equal those of a slow packer, and are unpacked to the same records, whatever these hold."""

import gzip
import random
import struct
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.buckets.packing_cpu import SAMPLED_RECORDS, SLACK, pack, unpack
from quire.io.bam.decode_cpu import records_of

from tests.oracles.packing import FIXED, TWO_BITS, WHOLE, packed, taken_apart
from tests.support.examples import examples

DEMO = Path(__file__).parents[1] / "data/demo/NA12878_R1.fastq.gz"
GROUP = b"RGZS.lane1\0"
HALVES = (1, 2, 4, 8)


def record(
    place: tuple[int, int] = (0, 1000),
    mate: tuple[int, int] = (0, 1200),
    length: int = 300,
    name: bytes = b"read1",
    flag: int = 99,
    bases: str | list[int] = "ACGT",
    qualities: bytes | None = None,
    cigar: list[int] | None = None,
    tags: bytes = b"",
    number: int = 4681,
    mapping_quality: int = 60,
) -> bytes:
    """Return a record's bytes; bases are letters, or BAM's numbers, one more of which is the padding."""
    numbers = ["=ACMGRSVTWYHKDBN".index(base) for base in bases] if isinstance(bases, str) else list(bases)
    count = len(numbers) if qualities is None else len(qualities)
    numbers += [0] * (-len(numbers) % 2)
    sequence = bytes(high << 4 | low for high, low in zip(numbers[::2], numbers[1::2], strict=True))
    qualities = bytes([30]) * count if qualities is None else qualities
    operations = [count << 4] if cigar is None else cigar
    body = name + b"\0" + struct.pack(f"<{len(operations)}I", *operations) + sequence + qualities + tags
    size = FIXED.size - 4 + len(body)
    fixed = FIXED.pack(
        size, *place, len(name) + 1, mapping_quality, number, len(operations), flag, count, *mate, length
    )
    return fixed + body


def check(pieces: list[list[bytes]]) -> list[bytes]:
    """Pack and unpack pieces, compare both with the oracle, and return them packed."""
    data = np.frombuffer(b"".join(b"".join(piece) for piece in pieces) + bytes(SLACK), np.uint8).copy()
    offsets = np.array([0, *accumulate(sum(map(len, piece)) for piece in pieces)])
    found, borders = pack(data, offsets)
    one_by_one = [found[first:last].tobytes() for first, last in pairwise(borders.tolist())]
    assert one_by_one == [packed(piece) for piece in pieces]
    room = np.concatenate([found, np.random.default_rng(1).integers(0, 256, SLACK).astype(np.uint8)])
    back = unpack(room, borders, int(offsets[-1]))
    assert back is not None
    expected = records_of(data[: offsets[-1]])
    assert all(np.array_equal(one, other) for one, other in zip(back, expected, strict=True))
    return one_by_one


def stored(one: bytes, before: bytes | None = None) -> tuple[int, int]:
    """Return the first byte of a record that is packed after another, and the number of its bytes."""
    before = record(name=b"another", tags=b"NMC\0" + GROUP) if before is None else before
    [piece] = check([[before, one]])
    return piece[len(packed([before]))], len(piece) - len(packed([before]))


def test_no_records() -> None:
    assert check([]) == []
    assert check([[], []]) == [b"", b""]
    [empty, one, _] = check([[], [record()], []])
    assert (empty, one) == (b"", bytes([30, WHOLE]) + record())


def test_a_record_of_quire_takes_few_bytes() -> None:
    """A second mate is stored as its bases and qualities, and the fixed fields and tags that differ from the first."""
    letters, values = "ACGT" * 37 + "AC", bytes([37] * 150)
    tags = b"NMC\0MDZ150\0MCZ150M\0msS\x11\x12ASC\x96XSC\0"
    one = record((3, 5000), (3, 5200), 350, b"r/7", 99, letters, values, tags=tags + GROUP)
    other = tags.replace(b"NMC\0MDZ150", b"NMC\x01MDZ70A79")
    two = record((3, 5200), (3, 5000), -350, b"r/7", 147, letters, values, tags=other + GROUP)
    fixed, name_and_cigar, tags_before = 1 + 2 + 1 + 2 + 4, 0, 8  # size, both positions (2 + 2), flag, length
    size = 1 + (5 + fixed + 1) + (1 + name_and_cigar) + 38 + 5 + (len(other + GROUP) + 7) // 8
    assert size <= stored(two, one)[1] <= size + 3 + tags_before


@pytest.mark.parametrize("place", [(0, 1200), (1, 5), (-1, -1), (0, 2**31 - 1)])
@pytest.mark.parametrize("length", [0, 300, -300, -(2**31)])
def test_places(place: tuple[int, int], length: int) -> None:
    assert stored(record(place, (0, 1000), length))[0] == TWO_BITS


@pytest.mark.parametrize("last", [b"", b"a", b"abcdefgh", b"abcdefgX", b"x" * 254, b"x" * 253 + b"y", b"x" * 8 + b"a"])
@pytest.mark.parametrize("name", [b"", b"a", b"abcdefgh", b"abcdefghi", b"x" * 254, b"x" * 250, b"x" * 9])
def test_names(name: bytes, last: bytes) -> None:
    assert stored(record(name=name), record(name=last))[0] == TWO_BITS


@pytest.mark.parametrize("count", [*range(35), 150, 151, 1023, 1024])
@pytest.mark.parametrize("spoilt", ["", "first", "last", "zero", "two", "padding"])
def test_bases(count: int, spoilt: str) -> None:
    """Other bases than A, C, G and T are stored unchanged, at any place of a word and after the last base."""
    generator = random.Random(count)
    numbers = generator.choices(HALVES, k=count)
    if count == 0 or (spoilt == "padding" and count % 2 == 0):
        spoilt = ""
    if spoilt:
        place = {"first": 0, "padding": count}.get(spoilt, count - 1)
        numbers[place:] = [{"zero": 0, "two": 3, "padding": generator.choice(HALVES)}.get(spoilt, 15)]
        numbers += generator.choices(HALVES, k=max(0, count - len(numbers)))
    one = record(bases=numbers, qualities=bytes([20]) * count)
    assert stored(one)[0] == (0 if spoilt else TWO_BITS)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 150, 1024])
@pytest.mark.parametrize("kind", ["one", "four", "many", "any", "missing", "bit"])
def test_qualities(count: int, kind: str) -> None:
    """Qualities of all values are kept, also above the highest of the first records."""
    generator = random.Random(count)
    values = {
        "one": [37],
        "four": [2, 12, 23, 37],
        "many": list(range(2, 42)),
        "any": list(range(256)),
        "missing": [255],
        "bit": [37, 37, 37, 37, 37, 37, 37, 36],
    }[kind]
    piece = []
    for i in range(SAMPLED_RECORDS + 3):
        qualities = bytes(generator.choices(values, k=count))
        piece.append(record(bases="A" * count, qualities=qualities if i % 7 else bytes([255]) * count))
        if i > SAMPLED_RECORDS:
            piece[-1] = record(bases="A" * count, qualities=bytes(generator.choices(range(256), k=count)))
    check([piece, piece[1:], [record(qualities=b"", bases=""), *piece]])


def test_qualities_of_a_sequencer_take_half() -> None:
    """Qualities of the demo take fewer than 4.6 bits each, and fewer than 1.7 as four values."""
    with gzip.open(DEMO, "rb") as stream:
        lines = stream.read().split(b"\n")[3::4][:500]
    few = np.array([2, 11, 25, 37], np.uint8)[np.digitize(np.arange(256), [3, 18, 31])]
    for table, most in ((np.arange(256, dtype=np.uint8), 4.6), (few, 1.7)):
        strings = [table[np.frombuffer(line, np.uint8) - 33].tobytes() for line in lines if line]
        records = [record(bases="A" * len(string), qualities=string) for string in strings]
        bare = [record(bases="A" * len(string), qualities=bytes([37]) * len(string)) for string in strings]
        whole, of_one_value = (len(check([some])[0]) for some in (records, bare))
        assert whole - of_one_value < most / 8 * sum(map(len, strings))


@pytest.mark.parametrize("before", [b"", b"NMC\0MDZ150\0" + GROUP, GROUP, b"X" * 300])
@pytest.mark.parametrize("tags", [b"", b"NMC\0MDZ70A79\0" + GROUP, GROUP + b"NMC\0", b"xxZ" + b"a" * 65532 + b"\0"])
def test_tags(tags: bytes, before: bytes) -> None:
    """Tags of any sizes are compared from their ends."""
    assert stored(record(tags=tags), record(tags=before))[0] == TWO_BITS


def unsound(kind: str) -> bytes:
    """Return a record whose parts are longer than the record."""
    changed = bytearray(record(name=b"abc", tags=b"NMC\0"))
    if kind == "long name":
        changed[12] = 200
    else:
        changed[20:24] = struct.pack("<i", {"many bases": 1000, "negative": -5}[kind])
    return bytes(changed)


@pytest.mark.parametrize("kind", ["long name", "many bases", "negative"])
def test_records_that_cannot_be_taken_apart(kind: str) -> None:
    """Such records are stored whole; the next are compared with the record before."""
    odd, usual = unsound(kind), record(name=b"abcd", tags=GROUP)
    assert taken_apart(odd) is None
    assert stored(odd, usual)[0] == WHOLE
    check([[usual, odd, usual], [odd, usual, usual], [odd], [odd, odd]])


@pytest.mark.parametrize("count", [0, 1, 2, 33, 65])
@pytest.mark.parametrize("tags", [b"", b"XXC\0"])
def test_what_packs_worst_has_room(count: int, tags: bytes) -> None:
    """Nothing equals the record before, and the last plane of each weight has one value."""
    piece = [record()]
    for i in range(40):
        place, values = (i % 2, 99), [0, 255] * count
        body = {"bases": [15] * count, "qualities": bytes(values[i % 2 :][:count]), "cigar": [], "tags": tags}
        piece.append(record(place, (2, 7), i, b"ab"[i % 2 : i % 2 + 1], number=i, **body))
        piece.append(
            record(place, (3, 7), i, b"", number=i + 100, **{**body, "bases": [15] * (count + 1), "qualities": None})
        )
    [found] = check([piece])
    size = sum(map(len, piece))
    assert len(found) <= size + size // 2


def test_another_number_of_bytes_is_told() -> None:
    piece = record() + record()
    found, borders = pack(np.frombuffer(piece + bytes(SLACK), np.uint8).copy(), np.array([0, len(piece)]))
    room = np.concatenate([found, np.zeros(SLACK, np.uint8)])
    assert unpack(room, borders, len(piece) + 1) is None
    assert unpack(room, borders, len(piece)) is not None


NUMBERS = st.sampled_from([-1, 0, 1, 2, 1000, 32767, 32768, 2**31 - 1])
TEXTS = st.sampled_from([b"", b"4", b"150", b"2A3^CC9", b"10M5S", b"9" * 300])


@st.composite
def any_tags(draw: st.DrawFn) -> bytes:
    """Draw tags of Quire and others, mostly in Quire's order."""
    count = draw(st.integers(0, 12))
    chosen = [
        b"NM" + draw(st.sampled_from([b"C\0", b"C\x05", b"S\0\x01"])),
        b"MDZ" + draw(TEXTS) + b"\0",
        b"MCZ" + draw(TEXTS) + b"\0",
        b"ms" + draw(st.sampled_from([b"C\x0e", b"S\x01\x10", b"I\x01\x01\x01\x01"])),
        b"AS" + draw(st.sampled_from([b"C\x96", b"S\x2c\x01"])),
        b"XS" + draw(st.sampled_from([b"C\0", b"S\x2c\x01"])),
        b"SAZchr2,100,+,5S10M,60,1;\0",
        b"NHC\x02",
        b"paf\0\0\x80\x3f",
        b"RXZACGT-ACGT\0",
        draw(st.sampled_from([b"RGZS.a\0", b"RGZS.b\0", b"RGZ" + b"long" * 80 + b"\0"])),
        b"ZZBC\x03\0\0\0\x01\0\x03",
    ]
    kept = [draw(st.integers(0, 3)) > 0 for _ in chosen]
    tags = [tag for tag, keep in zip(chosen, kept, strict=True) if keep]
    if count == 0:
        tags = draw(st.permutations(tags))
    return b"".join(tags)


@st.composite
def any_record(draw: st.DrawFn) -> bytes:
    """Draw any record."""
    count = draw(st.sampled_from([0, 1, 4, 31, 32, 33, 150, 151, 300]))
    generator = random.Random(draw(st.integers(0, 1000)))
    halves = draw(st.sampled_from([HALVES, HALVES, (1, 2, 4, 8, 15), range(16)]))
    values = draw(st.sampled_from([[37], [2, 12, 23, 37], range(2, 42), range(94), [255], range(256)]))
    operations = draw(st.sampled_from([None, [], [count << 4, 5 << 4 | 4], [7 << 4 | 1]]))
    return record(
        (draw(NUMBERS), draw(NUMBERS)), (draw(NUMBERS), draw(NUMBERS)), draw(NUMBERS),
        draw(st.sampled_from([b"a", b"read:1:22", b"read:1:23", b"read:1:2", b"n" * 254])), draw(st.integers(0, 4095)),
        generator.choices(halves, k=count), bytes(generator.choices(values, k=count)), operations, draw(any_tags()),
        draw(st.sampled_from([4680, 4681, 0, 65535])), draw(st.integers(0, 255)),
    )  # fmt: skip


def mirrored(one: bytes) -> bytes:
    """Draw the record of a mate."""
    fixed = list(FIXED.unpack_from(one))
    fixed[1:3], fixed[9:11], fixed[11] = fixed[9:11], fixed[1:3], -fixed[11] if fixed[11] > -(2**31) else 0
    return FIXED.pack(*fixed) + one[FIXED.size :]


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.lists(st.tuples(any_record(), st.booleans()), max_size=6), max_size=4))
def test_any_records(given_pieces: list[list[tuple[bytes, bool]]]) -> None:
    """Records of any fields are packed, alone and with their mates."""
    check(
        [
            [each for one, paired in piece for each in ([one, mirrored(one)] if paired else [one])]
            for piece in given_pieces
        ]
    )
