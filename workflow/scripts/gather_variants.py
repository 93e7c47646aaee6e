"""Gather the parts of the VCF into one, with its index, and count its variants on the way."""

from quire.io.files import write_json_atomic
from quire.io.vcf import gather, read_head
from quire.rescore.ledgers import gather_ledgers
from quire.rescore.variant_counts import VariantCounter
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and gather."""
    counter = VariantCounter(read_head(job.input.parts[0]))
    variants = gather(job.input.parts, job.output.variants, job.output.index, counter)
    write_json_atomic(job.output.counts, counter.content())
    gather_ledgers(job.input.ledgers, job.output.ledger, variants)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
