"""A reference with alternate contigs, HLA names among them, and its alternate list, from FASTA to report."""

import json
import random

import pysam
import pytest

from tests.support.builders import Read, random_bases, reverse_complement, write_fasta
from tests.support.read_builders import write_pairs
from tests.workflow.runs import SMALL_UNIT, Run

pytestmark = pytest.mark.full

ALLELE = "HLA-A*01:01:01:01"  # a version of bases 4,000 to 9,000 of chr6
LISTED_DECOY = "chrUn_KN707606v1_decoy"  # some pairs are drawn from it
CALLED = (5000, 6480, 8000)  # 0-based, heterozygous; the allele has the same base at the first and the last
DIFFERENT = range(4100, 9000, 150)  # positions at which the allele differs


def substituted(bases: str, places: list[int]) -> str:
    letters = list(bases)
    for place in places:
        letters[place] = {"A": "C", "C": "A", "G": "T", "T": "G"}[letters[place]]
    return "".join(letters)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("road")
    generator = random.Random(6)
    chromosome = random_bases(generator, 14_000)
    genome = {
        "chr6": chromosome,
        ALLELE: substituted(chromosome, list(DIFFERENT))[4000:9000],
        "decoy*1": "ACGGT" * 300,
        LISTED_DECOY: random_bases(generator, 2000),
    }
    fasta = write_fasta(folder / "genome.fa", genome)
    (folder / "genome.fa.alt").write_text(
        f"@SQ\tSN:chr6\tLN:14000\n{ALLELE}\t0\tchr6\t4001\t60\t5000M\t*\t0\t0\t*\t*\n"
        f"{LISTED_DECOY}\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n"
    )
    pairs = []
    for number in range(1400):  # depth 30
        source = substituted(chromosome, [*CALLED]) if number % 2 else chromosome
        source = genome[LISTED_DECOY] if number >= 1350 else source
        size = round(generator.gauss(350, 40))
        start = generator.randrange(len(source) - size)
        ends = source[start : start + size][:150], reverse_complement(source[start : start + size])[:150]
        pairs.append(tuple(Read(f"r{number}", end, "F" * len(end)) for end in ends))
    mates = dict(zip(("fq1", "fq2"), map(str, write_pairs(folder, pairs)), strict=True))
    run = Run(folder, {"reference": {"fasta": str(fasta)}}, units=[SMALL_UNIT | mates])
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    return run


def test_alternate_contigs_go_the_whole_road(run: Run) -> None:
    """Reads map to the chromosome with full quality, variants are called there, and the VCF lists all contigs."""
    with pysam.AlignmentFile(str(run.output / "align/NA12878.bam")) as alignments:
        assert [line.get("AH") for line in alignments.header.to_dict()["SQ"]] == [None, "*", None, "*"]
        covered = [r for r in alignments.fetch("chr6", 4200, 8800) if not r.is_supplementary]
        assert sum(r.mapping_quality >= 20 for r in covered) > 0.99 * len(covered) > 500
        on_allele = [*alignments.fetch(ALLELE)]
        assert all(r.is_supplementary and r.get_tag("lt").startswith("chr6,") for r in on_allele)
        assert sum(r.mapping_quality >= 20 for r in on_allele) > 0.95 * len(on_allele) > 300
        assert sum(not r.is_supplementary for r in alignments.fetch(LISTED_DECOY)) > 90
    with pysam.VariantFile(str(run.output / "rescore/all.vcf.gz")) as calls:
        assert list(calls.header.contigs) == ["chr6", ALLELE, "decoy*1", LISTED_DECOY]
        assert [(r.contig, r.start) for r in calls] == [("chr6", place) for place in CALLED]
    counts = json.loads((run.output / "align/NA12878.counts.json").read_text())
    assert ALLELE in json.dumps(counts)
    ledger = json.loads((run.output / f"ledger/NA12878.{SMALL_UNIT['unit']}.json").read_text())["counts"]
    assert (ledger["reads"], ledger["supplementary"]) == (2800, len(on_allele))
    assert (run.output / "report/report.html").stat().st_size > 1000


def test_a_list_of_another_reference_is_one_sentence(run: Run) -> None:
    listed = run.folder / "genome.fa.alt"
    listed.write_text("chr7_alt\n")
    result = run.snakemake("out/align/NA12878.bam")
    assert result.returncode != 0
    assert f"{listed}: none of its 1 names is a contig of the reference" in result.stdout
