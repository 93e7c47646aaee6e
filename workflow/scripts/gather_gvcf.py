"""Gather the parts of a sample's gVCF into one, with its index."""

from quire.io.vcf_parts import join
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    join(job.input.parts, job.output.gvcf, job.output.index, samples=[job.wildcards.sample])
