"""The measurement of searching on a card, with tiny inputs on the emulated card, on NumPy alone."""

import subprocess
import sys
from pathlib import Path

from tests.emulator.laboratory import needs_compiler

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
sys.modules.update(dict.fromkeys(("numba", "llvmlite", "pysam", "isal", "pandas", "cupy"), None))  # as if not installed
from bench import gpu_search
from tests.emulator.emulated_card import EmulatedCard
def clock(card, launch):
    launch()
    return 1e-6
gpu_search.measure(EmulatedCard(), 1e-5, 50, clock, [64])
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    environment = {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'workflow' / 'scripts'}", "XDG_CACHE_HOME": str(tmp_path),
                   "PATH": "/usr/bin:/bin"}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("## distance 64: 0.000 GB, 19968 rows; 50 queries of 32, 0 without a hit")
    assert sum("*" in line for line in lines) == 1, "the design in use is marked"
    assert len([line for line in lines if line.startswith("| full, 2 lanes")]) == 2
    assert lines[-2].startswith("| distance 448, G visits/s | 24 | 0.00 | NO")
