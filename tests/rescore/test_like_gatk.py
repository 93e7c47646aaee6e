"""Calls of real reads in tandem repeats against GATK's: genotypes, their likelihoods, depths and annotations."""

import gzip
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage

from tests.support.calling import call_variants
from tests.support.defaults import default_settings

DATA = Path(__file__).parents[1] / "data" / "repeats_chr20_2kb"
SAMPLE, CONTIG, LENGTH = "NA12878", "chr20_slice", 2300


def records(path: Path) -> dict[int, pysam.VariantRecord]:
    with pysam.VariantFile(str(path)) as stream:
        return {record.pos: record for record in stream}


def test_real_indels_in_repeats_are_called_as_by_gatk(tmp_path: Path) -> None:
    """Many of these reads start or end in an indel, so they count where their best haplotypes place them."""
    fasta = tmp_path / "genome.fa"
    fasta.write_bytes(gzip.decompress((DATA / "genome.fa.gz").read_bytes()))
    reference_stage.build(fasta, tmp_path / "reference", 1 << 20)
    reads = tmp_path / "reads.bam"
    reads.write_bytes((DATA / "reads.bam").read_bytes())
    pysam.index(str(reads))
    call_variants(
        tmp_path / "reference",
        [{"sample": SAMPLE, "ploidy": 2, "bam": str(reads)}],
        [(CONTIG, 0, LENGTH)],
        tmp_path / "calls.vcf.gz",
        default_settings("rescore"),
        tmp_path / "ledger.json",
    )
    expected, found = records(DATA / "gatk.vcf.gz"), records(tmp_path / "calls.vcf.gz")
    assert found.keys() == expected.keys()
    assert len(found) == 19
    for position, record in found.items():
        peer = expected[position]
        assert record.alleles == peer.alleles
        assert record.qual == pytest.approx(peer.qual, abs=0.011)
        for key in ("GT", "AD", "DP", "GQ", "PL"):
            assert record.samples[0][key] == peer.samples[0][key], (position, key)
        for key in ("AC", "AN", "DP", "MQ", "FS", "SOR"):
            assert record.info[key] == pytest.approx(peer.info[key], abs=0.011), (position, key)
