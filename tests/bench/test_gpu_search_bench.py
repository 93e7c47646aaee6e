"""The measurement of searching on a card, with tiny inputs on the emulated card, on NumPy alone."""

from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

SCRIPT = """
from bench import gpu_search
gpu_search.measure(EmulatedCard(), 1e-5, 50, clock, [64])
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert lines[0].startswith("## distance 64: 0.000 GB, 19968 rows; 50 queries of 32, 0 without a hit")
    assert sum("*" in line for line in lines) == 1, "the design in use is marked"
    assert len([line for line in lines if line.startswith("| full, 2 lanes")]) == 2
    assert lines[-2].startswith("| distance 448, G visits/s | 24 | 0.00 | NO")
