"""Measurements against peers, as docs/benchmarks.md states them; each script runs by itself: python -m bench.NAME."""
