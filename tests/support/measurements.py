"""Measurements of `bench` with tiny inputs on the emulated card, in a process that has only NumPy."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_BEFORE = """
import sys
absent = ("numba", "llvmlite", "pysam", "isal", "pandas", "cupy", "parasail")
sys.modules.update(dict.fromkeys(absent, None))  # as if not installed
from tests.emulator.emulated_card import EmulatedCard
def clock(card, launch):
    launch()
    return 1e-6
"""


def printed(script: str, folder: Path) -> list[str]:
    """Return the lines that a measurement prints.

    Args:
        script: Python code, which may call `EmulatedCard()` and `clock`, in which every launch takes one microsecond;
            its first argument is the folder.
        folder: an empty folder.
    """
    done = subprocess.run(
        [sys.executable, "-c", _BEFORE + script, str(folder)],
        env={
            "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'workflow' / 'scripts'}",
            "XDG_CACHE_HOME": str(folder),
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
