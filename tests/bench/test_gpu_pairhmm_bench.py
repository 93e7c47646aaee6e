"""The measurement of PairHMM on a card, with tiny inputs on the emulated card, on NumPy alone."""

import subprocess
import sys
from pathlib import Path

from tests.emulator.laboratory import needs_compiler

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
sys.modules.update(dict.fromkeys(("numba", "llvmlite", "pysam", "isal", "pandas", "cupy"), None))  # as if not installed
from pathlib import Path
from bench import gpu_pairhmm
from tests.emulator.emulated_card import EmulatedCard
def clock(card, launch):
    launch()
    return 1e-6
gpu_pairhmm.REPEATS = 1
gpu_pairhmm.BARS = gpu_pairhmm.BARS[:1]
gpu_pairhmm.measure(EmulatedCard(), 1e9, clock, 2e4, [20, 40], [16], Path("tests/data/kernel_vectors/tiny.in"), 1, 2)
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    environment = {"PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'workflow' / 'scripts'}", "XDG_CACHE_HOME": str(tmp_path),
                   "PATH": "/usr/bin:/bin"}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False,
                          cwd=REPOSITORY)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "## one kernel, about 2e-05 G cells; the model's clock is 1.00 GHz"
    assert len([line for line in lines if "| shuffles, " in line]) == 2
    assert len([line for line in lines if "| shared memory | " in line]) == 2
    assert any(line.startswith("## real regions, 1 times: 332 tasks") for line in lines)
    assert any(line.startswith("| tiny.in, whole calls | 1.0 | 0.00 | NO") for line in lines)
