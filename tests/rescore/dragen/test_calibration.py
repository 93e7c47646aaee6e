"""A sample's tables from its reads: sites, estimates and windows, against GATK's CalibrateDragstrModel."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire import reference as reference_stage
from quire.io.bam.regions import IndexedAlignments
from quire.reference import Reference
from quire.rescore.dragen.calibration import WINDOW, CalibrationFiles, calibrate_sample, chosen_windows, window_cases
from quire.rescore.dragen.cases_cpu import CASE, sample_of_cases
from quire.rescore.dragen.estimation_cpu import estimate, too_few
from quire.rescore.dragen.tables import DEFAULT, parse_tables, read_tables

from tests.support.builders import write_fasta
from tests.support.gvcf import REAL

DATA = Path(__file__).parents[2] / "data" / "dragen"
WHOLE = ("chr22_8kb", 0, 8000)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reference, IndexedAlignments]:
    root = tmp_path_factory.mktemp("calibration")
    (root / "genome.fa").write_bytes(gzip.decompress((REAL / "genome.fa.gz").read_bytes()))
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    (root / "A.bam").write_bytes((REAL / "A.bam").read_bytes())
    pysam.index(str(root / "A.bam"))
    return root, Reference.open(root / "reference"), IndexedAlignments(root / "A.bam")


def by_class(cases: np.ndarray) -> Counter:
    period, repeats = cases["class"] // 20 + 1, cases["class"] % 20 + 1
    return Counter(zip(*(x.tolist() for x in (period, repeats, cases["depth"], cases["indels"])), strict=True))


def test_sites_are_gatks(world) -> None:
    _, reference, source = world
    found = by_class(window_cases(reference, source, [WHOLE]))
    lines = [tuple(map(int, line.split())) for line in (DATA / "A.cases.tsv").read_text().splitlines()]
    assert found == {line[:4]: line[4] for line in lines}
    assert sum(found.values()) > 2000
    assert any(indels for _, _, _, indels in found)


@pytest.mark.parametrize("sample", ["A", "B"])
def test_estimates_are_gatks(world, sample: str) -> None:
    root, reference, _ = world
    (root / f"{sample}.bam").write_bytes((REAL / f"{sample}.bam").read_bytes())
    pysam.index(str(root / f"{sample}.bam"))
    cases = sample_of_cases([window_cases(reference, IndexedAlignments(root / f"{sample}.bam"), [WHOLE])], 10**9)
    tables, expected = estimate(cases), parse_tables((DATA / f"{sample}.repeats.txt").read_text(), sample)
    np.testing.assert_array_equal(tables.gap_open, expected.gap_open)
    np.testing.assert_array_equal(tables.gap_continuation, expected.gap_continuation)
    np.testing.assert_array_equal(tables.indel_prior, expected.indel_prior)


def cases_of(*rows: tuple[int, int, int, int, int]) -> np.ndarray:
    """Return sites from (period, repeats, depth, indels, number)."""
    parts = [[(k, (p - 1) * 20 + r - 1, d, i) for k in range(n)] for p, r, d, i, n in rows]
    return np.array([case for part in parts for case in part], CASE)


def test_more_errors_in_longer_repeats_are_found() -> None:
    """Sites of one base repeated 5 and 12 times, the latter with an indel in a twentieth of the reads."""
    tables = estimate(cases_of((1, 5, 30, 0, 400), (1, 12, 40, 2, 300), (1, 12, 40, 1, 100)))
    assert tables.estimated
    assert tables.gap_open[0, 4] > tables.gap_open[0, 11] + 10
    # 2 of 40 reads in 12 bases: one in 240 bases, to the nearest phred of the grid
    assert abs(tables.gap_open[0, 11] - 10 * np.log10(2 * 240)) < 4
    het = estimate(cases_of((2, 4, 30, 15, 200), (2, 4, 30, 0, 200)))
    # Half of the sites are heterozygous, none homozygous: h (1 - 1.5 h) is largest where h is a third.
    assert het.indel_prior[1, 3] == 5


def test_classes_without_sites_enough() -> None:
    counts = np.full((8, 20), 200)
    assert too_few(counts) == []
    counts[2, 3] = 199
    assert too_few(counts) == [(3, 4, 199)]
    counts[4, 5] = 0  # not needed: GATK requires only two repeats of period 5
    assert too_few(counts) == [(3, 4, 199)]


def test_a_small_genome_gets_the_default_tables_and_says_so(world, caplog) -> None:
    root = world[0]
    calibrate_sample(
        root / "reference", "A", root / "A.bam", [WHOLE], CalibrationFiles(root / "out.txt", root / "out.json")
    )
    tables = read_tables(root / "out.txt")
    assert not tables.estimated
    np.testing.assert_array_equal(tables.gap_open, DEFAULT.gap_open)
    ledger = json.loads((root / "out.json").read_text())
    assert (ledger["tables"], ledger["bases"]) == ("defaults", 8000)
    assert {"period": 1, "repeats": 6, "sites": int(ledger["sites"][0][5])} in ledger["too_few"]
    assert "A: too few sites for tables of its own" in caplog.text


def test_the_sample_of_sites_does_not_depend_on_how_they_come(world) -> None:
    _, reference, source = world
    whole = window_cases(reference, source, [WHOLE])
    random = np.random.default_rng(1)
    parts = np.array_split(whole[random.permutation(len(whole))], 7)
    few = sample_of_cases(parts, 100)
    np.testing.assert_array_equal(few, sample_of_cases([whole], 100))
    counts = np.bincount(few["class"])
    assert counts.max() == 100
    assert counts.sum() > 200


def test_windows_are_chosen_by_hash_and_bounded(tmp_path: Path) -> None:
    size = 12 * WINDOW
    write_fasta(tmp_path / "long.fa", {"one": "ACGTTGCA" * (size // 8), "two": "ACGGTTCA" * (size // 8)})
    reference_stage.build(tmp_path / "long.fa", tmp_path / "reference", 1 << 26)
    reference = Reference.open(tmp_path / "reference")
    whole = [("one", 0, size), ("two", 0, size)]
    windows, bases = chosen_windows(reference, whole)
    assert (len(windows), bases) == (24, 2 * size)
    some, held = chosen_windows(reference, whole, 5 * WINDOW)
    assert held == 5 * WINDOW
    assert all(window in windows for window in some)
    assert some == sorted(some)
    assert some != windows[:5]
    cut = [("one", 0, 1000), ("one", 1000, size), ("two", 0, size)]
    assert sum(len(window) for window in chosen_windows(reference, cut)[0]) == 25
