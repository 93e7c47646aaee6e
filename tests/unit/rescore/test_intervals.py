"""Pieces of the genome: all of it once, in order, cut at fixed places; BED files and their mistakes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.errors import InputError
from quire.rescore.intervals import read_bed, split

from tests.builders import write_text

CONTIGS = [("chr1", 50_000), ("chr2", 900), ("HLA:1*01", 700), ("chr3", 12_345)]
WHOLE = [(name, 0, length) for name, length in CONTIGS]


def flatten(pieces):
    """All intervals of all pieces."""
    return [interval for piece in pieces for interval in piece]


def positions(intervals) -> set[tuple[str, int]]:
    """Every position in some intervals."""
    return {(contig, p) for contig, start, end in intervals for p in range(start, end)}


@given(st.integers(500, 60_000), st.lists(st.tuples(st.integers(0, 12_000), st.integers(1, 9000)), max_size=6))
@settings(max_examples=60, deadline=None)
def test_all_positions_are_in_one_piece(size: int, runs: list[tuple[int, int]]) -> None:
    islands, at = [], 0
    for gap, length in runs:
        islands.append(("chr1", at + gap, at + gap + length))
        at += gap + length
    islands += WHOLE[1:]
    contigs = [("chr1", at + 1), *CONTIGS[1:]]
    pieces = split(contigs, islands, None, size)
    intervals = flatten(pieces)
    covered = positions(intervals)
    assert len(covered) == sum(end - start for _, start, end in intervals)
    assert positions(islands) <= covered
    order = [(["chr1", "chr2", "HLA:1*01", "chr3"].index(contig), start) for contig, start, _ in intervals]
    assert order == sorted(order)
    assert all(piece and sum(end - start for _, start, end in piece) <= size for piece in pieces)


def test_cuts_are_at_fixed_positions_and_small_contigs_together() -> None:
    pieces = split(CONTIGS, WHOLE, None, 20_000)
    assert pieces[0] == [("chr1", 0, 20_000)]
    assert pieces[1] == [("chr1", 20_000, 40_000)]
    assert pieces[2] == [("chr1", 40_000, 50_000), ("chr2", 0, 900), ("HLA:1*01", 0, 700)]
    many = [(f"scaffold{i}", 1000) for i in range(5000)]
    assert len(split(many, [(name, 0, length) for name, length in many], None, 1_000_000)) == 5


def test_a_bed_restricts_and_is_merged(tmp_path: Path) -> None:
    bed = write_text(
        tmp_path / "a.bed",
        "# made by hand\ntrack name=x\nchr3\t5\t10\r\nchr1\t100\t300\tname\nchr1 200 400\n\n",
        "gzip",
    )
    assert flatten(split(CONTIGS, WHOLE, bed, 1_000_000)) == [("chr1", 100, 400), ("chr3", 5, 10)]
    # Between islands there is nothing to call, whatever the BED says.
    islands = [("chr1", 0, 150), ("chr1", 30_000, 50_000)]
    assert flatten(split(CONTIGS, islands, bed, 1_000_000)) == [("chr1", 100, 150)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t1\t2\n1\t5\t9\n", r"line 2: unknown contig '1'; the reference calls it 'chr1'"),
        ("chrX\t5\t9\n", r"line 1: unknown contig 'chrX'; the reference has no such contig"),
        ("chr1\t5\n", r"line 1: expected contig, start and end"),
        ("chr1\tx\t9\n", r"line 1: expected contig, start and end"),
        ("chr1\t-5\t9\n", r"line 1: expected contig, start and end"),
        ("chr1\t9\t5\n", r"line 1: the start 9 is after the end 5"),
        ("chr2\t9\t901\n", r"line 1: the end 901 is beyond contig 'chr2' \(900 bases\)"),
        ("", r"holds no intervals"),
        ("# nothing\nchr1\t5\t5\n", r"holds no intervals"),
    ],
)
def test_mistakes_in_a_bed_are_named(tmp_path: Path, text: str, message: str) -> None:
    bed = write_text(tmp_path / "a.bed", text)
    with pytest.raises(InputError, match=message) as error:
        read_bed(bed, dict(CONTIGS))
    assert str(error.value).startswith(str(bed))
