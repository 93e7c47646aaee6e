"""Compare the calls of one sample with the truth set."""

from pathlib import Path

from quire.report.known_variants import compare_with_truth
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    compare_with_truth(
        job.output.comparison,
        samples=job.params.samples,
        vcf=job.input.variants,
        reference_directory=Path(job.input.reference).parent,
        truth=job.params.truth,
        intervals_bed=job.input.intervals or None,
    )
