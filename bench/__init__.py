"""Measurements against peers, as docs/benchmarks.md states them; run one with python -m bench.NAME."""

import sys
from pathlib import Path

# Quire has no install step; the measurements import its library from the checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))
