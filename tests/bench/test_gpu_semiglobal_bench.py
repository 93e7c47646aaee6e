"""Run the measurement of GATK's aligner with tiny inputs on the emulated card, with NumPy only."""

import pytest
from quire.algorithms.semiglobal.shapes import FillShape

from bench.gpu_pairhmm import Machine
from bench.gpu_semiglobal import predicted
from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

pytestmark = pytest.mark.full

SCRIPT = """
from bench import common, gpu_semiglobal
gpu_semiglobal.REPEATS = 1
gpu_semiglobal.BAR_SIZE = (30, 25)
gpu_semiglobal.measure(EmulatedCard(), 1e9, clock, 9000, ((40, 30), (30, 25)), references=(30,), alternates=(20, 40))
print(common._run.figures["bar: measured"])
"""


def test_the_model_knows_what_limits_a_kernel() -> None:
    card, shape = Machine(132, 1.98e9), FillShape(16, 25, 12)
    full = predicted(card, shape, 12, (400, 400), 4e12)
    assert full.limit == "arithmetic"
    assert 2.5e12 < full.cells < 3.35e12  # the arithmetic units' limit for the operations of cells
    assert predicted(card, shape, 2, (400, 400), 4e12).limit == "latency"
    assert predicted(card, shape, 12, (400, 400), 1e12).limit == "memory"
    assert predicted(card, shape, 12, (400, 200), 4e12).cells == pytest.approx(full.cells / 2)


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert lines[0].startswith("## about 9e-06 G cells each; 1.00 GHz; memory ")
    assert len([line for line in lines if line.startswith(("| 40 | 30 | 4 x 8 | ", "| 30 | 25 | 4 x 8 | "))]) == 2
    assert len([line for line in lines if line.startswith(("| 30 | 20 | 4 x 8 |", "| 30 | 40 | 4 x 16 |"))]) == 2
    assert any(line.startswith("| fill | 1 |") for line in lines)
    assert float(lines[-1]) == pytest.approx(0.009, rel=0.2)
