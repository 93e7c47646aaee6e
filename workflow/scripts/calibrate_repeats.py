"""Estimate a sample's error rates in short tandem repeats, for DRAGEN's error models."""

from pathlib import Path

from quire.io.files import read_json
from quire.rescore.dragen.calibration import CalibrationFiles, calibrate_sample
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    pieces = read_json(job.input.pieces)["pieces"]
    calibrate_sample(
        reference_directory=Path(job.input.reference).parent,
        sample=job.wildcards.sample,
        alignment=job.input.alignment,
        intervals=[tuple(interval) for piece in pieces for interval in piece],
        outputs=CalibrationFiles(job.output.tables, job.output.ledger),
        fasta=job.input.fasta,
        threads=job.threads,
    )
