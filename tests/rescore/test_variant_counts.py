"""Counts of a VCF other than its alleles: read support of genotypes, and similarity of samples."""

import itertools
import random

import pytest
from quire.io.ploidy import PloidyRegion
from quire.rescore import cohort_counts
from quire.rescore.cohort_counts import PAIR_COUNTS
from quire.rescore.ploidy import PloidyMap
from quire.rescore.variant_counts import DEEPEST, DEEPEST_ALLELES, VariantCounter

HEAD = ["##fileformat=VCFv4.2\n", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{}\n"]


def counted(samples: list[str], records: list[tuple[str, ...]]) -> dict:
    """Count records given as contig, REF, ALT, FILTER, FORMAT and the samples' columns."""
    counter = VariantCounter([HEAD[0], HEAD[1].format("\t".join(samples))])
    for contig, reference, alternate, passed, names, *columns in records:
        fields = (contig, "10", ".", reference, alternate, "50", passed, ".", names, *columns)
        counter.add("\t".join(fields).encode())
    return counter.content()


def test_reads_behind_genotypes() -> None:
    names = "GT:AD:DP:GQ"
    content = counted(
        ["a", "b"],
        [
            ("1", "A", "C", "PASS", names, "0/1:10,12:23:99", "0/0:30,0:30:80"),
            ("1", "A", "C", "PASS", names, "1|1:1,39:40:120", "0/1:9,11:20:7"),
            ("1", "A", "C", "PASS", names, "0/1:300,100:700:50", "./.:.:.:."),
            ("X", "A", "C", "PASS", names, "0/1:10,12:23:99", "1:0,8:8:20"),
            ("1", "AT", "A", "PASS", names, "0/1:10,12:23:99", "1/1:.:.:3"),
            ("1", "A", "C,G", "PASS", names, "1/2:0,8,9:17:40", "0/0:20,0,0:20:60"),
            ("1", "A", "C", "PASS", "GT", "0/1", "0/1"),
            ("1", "A", "C", "QD", names, "0/1:10,12:23:99", "0/1:10,12:23:99"),
        ],
    )["samples"]
    first, second = content["a"], content["b"]
    assert first["allele_depths"] == {
        "heterozygous": [[10, 12, 1], [75, 25, 1]],
        "homozygous": [[1, 39, 1]],
        "haploid": [],
    }
    assert sum(first["allele_depths"]["heterozygous"][1][:2]) == DEEPEST_ALLELES
    assert second["allele_depths"] == {"heterozygous": [[9, 11, 1]], "homozygous": [], "haploid": []}
    assert {depth: number for depth, number in enumerate(first["depth"]) if number} == {23: 3, 40: 1, 17: 1, DEEPEST: 1}
    assert {value: number for value, number in enumerate(first["genotype_quality"]) if number} == {99: 4, 50: 1, 40: 1}
    assert first["indel_lengths"] == [[-1, 1]]
    assert {change: number for change, number in first["substitutions"].items() if number} == {"A>C": 6, "A>G": 1}
    assert second["counts"]["missing"] == 1


def test_reads_of_haploid_snvs() -> None:
    """SNVs of one alternate allele that a haploid sample carries, scaled as others, also after a merge."""
    records = [
        ("1", "A", "C", "PASS", "GT:AD", "1:2,18", "1:40,160"),
        ("1", "A", "C", "PASS", "GT:AD", "0:20,0", "1:2,18"),
        ("1", "AT", "A", "PASS", "GT:AD", "1:5,15", "1:5,15"),
        ("1", "A", "C,G", "PASS", "GT:AD", "2:5,0,15", "1:5,15,0"),
        ("X", "A", "C", "PASS", "GT:AD", "1:2,18", "1:2,18"),
    ]
    halves = [VariantCounter([HEAD[0], HEAD[1].format("a\tb")]) for _ in range(2)]
    for number, (contig, reference, alternate, passed, names, *columns) in enumerate(records):
        fields = (contig, "10", ".", reference, alternate, "50", passed, ".", names, *columns)
        halves[number % 2].add("\t".join(fields).encode())
    halves[0].merge(halves[1])
    samples = halves[0].content()["samples"]
    assert samples["a"]["allele_depths"] == {"heterozygous": [], "homozygous": [], "haploid": [[2, 18, 1]]}
    assert samples["b"]["allele_depths"]["haploid"] == [[2, 18, 1], [20, 80, 1]]


def test_reads_of_the_reference_are_counted_by_who_has_it() -> None:
    """Only sites where a sample is homozygous for the alternate count, by the genotype of each other sample."""
    records = [
        ("1", "A", "G", "PASS", "GT:AD", "1/1:3,20", "0/1:10,11", "1/1:0,9"),
        ("1", "A", "G", "PASS", "GT:AD", "1/1:1,30", "1/1:2,10", "./.:."),
        ("1", "A", "G", "PASS", "GT:AD", "0/1:9,9", "0/0:20,0", "0/0:7,0"),
        ("chrX", "A", "G", "PASS", "GT:AD", "1/1:9,9", "0/0:20,0", "0/0:7,0"),
    ]
    samples = counted(["a", "b", "c"], records)["samples"]
    assert samples["a"]["foreign"] == {"b": [1, 31, 3, 23], "c": [3, 23, 0, 0]}
    assert samples["b"]["foreign"] == {"a": [2, 12, 0, 0], "c": [0, 0, 0, 0]}
    assert samples["c"]["foreign"] == {"a": [0, 9, 0, 0], "b": [0, 0, 0, 9]}


@pytest.mark.parametrize("at_a_time", [7, 1000])
def test_pairs_are_counted_as_one_by_one(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    """Compare with counting each pair at each site, with genotypes of all kinds."""
    monkeypatch.setattr(cohort_counts, "SITES_AT_A_TIME", at_a_time)
    generator = random.Random(3)
    genotypes = ("0/0", "0|1", "1/0", "1/1", "./.", "1", "./1", "0/0/1")
    records = [
        (
            *(generator.choice(("1", "1", "chrX")), "A", generator.choice(("G", "G", "GT", "G,C")), "PASS", "GT"),
            *generator.choices(genotypes, weights=(4, 4, 1, 3, 1, 1, 1, 1), k=4),
        )
        for _ in range(120)
    ]
    expected = {name: [0] * 6 for name in PAIR_COUNTS}
    for contig, _, alternate, _, _, *columns in records:
        if contig != "1" or alternate != "G":
            continue
        for number, (one, other) in enumerate(itertools.combinations(columns, 2)):
            if all(len(genotype) == 3 and "." not in genotype for genotype in (one, other)):
                left, right = (genotype.count("1") for genotype in (one, other))
                found = (True, left == right, abs(left - right) == 2, left == right == 1, left == 1, right == 1)
                for name, is_so in zip(PAIR_COUNTS, found, strict=True):
                    expected[name][number] += is_so
    assert counted(["a", "b", "c", "d"], records)["pairs"] == expected
    assert min(expected["opposite_homozygous"]) > 0
    assert counted(["a"], [record[:6] for record in records])["pairs"] == {name: [] for name in PAIR_COUNTS}


@pytest.mark.parametrize("at_a_time", [7, 1000])
def test_haploid_pairs_are_counted_as_one_by_one(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    """Compare with counting each pair at each site: several alternates, deletions, diploid and missing genotypes."""
    monkeypatch.setattr(cohort_counts, "SITES_AT_A_TIME", at_a_time)
    generator = random.Random(4)
    alternates = ("G", "G,C", "*,T", "GT", "G,AT")
    records = [
        (
            *(
                generator.choice(("1", "1", "chrX")),
                "A",
                generator.choice(alternates),
                generator.choice(("PASS", "QD")),
            ),
            *("GT", *generator.choices(("0", "1", "2", ".", "0/1"), weights=(4, 4, 2, 1, 1), k=4)),
        )
        for _ in range(200)
    ]
    records = [record for record in records if "," in record[2] or "2" not in record[5:]]
    expected: dict[str, list[int]] = {"sites": [0] * 6, "different": [0] * 6}
    for contig, reference, alternate, passed, _, *columns in records:
        alleles = [reference, *alternate.split(",")]
        if contig != "1" or passed != "PASS" or max(map(len, alleles)) > 1:
            continue
        bases = [alleles[int(genotype)] if genotype in "012" else "*" for genotype in columns]
        for number, pair in enumerate(itertools.combinations(bases, 2)):
            if "*" not in pair:
                expected["sites"][number] += 1
                expected["different"][number] += pair[0] != pair[1]
    assert counted(["a", "b", "c", "d"], records)["haploid_pairs"] == expected
    assert min(expected["different"]) > 0
    halves = [VariantCounter([HEAD[0], HEAD[1].format("a\tb\tc\td")]) for _ in range(2)]
    for number, record in enumerate(records):
        halves[number % 2].add(
            "\t".join((record[0], "10", ".", *record[1:3], "50", record[3], ".", *record[4:])).encode()
        )
    halves[0].merge(halves[1])
    assert halves[0].content()["haploid_pairs"] == expected
    diploid = [("1", "A", "G", "PASS", "GT", "0/1", "1/1")]
    assert counted(["a", "b"], diploid)["haploid_pairs"] == {}


def test_nothing_is_missing_where_the_ploidy_is_zero() -> None:
    """A woman has no genotype on Y; a man without reads there lacks one."""
    woman = PloidyMap.of(2, [PloidyRegion("Y", 9, 20, 0, "female")])
    man = PloidyMap.of(2, [PloidyRegion("Y", 9, 20, 1, "male")])
    counter = VariantCounter([HEAD[0], HEAD[1].format("woman\tman")], ploidies={"woman": woman, "man": man})
    for position in (10, 20, 21):
        counter.add(f"Y\t{position}\t.\tA\tC\t50\tPASS\t.\tGT:AD:DP:GQ:PL\t.:.:.:.:.\t.:.:.:.:.".encode())
    samples = counter.content()["samples"]
    assert {name: sample["counts"]["missing"] for name, sample in samples.items()} == {"woman": 1, "man": 3}
