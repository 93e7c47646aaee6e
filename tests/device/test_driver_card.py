"""Check that `make demo` installs the packages for the machine's card, and nothing on a machine without one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from quire.device.driver_card import ask_driver, requirements_for

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"
NEWER, OLDER = "requirements-gpu.txt", "requirements-gpu-cuda12.txt"
# A driver of CUDA 13.1 with a card of compute capability 7.5 and one that does not answer.
DRIVER = """
int cuInit(unsigned flags) { return STATUS; }
int cuDriverGetVersion(int *version) { *version = 13010; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 7 : 5; return device; }
"""


@pytest.mark.parametrize(
    ("driver", "capabilities", "expected"),
    [
        (0, [], None),
        (13000, [], None),
        (13000, [90], NEWER),
        (13020, [61, 75], NEWER),
        (13000, [70], OLDER),
        (12040, [90], OLDER),
        (12040, [52], None),
        (11080, [80], None),
    ],
)
def test_requirements(driver: int, capabilities: list[int], expected: str | None) -> None:
    """The result is the newest CUDA that driver and card both support."""
    assert requirements_for(driver, capabilities) == expected
    assert expected is None or (LIBRARY.parents[1] / expected).is_file()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler (gcc) to build the driver's stand-in")
@pytest.mark.parametrize(("status", "expected"), [(0, (13010, [75, 0])), (100, (0, []))])
def test_the_driver_is_asked(status: int, expected: tuple[int, list[int]], tmp_path: Path) -> None:
    """A library with the driver's functions is queried; a driver that fails to start counts as none."""
    library = tmp_path / "libcuda.so.1"
    command = ["gcc", "-shared", "-fPIC", f"-DSTATUS={status}", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=DRIVER, text=True, check=True)
    assert ask_driver(str(library)) == expected


def test_no_driver() -> None:
    """The module prints an empty line and needs only the standard library."""
    assert ask_driver("libthat_does_not_exist.so.1") == (0, [])
    environment = os.environ | {"PYTHONPATH": str(LIBRARY), "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-S", "-m", "quire.device.driver_card"]
    assert subprocess.check_output(command, env=environment, text=True) == "\n"


# Stand-in for the Python of .venv: reports the card, and prints what it is asked to install.
PYTHON = """#!/bin/sh
case "$*" in *driver_card*) echo "$CARD";; *" install "*) echo "INSTALL ${*##* }"; [ -z "$FAIL" ];; esac
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_card(tmp_path: Path) -> None:
    """Nothing is installed without a card, each file once with one, and the other file after a change of the driver."""
    repository = LIBRARY.parents[1]
    for name in ("Makefile", "requirements.txt", NEWER, OLDER):
        shutil.copy(repository / name, tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (tmp_path / ".venv/run.stamp").touch()

    def installed(card: str, **variables: str) -> list[str]:
        environment = os.environ | {"CARD": card, **variables}
        command = ["make", "--silent", "card"]
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return [line for line in result.stdout.splitlines() if line.startswith(("INSTALL", "The packages"))]

    missing = f"The packages of {NEWER} are missing; going on without the card"
    assert installed("") == []
    assert installed(NEWER, FAIL="1") == [f"INSTALL {NEWER}", missing]
    assert installed(NEWER) == [f"INSTALL {NEWER}"]
    assert installed(NEWER) == []
    assert installed(OLDER) == [f"INSTALL {OLDER}"]
    assert installed(NEWER) == [f"INSTALL {NEWER}"]
