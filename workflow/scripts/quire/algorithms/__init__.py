"""One algorithm is one directory: types in __init__, cpu.py, gpu.py; its oracle is in tests/oracles."""
