"""Cohorts of samples with other ploidies, sexes and contigs; and gVCFs that do not belong together.

GATK 4.6.2.0 (CombineGVCFs, GenotypeGVCFs) gives the called genotypes of GENOTYPES for the same gVCFs. There a sample
without a record has as many dots as the largest ploidy of the site.
"""

import random
import shutil
from pathlib import Path

import pytest
from quire import reference as reference_stage
from quire.command.variants import joint
from quire.errors import InputError
from quire.rescore.joint import check_gvcfs
from quire.rescore.joint.store import import_gvcf

from tests.support.builders import write_fasta
from tests.support.calling import genotype_gvcfs
from tests.support.gvcf import info_of, lines_of, sample_of, write_gvcf

LENGTHS = {"1": 400, "X": 400}
PAR_END = 100
"""Men have two copies of X up to here."""
GENOTYPES = {  # place -> genotypes of woman, man, triploid, short (which lacks X), silent (without records on X)
    ("1", 50): "0/1 1/1 0/0/1 0/0 0/0",
    ("1", 120): "0/1 0/0 0/1/1 0/1 0/0",
    ("X", 60): "0/1 0/1 0/0/0 ./. ./.",
    ("X", 200): "0/1 1 0/1/1 ./. ./.",
    ("X", 300): "1/1 0 1/1/1 ./. ./.",
}


def letters_of_world() -> dict[str, str]:
    generator = random.Random(11)
    return {name: "".join(generator.choices("ACGT", k=size)) for name, size in LENGTHS.items()}


def other(base: str) -> str:
    return "ACGT"["ACGT".index(base) - 1]


def phreds(genotype: str) -> str:
    """Return PL of a certain genotype: 60 for each allele that differs, in the order of the VCF for two alternates."""
    members = genotype.split("/")
    ploidy, has = len(members), members.count("1")
    in_order = {1: [(0,), (1,), (2,)], 2: [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]}.get(ploidy) or [
        (a, b, c) for c in range(3) for b in range(c + 1) for a in range(b + 1)
    ]
    return ",".join(str(60 * (abs(one.count(1) - has) + 3 * one.count(2))) for one in in_order)


def gvcf_of(letters: dict[str, str], column: int, contigs: tuple[str, ...]) -> list[str]:
    """Return the records of a sample of GENOTYPES: its variants with reference blocks between them."""
    lines = []
    for contig in contigs:
        at, bases = 1, letters[contig]
        places = [(place, one.split()[column]) for (name, place), one in GENOTYPES.items() if name == contig]
        for place, genotype in [*places, (LENGTHS[contig] + 1, "")]:
            for start, end in [(at, min(place - 1, PAR_END)), (max(at, PAR_END + 1), place - 1)]:
                if start <= end:
                    ploidy = {1: 2 - (contig == "X" and start > PAR_END), 2: 3}.get(column, 2)
                    block = f"{'/'.join('0' * ploidy)}:30:60:30:{','.join(str(60 * n) for n in range(ploidy + 1))}"
                    lines.append(
                        f"{contig} {start} . {bases[start - 1]} <NON_REF> . . END={end} GT:DP:GQ:MIN_DP:PL {block}"
                    )
            if genotype:
                base, ploidy = bases[place - 1], genotype.count("/") + 1
                depths = f"{15 * ('0' in genotype)},{15 * ('1' in genotype)},0"
                lines.append(
                    f"{contig} {place} . {base} {other(base)},<NON_REF> 500 . DP=30;RAW_MQandDP=108000,30 "
                    f"GT:AD:DP:GQ:PL:SB {genotype}:{depths}:30:60:{phreds(genotype)}:8,7,8,7"
                )
            at = place + 1
    return lines


def write_cohort(folder: Path) -> list[Path]:
    """Write genome.fa and the gVCFs of the columns of GENOTYPES."""
    letters = letters_of_world()
    write_fasta(folder / "genome.fa", letters)
    contigs = {"short": {"1": LENGTHS["1"]}}
    return [
        write_gvcf(
            folder / f"{name}.g.vcf.gz",
            [name],
            contigs.get(name, LENGTHS),
            gvcf_of(letters, column, ("1", "X") if column < 3 else ("1",)),
        )
        for column, name in enumerate(("woman", "man", "triploid", "short", "silent"))
    ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("world")
    write_cohort(root)
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    return root


@pytest.mark.parametrize("all_sites", [False, True])
def test_each_sample_keeps_its_ploidy(all_sites: bool, world: Path, tmp_path: Path) -> None:
    names = ("woman", "man", "triploid", "short", "silent")
    gvcfs = [world / f"{name}.g.vcf.gz" for name in names]
    pieces = [(name, 0, size) for name, size in LENGTHS.items()]
    genotype_gvcfs(world / "reference", gvcfs, pieces, tmp_path / "all.vcf.gz", 30.0, all_sites=all_sites)
    found = {
        (fields[0], int(fields[1])): (fields, " ".join(sample_of(fields, n)["GT"] for n in range(len(names))))
        for fields in lines_of(tmp_path / "all.vcf.gz")
    }
    assert {place: one for place, (_, one) in found.items() if place in GENOTYPES} == GENOTYPES
    assert len(found) == (sum(LENGTHS.values()) if all_sites else len(GENOTYPES))
    for place, genotypes in GENOTYPES.items():
        info, alleles = info_of(found[place][0]), genotypes.replace(" ", "/").split("/")
        assert (info["AC"], info["AN"]) == (str(alleles.count("1")), str(len(alleles) - alleles.count(".")))
    if all_sites:
        at_end = {at: found["X", at][1] for at in (PAR_END, PAR_END + 1)}
        assert at_end == {PAR_END: "0/0 0/0 0/0/0 ./. ./.", PAR_END + 1: "0/0 0 0/0/0 ./. ./."}


def check_and_import(reference: Path, gvcfs: list[Path], folder: Path) -> None:
    check_gvcfs(reference, gvcfs, ["sheet"])
    for path in gvcfs:
        import_gvcf(reference, path, folder / "store.records")


MISTAKES = {
    "the same file twice": "woman.g.vcf.gz: its sample 'woman' is in {world}/woman.g.vcf.gz too; leave one of them out",
    "a copy": "copy.g.vcf.gz: its sample 'woman' is in {world}/woman.g.vcf.gz too; leave one of them out",
    "two columns": "two.g.vcf.gz: its sample 'a' is in {folder}/two.g.vcf.gz too; leave one of them out",
    "other lengths": "other.g.vcf.gz: its contig '1' (401 bases) is not in the reference; make the gVCF again with",
    "other names": "other.g.vcf.gz: its contig 'chr1' (400 bases) is not in the reference; make the gVCF again with",
    "a contig more": "other.g.vcf.gz: its contig 'Y' (400 bases) is not in the reference; make the gVCF again with",
    "other letters": "other.g.vcf.gz: says {letter} at 1:1 where the reference has {base}; make the gVCF again with",
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("way", ["command", "workflow"])
def test_gvcfs_that_do_not_belong_together(mistake: str, way: str, world: Path, tmp_path: Path) -> None:
    base = letters_of_world()["1"][0]
    lengths = {
        "other lengths": {"1": 401, "X": 400},
        "other names": {"chr1": 400},
        "a contig more": {**LENGTHS, "Y": 400},
    }
    block = f"1 1 . {other(base)} <NON_REF> . . END=9 GT:DP:GQ:MIN_DP:PL 0/0:30:60:30:0,60,800"
    if mistake == "two columns":
        second = write_gvcf(tmp_path / "two.g.vcf.gz", ["a", "a"], LENGTHS, [])
    elif mistake == "a copy":
        second = Path(shutil.copy(world / "woman.g.vcf.gz", tmp_path / "copy.g.vcf.gz"))
    elif mistake == "the same file twice":
        second = world / "woman.g.vcf.gz"
    else:
        lines = [block] if mistake == "other letters" else []
        second = write_gvcf(tmp_path / "other.g.vcf.gz", ["b"], lengths.get(mistake, LENGTHS), lines)
    gvcfs = [world / "woman.g.vcf.gz", second]
    words = MISTAKES[mistake].format(world=world, folder=tmp_path, letter=other(base), base=base)
    if way == "command":
        with pytest.raises(SystemExit) as ended:
            joint([*map(str, gvcfs), "--reference", str(world / "genome.fa"), "--output", str(tmp_path / "x.vcf.gz")])
        said = str(ended.value)
        assert not (tmp_path / "x.vcf.gz").exists()
    else:  # the rules check_gvcfs and import_gvcf, which run before any calling
        with pytest.raises(InputError) as refused:
            check_and_import(world / "reference", gvcfs, tmp_path)
        said = str(refused.value)
    assert words in said
    assert "\n" not in said
