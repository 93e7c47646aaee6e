"""One algorithm is one directory: types in __init__, oracle.py (slow, obviously right), cpu.py, gpu.py."""
