"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache; at once where they are there."""

import logging
import time
from collections.abc import Callable

from quire.run.job import run_job
from quire.simd import stamps


def compile_align() -> None:
    """Kernels of reference, index and align."""
    from quire.align.compile_kernels import compile_kernels

    compile_kernels()


def compile_finish() -> None:
    """Kernels of finish."""
    from quire.finish.compile_kernels import compile_kernels

    compile_kernels()


def compile_rescore(gvcf: bool, dragen: bool) -> None:
    """Kernels of calling, as far as the run's configuration takes them."""
    from quire.rescore.compile_kernels import compile_kernels

    compile_kernels(gvcf, dragen)


def compile_complete() -> None:
    """Kernels of complete search."""
    from quire.complete.compile_kernels import compile_kernels

    compile_kernels()


def compile_mems() -> None:
    """Kernels of maximal exact matches."""
    from quire.mems.compile_kernels import compile_kernels

    compile_kernels()


def compile_pairwise() -> None:
    """Kernels of the alignment of two sequences."""
    from quire.pairwise.compile_kernels import compile_kernels

    compile_kernels()


SCRIPT = "compile_kernels.py"
STAGES: dict[str, Callable[..., None]] = {
    "align": compile_align,
    "finish": compile_finish,
    "rescore": compile_rescore,
    "complete": compile_complete,
    "mems": compile_mems,
    "pairwise": compile_pairwise,
}


def main(job) -> None:
    """Unpack the job and compile, if that was not done before."""
    stage, options, began = job.wildcards.stage, job.params.options, time.time()
    name = "-".join([stage, *(option for option, chosen in options.items() if chosen)])
    log = logging.getLogger("quire.compiled")
    if stamps.are_compiled(name, SCRIPT):
        log.info("the kernels of %s were compiled before", name)
        return
    STAGES[stage](**options)
    stamps.remember(name, SCRIPT, began)
    log.info("the kernels of %s are compiled: %.1f s", name, time.time() - began)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
