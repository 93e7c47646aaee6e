"""Folders that cannot be written: the output (refused by name) and the installation (no matter)."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, Run, errors_of

NOBODY = 65534


class Visitor(Run):
    """A run by a user who may write nowhere but in the run's folder (root starts it as nobody)."""

    def snakemake(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """As `Run.snakemake`, by the other user and with a home of their own."""
        identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return subprocess.run(
            self.command(*arguments),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"HOME": str(self.folder), "XDG_CACHE_HOME": ""} | variables,
            cwd=self.folder,
            check=False,
            **identity,
        )


@pytest.fixture
def visited() -> Iterator[Path]:
    """A folder that everyone may enter, with a read-only copy of the installation and a folder of the visitor's own."""
    with tempfile.TemporaryDirectory(prefix="quire-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("workflow", "profiles", "envs", "tests/data/chr22_40kb"):
            shutil.copytree(REPOSITORY / part, folder / "quire" / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(REPOSITORY / "Snakefile", folder / "quire")
        own = folder / "own"
        own.mkdir()
        if os.geteuid() == 0:
            os.chown(own, NOBODY, NOBODY)
        for path in (folder / "quire").rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        (folder / "quire").chmod(0o555)
        yield folder
        for path in (folder / "quire").rglob("*"):
            if path.is_dir():
                path.chmod(0o755)


def visit(folder: Path, output: str) -> Visitor:
    """A run of the small set from the read-only installation."""
    data = folder / "quire/tests/data/chr22_40kb"
    unit = {"sample": "NA12878", "unit": "1", "fq1": str(data / "NA12878_R1.fastq.gz")}
    return Visitor(
        folder / "own",
        config={"reference": {"fasta": str(data / "genome.fa.gz")}, "output": output},
        units=[unit],
        repository=folder / "quire",
    )


def test_output_that_cannot_be_written(visited: Path) -> None:
    """An output in a folder of somebody else is refused before any job."""
    run = visit(visited, str(visited / "quire" / "results"))
    result = run.snakemake()
    assert result.returncode == 1
    assert errors_of(result.stdout) == [
        f"quire: error: configuration: output is {visited}/quire/results, but {visited}/quire cannot be written; "
        "choose another."
    ]


def test_installation_that_cannot_be_written(visited: Path) -> None:
    """Another user's installation works: kernels are compiled into a folder of one's own, nothing is written there."""
    before = {path for path in (visited / "quire").rglob("*")}
    run = visit(visited, "out")
    result = run.snakemake("--", "out/align/NA12878.bam")
    assert result.returncode == 0, result.stdout
    assert (run.output / "align/NA12878.bam").exists()
    assert any((run.folder / ".cache/quire/numba").rglob("*.nbi"))
    assert {path for path in (visited / "quire").rglob("*")} == before
