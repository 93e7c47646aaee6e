"""Ploidy by region and sex: X, Y and MT of men and women, in both modes, and GATK's --ploidy-regions."""

import json
import random
from itertools import pairwise
from pathlib import Path

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire import reference as reference_stage
from quire.errors import InputError
from quire.io.ploidy import PloidyRegion, read_ploidy_regions
from quire.rescore.ploidy import PloidyMap

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_gvcf, call_variants, genotype_gvcfs
from tests.support.defaults import default_settings
from tests.support.gvcf import REAL, info_of, lines_of, sample_of
from tests.support.simulation import Genome, Variant, indexed_bam

READY = Path(__file__).resolve().parents[2] / "config" / "ploidy"
SETTINGS = default_settings("rescore")
CONTIGS = {"chrX": 6000, "chrY": 3000, "chrM": 1500}
PAR = 2000
BED = "chrX\t2000\t6000\t1\tmale\nchrY\t0\t3000\t1\t1\nchrY\t0\t3000\t0\tFemale\nchrM\t0\t1500\t1\n"
WHOLE = [(name, 0, length) for name, length in CONTIGS.items()]
SEXES = {"father": "male", "mother": "2", "nobody": ""}
SHARED, FATHERS, MOTHERS = (range(first, 6000, 400) for first in (300, 420, 540))


# -- The map ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 4)), max_size=6), st.integers(1, 3))
def test_the_largest_ploidy_of_all_rows_counts(rows: list[tuple[int, int, int]], usual: int) -> None:
    regions = [PloidyRegion("c", min(a, b), max(a, b), ploidy, "unknown") for a, b, ploidy in rows]
    made = PloidyMap.of(usual, regions)
    again = PloidyMap.from_header(["##fileformat=VCFv4.2", *made.header_lines()])
    for position in range(45):
        over = [row.ploidy for row in regions if row.start <= position < row.end]
        assert made.at("c", position) == again.at("c", position) == (max(over) if over else usual)
    assert made.at("another", 7) == usual


def test_a_contig_of_any_name_survives_the_header() -> None:
    made = PloidyMap.of(2, [PloidyRegion("HLA:A*01,End=7,x", 5, 9, 0, "unknown")])
    again = PloidyMap.from_header(made.header_lines())
    assert again == made
    assert PloidyMap.from_header(["##source=GATK"]) == PloidyMap.of(2, [])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("chrX\t1\t5", "line 2: the ploidy, in the fourth column, is ''; give a whole number"),
        ("chrX\t1\t5\ttwo", "is 'two'"),
        ("chrX\t1\t5\t-1", "is '-1'"),
        ("chrX\t1\t5\t1.5", "is '1.5'"),
        ("chrX\t1\t5\t100", "is '100'"),
        ("chrX\t1\t5\t1\tboth", "the sex, in the fifth column, is 'both'; give male or female"),
        ("X\t1\t5\t1", "unknown contig 'X'; the reference calls it 'chrX'"),
        ("chrX\t1\t6001\t1", "is beyond contig"),
    ],
)
def test_each_mistake_is_one_sentence(line: str, sentence: str, tmp_path: Path) -> None:
    bed = tmp_path / "p.bed"
    bed.write_text(f"# ploidies\n{line}\n")
    with pytest.raises(InputError, match=sentence) as caught:
        read_ploidy_regions(bed, CONTIGS)
    assert str(caught.value).startswith(f"{bed}: line 2: ")
    bed.write_text("# none\n")
    with pytest.raises(InputError, match="holds no regions"):
        read_ploidy_regions(bed, CONTIGS)


# Contig lengths, and genes with 1-based positions from the assembly's annotation: SHOX and IL9R are in the PAR.
GRCH37 = {"X": 155_270_560, "Y": 59_373_566, "SHOX": 600_000, "AR": 66_800_000, "IL9R": 155_240_000}
GRCH38 = {"X": 156_040_895, "Y": 57_227_415, "SHOX": 640_000, "AR": 67_600_000, "IL9R": 156_010_000}


@pytest.mark.parametrize(
    ("name", "prefix", "mitochondrion", "length", "facts"),
    [
        ("GRCh37.bed", "", "MT", 16_569, GRCH37),
        ("GRCh37.chr.bed", "chr", "chrM", 16_571, GRCH37),
        ("GRCh38.bed", "", "MT", 16_569, GRCH38),
        ("GRCh38.chr.bed", "chr", "chrM", 16_569, GRCH38),
    ],
)
def test_ready_regions_of_the_human_genome(
    name: str, prefix: str, mitochondrion: str, length: int, facts: dict[str, int]
) -> None:
    x, y = f"{prefix}X", f"{prefix}Y"
    rows = read_ploidy_regions(READY / name, {x: facts["X"], y: facts["Y"], mitochondrion: length})
    male, female, unknown = (
        PloidyMap.of(2, [row for row in rows if row.sex in ("unknown", sex)]) for sex in ("male", "female", "unknown")
    )
    assert [male.at(x, facts[gene]) for gene in ("SHOX", "AR", "IL9R")] == [2, 1, 2]
    assert {female.at(x, facts[gene]) for gene in ("SHOX", "AR", "IL9R")} == {2}
    assert [one.at(y, 20_000_000) for one in (male, female, unknown)] == [1, 0, 2]
    assert [one.at(mitochondrion, length - 1) for one in (male, female, unknown)] == [1, 1, 1]
    assert male.at(f"{prefix}1", 20_000_000) == 2
    # The PAR of X in bcftools 1.16 (`call --ploidy GRCh37?`, `GRCh38?`), 1-based.
    first = {"GRCh37": (60_001, 2_699_520), "GRCh38": (10_001, 2_781_479)}[name[:6]]
    assert [male.at(x, p - 1) for p in (first[0] - 1, first[0], first[1], first[1] + 1)] == [1, 2, 2, 1]


# -- Calling ----------------------------------------------------------------------------------------------------------


def snvs(reference: str, positions: list[int]) -> list[Variant]:
    """Draw substitutions at some positions."""
    return [(p, reference[p], "ACGT"["ACGT".index(reference[p]) - 1]) for p in positions]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make father, mother and a sample of unknown sex; some of the mother's reads are on Y, with variants."""
    root = tmp_path_factory.mktemp("world")
    generator = random.Random(2)
    letters = {name: random_bases(generator, length) for name, length in CONTIGS.items()}
    write_fasta(root / "genome.fa", letters)
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    (root / "ploidy.bed").write_text(BED)

    def reads(name: str, contig: str, positions: list[list[int]], depth: int, length: int | None = None) -> list[str]:
        text = letters[contig][:length]
        versions = [snvs(text, [p for p in own if 150 < p < len(text) - 150]) for own in positions]
        lines = Genome(contig, text, versions).sam_lines(generator, depth * len(text) // 200)
        return [line.replace("pair", name, 1) for line in lines]

    shared, fathers, mothers = list(SHARED), sorted([*SHARED, *FATHERS]), sorted([*SHARED, *MOTHERS])
    samples = {
        # X is from his mother; the PAR of his Y pairs with it.
        "father": [*reads("x", "chrX", [fathers], 20), *reads("p", "chrX", [shared], 20, PAR)],
        "mother": reads("x", "chrX", [shared, mothers], 40),
        "nobody": reads("x", "chrX", [fathers, mothers], 40),
    }
    y = {"father": ([fathers], 20), "mother": ([mothers], 6), "nobody": ([fathers], 20)}
    for name, lines in samples.items():
        lines.sort(key=lambda line: int(line.split("\t")[3]))
        lines += reads("y", "chrY", *y[name])
        lines += reads("m", "chrM", [fathers], 200)
        indexed_bam(root / f"{name}.bam", CONTIGS, lines)
    return root


def entries(root: Path, names: list[str]) -> list[dict]:
    """Return the samples to call."""
    return [{"sample": name, "ploidy": 2, "sex": SEXES[name], "bam": root / f"{name}.bam"} for name in names]


def at_once(root: Path, output: Path, names: list[str], intervals=WHOLE) -> list[list[str]]:
    """Return the records of samples called together."""
    rows, ledger, bed = entries(root, names), output.with_suffix(".json"), root / "ploidy.bed"
    call_variants(root / "reference", rows, intervals, output, SETTINGS, ledger, ploidy_regions=bed)
    return lines_of(output)


def by_gvcf(root: Path, folder: Path, names: list[str], intervals=WHOLE) -> list[list[str]]:
    """Return the records of samples called alone and genotyped together."""
    paths = []
    for row in entries(root, names):
        path = folder / f"{row['sample']}.g.vcf.gz"
        ledger, bed = path.with_suffix(".json"), root / "ploidy.bed"
        call_gvcf(root / "reference", [row], intervals, path, SETTINGS, ledger, ploidy_regions=bed)
        pysam.tabix_index(str(path), preset="vcf", force=True)
        paths.append(path)
    genotype_gvcfs(root / "reference", paths, intervals, folder / "joint.vcf.gz", SETTINGS["minimum_quality"])
    return lines_of(folder / "joint.vcf.gz")


def expected(contig: str, position: int) -> list[str]:
    """Return the genotypes of father, mother and the third sample at a planted position."""
    shared, fathers, mothers = position in SHARED, position in FATHERS, position in MOTHERS
    if contig == "chrM":
        return ["1", "1", "1"]
    if contig == "chrY":
        return ["1" if shared or fathers else "0", ".", "1/1" if shared or fathers else "0/0"]
    copies = {
        "father": [shared or fathers] + [shared and position < PAR - 150] * (position < PAR),
        "mother": [shared, shared or mothers],
        "nobody": [shared or fathers, shared or mothers],
    }
    return ["/".join(str(int(one)) for one in sorted(own)) for own in copies.values()]


@pytest.mark.full
@pytest.mark.parametrize("road", [at_once, by_gvcf])
def test_every_sample_has_its_own_ploidy_at_every_site(world: Path, tmp_path: Path, road) -> None:
    output = tmp_path / "all.vcf.gz" if road is at_once else tmp_path
    lines = road(world, output, list(SEXES))
    planted = {
        (contig, p)
        for contig, length in CONTIGS.items()
        for p in [*SHARED, *FATHERS, *([] if contig != "chrX" else MOTHERS)]
        if 150 < p < length - 150
    }
    found = {(fields[0], int(fields[1]) - 1): fields for fields in lines}
    # The mother's misplaced reads on Y make no variant.
    assert found.keys() == planted
    for (contig, position), fields in found.items():
        genotypes = [sample_of(fields, column)["GT"].replace("|", "/") for column in range(3)]
        assert genotypes == expected(contig, position), (contig, position)
        info = info_of(fields)
        assert int(info["AN"]) == sum(len(genotype.split("/")) for genotype in genotypes if genotype != ".")
        if contig == "chrY":
            assert {value for key, value in sample_of(fields, 1).items() if key != "GT"} <= {"."}
    with pysam.VariantFile(str(tmp_path / ("all.vcf.gz" if road is at_once else "joint.vcf.gz"))) as stream:
        assert len(list(stream)) == len(lines)


@pytest.mark.full
def test_a_sample_without_the_chromosome_changes_nothing(world: Path, tmp_path: Path) -> None:
    alone = [f for f in at_once(world, tmp_path / "alone.vcf.gz", ["father"]) if f[0] == "chrY"]
    beside = [f for f in at_once(world, tmp_path / "both.vcf.gz", ["father", "mother"]) if f[0] == "chrY"]
    assert len(alone) > 5
    assert [fields[:10] for fields in beside] == alone


@pytest.mark.full
@pytest.mark.parametrize("road", [at_once, by_gvcf])
def test_pieces_make_no_difference(world: Path, tmp_path: Path, road) -> None:
    (tmp_path / "whole").mkdir()
    whole = road(world, tmp_path / "whole" / "all.vcf.gz" if road is at_once else tmp_path / "whole", list(SEXES))
    lines = []
    borders = [0, 1000, 2000, 3000, 5000, 6000]
    pieces = [[("chrX", a, b)] for a, b in pairwise(borders)] + [WHOLE[1:]]
    for number, piece in enumerate(pieces):
        (tmp_path / str(number)).mkdir()
        output = tmp_path / str(number)
        lines += road(world, output / "all.vcf.gz" if road is at_once else output, list(SEXES), piece)
    assert lines == whole


@pytest.mark.full
def test_reads_of_an_absent_chromosome_are_counted(world: Path, tmp_path: Path) -> None:
    at_once(world, tmp_path / "all.vcf.gz", list(SEXES))
    by_gvcf(world, tmp_path, ["mother"])
    for path in ("all.vcf.json", "mother.g.vcf.json"):
        counts = json.loads((tmp_path / path).read_text())["reads"]["mother"]
        with pysam.AlignmentFile(str(world / "mother.bam")) as stream:
            total, on_y = stream.mapped, stream.count("chrY")
        assert on_y > 100
        assert (counts["reads"], counts["no_copies"]) == (total, on_y)
    assert not [fields for fields in lines_of(tmp_path / "mother.g.vcf.gz") if fields[0] == "chrY"]
    assert json.loads((tmp_path / "all.vcf.json").read_text())["reads"]["nobody"]["no_copies"] == 0


@pytest.mark.full
def test_every_site_of_an_absent_chromosome(world: Path, tmp_path: Path) -> None:
    """If every position is written, each sample has its ploidy at each, with or without data."""
    by_gvcf(world, tmp_path, list(SEXES))
    paths = [tmp_path / f"{name}.g.vcf.gz" for name in SEXES]
    output = tmp_path / "every.vcf.gz"
    genotype_gvcfs(world / "reference", paths, WHOLE, output, SETTINGS["minimum_quality"], all_sites=True)
    seen = {contig: set() for contig in CONTIGS}
    for fields in lines_of(output):
        genotypes = [sample_of(fields, column)["GT"].replace("|", "/") for column in range(3)]
        father = 2 if fields[0] == "chrX" and int(fields[1]) <= PAR else 1
        ploidies = [
            0 if genotype == "." and c == 1 else genotype.count("/") + 1 for c, genotype in enumerate(genotypes)
        ]
        expected = {"chrX": [father, 2, 2], "chrY": [1, 0, 2], "chrM": [1, ploidies[1], 1]}[fields[0]]
        assert ploidies == expected, fields
        seen[fields[0]].add(int(fields[1]))
    assert {contig: len(places) for contig, places in seen.items()} == CONTIGS


# -- GATK's answer ----------------------------------------------------------------------------------------------------


def test_ploidy_regions_are_gatks(tmp_path: Path) -> None:
    """Records agree to the last phred, except in the gVCF for regions over a border, to which GATK gives one ploidy."""
    reference_stage.build(REAL / "genome.fa.gz", tmp_path / "reference", 1 << 20)
    (tmp_path / "A.bam").symlink_to(REAL / "A.bam")
    pysam.index(str(tmp_path / "A.bam"))
    row = {"sample": "A", "ploidy": 2, "bam": tmp_path / "A.bam"}
    interval = [("chr22_8kb", 0, 8000)]
    bed, ledger = REAL / "ploidy.bed", tmp_path / "ledger.json"
    ours, gvcf = tmp_path / "ours.vcf.gz", tmp_path / "ours.g.vcf.gz"
    call_variants(tmp_path / "reference", [row], interval, ours, SETTINGS, ledger, ploidy_regions=bed)
    mine, theirs = lines_of(ours), lines_of(REAL / "gatk_ploidy.vcf.gz")
    assert [f[:6] for f in mine] == [f[:6] for f in theirs]
    for own, other in zip(mine, theirs, strict=True):
        assert {key: sample_of(own)[key] for key in ("GT", "AD", "DP", "GQ", "PL")}.items() <= sample_of(other).items()
    call_gvcf(tmp_path / "reference", [row], interval, gvcf, SETTINGS, ledger, ploidy_regions=bed)
    mine_at, theirs_at = (ploidies_of(path) for path in (gvcf, REAL / "gatk_ploidy.g.vcf.gz"))
    assert mine_at.keys() == theirs_at.keys()
    differing = [p for p in mine_at if mine_at[p] != theirs_at[p]]
    assert all(min(abs(p - border) for border in (2000, 4500, 6000)) < 300 for p in differing)
    usual = {range(1, 2001): 3, range(2001, 4501): 1, range(4501, 6001): 4, range(6001, 8001): 2}
    assert all(ploidy == next(n for span, n in usual.items() if p in span) for p, ploidy in mine_at.items())


def ploidies_of(gvcf: Path) -> dict[int, int]:
    """Return the ploidy by position (1-based) of a gVCF of one contig."""
    found = {}
    for fields in lines_of(gvcf):
        end = int(info_of(fields).get("END", fields[1]))
        for position in range(int(fields[1]), end + 1):
            found[position] = len(sample_of(fields)["GT"].replace("|", "/").split("/"))
    return found
