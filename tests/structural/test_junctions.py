"""Junctions, against sequences spelled base by base."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire import reference
from quire.reference import Reference
from quire.structural.junctions import End, Junction, complement, normalised
from quire.structural.loci import merged
from quire.structural.records import records_of
from quire.structural.support import Fragments

SIZE = 120


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Two contigs of two letters, each the complement of the other, so that most junctions have micro-homology."""
    folder = tmp_path_factory.mktemp("repeated")
    generator = np.random.default_rng(3)
    texts = ["".join("AT"[code] for code in generator.integers(0, 2, SIZE)) for _ in range(2)]
    (folder / "genome.fa").write_text("".join(f">c{i}\n{text}\n" for i, text in enumerate(texts)))
    reference.build(folder / "genome.fa", folder / "reference", 1 << 20)
    return Reference.open(folder / "reference")


def spelled(genome: Reference, one: End, other: End, inserted: bytes) -> bytes:
    """Return the whole sequence of a junction, read from the kept stretch of the first end to that of the other."""

    def kept(end: End) -> bytes:
        """Return a kept stretch, read up to its end."""
        if end.right:
            return genome.contig_codes(end.contig, 0, end.position).tobytes()
        return complement(genome.contig_codes(end.contig, end.position, SIZE))

    return kept(one) + inserted + complement(kept(other))


ENDS = st.builds(End, st.integers(0, 1), st.integers(20, SIZE - 20), st.booleans())


@settings(deadline=None)
@given(ENDS, ENDS, st.binary(max_size=3).map(lambda some: bytes(code % 4 for code in some)))
def test_normalised_spells_the_same(repeated: Reference, one: End, other: End, inserted: bytes) -> None:
    """The order, the shift and the complement of inserted bases do not change the sequence."""
    found = normalised(repeated, one, other, inserted)
    wanted = spelled(repeated, one, other, inserted)
    given_back = spelled(repeated, found.first, found.second, found.inserted)
    assert given_back in (wanted, complement(wanted))
    if not inserted and len({found.first, found.second}) == 2:
        for by in range(found.homology + 1):
            shifted = spelled(
                repeated,
                found.first._replace(position=found.first.position + by),
                found.second._replace(position=found.second.position + by * found.second_shift),
                b"",
            )
            assert shifted in (wanted, complement(wanted))


@settings(deadline=None)
@given(ENDS, ENDS)
def test_each_side_gives_the_same_junction(repeated: Reference, one: End, other: End) -> None:
    """Reads of both sides give one junction, at its smallest position."""
    if one != other and (one.contig, one.position) != (other.contig, other.position):
        found = normalised(repeated, one, other, b"")
        assert found == normalised(repeated, other, one, b"")
        assert found == normalised(repeated, found.first, found.second, b"")


@pytest.mark.parametrize(
    ("ends", "inserted", "kind", "size"),
    [
        ((End(0, 10, True), End(0, 70, False)), b"", "DEL", 60),
        ((End(0, 10, False), End(0, 70, True)), b"", "DUP", 60),
        ((End(0, 10, True), End(0, 70, True)), b"", "INV", 60),
        ((End(0, 10, False), End(1, 70, False)), b"", "BND", 0),
        ((End(0, 10, True), End(0, 20, False)), bytes(80), "INS", 70),
    ],
)
def test_kinds(ends: tuple[End, End], inserted: bytes, kind: str, size: int) -> None:
    """The kind follows from contigs and sides."""
    junction = Junction(*ends, inserted)
    assert (junction.kind, junction.size) == (kind, size)


@settings(deadline=None)
@given(ENDS, ENDS)
def test_both_records_tell_their_homology(repeated: Reference, one: End, other: End) -> None:
    """HOMSEQ is what the reference has where CIPOS says, at both ends of a junction between contigs."""
    junction = normalised(repeated, one._replace(contig=0), other._replace(contig=1), b"")
    certain, count = np.array([[-9.0, 0.0]] * 20), np.array([20])
    flags = np.zeros(20, np.uint8)
    fragments = Fragments(
        np.zeros(20, np.int64), flags, flags + 60, certain, np.ones(20), count, count, np.array([[math.nan, math.inf]])
    )
    records = records_of(repeated, junction, fragments, np.array([2]), 30.0, "name")
    assert len(records) == 2
    for end, record in zip((junction.first, junction.second), records, strict=True):
        low, high = record.info.get("CIPOS", (0, 0))
        assert high - low == junction.homology
        shared = repeated.sequence(record.contig, end.position + low, end.position + high).decode()
        assert shared == record.info.get("HOMSEQ", [""])[0]


def test_junctions_that_differ_in_their_known_bases_alone_are_ordered() -> None:
    """A deletion with inserted bases, and an insertion between the same ends that begins with these."""
    ends, bases = (End(0, 100, True), End(0, 160, False)), bytes(24)
    deletion, insertion = Junction(*ends, bases), Junction(*ends, bases, ending=bytes(9))
    assert merged([insertion, deletion]) == [deletion, insertion]
