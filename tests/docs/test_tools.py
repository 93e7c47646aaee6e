"""Check how continuous integration handles tools that cannot be installed (.ci/tools)."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CASES = {
    "pip, no network": (
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish a "
        "new connection: [Errno 111] Connection refused')'\nERROR: No matching distribution found for multiqc==1.33",
        75,
    ),
    "git, no network": ("fatal: unable to access 'x': Could not resolve host: x", 75),
    "npm, no network": ("npm error code ENOTFOUND\nnpm error syscall getaddrinfo", 75),
    "pip, no such version": ("ERROR: No matching distribution found for multiqc==99", 2),
    "npm, no such version": ("npm error code ETARGET\nnpm error notarget No matching version found for axe-core@99", 2),
    "make": ("make: *** No rule to make target 'page-tools'.  Stop.", 2),
    "disk": ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", 2),
}


@pytest.mark.parametrize("name", CASES)
def test_only_an_unreachable_registry_is_passed_over(name: str, tmp_path: Path) -> None:
    said, status = CASES[name]
    result = run(tmp_path, f"cat <<'TEXT'\n{said}\nTEXT\nexit 2\n")
    assert result.returncode == status
    assert said in result.stderr


def test_tools_that_are_there(tmp_path: Path) -> None:
    assert run(tmp_path, "echo after a retry: ECONNRESET\n").returncode == 0


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run .ci/tools with a fake `make` that runs the script."""
    (folder / "make").write_text(f"#!/bin/sh\n{script}")
    (folder / "make").chmod(0o755)
    variables = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    command = [REPOSITORY / ".ci/tools", "page-tools"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
