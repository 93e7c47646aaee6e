"""Gather the parts of a sample's gVCF into one, with its index."""

from quire.io.vcf_parts import join
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and gather."""
    join(job.input.parts, job.output.gvcf, job.output.index, samples=[job.wildcards.sample])


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
