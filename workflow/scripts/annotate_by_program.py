"""Annotate the variants by SnpEff or VEP."""

from quire.rescore.annotators import annotate
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    annotate(job.params.command, job.params.database, job.input.variants, job.output.variants, job.output.index)
