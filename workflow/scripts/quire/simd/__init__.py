"""What kernels of the CPU are made with: functions that Numba compiles, vectors, and single instructions."""
