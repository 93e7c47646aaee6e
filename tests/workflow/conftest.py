"""Fixtures: a finished run of the small real set, and copies of it to continue from."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workflow.runs import SMALL, Run

TRUTH = {"vcf": str(SMALL / "truth.vcf.gz"), "bed": str(SMALL / "regions.bed")}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the small real set from FASTQ to report; tests must not change its folder.

    The workers of pytest-xdist run it once together, and each has a copy.
    """
    folder = tmp_path_factory.mktemp("finished")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return run_to_its_end(folder)
    shared = tmp_path_factory.getbasetemp().parent / "finished"
    with Path(f"{shared}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Path(f"{shared}.done").exists():
            shutil.rmtree(shared, ignore_errors=True)
            run_to_its_end(shared)
            Path(f"{shared}.done").touch()
    shutil.copytree(shared, folder, symlinks=True, dirs_exist_ok=True)
    return finished_run(folder)


def finished_run(folder: Path) -> Run:
    """Return the run of the small real set in a folder."""
    return Run(folder, config={"report": {"truth": TRUTH}})


def run_to_its_end(folder: Path) -> Run:
    """Run the small real set in a folder."""
    run = finished_run(folder)
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    return run


@pytest.fixture
def continued(finished: Run, tmp_path: Path) -> Callable[[], Run]:
    """Make a copy of the finished run, including Snakemake's metadata."""

    def copy() -> Run:
        folder = tmp_path / "continued"
        shutil.copytree(finished.folder, folder, symlinks=True)
        return replace(finished, folder=folder, config=dict(finished.config))

    return copy


@pytest.fixture
def seal() -> Iterator[Callable[[Path], None]]:
    """Return a function that makes folders read-only: by permissions, or by a mount for root, who bypasses them."""
    sealed: list[Path] = []

    def seal_one(folder: Path) -> None:
        if os.geteuid() != 0:
            for path in (folder, *folder.rglob("*")):
                path.chmod(path.stat().st_mode & ~0o222)
        else:
            mounted = subprocess.run(
                ["mount", "--bind", str(folder), str(folder)], capture_output=True, text=True, check=False
            )
            if mounted.returncode != 0:
                pytest.skip(f"root cannot mount anything here: {mounted.stderr.strip()}")
            subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        sealed.append(folder)

    yield seal_one
    for folder in sealed:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            for path in (folder, *folder.rglob("*")):
                path.chmod(path.stat().st_mode | 0o200)
