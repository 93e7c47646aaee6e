"""The list of alternate contigs: as bwa and bwa-postalt take it, and what is refused."""

import random

import numpy as np
import pytest
from quire.align.lift_over.places_cpu import place_of
from quire.errors import InputError
from quire.reference.alternate import read_alternate

from tests.support.lift_cases import LENGTHS, NAMES, random_list

CONTIGS = ["chr1", "chr6", "chr6_GL000250v2_alt", "HLA-A*01:01:01:01", "decoy"]
SIZES = np.array([1000, 500, 20, 30, 40])
END = "\t*\t0\t0\t*\t*\tNM:i:0\n"
SAM = "@SQ\tSN:chr6\tLN:9\nchr6_GL000250v2_alt\t16\tchr6\t41\t60\t3H4M2I3D5=1X2N5S" + END
ALLELE = "HLA-A*01:01:01:01"


@pytest.mark.parametrize(
    ("text", "wanted", "aligned"),
    [
        (SAM + f"{ALLELE}\t4\t*\t0\t0\t*{END}", [0, 0, 1, 1, 0], True),
        (SAM + "\n" + ALLELE, [0, 0, 1, 1, 0], True),
        (f"{ALLELE}\t4\t*\t0\t0\t*{END}", [0, 0, 0, 1, 0], True),
        (f"{ALLELE}\r\n\n", [0, 0, 0, 1, 0], False),
        ("chr6_GL000250v2_alt", [0, 0, 1, 0, 0], False),
    ],
    ids=["SAM", "SAM and a name", "SAM without a place", "a name", "no end of line"],
)
def test_first_columns_name_alternate_contigs(tmp_path, text, wanted, aligned):
    path = tmp_path / "genome.fa.alt"
    path.write_bytes(text.encode())
    contigs, lifts = read_alternate(path, CONTIGS, SIZES)
    assert contigs.dtype == np.uint8
    assert contigs.tolist() == wanted
    assert (lifts is not None) == aligned


def test_alignments_are_read(tmp_path):
    path = tmp_path / "genome.fa.alt"
    path.write_text(SAM)
    lifts = read_alternate(path, CONTIGS, SIZES)[1]
    assert lifts.offsets.tolist() == [0, 0, 0, 1, 1, 1]
    assert [column.tolist() for column in lifts[1:7]] == [[5], [17], [20], [1], [40], [1]]
    assert lifts.piece_begin.tolist() == [0, 3, 7, 9, 14, 15]
    assert lifts.piece_place.tolist() == [-1, 0, 4, 7, 12, -1]
    assert lifts.piece_step.tolist() == [0, 1, 0, 1, 1, 0]


def test_hard_and_soft_clips_of_one_end_are_both_before_the_aligned_part(tmp_path):
    path = tmp_path / "genome.fa.alt"
    path.write_text("".join(f"{ALLELE}\t{flag}\tchr6\t41\t60\t2H3S21M4S{END}" for flag in (0, 16)))
    lifts = read_alternate(path, CONTIGS, SIZES)[1]
    assert list(zip(lifts.begin.tolist(), lifts.end.tolist(), strict=True)) == [(4, 25), (5, 26)]


def test_every_base_is_lifted_over_to_its_place(tmp_path):
    """Base by base, in the order of the alternate contigs: what the oracle's walk along the CIGAR says."""
    for seed in range(6):
        alignments, text = random_list(random.Random(seed))
        path = tmp_path / "genome.fa.alt"
        path.write_text(text)
        lifts = read_alternate(path, NAMES, np.array([*LENGTHS.values()]))[1]
        for contig, found in alignments.items():
            numbers = range(lifts.offsets[contig], lifts.offsets[contig + 1])
            ordered = sorted(found, key=lambda alignment: alignment.aligned.start)
            for number, alignment in zip(numbers, ordered, strict=True):
                places = alignment.places()[:: -1 if alignment.reverse else 1]
                for base, place in enumerate(places):
                    lifted = place_of(lifts, number, base, base + 1)
                    assert lifted[0] == (place is not None and base in alignment.aligned)
                    assert not lifted[0] or lifted[1:] == (place - 1, place)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"chr7_alt\nchr8_alt\n", "none of its 2 names is a contig of the reference; give the list of"),
        (b"", "none of its 0 names"),
        ("\n".join(CONTIGS).encode(), "names all contigs of the reference; remove those of the primary assembly."),
        (b"\xff\xfe", "cannot be read"),
        (None, "cannot be read"),
        (
            f"chr6_GL000250v2_alt\n{ALLELE}\nchr7_alt\n".encode(),
            "line 3 names chr7_alt, which is not a contig of the reference",
        ),
        (f"{ALLELE}\t0\tchr6\n".encode(), "line 1 is neither SAM nor a name: it has 3 columns and not 11; give"),
        (f"{ALLELE}\tx\tchr6\t1\t60\t30M{END}".encode(), "line 1 is not SAM: its FLAG 'x' and POS '1' must be numbers"),
        (f"@HD\n{ALLELE}\t0\tchr7\t1\t60\t30M{END}".encode(), f"line 2 aligns {ALLELE} to chr7, which is not a contig"),
        (f"{ALLELE}\t0\tchr6\t1\t60\t*{END}".encode(), f"line 1 aligns {ALLELE} to chr6 with '*', which is not"),
        (
            f"{ALLELE}\t0\tchr6\t1\t60\t29M2D{END}".encode(),
            f"line 1: the CIGAR has 29 bases of {ALLELE}, which has 30",
        ),
        (f"{ALLELE}\t0\tchr6\t472\t60\t30M{END}".encode(), "chr6:472-501, which is not within its 500 bases; give"),
        (f"{ALLELE}\t0\tchr6\t0\t60\t30M{END}".encode(), "chr6:0-29, which is not within its 500 bases; give"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(tmp_path, content, sentence):
    path = tmp_path / "genome.fa.alt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_alternate(path, CONTIGS, SIZES)
    assert str(refused.value).startswith(f"{path}: ")
    assert sentence in str(refused.value)
