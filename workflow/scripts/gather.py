"""Gather the parts of the VCF into one, with its index."""

from quire.job import run_job
from quire.rescore import gather, gather_ledgers


def main(job) -> None:
    """Unpack the job and gather."""
    gather(job.input.parts, job.output.variants, job.output.index)
    gather_ledgers(job.input.ledgers, job.output.ledger)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
