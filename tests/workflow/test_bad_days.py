"""Kills at random moments, and inputs that change while they are read (docs/bad-days.md)."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from quire.io.files import read_json, write_json_atomic

from bench.soak import Soak, digests, one_round
from tests.workflow.runs import SMALL, Run, errors_of
from tests.workflow.test_interruptions import log_of
from tests.workflow.test_road import records
from tests.workflow.test_targets import planned

pytestmark = pytest.mark.full


@pytest.fixture
def strict_umask() -> Iterator[None]:
    """Let no one else read what the test writes."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("strict_umask")
def test_three_kills(finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed three times ends with the bytes of an undisturbed one.

    Its folder has spaces, quotes and umlauts, the locale is C, and nobody else may read its files.
    """
    monkeypatch.setenv("LC_ALL", "C")
    sheets = {name: str(tmp_path / f"inputs/{name}.tsv") for name in ("samples", "units")}
    Run(tmp_path / "inputs", config=finished.config | sheets)
    soak = Soak(3)
    one_round(tmp_path / "Jörg Müller's läufe", digests(finished.output), 20.0, random.Random(2), soak)
    assert soak.kills.total() == 3
    assert not soak.findings


def test_reads_that_change_while_they_are_mapped(finished: Run, continued: Callable[[], Run]) -> None:
    """The run ends with one sentence that names the file, keeps no records, and a rerun gives the usual ones."""
    run = continued()
    for number in (1, 2):
        shutil.copy(SMALL / f"NA12878_R{number}.fastq.gz", run.folder / f"reads_{number}.fq.gz")
    run.units = [{**run.units[0], "fq1": "reads_1.fq.gz", "fq2": "reads_2.fq.gz"}]
    run.write()
    log = log_of(run, "map_unit")
    log.unlink()
    with subprocess.Popen(
        run.command("--retries", "1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=run.folder
    ) as snakemake:
        while not (log.exists() and log.stat().st_size):
            assert snakemake.poll() is None
            time.sleep(0.001)
        os.utime(run.folder / "reads_2.fq.gz")
        said = snakemake.communicate()[0]
    assert snakemake.returncode == 1
    assert errors_of(said)[-1] == (
        "quire: error: reads_2.fq.gz: changed after the run began; put the right file there, leave it alone and run "
        "this again."
    )
    assert not (run.output / "align/units/NA12878.lane_1.buckets").exists()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert records(run.output / "align/NA12878.bam") == records(finished.output / "align/NA12878.bam")


def test_no_space_for_temporary_files(small_disk: Path, tmp_path: Path) -> None:
    """A full folder of temporary files is refused by name before Snakemake's scheduler needs it."""
    (small_disk / "filling").write_bytes(bytes(shutil.disk_usage(small_disk).free))
    result = Run(tmp_path / "run").snakemake("--dry-run", TMPDIR=str(small_disk))
    assert errors_of(result.stdout) == [
        f"quire: error: {small_disk}: temporary files cannot be written (No space left on device); free some space "
        "there, or name another folder with the variable TMPDIR."
    ]


def test_an_older_file_in_the_place_of_an_input(continued: Callable[[], Run]) -> None:
    """Where Snakemake would find nothing to do, since the file is older than the results, Quire refuses it by name."""
    run = continued()
    kept = run.output / ".checks/inputs.json"
    states = read_json(kept)
    reads = run.units[0]["fq1"]
    write_json_atomic(kept, states | {reads: [states[reads][0] - 1, states[reads][1]]})
    (error,) = errors_of(run.snakemake().stdout)
    assert error.startswith(f"quire: error: {reads}: was replaced since the last run by a file that is older")


def test_other_settings_without_the_records_of_snakemake(continued: Callable[[], Run]) -> None:
    """Results that Snakemake would keep are refused; with their own settings they can be recorded again."""
    run = continued()
    shutil.rmtree(run.folder / ".snakemake")
    run.config["rescore"] = {"minimum_quality": 1000}
    run.write()
    for arguments in ([], ["--dry-run"], ["--forcerun", "write_report"]):
        result = run.snakemake(*arguments)
        assert result.returncode == 1
        (said,) = errors_of(result.stdout)
        assert "was made with other settings (rescore.minimum_quality: 30 → 1000), and .snakemake of this" in said

    del run.config["rescore"]
    run.write()
    vcf = (run.output / "rescore/all.vcf.gz").read_bytes()
    assert run.snakemake().returncode == 0
    assert run.snakemake("--forceall", "--touch").returncode == 0
    assert (run.output / "rescore/all.vcf.gz").read_bytes() == vcf
    run.config["rescore"] = {"minimum_quality": 1000}
    run.write()
    again = planned(run.snakemake("--dry-run").stdout)
    assert "rescore_interval" in again
    assert not {"map_unit", "finish_sample"} & again.keys()
