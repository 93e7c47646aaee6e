"""Structural variants through Snakemake, from the reads of two samples with a rearranged genome to one VCF."""

from pathlib import Path

import numpy as np
import pysam
import pytest

from tests.support.rearranged import write_fastq
from tests.support.rearranged_genome import PLAIN, RearrangedGenome
from tests.workflow.runs import Run
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full


def test_each_kind_from_reads_to_the_vcf(tmp_path: Path) -> None:
    """Every variant is found with exact ends and genotypes, and without the key there is no such job.

    If the key is set after the samples were finished, they stay as they are, and the calls are the same.
    """
    made, units = RearrangedGenome(), []
    made.write_fasta(tmp_path / "genome.fa")
    for number, (name, other) in enumerate({"het": PLAIN, "hom": made.rearranged}.items()):
        write_fastq(tmp_path / name, made.genome, [made.rearranged, other], 60, number)
        reads = {f"fq{mate}": str(tmp_path / f"{name}_{mate}.fq") for mate in (1, 2)}
        units.append({"sample": name, "unit": "u", **reads, "platform": "ILLUMINA", "library": "lib"})
    config = {"reference": {"fasta": str(tmp_path / "genome.fa")}}
    samples = [{"sample": name, "ploidy": "2"} for name in ("het", "hom")]
    run = Run(tmp_path / "run", config, samples, units)
    finished_before = run.snakemake("align")
    assert finished_before.returncode == 0, finished_before.stdout
    evidence = run.output / "align/units/het.evidence.npz"
    with np.load(evidence) as file:
        assert file.files == ["usual"]
    run.config["structural"] = {"enabled": True}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert not finished_rules(result.stdout) & {"map_unit", "finish_sample"}
    called = run.output / "rescore/structural.vcf.gz"
    by_another_pass = called.read_bytes()
    result = run.snakemake("call", "--forcerun", "map_unit")
    assert result.returncode == 0, result.stdout
    with np.load(evidence) as file:
        assert len(file["clips"])
    assert called.read_bytes() == by_another_pass
    made.check(called)
    assert "Structural variants by sample" in (run.output / "report/report.html").read_text()
    with pysam.VariantFile(str(called)) as variants:
        assert [*variants.header.samples] == ["het", "hom"]
        for record in variants:
            assert [sorted(own["GT"]) for own in record.samples.values()] == [[0, 1], [1, 1]], str(record)
    run.config["structural"] = {"enabled": False}
    run.write()
    assert "call_structural" not in run.snakemake("call", "-n", "--forceall").stdout
