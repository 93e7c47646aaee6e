"""Planting of structural variants: haplotypes are spelled as the truth says."""

from pathlib import Path

import numpy as np
import pysam

from bench.structural_truth import Contexts, Planted, edited, haplotypes_of, reverse_complement, write_truth

LETTERS = "".join("ACGT"[code] for code in np.random.default_rng(1).integers(0, 4, 400)).encode()
OTHER = "".join("ACGT"[code] for code in np.random.default_rng(2).integers(0, 4, 300)).encode()
PLANTED = [
    Planted("DEL", 50, 70, b"", "random", 2),
    Planted("DUP", 100, 130, b"", "random", 1),
    Planted("INV", 150, 190, b"", "random", 2),
    Planted("INS", 220, 220, b"ACGTACGT", "random", 1),
    Planted("BND", 300, 300, b"", "random", 2),
]


def test_edits_and_marks() -> None:
    """Edits are applied in order, overlapping ones are left out, and marks cut the letters."""
    edits = [(2, 4, b"TT"), (3, 5, b"GGG"), (6, 6, b"C")]
    assert edited(b"AAAAAAAA", edits, [5]) == [b"AATTA", b"ACAA"]


def test_haplotypes_are_spelled(tmp_path: Path) -> None:
    """Both haplotypes carry what their genotypes say, and a translocation swaps what follows."""
    header = pysam.VariantHeader()
    with pysam.VariantFile(str(tmp_path / "none.vcf.gz"), "w", header=header):
        pass
    pysam.tabix_index(str(tmp_path / "none.vcf.gz"), preset="vcf")
    both = haplotypes_of(LETTERS, OTHER, PLANTED, [120], tmp_path / "none.vcf.gz", ("20", 0, 400))
    inverted = reverse_complement(LETTERS[150:190])
    first = LETTERS[:50] + LETTERS[70:130] + LETTERS[100:150] + inverted + LETTERS[190:220]
    assert both[0] == (first + b"ACGTACGT" + LETTERS[220:300] + OTHER[120:], OTHER[:120] + LETTERS[300:])
    assert both[1][0] == LETTERS[:50] + LETTERS[70:150] + inverted + LETTERS[190:300] + OTHER[120:]
    write_truth(tmp_path / "truth.vcf.gz", [("20", 400), ("21", 300)], (0, 0), LETTERS, PLANTED, [120])
    with pysam.VariantFile(str(tmp_path / "truth.vcf.gz")) as truth:
        records = [*truth]
    assert [one.info["SVTYPE"] for one in records] == ["DEL", "DUP", "INV", "INS", "BND", "BND", "BND", "BND"]
    assert [one.stop for one in records[:3]] == [70, 130, 190]


def test_tandem_repeats_are_found() -> None:
    """A stretch that repeats with a period of 20 is a place for gains and losses of its unit."""
    text = LETTERS[:200] + LETTERS[200:220] * 12 + LETTERS[220:]
    found = Contexts(text, np.random.default_rng(1)).tandem
    assert len(found) == 1
    start, end, period = found[0]
    assert period == 20
    assert start <= 205
    assert end >= 430
