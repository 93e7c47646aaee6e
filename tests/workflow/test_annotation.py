"""Variant consequences through Snakemake: equal to bcftools' and in the report; bad annotation is refused."""

import gzip
import json
from collections.abc import Callable

import pysam
import pytest
from quire.io.files import read_json

from tests.workflow.runs import Run, errors_of
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full

GENES = """##gff-version 3
chr22\ttest\tgene\t1001\t39000\t.\t+\t.\tID=gene:G1;Name=ONE;biotype=protein_coding
chr22\ttest\tmRNA\t1001\t39000\t.\t+\t.\tID=transcript:T1;Parent=gene:G1;biotype=protein_coding
chr22\ttest\tCDS\t2001\t8999\t.\t+\t0\tID=CDS:P1;Parent=transcript:T1
chr22\ttest\tCDS\t20001\t38000\t.\t+\t0\tID=CDS:P1;Parent=transcript:T1
"""


def test_consequences_are_in_the_file_and_in_the_report(continued: Callable[[], Run]) -> None:
    """Adding consequences does not repeat calling, and contigs may be named with or without chr."""
    run = continued()
    with gzip.open(run.folder / "genes.gff3.gz", "wt") as stream:
        stream.write(GENES.replace("chr22", "22"))
    run.config["annotate"] = {"gff3": "genes.gff3.gz"}
    run.write()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    ran = finished_rules(result.stdout)
    assert "annotate_variants" in ran
    assert not ran & {"map_unit", "finish_sample", "rescore_interval"}

    annotated = run.output / "annotate/all.csq.vcf.gz"
    with (
        pysam.VariantFile(str(run.output / "rescore/all.vcf.gz")) as before,
        pysam.VariantFile(str(annotated)) as after,
    ):
        found = [(record.pos, record.alleles, record.info.get("BCSQ")) for record in after]
        assert [line[:2] for line in found] == [(record.pos, record.alleles) for record in before]
        assert next(iter(after.fetch("chr22", 20000, 21000)), None) is not None
    assert any(values and values[0].startswith("missense|ONE|T1|protein_coding|+|") for _, _, values in found)
    counts = read_json(run.output / "annotate/consequences.json")
    assert counts["variants"]["missense"] > 5
    assert sum(counts["variants"].values()) == sum(
        "PASS" in record.filter for record in pysam.VariantFile(str(annotated))
    )
    assert list(counts["samples"]) == ["NA12878"]
    assert json.loads((run.output / "report/summary.json").read_text())["consequences"] == counts
    page = (run.output / "report/report.html").read_text()
    assert f'<th scope="row">missense</th><td>{counts["variants"]["missense"]}</td>' in page

    # A second run on the same files gives the same bytes.
    first = annotated.read_bytes()
    annotated.unlink()
    assert run.snakemake("out/annotate/all.csq.vcf.gz").returncode == 0
    assert annotated.read_bytes() == first


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            GENES.replace("chr22", "chr7"),
            "none of its contigs, such as 'chr7', is in the reference; the reference has no such contig",
        ),
        (GENES.replace("ID=", "Id="), "bcftools csq cannot use it"),
    ],
)
def test_genes_that_are_refused(content: str, expected: str, continued: Callable[[], Run]) -> None:
    run = continued()
    (run.folder / "genes.gff3").write_text(content)
    run.config["annotate"] = {"gff3": "genes.gff3"}
    run.write()
    result = run.snakemake()
    assert result.returncode != 0
    (error,) = errors_of(result.stdout)
    assert f"genes.gff3: {expected}" in error
    assert not (run.output / "annotate/all.csq.vcf.gz").exists()
