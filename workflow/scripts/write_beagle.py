"""Write the genotype likelihoods of the called SNVs in Beagle's format."""

from quire.rescore.beagle import write_beagle
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    write_beagle(job.input.variants, job.output.likelihoods)
