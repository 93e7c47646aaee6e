"""Planting of copy numbers, and the comparison of calls with them."""

from pathlib import Path

import numpy as np
import pytest

from bench.copies import Copies, of_vcf, scores
from bench.copies_truth import PlantedCopies, haplotypes_of, is_kept, write_truth

LETTERS = "".join("ACGT"[code] for code in np.random.default_rng(1).integers(0, 4, 400)).encode()
PLANTED = [
    PlantedCopies(50, 70, (-1, 0), 70, "random"),
    PlantedCopies(100, 130, (1, 1), 130, "random"),
    PlantedCopies(150, 190, (2, 0), 300, "alike"),
]


def test_haplotypes_and_truth_have_the_copies(tmp_path: Path) -> None:
    """Lost, repeated in tandem, and inserted elsewhere; small edits beside them are left out."""
    edits = [[(10, 11, b"N"), (60, 61, b"N")], [(299, 300, b"NN"), (380, 380, b"NN")]]
    first, second = haplotypes_of(LETTERS, PLANTED, edits)
    more = LETTERS[150:190] * 2
    middle = LETTERS[70:130] + LETTERS[100:300]
    assert first == LETTERS[:10] + b"N" + LETTERS[11:50] + middle + more + LETTERS[300:]
    assert second == LETTERS[:70] + middle + LETTERS[300:380] + b"NN" + LETTERS[380:]
    write_truth(tmp_path / "truth.vcf.gz", ("20", 1000), 500, LETTERS, PLANTED)
    spans = [(550, 570, 1), (600, 630, 4), (650, 690, 4)]
    assert of_vcf(tmp_path / "truth.vcf.gz") == [Copies("20", *span) for span in spans]


def test_fragments_of_extreme_gc_are_lost() -> None:
    """Most of those of middle GC content are kept."""
    letters = np.frombuffer(b"AC" * 5000 + b"GC" * 5000, np.uint8)
    starts, sizes = np.repeat([100, 15_000], 1000), np.full(2000, 400)
    kept = is_kept(letters, starts, sizes, np.random.default_rng(1)).reshape(2, 1000).mean(axis=1)
    assert kept[0] > 0.8
    assert kept[1] < 0.05


def test_scores_count_each_call_once() -> None:
    """A call has to have the copy number, or the direction alone, and enough of the span; short ones do not count."""
    planted = [Copies("20", 0, 100_000, 3), Copies("20", 200_000, 300_000, 1)]
    calls = [
        Copies("20", 0, 90_000, 3),
        Copies("20", 5_000, 100_000, 3),
        Copies("20", 230_000, 300_000, 0),
        Copies("20", 0, 9_000, 1),
    ]
    found, count, recall, precision, f1 = scores(calls, planted, 0.8, True)
    assert (found, count, recall) == (1, 2, 0.5)
    assert precision == pytest.approx(1 / 3)
    assert f1 == pytest.approx(0.4)
    assert scores(calls, planted, 0.5, False)[0] == 2
