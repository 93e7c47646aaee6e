"""How Quire's own processes start and end quickly (docs/decisions/0045-start-and-end-of-processes.md).

`import quire` imports this module, in a clone and in an installation. A program that uses Quire as a library keeps its
own settings.
"""

import atexit
import gc
import os

RUN = "QUIRE_RUN"  # environment variable with the run's name, inherited by its jobs, also on a cluster
_USUAL = gc.get_threshold()


def begin_imports() -> None:
    """Let NumPy start no threads, and Python look for garbage less often until `end_imports`, and not when it ends.

    Snakemake gives NumPy's BLAS as many threads as the job has, and each one spins for 0.1 s when it starts. Quire
    multiplies large matrices only to compare the samples of a cohort, which it does in several processes.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
    gc.set_threshold(50_000, *_USUAL[1:])  # imports make a hundred thousand objects that stay
    atexit.register(gc.freeze)  # no object is looked at when Python ends


def end_imports() -> None:
    """Look for garbage as often as usual from now on, since garbage of jobs holds arrays, but not among imports."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


if RUN in os.environ:
    begin_imports()  # a job
