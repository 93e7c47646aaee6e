"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache."""

from quire.align.compile_kernels import compile_kernels as compile_align
from quire.finish.compile_kernels import compile_kernels as compile_finish
from quire.rescore.compile_kernels import compile_kernels as compile_rescore
from quire.run.job import run_job

STAGES = {"align": [compile_align, compile_finish], "rescore": [compile_rescore]}


def main(job) -> None:
    """Unpack the job and compile."""
    for compile_kernels in STAGES[job.wildcards.stage]:
        compile_kernels()


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
