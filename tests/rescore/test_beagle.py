"""Genotype likelihoods as Beagle, against the PLs that pysam reads."""

import gzip
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.rescore.beagle import write_beagle

from tests.support.gvcf import REAL

HEAD = """##fileformat=VCFv4.2
##FILTER=<ID=SNV_QD,Description="q">
##contig=<ID=chr1_a,length=99>
##FORMAT=<ID=GT,Number=1,Type=String,Description="g">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="d">
##FORMAT=<ID=PL,Number=G,Type=Integer,Description="p">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	x	y
"""
RECORDS = """
chr1_a 5 . A C 50 PASS . GT:DP:PL 0/1:3:10,0,20 ./.
chr1_a 6 . A C,T 50 PASS . GT:PL 0/1:10,0,20,30,40,50 0/0:0,1,2,3,4,5
chr1_a 7 . AC A 50 PASS . GT:PL 0/1:10,0,20 0/0:0,3,6
chr1_a 8 . A * 50 PASS . GT:PL 0/1:10,0,20 0/0:0,3,6
chr1_a 9 . T G 50 SNV_QD . GT:PL 0/1:10,0,20 0/0:0,3,6
chr1_a 10 . T G 50 PASS . GT:PL 0:0,20 0/0:0,3,6
chr1_a 11 . T G 50 PASS . GT:DP:PL:PS 0|1:3:255,0,1000:5 ./.:0:0,0,0:.
chr1_a 12 . T . . PASS . GT:DP:RGQ 0/0:3:9 0/0:3:9
chr1_a 13 . G A 50 PASS . GT:DP:PL 0/0:.:. 1/1:9:99,9,0
chr1_a 14 . N A 50 PASS . GT:DP:PL 0/0:3:0,9,99 1/1:9:99,9,0
chr1_a 15 . G A 50 PASS . GT:DP 0/1:3 1/1:9
"""


def read(path: Path) -> tuple[list[str], dict[str, tuple[str, str, np.ndarray]]]:
    header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    rows = [line.split("\t") for line in lines]
    return header.split("\t"), {row[0]: (row[1], row[2], np.array(row[3:], float).reshape(-1, 3)) for row in rows}


def expected(path: Path) -> dict[str, np.ndarray]:
    """Return the likelihoods that a VCF's PLs say, by marker."""
    found = {}
    with pysam.VariantFile(str(path)) as stream:
        for record in stream:
            if (
                list(record.filter) == ["PASS"]
                and record.ref in {*"ACGT"}
                and record.alts
                and "*" not in record.alts
                and "PL" in record.format
            ):
                phreds = [sample.get("PL", (0, 0, 0)) for sample in record.samples.values()]
                phreds = [(0, 0, 0) if own == (None,) else own for own in phreds]
                if [len(alternate) for alternate in record.alts] == [1] and {len(own) for own in phreds} == {3}:
                    own = np.power(10.0, np.array(phreds) / -10)
                    found[f"{record.chrom}_{record.pos}"] = own / own.sum(axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("source", ["made", "real"])
def test_likelihoods_are_those_of_the_phreds(source: str, tmp_path: Path) -> None:
    path = tmp_path / "all.vcf.gz"
    if source == "real":
        text = gzip.decompress((REAL / "gatk_joint.vcf.gz").read_bytes()).decode()
        rows = [line.split("\t") for line in text.splitlines(keepends=True)]
        text = "".join("\t".join([*row[:6], "PASS", *row[7:]] if row[0][0] != "#" else row) for row in rows)
    else:
        text = HEAD + RECORDS.strip().replace(" ", "\t") + "\n"
    with pysam.BGZFile(str(path), "wb", None) as stream:
        stream.write(text.encode())
    number = write_beagle(path, tmp_path / "all.beagle.gz")
    header, found = read(tmp_path / "all.beagle.gz")
    wanted = expected(path)
    assert number == len(wanted) > (2 if source == "made" else 15)
    assert list(found) == list(wanted)
    for marker, (_, _, likelihoods) in found.items():
        np.testing.assert_allclose(likelihoods, wanted[marker], atol=5.1e-7)  # six decimals
    if source == "made":
        assert header == ["marker", "allele1", "allele2", *["Ind0"] * 3, *["Ind1"] * 3]
        assert [own[:2] for own in found.values()] == [("0", "1"), ("3", "2"), ("2", "0")]
