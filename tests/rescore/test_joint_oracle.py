"""Joint genotyping equals the oracle, position by position, on random gVCFs in every form that is allowed."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from quire import reference as reference_stage
from quire.reference import Reference
from quire.rescore import joint
from quire.rescore.filters import filtered, filters_of
from quire.rescore.joint import FIELDS, WITH_REFERENCE_FIELDS, store, window

from tests.oracles.joint import Gvcf, genotype_span
from tests.support.builders import write_fasta
from tests.support.calling import genotype_gvcfs
from tests.support.gvcf import lines_of, write_gvcf

LENGTHS = {"c": 700, "d": 300}
FILTERS = {"snv": {"minimum_QD": 12.0}, "indel": {"minimum_QUAL": 100.0}}


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    root, generator = tmp_path_factory.mktemp("genome"), random.Random(5)
    letters = {name: "".join(generator.choices("ACGT", k=size)) for name, size in LENGTHS.items()}
    letters["c"] = letters["c"][:200] + "N" * 20 + letters["c"][220:]
    reference_stage.build(write_fasta(root / "genome.fa", letters), root / "reference", 1 << 20)
    return root / "reference", letters


def genotypes_of(ploidy: int, alleles: int) -> list[tuple[int, ...]]:
    """Return the genotypes in the order of PL."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(ploidy):
        found = [(allele, *rest) for rest in found for allele in range(alleles)]
    return sorted({tuple(sorted(one)) for one in found}, key=lambda one: one[::-1])


def sample_values(generator: random.Random, keys: Sequence[str], ploidy: int, alleles: int, place: str) -> str:
    """Return a sample's column; some values are missing."""
    possible = genotypes_of(ploidy, alleles)
    phreds = [generator.choice((0, 3, 20, 60, 200, 900)) for _ in possible]
    best = generator.randrange(len(possible)) if generator.random() < 0.6 else 0
    phreds[best] = 0
    called = generator.random() < 0.9
    depths = [generator.randrange(20) for _ in range(alleles)]
    sign = "|" if "PGT" in keys and generator.random() < 0.5 else "/"
    values = {
        "GT": sign.join(str(a) if called else "." for a in possible[best]),
        "AD": ",".join(map(str, depths)),
        "DP": str(sum(depths) * (generator.random() < 0.9)),
        "GQ": str(generator.choice((0, 0, 12, 60, 99))),
        "MIN_DP": str(generator.randrange(20)),
        "PL": ",".join(map(str, phreds)),
        "SB": ",".join(str(generator.randrange(9)) for _ in range(4)),
        "PGT": generator.choice(("0|1", "1|0", "1|1")) if ploidy == 2 else ".",
        "PID": f"{place}_A_C",
        "PS": place,
    }
    if generator.random() < 0.03:
        return "/".join("." * ploidy)
    return ":".join("." if key != "GT" and generator.random() < 0.05 else values[key] for key in keys)


def gvcf_lines(generator: random.Random, letters: dict[str, str], ploidies: Sequence[int]) -> list[str]:
    """Return blocks, gaps, SNVs, insertions, deletions over later records, '*', and several alternates."""
    lines = []
    for contig, bases in letters.items():
        place = 1 + generator.randrange(10)
        while place < len(bases) - 60:
            base = bases[place - 1]
            kind = generator.random()
            if kind < 0.5:
                end = min(place + generator.choice((0, 1, 5, 30, 90)), len(bases))
                keys = generator.choice(("GT DP GQ MIN_DP PL", "GT DP GQ", "GT GQ PL DP")).split()
                columns = [sample_values(generator, keys, ploidy, 2, str(place)) for ploidy in ploidies]
                lines.append(f"{contig} {place} . {base} <NON_REF> . . END={end} {':'.join(keys)} {' '.join(columns)}")
                place = end + 1 + generator.choice((0, 0, 0, 7))
                continue
            size = generator.choice((1, 1, 1, 3, 30)) if base != "N" else 1
            reference = bases[place - 1 : place - 1 + size]
            others = {generator.choice([b for b in "ACGT" if b != base]) + reference[1:]}
            if size > 1:
                others.add(base)
            if generator.random() < 0.3:
                others.add(base + "GATTACA"[: generator.randrange(1, 7)] + reference[1:])
            if generator.random() < 0.2:
                others.add("*")
            if generator.random() < 0.05:
                others |= {base + "T" * n + reference[1:] for n in range(2, 9)}
            chosen = sorted(others - {reference})
            generator.shuffle(chosen)
            keys = ["GT", "AD", "DP", "GQ", "PL", *(["PGT", "PID", "PS"] if generator.random() < 0.5 else []), "SB"]
            info = [f"DP={generator.randrange(60)}"] if generator.random() < 0.8 else []
            if generator.random() < 0.8:
                info += [f"RAW_MQandDP={generator.randrange(90000)},{generator.randrange(1, 40)}"]
            if generator.random() < 0.6:
                info += [f"{key}RankSum={generator.uniform(-3, 3):.3f}" for key in ("BaseQ", "MQ", "ReadPos")]
            columns = [sample_values(generator, keys, ploidy, len(chosen) + 2, str(place)) for ploidy in ploidies]
            lines.append(
                f"{contig} {place} . {reference} {','.join(chosen)},<NON_REF> 50 . {';'.join(info) or '.'} "
                f"{':'.join(keys)} {' '.join(columns)}"
            )
            place += generator.choice((1, size))
    return lines


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("all_sites", [False, True])
def test_equals_the_oracle(
    seed: int,
    all_sites: bool,
    genome: tuple[Path, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed, letters = genome
    generator = random.Random(seed)
    size = generator.choice((40, 100, 250, 20_000))
    for module in (joint, store, window):
        monkeypatch.setattr(module, "WINDOW", size)
    monkeypatch.setattr(joint, "MOST_SAMPLES", generator.choice((2, 100)))
    ploidies = [[generator.choice((1, 2, 2, 2, 3)) for _ in range(generator.choice((1, 1, 2)))] for _ in range(6)]
    gvcfs = [
        write_gvcf(
            tmp_path / f"{n}.g.vcf.gz",
            [f"s{n}_{i}" for i in range(len(own))],
            LENGTHS,
            gvcf_lines(generator, letters, own),
        )
        for n, own in enumerate(ploidies)
    ]
    quality = generator.choice((10.0, 30.0, 200.0))
    reference = Reference.open(packed)
    opened = [Gvcf(path) for path in gvcfs]
    fields, filters = WITH_REFERENCE_FIELDS if all_sites else FIELDS, filters_of(FILTERS)
    expected = []
    spans = [("c", 30, 650), ("d", 0, 300)]
    for contig, start, end in spans:
        for record in genotype_span(opened, contig, (start, end), quality, reference.sequence if all_sites else None):
            judged = filtered(record, filters, fields) if len(record.alleles) > 1 else record
            expected.append(judged.line(fields))
    output = tmp_path / "joint.vcf.gz"
    genotype_gvcfs(packed, gvcfs, spans, output, quality, filters=FILTERS, all_sites=all_sites, threads=seed % 3 + 1)
    assert ["\t".join(fields) for fields in lines_of(output)] == [line.rstrip("\n") for line in expected]
    assert len(expected) > 900 * all_sites
