"""Annotate the variants by SnpEff or VEP."""

from quire.rescore.annotators import annotate
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and annotate."""
    annotate(job.params.command, job.params.database, job.input.variants, job.output.variants, job.output.index)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
