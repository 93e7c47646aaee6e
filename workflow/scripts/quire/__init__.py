"""Short reads to variants, with one package per stage (reference, index, align, finish, rescore, report).

Importing it also makes processes start and end quickly (docs/decisions/0045-start-and-end-of-processes.md).
"""

import atexit
import gc
import os

# Before NumPy is imported. Snakemake gives NumPy's BLAS as many threads as the job has, and each thread that starts
# spins for 0.1 s: 2 s of processor time for each job on 16 cores. Quire has no products of matrices for threads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Imports make a hundred thousand objects that stay. Python would look for garbage among them after each 700 new ones,
# and once more at its end.
_USUAL = gc.get_threshold()
gc.set_threshold(50_000, *_USUAL[1:])
atexit.register(gc.freeze)


def end_imports() -> None:
    """Look for garbage as often as usual from now on, since garbage of jobs holds arrays, but not among imports."""
    gc.freeze()
    gc.set_threshold(*_USUAL)
