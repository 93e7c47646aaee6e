"""Joint genotyping of every position: GATK's answers, each position once, pieces, and uncertain references."""

import re
from pathlib import Path

import pytest

from tests.support.calling import genotype_gvcfs
from tests.support.gvcf import REAL, info_of, lines_of, real_gvcfs, sample_of, write_gvcf

CONTIG = "chr22_8kb"
SMALL = "ACGTTGCAAC" * 30


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_gvcfs(tmp_path_factory.mktemp("world"), {"c": SMALL})


def every_site(root: Path, output: Path, intervals: list[tuple[str, int, int]]) -> list[list[str]]:
    gvcfs = [root / f"{sample}.g.vcf.gz" for sample in "ABC"]
    count = genotype_gvcfs(root / "reference", gvcfs, intervals, output, 30.0, all_sites=True)
    lines = lines_of(output)
    assert len(lines) == count
    return lines


def test_every_position_is_gatks(world: Path, tmp_path: Path) -> None:
    ours = every_site(world, tmp_path / "all.vcf.gz", [(CONTIG, 3500, 5500)])
    gatks = lines_of(REAL / "gatk_all_sites.vcf.gz")
    assert [int(fields[1]) for fields in ours] == [int(fields[1]) for fields in gatks] == list(range(3501, 5501))
    different = []
    for mine, theirs in zip(ours, gatks, strict=True):
        same = mine[3:5] == theirs[3:5] and info_of(mine).get("DP") == info_of(theirs).get("DP")
        for sample in range(3):
            a, b = sample_of(mine, sample), sample_of(theirs, sample)
            same &= sorted(re.split(r"[/|]", a["GT"])) == sorted(re.split(r"[/|]", b["GT"]))
            same &= [a.get(k, ".") for k in ("DP", "RGQ", "AD", "PL")] == [
                b.get(k, ".") for k in ("DP", "RGQ", "AD", "PL")
            ]
        if not same:
            different.append(mine[1])
    assert different == ["5409"]  # GATK keeps the three reference bases of the deletion that it drops
    kinds = {(fields[4] == ".", fields[6]) for fields in ours}
    assert kinds == {(True, "PASS"), (False, "PASS"), (False, "LowQual")}
    assert {fields[4] for fields in ours if fields[6] == "LowQual"} == {"*"}


def test_variants_are_those_without_the_other_sites(world: Path, tmp_path: Path) -> None:
    ours = every_site(world, tmp_path / "all.vcf.gz", [(CONTIG, 0, 8000)])
    gvcfs = [world / f"{sample}.g.vcf.gz" for sample in "ABC"]
    genotype_gvcfs(world / "reference", gvcfs, [(CONTIG, 0, 8000)], tmp_path / "variants.vcf.gz", 30.0)
    assert [fields for fields in ours if fields[4] not in (".", "*")] == lines_of(tmp_path / "variants.vcf.gz")
    assert [int(fields[1]) for fields in ours] == list(range(1, 8001))
    pieces = []
    for start in range(0, 8000, 700):
        pieces += every_site(world, tmp_path / "piece.vcf.gz", [(CONTIG, start, min(start + 700, 8000))])
    assert pieces == ours


def test_reference_no_call_and_dropped_genotypes(world: Path, tmp_path: Path) -> None:
    """Test a reference block, a gap, an unlikely SNV, an insertion next to a deletion, and a sample that ends early."""
    contigs = {"c": 300}
    block, variant = "GT:DP:GQ:MIN_DP:PL", "GT:AD:DP:GQ:PL:SB"
    first = write_gvcf(tmp_path / "1.g.vcf.gz", ["one"], contigs, [
        f"c 11 . A <NON_REF> . . END=20 {block} 0/0:20:60:19:0,60,800",
        f"c 21 . A G,<NON_REF> 5 . DP=9 {variant} 0/1:7,2,0:9:11:11,0,200,40,210,240:4,3,1,1",
        f"c 22 . C <NON_REF> . . END=22 {block} 0/0:9:0:9:0,0,90",
        f"c 23 . GTT G,GTTA,<NON_REF> 9 . DP=8 {variant} "
        "0/2:4,0,4,0:8:20:20,50,300,0,90,100,60,310,95,320:2,2,2,2",
        f"c 26 . G <NON_REF> . . END=30 {block} 0/0:0:0:0:0,0,0",
    ])  # fmt: skip
    second = write_gvcf(tmp_path / "2.g.vcf.gz", ["haploid"], contigs, [
        f"c 11 . A <NON_REF> . . END=14 {block} 0:5:99:5:0,150",
    ])  # fmt: skip
    output = tmp_path / "all.vcf.gz"
    count = genotype_gvcfs(world / "small", [first, second], [("c", 8, 32)], output, 1000.0, all_sites=True)
    lines = {int(fields[1]): fields for fields in lines_of(output)}
    assert count == 24
    assert list(lines) == list(range(9, 33))
    assert "".join(fields[3] for fields in lines.values()) == SMALL[8:32]
    assert {fields[4] for fields in lines.values()} == {"."}
    assert lines[9][7:] == [".", "GT", "./.", "./."] == lines[32][7:]
    assert lines[11][5:] == [".", "PASS", "DP=24", "GT:DP:RGQ", "0/0:19:60", "0:5:99"]
    assert lines[15][7:] == ["DP=19", "GT:DP:RGQ", "0/0:19:60", "./.:.:."]
    assert lines[21][7:] == [
        "DP=9",
        "GT:DP:RGQ",
        "./.:9:0",
        "./.:.:.",
    ]  # an unlikely variant, but likelier than none
    assert lines[22][9] == "./.:9:0"
    assert lines[23][9] == "./.:8:0"
    assert lines[24][9] == lines[25][9] == "0/0:8:50"  # the earlier insertion removes no base
    assert lines[26][7:] == [".", "GT", "./.", "./."]
