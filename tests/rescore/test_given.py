"""Alleles of a VCF that are genotyped in any case: against GATK's --alleles, by gVCFs, and the reading of the file."""

import re
from itertools import combinations_with_replacement
from pathlib import Path

import pysam
import pytest
from quire import reference as reference_stage
from quire.errors import InputError
from quire.reference import Reference
from quire.rescore.given import read_given_alleles
from quire.rescore.haplotypes import Event

from tests.support.builders import write_fasta
from tests.support.calling import call_gvcf, call_variants, genotype_gvcfs
from tests.support.defaults import default_settings
from tests.support.gvcf import REAL, lines_of, real_samples, sample_of

SETTINGS = default_settings("rescore")
GIVEN = REAL / "given.vcf"
CONTIG, LENGTH = "chr22_8kb", 8000
WHOLE = [(CONTIG, 0, LENGTH)]
HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_samples(tmp_path_factory.mktemp("given"))


def rows(root: Path, names: str) -> list[dict]:
    return [{"sample": name, "ploidy": 2, "bam": root / f"{name}.bam"} for name in names]


def given_alleles() -> set[tuple[int, str, str]]:
    """Return position, REF and ALT of the given alleles."""
    return {
        (int(f[1]), f[3], alternate)
        for f in (line.split("\t") for line in GIVEN.read_text().splitlines() if line[0] != "#")
        for alternate in f[4].split(",")
    }


def alleles_of(lines: list[list[str]]) -> set[tuple[int, str, str]]:
    """Return position, REF and ALT of records with one ALT, and of SNVs of others."""
    return {(int(f[1]), f[3], alternate) for f in lines for alternate in f[4].split(",")}


def values(fields: list[str], column: int) -> tuple:
    """Return a sample's genotype, AD by allele, and PL by the genotype's alleles; nothing counts as 0."""
    alleles, sample = [fields[3], *fields[4].split(",")], sample_of(fields, column)
    pairs = sorted(combinations_with_replacement(alleles, 2), key=lambda pair: alleles.index(pair[1]))
    genotype = {number if number == "." else alleles[int(number)] for number in re.split("[/|]", sample["GT"])}
    depths, phreds = (
        dict(zip(keys, own.split(",") if (own := sample.get(key, ".")) != "." else ["0"] * len(keys), strict=True))
        for key, keys in (("AD", alleles), ("PL", [frozenset(pair) for pair in pairs]))
    )
    return genotype, depths, phreds


def test_given_alleles_are_genotyped_as_by_gatk(world: Path, tmp_path: Path) -> None:
    """All alleles of both programs, their genotypes, AD and PL are equal; two samples, one site without reads."""
    output = tmp_path / "all.vcf.gz"
    call_variants(world / "reference", rows(world, "AB"), WHOLE, output, SETTINGS, tmp_path / "l.json", alleles=GIVEN)
    ours, theirs = lines_of(output), lines_of(REAL / "gatk_given.vcf.gz")
    assert alleles_of(ours) == alleles_of(theirs) > given_alleles()
    for own, other in zip(ours, theirs, strict=True):
        assert [values(own, column) for column in (0, 1)] == [values(other, column) for column in (0, 1)]
    call_variants(world / "reference", rows(world, "AB"), WHOLE, output, SETTINGS, tmp_path / "l.json")
    discovered = lines_of(output)
    assert alleles_of(discovered) == alleles_of(theirs) - given_alleles() | {
        (2464, "C", "A"),
        (5012, "C", "T"),
        (6390, "A", "ATT"),
    }


def test_given_alleles_by_gvcfs(world: Path, tmp_path: Path) -> None:
    """Joint genotyping writes them too, also for a gVCF that was made without them, and wherever the genome is cut."""
    together, gvcfs = tmp_path / "all.vcf.gz", []
    call_variants(
        world / "reference", rows(world, "ABC"), WHOLE, together, SETTINGS, tmp_path / "l.json", alleles=GIVEN
    )
    for name, alleles in (("A", GIVEN), ("B", None), ("C", GIVEN)):
        gvcfs.append(tmp_path / f"{name}.g.vcf.gz")
        ledger = tmp_path / "l.json"
        call_gvcf(world / "reference", rows(world, name), WHOLE, gvcfs[-1], SETTINGS, ledger, alleles=alleles)
        pysam.tabix_index(str(gvcfs[-1]), preset="vcf", force=True)
    joint, every, part = (tmp_path / f"{name}.vcf.gz" for name in ("joint", "every", "part"))
    genotype_gvcfs(world / "reference", gvcfs, WHOLE, joint, 30.0, alleles=GIVEN)
    genotype_gvcfs(world / "reference", gvcfs, WHOLE, every, 30.0, alleles=GIVEN, all_sites=True)
    found = {int(f[1]): f for f in lines_of(joint)}
    assert alleles_of([*found.values()]) > given_alleles()
    assert {int(f[1]) for f in lines_of(every)} == {*range(1, LENGTH + 1)}
    assert {int(f[1]): f[4] for f in lines_of(every) if int(f[1]) in found} == {p: f[4] for p, f in found.items()}
    absent = 0
    for fields in lines_of(together):
        if (int(fields[1]), fields[3], fields[4]) in given_alleles():
            one, other = ([values(own, column) for column in range(3)] for own in (found[int(fields[1])], fields))
            assert [own[0] for own in one] == [own[0] for own in other]
            if {"AC=0"} <= {*fields[7].split(";")}:  # B has no AD and PL of an allele that its gVCF lacks
                assert one[::2] == other[::2]
                absent += 1
    assert absent == 9
    cut = []
    for start in range(0, LENGTH, 1000):
        genotype_gvcfs(world / "reference", gvcfs, [(CONTIG, start, start + 1000)], part, 30.0, alleles=GIVEN)
        cut += lines_of(part)
    assert cut == lines_of(joint)
    cut = []
    for start in range(0, LENGTH, 1000):
        piece = [(CONTIG, start, start + 1000)]
        call_variants(
            world / "reference", rows(world, "ABC"), piece, part, SETTINGS, tmp_path / "l.json", alleles=GIVEN
        )
        cut += lines_of(part)
    assert cut == lines_of(together)


# -- The file ---------------------------------------------------------------------------------------------------------

LETTERS = "GATTACAGGGTCACACACTTGA" + "ACGT" * 10  # c; TCACACACT from the 11th base on


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    root = tmp_path_factory.mktemp("reference")
    write_fasta(root / "genome.fa", {"c": LETTERS, "chrB": "ACGT" * 30})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    return Reference.open(root / "reference")


@pytest.mark.parametrize(
    ("record", "events"),
    [
        ("c\t1\t.\tG\tA", [Event(0, 1, b"\0")]),
        ("c\t2\t.\tA\tc,G,*", [Event(1, 1, b"\1"), Event(1, 1, b"\2")]),
        ("c\t2\t.\tATT\tAGG", [Event(2, 1, b"\2"), Event(3, 1, b"\2")]),  # two SNVs
        ("c\t9\t.\tGG\tG", [Event(6, 2, b"\0")]),  # left-aligned
        ("c\t16\t.\tCAC\tC", [Event(10, 3, b"\3")]),
        ("c\t17\t.\tA\tACA", [Event(10, 1, b"\3\1\0")]),
        ("c\t11\t.\tTCACAC\tTCACACAC", [Event(10, 1, b"\3\1\0")]),
        ("chrB\t119\t.\tG\tT\nchrB\t5\t.\tA\tG", [Event(4, 1, b"\2"), Event(118, 1, b"\3")]),
    ],
)
def test_alleles_are_left_aligned(record: str, events: list[Event], reference: Reference, tmp_path: Path) -> None:
    path = tmp_path / "sites.vcf"
    path.write_text(HEAD + "\n".join(f"{line}\t.\t.\t." for line in record.split("\n")) + "\n")
    given = read_given_alleles(path, reference)
    contig = record.split("\t")[0]
    assert list(given.within(contig, 0, 1000)) == events
    assert list(given.within(contig, events[0].start, events[0].start + 1)) == [
        event for event in events if event.start == events[0].start
    ]
    assert not given.within(contig, events[-1].start + 1, 1000)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("c\t1\t.\tG\tA\n", "is not a VCF"),
        (HEAD, "has no alleles; add some"),
        (HEAD + "c\tone\t.\tG\tA\n", "line 3: is not a VCF record with a position"),
        (HEAD + "c\t1\t.\tG\n", "line 3: is not a VCF record with a position"),
        (HEAD + "B\t1\t.\tA\tC\n", "line 3: unknown contig 'B'; the reference calls it 'chrB'"),
        (HEAD + "c\t1\t.\tC\tA\n", "line 3: REF is 'C' but the reference has 'G' there; give a VCF of this reference"),
        (HEAD + "c\t62\t.\tTA\tT\n", "line 3: REF is 'TA' but the reference has 'T' there"),
        (HEAD + "c\t99\t.\tA\tT\n", "line 3: REF is 'A' but the reference has '' there"),
        (HEAD + "c\t1\t.\tG\t<DEL>\n", "line 3: ALT <DEL> is no sequence of A, C, G and T; remove it"),
        (HEAD + "c\t1\t.\tG\t.\n", "line 3: ALT . is no sequence"),
        (HEAD + "c\t1\t.\tG\tG" + 50 * "A" + "\n", "line 3: an allele inserts or deletes 50 bases, more than 49"),
        (HEAD + "c\t1\t.\tGATT\tCC\n", "line 3: GATT>CC is neither SNVs nor one insertion or deletion"),
        (HEAD + "c\t1\t.\tG\tG\n", "line 3: G>G is neither"),
        (HEAD + "c\t61\t.\tGT\tG\n", "line 3: GT>G is neither SNVs nor one insertion or deletion inside its contig"),
        (HEAD + "c\t1\t.\tGA\tA\n", "line 3: GA>A is neither"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, sentence: str, reference: Reference, tmp_path: Path) -> None:
    path = tmp_path / "sites.vcf"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_given_alleles(path, reference)
    assert str(caught.value).startswith(f"{path}: {sentence}")
