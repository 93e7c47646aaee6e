"""Gather the parts of a sample's gVCF into one, with its index."""

from quire.io.vcf import gather
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and gather."""
    gather(job.input.parts, job.output.gvcf, job.output.index)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
