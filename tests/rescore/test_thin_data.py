"""Thin data (`rescore.pool_support`): alleles of the pileup, haplotypes with one SNV less, and reads with errors."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from quire import reference as reference_stage
from quire.rescore.given import with_all, with_one_snv_less
from quire.rescore.haplotypes import Event, Haplotype
from quire.rescore.pileup import shown_together
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads
from quire.rescore.window import Window
from quire.sam import CIGAR_INSERTION, CIGAR_MATCH

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_variants
from tests.support.defaults import default_settings
from tests.support.gvcf import lines_of, sample_of
from tests.support.simulation import codes, indexed_bam

SETTINGS = default_settings("rescore") | {"minimum_quality": 5.0, "pool_support": True, "filters": {}}


@pytest.mark.parametrize("support", [1, 2, 3])
def test_snvs_that_reads_show_together(support: int) -> None:
    """Good bases of usable reads count if they differ from the reference inside the region, against plain Python."""
    generator = np.random.default_rng(support)
    start, spans, reads = 100, np.array([[110, 140], [140, 170]]), 240
    window = Window("c", 1000, start, generator.integers(0, 5, 100).astype(np.uint8))
    region = np.sort(generator.integers(0, 2, reads))
    first = generator.integers(100, 180, reads)
    positions = (first[:, None] + np.arange(20)).astype(np.int32)
    positions[generator.random(positions.shape) < 0.1] = INSERTED
    bases = window.codes[np.clip(positions, start, start + 99) - start].copy()
    changed = generator.random(bases.shape) < 0.3
    bases[changed] = generator.integers(0, 5, int(changed.sum()))
    qualities = generator.integers(2, 61, bases.shape).astype(np.uint8)
    usable = (generator.random(reads) < 0.9).astype(np.uint8)
    zeros = np.zeros(reads, np.int64)
    batch = RegionReads(
        np.array([0, int((region == 0).sum()), reads]), zeros, first, first + 20, usable, zeros, zeros, zeros, zeros,
        np.arange(reads + 1) * 20, bases.ravel(), qualities.ravel(), positions.ravel(),
    )  # fmt: skip
    shown = [
        (i, int(positions[i, b]), int(bases[i, b]), 1 + int(qualities[i, b] > 45))
        for i, b in np.ndindex(bases.shape)
        if usable[i] and qualities[i, b] >= 10 and spans[region[i], 0] <= positions[i, b] < spans[region[i], 1]
    ]
    letters = dict(enumerate(window.codes.tolist(), start))
    shown = [own for own in shown if own[2] != letters[own[1]] and own[2] < 4 > letters[own[1]]]
    counts: Counter[tuple[int, int, int]] = Counter()
    for i, position, base, weight in shown:  # a base of both mates counts twice
        counts[region[i], position, base] += weight
    expected: list[dict[tuple[Event, ...], None]] = [{}, {}]
    for read in range(reads):
        own = [(at, base) for i, at, base, _ in shown if i == read and counts[region[read], at, base] >= support]
        if own:
            expected[region[read]][tuple(Event(at, 1, bytes([base])) for at, base in own)] = None
    assert shown_together(batch, window, spans, support) == [list(own) for own in expected]
    assert all(expected)
    assert max(len(own) for found in expected for own in found) > 1


def test_haplotypes_with_one_snv_less() -> None:
    reference = codes("ACGTACGTACGT")
    snvs = {102: Event(102, 1, b"\0"), 108: Event(108, 1, b"\3")}
    insertion = Event(104, 1, b"\0\2")
    both = Haplotype(
        codes("ACATAGCGTTCGT"),
        100,
        ((CIGAR_MATCH, 5), (CIGAR_INSERTION, 1), (CIGAR_MATCH, 7)),
        {**snvs, 104: insertion},
    )
    alone = Haplotype(codes("ACATACGTACGT"), 100, ((CIGAR_MATCH, 12),), {102: snvs[102]})
    plain = Haplotype(reference, 100, ((CIGAR_MATCH, 12),))
    found = list(with_one_snv_less([plain, both, alone], reference, 100))
    assert found == [
        Haplotype(codes("ACGTAGCGTTCGT"), 100, both.cigar, {104: insertion, 108: snvs[108]}),
        Haplotype(codes("ACATAGCGTACGT"), 100, both.cigar, {104: insertion, 102: snvs[102]}),
    ]
    (together,) = with_all(plain, [tuple(snvs.values())])
    assert together == Haplotype(codes("ACATACGTTCGT"), 100, plain.cigar, snvs)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    root = tmp_path_factory.mktemp("thin")
    reference = random_bases(random.Random(7), 600)
    write_fasta(root / "genome.fa", {"c": reference})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    return root, reference


def other(letter: str) -> str:
    return "ACGT"["ACGT".index(letter) - 1]


def call(
    root: Path, reference: str, reads: list[list[tuple[int, dict[int, int]]]], **settings: object
) -> list[list[str]]:
    """Call samples of reads, each a start and the quality of each changed base by position; 40 is that of others."""
    sheet = []
    for number, own in enumerate(reads):
        lines = []
        for start, changes in own:
            bases = "".join(
                other(b) if p in changes else b for p, b in enumerate(reference[start : start + 150], start)
            )
            qualities = "".join(chr(33 + changes.get(p, 40)) for p in range(start, start + 150))
            lines.append(f"r{len(lines)}\t0\tc\t{start + 1}\t60\t150M\t*\t0\t0\t{bases}\t{qualities}")
        indexed_bam(root / f"{number}.bam", {"c": 600}, lines)
        sheet.append({"sample": str(number), "ploidy": 2, "bam": root / f"{number}.bam"})
    part = root / "part.vcf.gz"
    call_variants(root / "reference", sheet, [("c", 0, 600)], part, SETTINGS | settings, root / "ledger.json")
    return lines_of(part)


def test_a_read_with_an_error_near_the_variant_counts(world: tuple[Path, str]) -> None:
    """GATK leaves out a read that is cut to the 41 bases around an SNV and has an error there."""
    reads = [(170, {300: 40}), (190, {300: 40, 310: 38}), (200, {300: 40}), (210, {300: 40})]
    for pooled, depth in ((True, "4"), (False, "3")):
        (fields,) = call(*world, [reads], pool_support=pooled)
        assert fields[1] == "301"
        assert sample_of(fields)["DP"] == depth


def test_an_allele_that_assembly_loses_is_found(world: tuple[Path, str]) -> None:
    """Two reads that end five bases after an SNV make no chain of k-mers that comes back to the reference."""
    reads = [(153, {300: 40}), (155, {300: 40}), *((start, {}) for start in range(160, 290, 30))]
    assert [fields[1] for fields in call(*world, [reads])] == ["301"]
    assert call(*world, [reads], pool_support=False) == []


def test_two_snvs_of_the_same_reads(world: tuple[Path, str]) -> None:
    """If assembly loses both, they are found together; with one of them alone, a read would fit no haplotype better."""
    reads = [(153, {296: 40, 300: 40}), (155, {296: 40, 300: 40}), *((start, {}) for start in range(160, 290, 30))]
    assert [fields[1] for fields in call(*world, [reads])] == ["297", "301"]


def test_poor_bases_count_by_their_quality(world: tuple[Path, str]) -> None:
    """A base of quality 17 is one of quality 6 to GATK."""
    quality = {}
    for pooled in (True, False):
        (fields,) = call(*world, [[(170, {300: 17}), (190, {300: 17}), (200, {300: 17})]], pool_support=pooled)
        quality[pooled] = int(sample_of(fields)["PL"].split(",")[0])
    assert quality[True] >= quality[False] + 30


def test_an_error_beside_a_variant_is_no_variant(world: tuple[Path, str]) -> None:
    """A poor base of the one read that shows a variant is not called with it."""
    reads = [[(170, {300: 40, 306: 12})], [(180, {300: 40})], [(175, {})]]
    assert [fields[1] for fields in call(*world, reads, minimum_support=1)] == ["301"]
