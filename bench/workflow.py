"""Runs of the workflow for measurements: sheets and configuration, and the timed run."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.common import REPOSITORY, Timing, run

SNAKEMAKE = f"{sys.executable} -m snakemake -s {REPOSITORY}/Snakefile"
Units = Sequence[tuple[Path, Path]]
"""Both FASTQ files of each unit."""


def configure(
    folder: Path, fasta: Path, samples: Mapping[str, Units], backend: str = "auto", **settings: dict[str, object]
) -> Path:
    """Write sheets and configuration of a run into a fresh folder; return the configuration.

    Args:
        folder: folder of the run; its results will be in `results`.
        fasta: FASTA of the reference.
        samples: units of each diploid sample.
        backend: `device.backend`.
        settings: more blocks of the configuration.
    """
    folder = folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "samples.tsv").write_text("sample\tploidy\n" + "".join(f"{name}\t2\n" for name in samples))
    rows = [
        f"{name}\tlane{number}\t{one.resolve()}\t{two.resolve()}\tILLUMINA\tlibrary\n"
        for name, units in samples.items()
        for number, (one, two) in enumerate(units, 1)
    ]
    (folder / "units.tsv").write_text("sample\tunit\tfq1\tfq2\tplatform\tlibrary\n" + "".join(rows))
    sheets = {name: str(folder / f"{name}.tsv") for name in ("samples", "units")}
    whole = sheets | {"output": str(folder / "results"), "device": {"backend": backend}} | settings
    whole["reference"] = {"fasta": str(fasta.resolve())} | settings.get("reference", {})
    path = folder / "config.json"
    path.write_text(json.dumps(whole))
    return path


def run_workflow(configuration: Path, threads: int, target: str = "") -> Timing:
    """Run the workflow in the folder of its configuration, up to a target if one is named.

    Compiled kernels are in `cache_of` the folder.
    """
    folder = configuration.parent
    log = folder / "snakemake.log"
    command = f"{SNAKEMAKE} {target} --cores {threads} --configfile {configuration} --directory {folder} > {log} 2>&1"
    # Users' jobs keep Python's bytecode; where the variable is set, each job would compile Quire's modules again.
    variables = {"XDG_CACHE_HOME": str(cache_of(folder)), "PYTHONDONTWRITEBYTECODE": ""}
    return run(f"{command} || (tail -30 {log} >&2; false)", variables)


def cache_of(folder: Path) -> Path:
    """Return the folder of the compiled kernels of all runs beside this one's folder."""
    return folder.resolve().parent / "whole_run_cache"
