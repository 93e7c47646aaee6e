"""Fuzzers of every reader of files: mutated files, each read by Quire and by an independent program.

`python -m tests.fuzz TARGET --count 100000` runs one at length; `test_fuzz.py` runs a few hundred mutations of each.
A target (`target.py`) makes valid files, mutates them, reads them with Quire and with the judge. `runner.py` runs cases
in a process of their own, because a fault may end it by a signal.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "scripts"))  # for `python -m tests.fuzz`
