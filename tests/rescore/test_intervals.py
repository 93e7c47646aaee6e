"""Pieces of the genome: every base once, in order, cut at fixed places, within the regions of a BED."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.intervals import cut_into_units, split

from tests.support.builders import write_text
from tests.support.examples import examples

CONTIGS = [("chr1", 50_000), ("chr2", 900), ("HLA:1*01", 700), ("chr3", 12_345)]
WHOLE = [(name, 0, length) for name, length in CONTIGS]


def flatten(pieces):
    """Return all intervals of all pieces."""
    return [interval for piece in pieces for interval in piece]


def positions(intervals) -> set[tuple[str, int]]:
    """Return every position in some intervals."""
    return {(contig, p) for contig, start, end in intervals for p in range(start, end)}


@given(st.integers(500, 60_000), st.lists(st.tuples(st.integers(0, 12_000), st.integers(1, 9000)), max_size=6))
@settings(max_examples=examples(60), deadline=None)
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
    # Nothing is called between islands, whatever the BED says.
    islands = [("chr1", 0, 150), ("chr1", 30_000, 50_000)]
    assert flatten(split(CONTIGS, islands, bed, 1_000_000)) == [("chr1", 100, 150)]


def test_a_small_genome_has_units_for_many_processes() -> None:
    """A virus is cut as finely as pays, a bacterium into 64, and a human chromosome as large as memory allows."""
    assert [len(cut_into_units([("a", 0, bases)])) for bases in (900, 30_000, 4_640_000, 50_000_000)] == [1, 8, 64, 200]
    assert flatten(cut_into_units([("a", 500, 4100), ("b", 0, 10)])) == [
        ("a", 500, 4000),
        ("a", 4000, 4100),
        ("b", 0, 10),
    ]
