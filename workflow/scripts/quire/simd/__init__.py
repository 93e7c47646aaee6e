"""Tools of CPU kernels: functions that Numba compiles, vectors, and single instructions."""
