"""Run the measurement of PairHMM with tiny inputs on the emulated card, with NumPy only."""

import pytest

from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

pytestmark = pytest.mark.full

SCRIPT = """
from pathlib import Path
from bench import common, gpu_pairhmm
gpu_pairhmm.REPEATS = 1
gpu_pairhmm.PEERS = gpu_pairhmm.PEERS[:1]
gpu_pairhmm.measure(EmulatedCard(), 1e9, clock, 2e4, [20, 40], [16], Path("tests/data/kernel_vectors/tiny.in"), 1, 2)
print([name for name in common._run.figures if name[:3] in ("8 x", "bes", "tin")])
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert lines[0] == "## one kernel, about 2e-05 G cells; the model's clock is 1.00 GHz"
    assert len([line for line in lines if line[:5] in ("| 20 ", "| 40 ")]) == 2
    assert any(line.startswith("## real regions, 1 times: 332 tasks") for line in lines)
    figures = ["8 x 19 against gpuPairHMM's 8 x 20", "best of the table (aim)", "tiny.in, whole calls"]
    assert lines[-1] == str([f"{figure}: measured" for figure in figures])
