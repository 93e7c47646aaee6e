"""An added lane is mapped alone, changed finishing thresholds map nothing, and results equal those of a new run."""

import gzip
from collections.abc import Callable

import pytest

from tests.workflow.runs import SMALL, SMALL_UNIT, Run

pytestmark = pytest.mark.full

ALIGNED = (
    "align/NA12878.bam",
    "align/NA12878.bam.bai",
    "align/NA12878.counts.json",
    "align/NA12878.duplicates.tsv",
    "align/NA12878.low_coverage.bed.gz",
    "align/units/NA12878.lane_1.insert_size.json",
    "ledger/NA12878.json",
    "ledger/NA12878.lane_1.json",
)


def mapped(run: Run) -> dict[str, bool]:
    """Return, for each unit whose job ran last, True if its reads were mapped, False if its records were reused."""
    logs = (run.output / "logs/map_unit").glob("*.log")
    said = {log.name.split(".")[1]: log.read_text() for log in logs}
    assert all(("reads mapped" in text) != ("records recovered" in text) for text in said.values())
    return {unit: "reads mapped" in text for unit, text in sorted(said.items())}


def aligned(run: Run) -> dict[str, bytes]:
    return {name: (run.output / name).read_bytes() for name in ALIGNED}


def test_a_lane_that_is_added_is_mapped_alone(continued: Callable[[], Run]) -> None:
    """The other lane is reused even if thresholds of finishing change too; forcing the rule maps both.

    The new lane repeats pairs of the first, so that there are more duplicates than before.
    """
    run = continued()
    lane = {"unit": "lane_2"}
    for mate in "12":
        lines = gzip.decompress((SMALL / f"NA12878_R{mate}.fastq.gz").read_bytes()).splitlines(keepends=True)[:4000]
        lines[::4] = [b"@second." + line[1:] for line in lines[::4]]
        (run.folder / f"second_R{mate}.fq").write_bytes(b"".join(lines))
        lane[f"fq{mate}"] = f"second_R{mate}.fq"
    before = aligned(run)
    run.units = [dict(SMALL_UNIT), {**SMALL_UNIT, **lane}]
    run.config["align"] = {"low_depth": 20, "optical_distance": 100}
    run.write()
    result = run.snakemake("align")
    assert result.returncode == 0, result.stdout
    assert mapped(run) == {"lane_1": False, "lane_2": True}
    assert "records recovered from out/align/NA12878.bam" in result.stdout
    later = aligned(run)
    of_the_first = ("align/units/NA12878.lane_1.insert_size.json", "ledger/NA12878.lane_1.json")
    assert all((later[name] == before[name]) is (name in of_the_first) for name in ALIGNED)
    forced = run.snakemake("align", "--forcerun", "map_unit")
    assert forced.returncode == 0, forced.stdout
    assert mapped(run) == {"lane_1": True, "lane_2": True}
    assert aligned(run) == later
