"""Run the measurement of maximal exact matches with tiny inputs on the emulated card, with NumPy only."""

import pytest

from tests.emulator.laboratory import needs_compiler
from tests.support.measurements import printed

pytestmark = pytest.mark.full

SCRIPT = """
import lzma
from pathlib import Path
import numpy as np
from bench import common, gpu_mems
letters = "".join(np.random.default_rng(1).choice(list("ACGT"), 700))
work = Path(sys.argv[1])
query = letters[100:250] + "N" + letters[251:300] + "N" * 30 + letters[500:552]
for name, sequence in (("20", "N" * 25 + letters[:300] + "N" * 40 + letters[300:]), ("21", query)):
    (work / f"chr{name}.fa.xz").write_bytes(lzma.compress(f">{name}\\n{sequence}\\n".encode()))
gpu_mems.SHAPES = [(10, 500, 36, 20)]
gpu_mems.measure(EmulatedCard(), work, work, clock, 1)
print("copMEM2, 2.7 s: measured" in common._run.figures)
"""


@needs_compiler
def test_it_measures(tmp_path) -> None:
    lines = printed(SCRIPT, tmp_path)
    assert "2 matches of 50 and more; seeds of 35" in lines
    assert lines[-1] == "True"
    assert lines[-3].startswith("| 20 queries of 36, reference of 467 | 10 | 10 | ")
