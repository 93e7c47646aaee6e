"""Run the measurement of pairwise alignment with tiny inputs on the emulated card, with NumPy only."""

import pytest

from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

pytestmark = pytest.mark.full

SCRIPT = """
from bench import common, gpu_pairwise
gpu_pairwise.REPEATS = 1
gpu_pairwise.BAR_SIZE = 50
gpu_pairwise.measure(EmulatedCard(), 1e9, clock, (20, 50))
print(common._run.figures["bar: measured"])
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert lines[0] == "## G cells/s; 1.00 GHz"
    assert len([line for line in lines if line.startswith(("| 20 | global", "| 50 | local"))]) == 2
    assert any(line.startswith("| fill | 2 |") for line in lines)
    assert lines[-1] == "0"
