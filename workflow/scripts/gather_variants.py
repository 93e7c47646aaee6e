"""Gather the parts of the VCF into one, with its index."""

from quire.io.vcf import gather
from quire.rescore import gather_ledgers
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and gather."""
    variants = gather(job.input.parts, job.output.variants, job.output.index)
    gather_ledgers(job.input.ledgers, job.output.ledger, variants)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
