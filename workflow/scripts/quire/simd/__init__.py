"""Tools for CPU kernels: compilation by Numba, vectors, and single CPU instructions."""
