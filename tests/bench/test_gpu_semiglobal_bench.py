"""The measurement of GATK's aligner on a card, with tiny inputs on the emulated card, on NumPy alone."""

import subprocess
import sys
from pathlib import Path

from tests.emulator.laboratory import needs_compiler

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
sys.modules.update(dict.fromkeys(("numba", "llvmlite", "pysam", "isal", "pandas", "cupy"), None))  # as if not installed
from bench import gpu_semiglobal
from tests.emulator.emulated_card import EmulatedCard
def clock(card, launch):
    launch()
    return 1e-6
gpu_semiglobal.REPEATS = 1
gpu_semiglobal.BAR_SIZE = (30, 25)
gpu_semiglobal.measure(EmulatedCard(), 1e9, clock, 9000, ((40, 30), (30, 25)))
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    environment = {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'workflow' / 'scripts'}", "XDG_CACHE_HOME": str(tmp_path),
                   "PATH": "/usr/bin:/bin"}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False,
                          cwd=REPOSITORY)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("## about 9e-06 G cells each; 1.00 GHz; memory ")
    assert len([line for line in lines if line.startswith(("| 40 | 30 | 4 x 8 | 2 |", "| 30 | 25 | 4 x 8 | 2 |"))]) == 2
    assert len([line for line in lines if line.startswith("| 30 | 25 | 8 x 16 | 1 |")]) == 1
    assert any(line.startswith("| fill | 1 |") for line in lines)
    assert any(line.startswith("| bar | 1.0 | 0.01 | NO") for line in lines)
