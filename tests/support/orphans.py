"""Check for processes that survive a killed parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"


def assert_none_outlives(program: str, children: int) -> None:
    """Kill a Python program, and check that its children end.

    Args:
        program: its source; it prints the process identifier of each child on a line.
        children: number of children.
    """
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    numbers = [int(parent.stdout.readline()) for _ in range(children)]
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(map(psutil.pid_exists, numbers)):
        time.sleep(0.05)
    assert not any(map(psutil.pid_exists, numbers))
