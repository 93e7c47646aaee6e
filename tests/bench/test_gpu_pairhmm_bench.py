"""Run the measurement of PairHMM with tiny inputs on the emulated card, with NumPy only."""

import pytest

from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

pytestmark = pytest.mark.full

SCRIPT = """
from pathlib import Path
from bench import gpu_pairhmm
gpu_pairhmm.REPEATS = 1
gpu_pairhmm.BARS = gpu_pairhmm.BARS[:1]
gpu_pairhmm.measure(EmulatedCard(), 1e9, clock, 2e4, [20, 40], [16], Path("tests/data/kernel_vectors/tiny.in"), 1, 2)
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert lines[0] == "## one kernel, about 2e-05 G cells; the model's clock is 1.00 GHz"
    assert len([line for line in lines if line[:5] in ("| 20 ", "| 40 ")]) == 2
    assert any(line.startswith("## real regions, 1 times: 332 tasks") for line in lines)
    assert any(line.startswith("| tiny.in, whole calls | 1.0 | 0.00 | NO") for line in lines)
