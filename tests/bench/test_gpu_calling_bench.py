"""Run the measurement of calling with a card, on a short region and the emulated card."""

import pysam
import pytest

pytest.importorskip("numba", reason="calling is Numba's")

from quire.rescore import engines

from bench import gpu_calling
from tests.emulator.laboratory import needs_compiler
from tests.rescore.test_calling_on_a_card import emulated

pytestmark = pytest.mark.full


@needs_compiler
def test_it_measures(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(engines, "use_backend", emulated)
    monkeypatch.setattr(gpu_calling, "PARTS", (64,))
    gpu_calling.measure(tmp_path, 2, 4000, [10], "gpu", 0)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| 0.1 | 55 | ") for line in lines)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| 10 | 266 | ")]
    assert [row[2] for row in rows] == ["cpu", "gpu"]
    assert rows[0][6] == rows[1][6]
    assert float(rows[0][10]) > 0
    assert "## calling 4000 bases with 2 processes" in lines
    assert lines[-1] == "# the records of each depth are the same"


def test_reads_stand_where_they_come_from(tmp_path) -> None:
    """Letters without errors are the reference's, except at variants."""
    region = gpu_calling.read_region(30_000)
    path = tmp_path / "reads.bam"
    assert gpu_calling.write_reads(region, 2, path) == 400
    with pysam.AlignmentFile(str(path)) as bam:
        reads = list(bam)
    assert len(reads) == 400
    same = [
        read.query_sequence[q] == region.letters[r]
        for read in reads
        for q, r in read.get_aligned_pairs(matches_only=True)
    ]
    assert 0.95 < sum(same) / len(same) < 1
    assert any(len(read.cigartuples) > 1 for read in reads)
