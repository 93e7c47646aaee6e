"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache; do nothing if it has them."""

from quire.kernels import compile_stage
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    compile_stage(job.wildcards.stage, job.threads, **job.params.options)
