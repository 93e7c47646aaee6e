"""Read-only folders: an output is refused by name, an installation still works."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, Run, errors_of

pytestmark = pytest.mark.full


def test_output_that_cannot_be_written(seal: Callable[[Path], None], tmp_path: Path) -> None:
    """A read-only output folder is refused before any job."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    seal(folder)
    run = Run(tmp_path / "run", config={"output": str(folder / "results")})
    result = run.snakemake()
    assert result.returncode == 1
    assert errors_of(result.stdout) == [
        f"quire: error: configuration: output is {folder}/results, but {folder} cannot be written; choose another."
    ]


def test_installation_that_cannot_be_written(seal: Callable[[Path], None], tmp_path: Path) -> None:
    """A read-only installation works: kernels are compiled into the user's own folder."""
    installation = tmp_path / "quire"
    for part in ("workflow", "profiles", "envs"):
        shutil.copytree(REPOSITORY / part, installation / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "Snakefile", installation)
    seal(installation)
    cache = tmp_path / "cache"
    run = Run(tmp_path / "run", repository=installation)
    result = run.snakemake("reference_index", XDG_CACHE_HOME=str(cache), NUMBA_CACHE_DIR="")
    assert result.returncode == 0, result.stdout
    assert any((cache / "quire/numba").rglob("*.nbc"))
    # With the kernels of earlier tests, since those of mapping take minutes to compile.
    result = run.snakemake("--", "out/align/NA12878.bam")
    assert result.returncode == 0, result.stdout
    assert (run.output / "align/NA12878.bam").exists()


def test_home_that_cannot_be_written(seal: Callable[[Path], None], tmp_path: Path) -> None:
    """Caches are then kept in the working directory."""
    home = tmp_path / "home"
    home.mkdir()
    seal(home)
    run = Run(tmp_path / "run")
    result = run.snakemake("reference_index", HOME=str(home), XDG_CACHE_HOME="", NUMBA_CACHE_DIR="")
    assert result.returncode == 0, result.stdout
    assert (run.folder / ".quire-cache").exists()


def test_working_directory_that_cannot_be_written(seal: Callable[[Path], None], tmp_path: Path) -> None:
    """It is refused before any job, also if the output is elsewhere, and if caches can be written nowhere."""
    run = Run(tmp_path / "run", config={"output": str(tmp_path / "out")})
    seal(run.folder)
    result = run.snakemake()
    assert result.returncode == 1
    assert errors_of(result.stdout) == [
        f"quire: error: {run.folder}: cannot be written, but Snakemake keeps its records there; start in a folder of "
        "your own, or name one with --directory."
    ]
    home = tmp_path / "home"
    home.mkdir()
    seal(home)
    result = run.snakemake(HOME=str(home), XDG_CACHE_HOME="")
    assert result.returncode == 1
    (said,) = errors_of(result.stdout)
    assert f"caches can be written neither in {home}/.cache" in said
