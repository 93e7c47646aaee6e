"""Runs of the workflow for tests: a folder with its configuration and sheets, and Snakemake started in it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.workflow import forked_snakemake

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = REPOSITORY / "tests" / "data" / "chr22_40kb"
SMALL_UNIT = {
    "sample": "NA12878",
    "unit": "lane_1",
    "fq1": str(SMALL / "NA12878_R1.fastq.gz"),
    "fq2": str(SMALL / "NA12878_R2.fastq.gz"),
    "platform": "ILLUMINA",
    "library": "lib",
}


@dataclass
class Run:
    """A run in its own folder, by default of the small real set (tests/data/chr22_40kb).

    Attributes:
        folder: the working directory; config.yaml and the sheets are written there by `write`.
        config: the configuration.
        samples: rows of the sheet of samples.
        units: rows of the sheet of units.
        repository: the installation that is run.
    """

    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    samples: list[Mapping[str, str]] = field(default_factory=lambda: [{"sample": "NA12878", "ploidy": "2"}])
    units: list[Mapping[str, str]] = field(default_factory=lambda: [dict(SMALL_UNIT)])
    repository: Path = REPOSITORY

    def __post_init__(self) -> None:
        basis = {
            "reference": {"fasta": str(SMALL / "genome.fa.gz")},
            "samples": "samples.tsv",
            "units": "units.tsv",
            "output": "out",
        }
        self.config = basis | self.config
        self.write()

    @property
    def output(self) -> Path:
        """Return the folder of the outputs."""
        return self.folder / self.config["output"]

    def write(self) -> None:
        """Write config.yaml and the two sheets in their current state."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.config, sort_keys=False))
        for name, rows in (("samples.tsv", self.samples), ("units.tsv", self.units)):
            lines = ["\t".join(rows[0])] + ["\t".join(row.values()) for row in rows]
            (self.folder / name).write_text("\n".join(lines) + "\n")

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of Snakemake for this run."""
        snakefile = str(self.repository / "Snakefile")
        files = ["-s", snakefile, "--directory", str(self.folder), "--configfile", str(self.folder / "config.yaml")]
        return [sys.executable, "-m", "snakemake", *files, "--cores", "2", *arguments]

    def snakemake(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end and return its status and output (stdout and stderr together).

        Args:
            arguments: further arguments of the command line.
            variables: environment variables; an empty one is unset.
        """
        environment = {name: value for name, value in (os.environ | variables).items() if value}
        return forked_snakemake.run(self.command(*arguments), environment, self.folder)


def errors_of(output: str) -> list[str]:
    """Return the lines of Quire's error messages."""
    return [line for line in output.splitlines() if "quire: error: " in line]
