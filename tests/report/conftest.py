"""Fixture of a small run for the report: a reference, one sample's BAM, a VCF of calls."""

import random

import pytest
from quire import reference

from tests.support.report_files import CONTIGS, Run, count_bam, count_vcf, write_bam, write_vcf


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Write contigs with a run of 30 Ns, 40 pairs (two duplicates, 3 unmapped), and the calls of one sample."""
    folder = tmp_path_factory.mktemp("run")
    generator = random.Random(5)
    sequences = {name: "".join(generator.choices("ACGT", k=length)) for name, length in CONTIGS.items()}
    sequences["one"] = sequences["one"][:1500] + "N" * 30 + sequences["one"][1530:]
    fasta = folder / "reference.fa"
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in sequences.items()))
    reference.build(fasta, folder / "reference", 1 << 20)
    starts = [("one", 10 * number, 1024 if number in (3, 4) else 0) for number in range(38)]
    bam = write_bam(folder / "sample.bam", [*starts, ("two*:x", 5, 0), ("two*:x", 5, 0)], unmapped=3)
    one = sequences["one"]
    vcf = write_vcf(
        folder / "calls.vcf.gz",
        [
            ("one", 100, one[100], ["A" if one[100] in "CT" else "C"], 500.0, (0, 1)),
            ("one", 200, one[200:203], [one[200]], 90.0, (1, 1)),
            ("one", 300, one[300], ["A" if one[300] != "A" else "G"], 5.0, (0, 1)),
        ],
        ["sample"],
    )
    counts = count_bam(folder / "counts", bam, folder / "reference")
    return Run(folder, sequences, folder / "reference", bam, vcf, counts, count_vcf(folder / "variants.json", vcf))
