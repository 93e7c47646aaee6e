"""Run the measurement of complete search as a stage, with a tiny genome, on the CPU and on the emulated card."""

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from quire.complete import search as stage
from quire.device.backend import Backend
from quire.reference import Reference

from bench import gpu_complete
from bench.complete_search import draw_reads
from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.support.read_builders import build_index

pytestmark = pytest.mark.full


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return a folder with a reference and its single page."""
    bases = "".join(np.random.default_rng(0).choice(list("ACGT"), 700))
    (tmp_path / "genome.fa").write_text(f">one\n{bases}\n")
    return build_index(tmp_path, tmp_path / "genome.fa").directory.parent


def test_reads_are_written_as_they_are(index: Path, tmp_path: Path) -> None:
    reads = draw_reads(Reference.open(index / "reference"), 12, 30)
    gpu_complete.write_fastq(tmp_path / "r.fq", reads, 30)
    lines = (tmp_path / "r.fq").read_text().splitlines()
    letters = "".join("ACGTN"[code] for code in reads.bases)
    assert lines[0::4] == [f"@{number:09d}" for number in range(12)]
    assert lines[1::4] == [letters[30 * number : 30 * number + 30] for number in range(12)]
    assert lines[2::4] == ["+"] * 12
    assert lines[3::4] == ["I" * 30] * 12


@needs_compiler
def test_it_measures(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def use_backend(backend: str, _memory: str):
        opened = EmulatedCard if backend == "gpu" else None
        return nullcontext((Backend(backend, "it was asked for."), opened))

    monkeypatch.setattr(stage, "use_backend", use_backend)
    monkeypatch.setattr(gpu_complete, "FEW", 1)
    given = Namespace(index=index, work=tmp_path, reads=3, threads=1)
    rows = gpu_complete.measure(given, ["gpu", "cpu"], 30, 1)
    assert [row[:3] for row in rows] == [(30, 1, "gpu"), (30, 1, "cpu")]
    assert rows[0][-1] == rows[1][-1]
