"""Annotate the variants with their consequences for genes."""

from quire.rescore.consequences import annotate_variants
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    annotate_variants(
        variants=job.input.variants,
        gff3=job.input.gff3,
        fasta=job.input.fasta,
        output=job.output.variants,
        index=job.output.index,
        counts=job.output.counts,
    )
