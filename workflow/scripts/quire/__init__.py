"""Short reads to variants, with one package per stage (reference, index, align, finish, rescore, report)."""

import os

# Before NumPy is imported. Snakemake gives NumPy's BLAS as many threads as the job has, and each thread that starts
# spins for 0.1 s: 2 s of processor time for each job on 16 cores. Quire has no products of matrices for threads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
