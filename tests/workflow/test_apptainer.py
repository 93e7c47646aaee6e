"""Each job in a container (`--sdm apptainer`), with a stand-in for Apptainer that runs jobs on the machine itself."""

import os
import sys
from pathlib import Path

import pytest

from tests.workflow.runs import Run, errors_of

pytestmark = pytest.mark.full

# It notes its arguments before the shell, and runs the shell's command.
STAND_IN = """#!/bin/bash
[ "$1" = --version ] && { echo "apptainer version 1.4.5"; exit; }
given=()
while [ "$1" != sh ] && [ "$1" != bash ]; do given+=("$1"); shift; done
echo "${given[*]}" >> "$APPTAINER_JOURNAL"
exec "$@"
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run whose Apptainer is the stand-in, and whose `python` is that of the tests."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("apptainer", STAND_IN), ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    made = Run(tmp_path / "run")
    snakemake = made.snakemake
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    journal = str(tmp_path / "journal")
    made.snakemake = lambda *arguments: snakemake(
        *arguments, "--sdm", "apptainer", PATH=path, APPTAINER_JOURNAL=journal
    )
    return made


def test_jobs_run_in_the_configured_image(run: Run, tmp_path: Path) -> None:
    """Every job is started in the image, by default quire.sif; an image of the key `container` replaces it."""
    for name in ("quire.sif", "other.sif"):
        (run.folder / name).touch()
        run.config |= {"container": name} if name != "quire.sif" else {}
        run.write()
        result = run.snakemake("reference_index", "--forceall")
        assert result.returncode == 0, result.stdout
        lines = (tmp_path / "journal").read_text().splitlines()
        (tmp_path / "journal").unlink()
        assert len(lines) == 2, lines  # the reference and its page
        assert all(line.startswith("exec --home") and line.endswith(f" {name}") for line in lines)
    assert (run.output / "index/page_0/manifest.json").exists()


def test_an_image_that_does_not_exist(run: Run) -> None:
    result = run.snakemake("--dry-run")
    assert result.returncode != 0
    assert errors_of(result.stdout) == [
        "quire: error: container: quire.sif does not exist; build it as docs/containers.md says, or name another."
    ]
