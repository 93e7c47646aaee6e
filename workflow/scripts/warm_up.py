"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache."""

from quire.align.warm_up import warm_up as warm_up_align
from quire.job import run_job
from quire.rescore.warm_up import warm_up as warm_up_rescore

STAGES = {"align": warm_up_align, "rescore": warm_up_rescore}


def main(job) -> None:
    """Unpack the job and compile."""
    STAGES[job.wildcards.stage]()


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
