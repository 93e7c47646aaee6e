"""Genotypes inside long deletions: carriers have '*' there, in calls of all samples together and by their gVCFs."""

import random
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_gvcf, call_variants, genotype_gvcfs
from tests.support.clipped import Base, sam_lines, spelled
from tests.support.defaults import default_settings
from tests.support.simulation import indexed_bam

LENGTH, DELETED = 6000, 96
SINGLE, REPEATED = 2000, 4000
"""Starts of two deletions; the bases after the second are the same as those that it removes."""
PLACES = (10, 34, 58, 87)
"""Variants, as bases after a start. The second base of each deletion and that after both are never one."""
GENOTYPES = {
    "deleted": ((0, 0),) * 4,
    "carrier": ((0, 1), (0, 0), (0, 1), (0, 0)),
    "whole": ((1, 1), (0, 1), (0, 1), (1, 1)),
}
"""Variants of each sample on its haplotypes, of which the first of a carrier and both of `deleted` lack the bases."""
EXPECTED = [
    ("*/*", "*/alt", "alt/alt"),
    ("*/*", "*/ref", "alt/ref"),
    ("*/*", "*/alt", "alt/ref"),
    ("*/*", "*/ref", "alt/alt"),
]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packed reference and the BAM of each sample."""
    root = tmp_path_factory.mktemp("deletions")
    generator = random.Random(96)
    letters = random_bases(generator, LENGTH)
    end = REPEATED + DELETED
    letters = letters[:end] + letters[REPEATED:end] + letters[end + DELETED :]
    write_fasta(root / "genome.fa", {"one": letters})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    for sample, copies in {"deleted": (1, 1), "carrier": (1, 0), "whole": (0, 0)}.items():
        haplotypes = []
        for number in (0, 1):
            changes: list[tuple[int, int, list[Base]]] = []
            for start in (SINGLE, REPEATED):
                if copies[number]:
                    changes.append((start, start + DELETED, []))
                    continue
                for place, genotype in zip(PLACES, GENOTYPES[sample], strict=True):
                    if genotype[number]:
                        at = start + place
                        changes.append((at, at + 1, [Base("ACGT"["ACGT".index(letters[at]) - 1], "one", at)]))
            haplotypes.append(spelled("one", letters, changes))
        lines = [text for _, _, text in sam_lines(generator, haplotypes, 900, length=150, insert=400)]
        indexed_bam(root / f"{sample}.bam", {"one": LENGTH}, lines)
    return root


def genotypes(vcf: Path) -> list[tuple[str, ...]]:
    """Return the samples' genotypes at each variant inside a deletion, as names of alleles in alphabetical order."""
    found = []
    pysam.tabix_index(str(vcf), preset="vcf", force=True)
    with pysam.VariantFile(str(vcf)) as stream:
        for start in (SINGLE, REPEATED):
            # The alleles of the deletion itself are left out.
            for record in stream.fetch("one", start, start + DELETED):
                if record.start >= start:
                    names = ["ref", *("*" if allele == "*" else "alt" for allele in record.alts or ())]
                    calls = [sample.allele_indices or () for sample in record.samples.values()]
                    found.append(tuple("/".join(sorted("." if a is None else names[a] for a in one)) for one in calls))
    return found


def entry(root: Path, sample: str) -> dict[str, object]:
    """Return a sample's row of the sheet."""
    return {"sample": sample, "ploidy": 2, "bam": root / f"{sample}.bam"}


def test_samples_called_together(cohort: Path, tmp_path: Path) -> None:
    sheet = [entry(cohort, sample) for sample in GENOTYPES]
    output, settings = tmp_path / "all.vcf.gz", default_settings("rescore")
    call_variants(cohort / "reference", sheet, [("one", 0, LENGTH)], output, settings, tmp_path / "ledger.json")
    assert genotypes(output) == EXPECTED * 2


def test_samples_called_by_their_gvcfs(cohort: Path, tmp_path: Path) -> None:
    files = []
    for sample in GENOTYPES:
        files.append(tmp_path / f"{sample}.g.vcf.gz")
        settings, ledger = default_settings("rescore"), tmp_path / "ledger.json"
        call_gvcf(cohort / "reference", [entry(cohort, sample)], [("one", 0, LENGTH)], files[-1], settings, ledger)
        pysam.tabix_index(str(files[-1]), preset="vcf", force=True)
    for pieces in ([(0, LENGTH)], [(0, SINGLE + 40), (SINGLE + 40, REPEATED + 40), (REPEATED + 40, LENGTH)]):
        found = []
        for piece in pieces:
            genotype_gvcfs(cohort / "reference", files, [("one", *piece)], tmp_path / "all.vcf.gz", 30.0)
            found += genotypes(tmp_path / "all.vcf.gz")
        assert found == EXPECTED * 2


def test_every_position_of_a_carrier_has_the_deletion(cohort: Path, tmp_path: Path) -> None:
    """Also behind its own variant inside the deletion, where its gVCF has no records."""
    settings, ledger = default_settings("rescore"), tmp_path / "ledger.json"
    gvcf, output = tmp_path / "carrier.g.vcf.gz", tmp_path / "all.vcf.gz"
    call_gvcf(cohort / "reference", [entry(cohort, "carrier")], [("one", 0, LENGTH)], gvcf, settings, ledger)
    pysam.tabix_index(str(gvcf), preset="vcf", force=True)
    genotype_gvcfs(cohort / "reference", [gvcf], [("one", 0, LENGTH)], output, 30.0, all_sites=True)
    pysam.tabix_index(str(output), preset="vcf", force=True)
    with pysam.VariantFile(str(output)) as stream:
        inside = [r for r in stream.fetch("one", SINGLE, SINGLE + DELETED) if r.start >= SINGLE]
        assert [r.start for r in inside] == list(range(SINGLE, SINGLE + DELETED))
        assert all("*" in (r.alts or ()) for r in inside)
