"""Compile the kernels of a stage, so that parallel jobs find them in Numba's cache."""

from quire.run.job import run_job


def compile_align() -> None:
    """Mapping and finishing."""
    from quire.align.compile_kernels import compile_kernels
    from quire.finish.compile_kernels import compile_kernels as compile_finish

    compile_kernels()
    compile_finish()


def compile_rescore() -> None:
    """Calling."""
    from quire.rescore.compile_kernels import compile_kernels

    compile_kernels()


def compile_complete() -> None:
    """Complete search."""
    from quire.complete.compile_kernels import compile_kernels

    compile_kernels()


def compile_mems() -> None:
    """Maximal exact matches."""
    from quire.mems.compile_kernels import compile_kernels

    compile_kernels()


def compile_pairwise() -> None:
    """Alignments of two sequences."""
    from quire.pairwise.compile_kernels import compile_kernels

    compile_kernels()


STAGES = {
    "align": compile_align,
    "rescore": compile_rescore,
    "complete": compile_complete,
    "mems": compile_mems,
    "pairwise": compile_pairwise,
}

run_job(snakemake, lambda: STAGES[snakemake.wildcards.stage]())  # noqa: F821 (Snakemake defines it)
