"""Functions of samtools and bcftools that end by a signal give one sentence, and the job goes on."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from quire.errors import InputError, QuireError
from quire.io import samtools
from quire.io.alignment_reads import read_alignments
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.bam.regions import IndexedAlignments
from quire.io.samtools import StepFailed, first_rows, run_apart

from tests.fuzz import runner
from tests.fuzz.target import FINE
from tests.fuzz.targets import TARGETS


@pytest.mark.full
@pytest.mark.skipif(shutil.which("samtools") is None or shutil.which("bcftools") is None, reason="they judge")
@pytest.mark.parametrize(("name", "seed", "number"), [("cram", 5, 35), ("gff", 2, 143), ("gff", 7, 180)])
def test_files_that_ended_htslib_by_a_signal(name: str, seed: int, number: int, tmp_path: Path) -> None:
    """Htslib 1.21 ended by SIGSEGV on these files while Quire read them, or wrote what is no VCF (the last)."""
    target = TARGETS[name]
    path = tmp_path / f"case{target.suffix}"
    path.write_bytes(runner.case(target, target.valid(tmp_path), seed, number))
    assert runner.run_case(target, path)[0] in FINE


def test_a_signal_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.cram"
    path.write_bytes(TARGETS["cram"].valid(tmp_path)[2])
    monkeypatch.setattr(samtools, "_CHILD", "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(InputError, match=r"x\.cram: .*SIGSEGV.*"):
        list(read_alignments(path, 5, RecordCounts(), None, tmp_path, 1))
    assert first_rows(path, 3) == []


def test_a_signal_while_a_region_of_a_cram_is_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = TARGETS["cram_regions"]
    path = tmp_path / "case.cram"
    path.write_bytes(target.valid(tmp_path)[0])
    alignments = IndexedAlignments(path, tmp_path / "genome.fa")
    monkeypatch.setattr(samtools, "_CHILD", "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(
        InputError, match=r"case\.cram: cannot be read at two:1-10 \(it ended by SIGSEGV\); is it damag"
    ):
        alignments.records("two", 0, 10)
    with pytest.raises(InputError, match=r"case\.cram: cannot be read as BAM or CRAM \(.*SIGSEGV.*make the alignment"):
        IndexedAlignments(path, tmp_path / "genome.fa")


def test_a_signal_is_named_and_an_error_is_the_last_line(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match=r"(fail to read|No such file|failed to open)"):
        run_apart("samtools.view", tmp_path / "none.bam")
    (tmp_path / "x.bam").write_bytes(b"no BAM")
    with pytest.raises(QuireError, match=r"x\.out: a step of samtools failed \(.+\); check that its input is whole"):
        samtools.to_bam(tmp_path / "x.bam", tmp_path / "x.out", None, 1)


def test_no_further_process_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(samtools.subprocess, "run", refuse)
    with pytest.raises(QuireError, match=r"x\.bam: a step of samtools failed \(it cannot be started: Resource temp"):
        samtools.to_bam(tmp_path / "x.cram", tmp_path / "x.bam", None, 1)


@pytest.mark.full
def test_the_child_ends_with_the_job(tmp_path: Path) -> None:
    """A killed job leaves no samtools that goes on to write."""
    os.mkfifo(tmp_path / "never.sam")
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        f"from quire.io.samtools import run_apart\nrun_apart('samtools.view', {str(tmp_path / 'never.sam')!r})"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as job:
        children = Path(f"/proc/{job.pid}/task/{job.pid}/children")
        deadline = time.monotonic() + 30
        while not (child := children.read_text().split()) and time.monotonic() < deadline:
            time.sleep(0.05)
        while b"never.sam" not in Path(f"/proc/{child[0]}/cmdline").read_bytes() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.5)  # until it has imported pysam and asked to end with its parent
        job.kill()
    stat = Path(f"/proc/{child[0]}/stat")
    while stat.exists() and stat.read_text().split()[2] != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert time.monotonic() < deadline


@pytest.mark.full
def test_names_of_a_cram(tmp_path: Path) -> None:
    target = TARGETS["cram"]
    for number, content in enumerate(target.valid(tmp_path)[1::2]):
        path = tmp_path / f"{number}.cram"
        path.write_bytes(content)
        assert [row[0] for row in first_rows(path, 3)] == ["read0", "read0", "read0"]
        fasta = tmp_path / "genome.fa"
        assert sum(len(batch) for batch in read_alignments(path, 5, RecordCounts(), fasta, tmp_path, 1)) == 12
