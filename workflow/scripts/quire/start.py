"""Quick start and end of Quire's own processes (docs/decisions/0045-start-and-end-of-processes.md).

`import quire` imports this module, in a clone and in an installation. A program that uses Quire as a library keeps its
own settings.
"""

import atexit
import gc
import os

RUN = "QUIRE_RUN"  # environment variable with the run's name, inherited by its jobs, also on a cluster
_USUAL = gc.get_threshold()


def begin_imports() -> None:
    """Keep NumPy to one thread, and let Python collect garbage rarely until `end_imports`, and not at exit.

    Snakemake gives NumPy's BLAS as many threads as the job has, and each thread spins for 0.1 s when it starts. Quire
    multiplies large matrices only to compare the samples of a cohort, in several processes.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
    gc.set_threshold(50_000, *_USUAL[1:])  # imports make a hundred thousand objects, none of them garbage
    atexit.register(gc.freeze)  # the collection at exit then skips all objects


def end_imports() -> None:
    """Collect garbage at Python's usual threshold again, since cycles of objects may hold arrays; skip the imports."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


if RUN in os.environ:
    begin_imports()  # a job
