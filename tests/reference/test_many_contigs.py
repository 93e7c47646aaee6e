"""Time of steps that look at each contig: it must grow like the number of contigs, and not like its square."""

from collections.abc import Callable
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from quire.io import vcf
from quire.io.vcf_parts import join
from quire.reference import Reference
from quire.reference.regions import islands_of
from quire.rescore.job import CallingJob

FEW, TIMES = 20_000, 10
LENGTH = 32
SOME = 500  # contigs at the end, which are looked at


def reference_of(contigs: int) -> Reference:
    """Return a reference in memory whose contigs are one island each."""
    return Reference(
        directory=Path("nowhere"),
        manifest={},
        contig_names=[f"contig_{number}" for number in range(contigs)],
        contig_lengths=np.full(contigs, LENGTH),
        island_contig=np.arange(contigs, dtype=np.int32),
        island_start=np.zeros(contigs, np.int64),
        island_axis=LENGTH * np.arange(contigs + 1),
        text=np.zeros(contigs + 2, np.uint64),
        ambiguous=np.empty((0, 2), np.int64),
        pages=[],
        axis_length=LENGTH * contigs,
    )


def growth(step: Callable[[Any], object], few: Any, many: Any) -> float:
    """Return the time of a step for many items over that for few; the better of three times each."""
    times = []
    for items in (few, many):
        step(items)
        measured = []
        for _ in range(3):
            start = process_time()
            step(items)
            measured.append(process_time() - start)
        times.append(min(measured))
    return times[1] / times[0]


def codes(of: Reference) -> None:
    """Read some contigs."""
    for number in range(len(of.contig_names) - SOME, len(of.contig_names)):
        of.contig_codes(number, 0, LENGTH)


def windows(of: Reference) -> None:
    """Open the windows of some contigs, as calling does."""
    job = cast(CallingJob, SimpleNamespace(reference=of))
    for name in of.contig_names[-SOME:]:
        CallingJob.window(job, name, 0, LENGTH)


@pytest.mark.parametrize("step", [codes, windows])
def test_time_of_a_contig_is_the_same_among_many(step: Callable[[Reference], object]) -> None:
    assert growth(step, reference_of(FEW), reference_of(FEW * TIMES)) < 2


def test_time_of_islands_grows_like_their_number() -> None:
    few, many = (reference_of(count) for count in (FEW // 2, FEW // 2 * TIMES))
    assert islands_of(few)["contig_7"].tolist() == [[0, LENGTH]]
    assert growth(islands_of, few, many) < 2.5 * TIMES


@pytest.mark.full
def test_time_of_joining_grows_like_the_header(tmp_path: Path) -> None:
    parts = []
    for count in (FEW, FEW * TIMES // 2):
        parts.append(tmp_path / f"{count}.vcf.gz")
        contigs = [(f"contig_{number:06}", 1000) for number in range(count)]
        vcf.write_part(parts[-1], vcf.header(contigs, ["s"], vcf.Fields({}, {}), []), [])
    joined = tmp_path / "all.vcf.gz", tmp_path / "all.vcf.gz.tbi"
    assert growth(lambda part: join([part], *joined), *parts) < TIMES
