"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache; at once where they are there."""

import logging
import time
from collections.abc import Callable

from quire.run.job import run_job
from quire.simd import stamps


def compile_align() -> None:
    """Kernels of reference, index, align and finish."""
    from quire.align.compile_kernels import compile_kernels as compile_mapping
    from quire.finish.compile_kernels import compile_kernels as compile_finishing

    compile_mapping()
    compile_finishing()


def compile_rescore() -> None:
    """Kernels of calling."""
    from quire.rescore.compile_kernels import compile_kernels

    compile_kernels()


SCRIPT = "compile_kernels.py"
STAGES: dict[str, Callable[[], None]] = {"align": compile_align, "rescore": compile_rescore}


def main(job) -> None:
    """Unpack the job and compile, if that was not done before."""
    stage, began = job.wildcards.stage, time.time()
    log = logging.getLogger("quire.compiled")
    if stamps.are_compiled(stage, SCRIPT):
        log.info("the kernels of %s were compiled before", stage)
        return
    STAGES[stage]()
    stamps.remember(stage, SCRIPT, began)
    log.info("the kernels of %s are compiled: %.1f s", stage, time.time() - began)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
