"""Algorithms, one directory each: __init__ has the types, cpu.py and gpu.py compute; oracles are in tests/oracles."""
