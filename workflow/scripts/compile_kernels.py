"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache; do nothing if it has them."""

from quire.kernels import compile_stage
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and compile."""
    compile_stage(job.wildcards.stage, job.threads, **job.params.options)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
