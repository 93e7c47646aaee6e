"""Joint genotyping of gVCFs: GATK's answers, merged alleles, spanning deletions, and bad files."""

import re
from math import comb
from pathlib import Path

import pysam
import pytest
from quire.errors import InputError
from quire.rescore import joint
from quire.rescore.genotyping.cohort_cpu import excess_heterozygosity
from quire.rescore.joint import check_gvcfs, store, window
from quire.rescore.joint.gvcf import read_head
from quire.rescore.joint.store import import_gvcf
from quire.rescore.phasing import PHASE_KEYS

from tests.support.calling import genotype_gvcfs
from tests.support.gvcf import REAL, info_of, lines_of, real_gvcfs, sample_of, write_gvcf

LENGTH = 8000
CONTIG = "chr22_8kb"
INTERVALS = [(CONTIG, 0, LENGTH)]
SMALL = "ACGTTGCAAC" * 30


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_gvcfs(tmp_path_factory.mktemp("world"), {"c": SMALL, "d": SMALL})


def joined(root: Path, output: Path, intervals: list[tuple[str, int, int]], quality: float = 30.0) -> list[list[str]]:
    """Return the records of the three samples."""
    gvcfs = [root / f"{sample}.g.vcf.gz" for sample in "ABC"]
    count = genotype_gvcfs(root / "reference", gvcfs, intervals, output, quality)
    lines = lines_of(output)
    assert len(lines) == count
    return lines


def test_genotypes_and_annotations_are_gatks(world: Path, tmp_path: Path) -> None:
    ours = joined(world, tmp_path / "all.vcf.gz", [(CONTIG, 0, LENGTH)])
    gatks = lines_of(REAL / "gatk_joint.vcf.gz")
    assert len(ours) == 24
    for mine, theirs in zip(ours, gatks, strict=True):
        assert mine[:5] == theirs[:5]
        assert float(mine[5]) == pytest.approx(float(theirs[5]), abs=0.011)
        for sample in range(3):
            a, b = sample_of(mine, sample), sample_of(theirs, sample)
            assert sorted(re.split(r"[/|]", a["GT"])) == sorted(re.split(r"[/|]", b["GT"]))
            assert [a[k] for k in ("AD", "DP", "PL")] == [b[k] for k in ("AD", "DP", "PL")]
            assert a["GQ"] == b["GQ"] or (a["GT"], a["GQ"], b["GQ"]) == ("./.", ".", "0")
            assert [a.get(k, ".") for k in PHASE_KEYS] == [b.get(k, ".") for k in PHASE_KEYS]
            if a.get("PGT", ".") != ".":  # GATK keeps the order of the genotype's alleles: 0|1
                assert a["GT"] in (a["PGT"], "0|0")
        a, b = info_of(mine), info_of(theirs)
        same = ("AC", "AN", "DP", "FS", "SOR", "MQ", "ExcessHet", "MLEAC")
        assert [a[k] for k in same] == [b[k] for k in same]
        assert [float(x) for x in a["MLEAF"].split(",")] == pytest.approx(
            [float(x) for x in b["MLEAF"].split(",")], abs=0.0006
        )
        for key in ("BaseQRankSum", "MQRankSum", "ReadPosRankSum"):
            assert (key in a) == (key in b)
            if key in a:
                assert float(a[key]) == pytest.approx(float(b[key]), abs=0.006)
        # GATK replaces larger values by a random number.
        assert a["QD"] == b["QD"] or float(a["QD"]) == 35


def test_pieces_make_no_difference(world: Path, tmp_path: Path) -> None:
    whole = joined(world, tmp_path / "whole.vcf.gz", [(CONTIG, 0, LENGTH)])
    for step in (500, 3000):
        lines = []
        for start in range(0, LENGTH, step):
            lines += joined(world, tmp_path / "piece.vcf.gz", [(CONTIG, start, min(start + step, LENGTH))])
        assert lines == whole
    assert len(joined(world, tmp_path / "sure.vcf.gz", [(CONTIG, 0, LENGTH)], 200.0)) < len(whole)


def test_units_and_processes_make_no_difference(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = joined(world, tmp_path / "whole.vcf.gz", [(CONTIG, 0, LENGTH)])
    for module in (joint, store, window):
        monkeypatch.setattr(module, "WINDOW", 300)
    gvcfs = [world / f"{sample}.g.vcf.gz" for sample in "ABC"]
    for threads in (1, 3):
        output = tmp_path / f"{threads}.vcf.gz"
        genotype_gvcfs(world / "reference", gvcfs, [(CONTIG, 0, LENGTH)], output, 30.0, threads=threads)
        assert lines_of(output) == whole


def test_a_damaged_block_is_one_sentence(world: Path, tmp_path: Path) -> None:
    content = bytearray((world / "A.g.vcf.gz").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 50] = bytes(50)
    (tmp_path / "A.g.vcf.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"A\.g\.vcf\.gz: the gzip stream is damaged"):
        import_gvcf(world / "reference", tmp_path / "A.g.vcf.gz", tmp_path / "A.records")
    assert not (tmp_path / "A.records").exists()


def test_alleles_meet_and_unknown_ones_count_as_non_ref(world: Path, tmp_path: Path) -> None:
    """Merge a deletion, substitutions at its start and within it, a reference block and a sample without records."""
    contigs = {"c": 300, "d": 300}
    block = "GT:DP:GQ:MIN_DP:PL"
    variant = "GT:AD:DP:GQ:PL:SB"
    first = write_gvcf(tmp_path / "1.g.vcf.gz", ["deletion"], contigs, [
        f"c 1 . A <NON_REF> . . END=100 {block} 0/0:20:60:19:0,60,800",
        f"c 101 . ACGT A,<NON_REF> 500 . DP=20;RAW_MQandDP=72000,20 {variant} "
        "0/1:10,10,0:20:99:400,0,400,430,430,860:5,5,5,5",
        f"c 105 . T <NON_REF> . . END=300 {block} 0/0:20:60:20:0,60,800",
    ])  # fmt: skip
    second = write_gvcf(tmp_path / "2.g.vcf.gz", ["snv"], contigs, [
        f"c 1 . A <NON_REF> . . END=100 {block} 0/0:20:60:19:0,60,800",
        f"c 101 . A G,<NON_REF> 500 . DP=20;RAW_MQandDP=50000,20 {variant} "
        "1/1:0,20,0:20:60:700,60,0,700,60,700:0,0,10,10",
        f"c 102 . C <NON_REF> . . END=102 {block} 0/0:20:60:20:0,60,800",
        f"c 103 . G C,<NON_REF> 500 . DP=20 {variant} 0|1:9,11,0:20:99:450,0,350,480,380,860:5,4,5,6",
        f"c 104 . T <NON_REF> . . END=300 {block} 0/0:20:60:20:0,60,800",
    ])  # fmt: skip
    third = write_gvcf(tmp_path / "3.g.vcf.gz", ["sure", "unsure"], contigs, [
        f"c 90 . C <NON_REF> . . END=101 {block} 0/0:30:75:25:0,75,1000 ./.:0:0:0:0,0,0",
        f"c 102 . C <NON_REF> . . END=300 {block} ./.:30:75:25:0,75,1000 0/0:2:0:2:0,0,5",
    ])  # fmt: skip
    fourth = write_gvcf(tmp_path / "4.g.vcf.gz", ["elsewhere"], contigs, [
        f"d 1 . A <NON_REF> . . END=300 {block} 0/0:30:75:25:0,75,1000",
    ])  # fmt: skip
    output = tmp_path / "all.vcf.gz"
    count = genotype_gvcfs(world / "small", [first, second, third, fourth], [("c", 0, 300)], output, 30.0)
    at_start, within = lines_of(output)
    assert count == 2
    assert at_start[1:5] == ["101", ".", "ACGT", "A,GCGT"]
    genotypes = [sample_of(at_start, n)["GT"] for n in range(5)]
    assert genotypes == ["0/1", "2/2", "0/0", "./.", "./."]
    assert sample_of(at_start, 0)["PL"] == "400,0,400,430,430,860"
    assert sample_of(at_start, 0)["AD"] == "10,10,0"
    assert sample_of(at_start, 1)["PL"] == "700,700,700,60,60,0"
    assert sample_of(at_start, 2) == {
        "GT": "0/0",
        "AD": "25,0,0",
        "DP": "25",
        "GQ": "75",
        "PL": "0,75,1000,75,1000,1000",
    }
    assert sample_of(at_start, 4) == {"GT": "./.", "AD": ".", "DP": ".", "GQ": ".", "PL": "."}
    info = info_of(at_start)
    assert (info["AC"], info["AN"], info["DP"]) == ("1,2", "6", str(20 + 20 + 25))
    assert float(info["MQ"]) == pytest.approx((122000 / 40) ** 0.5, abs=0.01)
    assert within[1:5] == ["103", ".", "G", "*,C"]
    assert [sample_of(within, n)["GT"] for n in range(4)] == ["0/1", "0/2", "0/0", "./."]
    assert sample_of(within, 0)["PL"] == "400,0,400,430,430,860"
    assert sample_of(within, 3) == {"GT": "./.", "AD": "2,0,0", "DP": "2", "GQ": ".", "PL": "0,0,5,0,5,5"}
    # A piece that begins within the deletion has the same records from its start on.
    genotype_gvcfs(world / "small", [first, second, third, fourth], [("c", 102, 300)], output, 30.0)
    assert lines_of(output) == [within]


def test_a_deletion_that_is_not_called_leaves_no_star(world: Path, tmp_path: Path) -> None:
    contigs = {"c": 300, "d": 300}
    lines = [
        "c 101 . ACGT A,<NON_REF> 0 . DP=20 GT:AD:DP:GQ:PL 0/0:20,0,0:20:60:0,60,700,60,700,700",
        "c 105 . T <NON_REF> . . END=300 GT:DP:GQ:MIN_DP:PL 0/0:20:60:20:0,60,800",
    ]
    first = write_gvcf(tmp_path / "1.g.vcf.gz", ["one"], contigs, lines)
    lines = ["c 103 . G C,<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL 0/1:9,11,0:20:99:450,0,350,480,380,860"]
    second = write_gvcf(tmp_path / "2.g.vcf.gz", ["two"], contigs, lines)
    genotype_gvcfs(world / "small", [first, second], [("c", 0, 300)], tmp_path / "all.vcf.gz", 30.0)
    (only,) = lines_of(tmp_path / "all.vcf.gz")
    assert only[1:5] == ["103", ".", "G", "C"]
    assert sample_of(only, 0)["PL"] == "0,60,700"


@pytest.mark.parametrize("weak", [20, 30, 45])
def test_a_piece_may_begin_within_a_chain_of_deletions(world: Path, tmp_path: Path, weak: int) -> None:
    """In a chain of deletions, calling one decides about '*' at the next."""
    contigs = {"c": 300, "d": 300}
    letters = (world / "small.fa").read_text().split(">")[1].replace("\n", "")[1:]

    def deletion(at: int, size: int, phreds: str) -> str:
        alleles = f"{letters[at - 1 : at - 1 + size]} {letters[at - 1]}"
        return f"c {at} . {alleles},<NON_REF> 50 . DP=20 GT:AD:DP:GQ:PL 0/1:9,11,0:20:99:{phreds}"

    def substitution(at: int) -> str:
        alleles = f"{letters[at - 1]} {'A' if letters[at - 1] != 'A' else 'C'}"
        return f"c {at} . {alleles},<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL 0/1:9,11,0:20:99:450,0,350,480,380,860"

    def block(first: int, last: int) -> str:
        return f"c {first} . {letters[first - 1]} <NON_REF> . . END={last} GT:DP:GQ:MIN_DP:PL 0/0:20:60:20:0,60,800"

    strong, weakly = "450,0,350,480,380,860", f"{weak},0,350,{weak + 30},380,860"
    files = [
        [block(1, 100), deletion(101, 20, strong), block(121, 300)],
        [block(1, 109), deletion(110, 20, weakly), block(130, 300)],
        [block(1, 111), deletion(112, 20, weakly), block(132, 300)],
        [block(1, 109), substitution(110), block(111, 124), substitution(125), block(126, 300)],
    ]
    gvcfs = [write_gvcf(tmp_path / f"{n}.g.vcf.gz", [f"s{n}"], contigs, lines) for n, lines in enumerate(files)]

    def genotyped(start: int, end: int, all_sites: bool) -> list[list[str]]:
        output = tmp_path / "all.vcf.gz"
        genotype_gvcfs(world / "small", gvcfs, [("c", start, end)], output, 30.0, all_sites=all_sites)
        return lines_of(output)

    for all_sites in (False, True):
        whole = genotyped(90, 140, all_sites)
        for cut in (105, 112, 122, 125, 126):
            assert genotyped(90, cut, all_sites) + genotyped(cut, 140, all_sites) == whole


def test_a_block_around_other_records_counts_after_them(world: Path, tmp_path: Path) -> None:
    contigs = {"c": 300, "d": 300}
    variant = "500 . DP=20 GT:AD:DP:GQ:PL 0/1:10,10,0:20:99:400,0,400,430,430,860"
    around = ["c 1 . A <NON_REF> . . END=290 GT:DP:GQ:PL 0/0:30:60:0,60,900", f"c 50 . C T,<NON_REF> {variant}"]
    first = write_gvcf(tmp_path / "1.g.vcf.gz", ["around"], contigs, around)
    second = write_gvcf(tmp_path / "2.g.vcf.gz", ["other"], contigs, [f"c 200 . C T,<NON_REF> {variant}"])
    found = []
    for start in (0, 150):
        genotype_gvcfs(world / "small", [first, second], [("c", start, 300)], tmp_path / "all.vcf.gz", 30.0)
        found.append(lines_of(tmp_path / "all.vcf.gz")[-1])
    assert found[0] == found[1]
    assert sample_of(found[0], 0)["PL"] == "0,60,900"


def test_lower_case_letters_are_letters(world: Path, tmp_path: Path) -> None:
    contigs = {"c": 300, "d": 300}
    variant = "500 . DP=20 GT:AD:DP:GQ:PL 0/1:10,10,0:20:99:400,0,400,430,430,860"
    lines = [[f"c 50 . {letters} {variant}"] for letters in ("C T,<NON_REF>", "c t,<NON_REF>")]
    lines.append(["c 50 . c <NON_REF> . . END=60 GT:DP:GQ:PL 0/0:30:60:0,60,900"])
    gvcfs = [write_gvcf(tmp_path / f"{n}.g.vcf.gz", [f"s{n}"], contigs, own) for n, own in enumerate(lines)]
    genotype_gvcfs(world / "small", gvcfs, [("c", 0, 300)], tmp_path / "all.vcf.gz", 30.0)
    (only,) = lines_of(tmp_path / "all.vcf.gz")
    assert only[3:5] == ["C", "T"]
    assert [sample_of(only, n)["GT"] for n in range(3)] == ["0/1", "0/1", "0/0"]


def test_blocks_with_a_quality_alone_and_other_ploidies(world: Path, tmp_path: Path) -> None:
    contigs = {"c": 300, "d": 300}
    first = write_gvcf(
        tmp_path / "1.g.vcf.gz", ["quality"], contigs, ["c 1 . A <NON_REF> . . END=300 GT:DP:GQ 0/0:30:50"]
    )
    lines = ["c 50 . C T,<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL 1:0,20,0:20:99:700,0,700"]
    second = write_gvcf(tmp_path / "2.g.vcf.gz", ["haploid"], contigs, lines)
    genotype_gvcfs(world / "small", [first, second], [("c", 0, 300)], tmp_path / "all.vcf.gz", 30.0)
    (only,) = lines_of(tmp_path / "all.vcf.gz")
    assert sample_of(only, 0) == {"GT": "0/0", "AD": "30,0", "DP": "30", "GQ": "50", "PL": "0,50,500"}
    assert sample_of(only, 1)["GT"] == "1"
    assert info_of(only)["AN"] == "3"


@pytest.mark.parametrize(
    ("heterozygous", "references", "others"), [(3, 0, 0), (0, 5, 2), (4, 4, 1), (1, 9, 0), (6, 2, 3)]
)
def test_excess_of_heterozygous_samples(heterozygous: int, references: int, others: int) -> None:
    samples, minor = heterozygous + references + others, 2 * others + heterozygous

    def ways(het: int) -> int:
        homozygous = (minor - het) // 2
        return comb(samples, het) * comb(samples - het, homozygous) * 2**het

    possible = [h for h in range(minor + 1) if (minor - h) % 2 == 0 and samples - h - (minor - h) // 2 >= 0]
    expected = sum(map(ways, (h for h in possible if h >= heterozygous))) / sum(map(ways, possible))
    assert excess_heterozygosity(heterozygous, references, others) == pytest.approx(expected)


GOOD = ["c 1 . A <NON_REF> . . END=300 GT:DP:GQ:MIN_DP:PL 0/0:30:75:25:0,75,1000"]
NAMED = "c 50 . C T 500 . DP=20 GT:AD:DP:GQ:PL 0/1:10,10:20:99:400,0,400"
FEW = "c 50 . C T,<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL 0/1:10,10,0:20:99:400,0,400"
OTHER = ["c 50 . CAC T,<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL 0/1:10,10,0:20:99:400,0,400,430,430,860"]


def test_each_mistake_is_one_sentence(world: Path, tmp_path: Path) -> None:
    contigs = {"c": 300, "d": 300}
    good = write_gvcf(tmp_path / "good.g.vcf.gz", ["a"], contigs, GOOD)

    def refused(*paths: Path, taken: tuple[str, ...] = ()) -> str:
        def use() -> None:
            check_gvcfs(world / "small", paths, taken)
            for path in paths:
                import_gvcf(world / "small", path, tmp_path / "store.records")

        with pytest.raises(InputError) as error:
            use()
        assert "\n" not in str(error.value)
        return str(error.value)

    check_gvcfs(world / "small", [good], ["b"])
    assert "no such file" in refused(tmp_path / "none.g.vcf.gz")
    other = write_gvcf(tmp_path / "other.g.vcf.gz", ["b"], {"c": 301}, GOOD)
    assert "its contig 'c' (301 bases) is not in the reference" in refused(good, other)
    foreign = write_gvcf(tmp_path / "foreign.g.vcf.gz", ["b"], {"chr1": 300}, [])
    assert "its contig 'chr1' (300 bases) is not in the reference" in refused(foreign)
    line = "c 2 . T <NON_REF> . . END=300 GT:DP:GQ:MIN_DP:PL 0/0:30:75:25:0,75,1000"
    letters = write_gvcf(tmp_path / "letters.g.vcf.gz", ["b"], contigs, [line])
    assert f"{letters}: says T at c:2 where the reference has C; make the gVCF again" in refused(good, letters)
    far = write_gvcf(tmp_path / "far.g.vcf.gz", ["b"], contigs, [line.replace("c 2 .", "c 301 .")])
    assert "far.g.vcf.gz: the record at position 301 of c is beyond the contig" in refused(far)
    again = write_gvcf(tmp_path / "again.g.vcf.gz", ["b", "a"], contigs, [])
    assert f"its sample 'a' is in {good} too" in refused(good, again)
    assert "its sample 'a' is in the sheet of samples too" in refused(good, taken=("x", "a"))
    truncated = write_gvcf(tmp_path / "truncated.g.vcf.gz", ["b"], contigs, GOOD)
    truncated.write_bytes(truncated.read_bytes()[:-30])
    assert "is truncated" in refused(truncated)
    no_gvcf = tmp_path / "calls.vcf"
    with pysam.BGZFile(str(good), "rb", None) as stream:
        text = "".join(f"{line.decode()}\n" for line in stream)
    (tmp_path / "plain.g.vcf").write_text(text)
    import_gvcf(world / "small", tmp_path / "plain.g.vcf", tmp_path / "store.records")  # needs no bgzip and no index
    text = text.replace('##ALT=<ID=NON_REF,Description="Any other">\n', "")
    no_gvcf.write_text(text)
    assert "has no allele <NON_REF>, so it is not a gVCF" in refused(no_gvcf)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([NAMED], "at position 50 has no allele <NON_REF>"),
        ([FEW], "has 3 values in PL"),
        (OTHER, "has another reference"),
    ],
)
def test_each_bad_record_is_one_sentence(world: Path, tmp_path: Path, lines: list[str], message: str) -> None:
    contigs = {"c": 300, "d": 300}
    right = "c 50 . CARG C,<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL 0/1:10,10,0:20:99:400,0,400,430,430,860"
    first = write_gvcf(tmp_path / "1.g.vcf.gz", ["a"], contigs, [right])
    second = write_gvcf(tmp_path / "2.g.vcf.gz", ["b"], contigs, lines)
    with pytest.raises(InputError, match=message):
        genotype_gvcfs(world / "small", [first, second], [("c", 0, 300)], tmp_path / "all.vcf.gz", 30.0)
    assert not (tmp_path / "all.vcf.gz").exists()


def test_one_record_of_each_file_is_held(world: Path, tmp_path: Path) -> None:
    """Join forty samples: ten are enough for InbreedingCoeff, and the columns have the order of the files."""
    contigs = {"c": 300, "d": 300}
    paths = []
    for number in range(40):
        genotype, phreds = [("0/0", "0,60,800,60,800,800"), ("0/1", "400,0,400,430,430,860")][number % 2]
        line = f"c 50 . C T,<NON_REF> 500 . DP=20 GT:AD:DP:GQ:PL {genotype}:10,10,0:20:60:{phreds}"
        paths.append(write_gvcf(tmp_path / f"{number}.g.vcf.gz", [f"s{number}"], contigs, [line]))
    genotype_gvcfs(world / "small", paths, [("c", 0, 300)], tmp_path / "all.vcf.gz", 30.0)
    (only,) = lines_of(tmp_path / "all.vcf.gz")
    info = info_of(only)
    assert (info["AC"], info["AN"], info["AF"]) == ("20", "80", "0.25")
    assert float(info["InbreedingCoeff"]) == pytest.approx(1 - 0.5 / (2 * 0.75 * 0.25), abs=1e-3)
    assert [sample_of(only, n)["GT"] for n in range(40)] == ["0/0", "0/1"] * 20
    with pysam.VariantFile(str(tmp_path / "all.vcf.gz")) as file:
        assert list(file.header.samples) == [f"s{n}" for n in range(40)]


@pytest.mark.parametrize("contig", ["a,b", "-rf;$HOME&|~%s:1-5!A0,x", "HLA-A*01:01"])
def test_contigs_of_any_name(contig: str, tmp_path: Path) -> None:
    lines = [f"{contig} 1 . A <NON_REF> . . END=9 GT:DP:GQ 0/0:9:9"]
    path = write_gvcf(tmp_path / "a.g.vcf.gz", ["s"], {contig: 900}, lines)
    assert read_head(path, {contig: 900}).samples == ["s"]


@pytest.mark.parametrize("sample", ["<script>alert(1)</script>", "a b", "=cmd|x!A0", "-rf", "Käse"])
def test_samples_of_any_name(sample: str, tmp_path: Path) -> None:
    assert read_head(write_gvcf(tmp_path / "a.g.vcf.gz", [sample], {"c": 300}, []), {"c": 300}).samples == [sample]


def test_samples_that_are_no_text(tmp_path: Path) -> None:
    path = write_gvcf(tmp_path / "a.g.vcf.gz", ["a\x1b[2J"], {"c": 300}, [])
    with pytest.raises(InputError, match=r"a\.g\.vcf\.gz: the name of a sample holds a control character"):
        read_head(path, {"c": 300})
    with pysam.BGZFile(str(path), "wb", None) as stream:
        stream.write(b'##fileformat=VCFv4.2\n##ALT=<ID=NON_REF,Description="K\xe4se">\n#CHROM\tPOS\n')
    pysam.tabix_index(str(path), preset="vcf", force=True)
    with pytest.raises(InputError, match=r"a\.g\.vcf\.gz: cannot be read \('utf-8' codec"):
        read_head(path, {"c": 300})
