"""The command in the header of a VCF, run again."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pysam

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"


def _lines(vcf: Path) -> list[str]:
    with pysam.BGZFile(str(vcf), "rb") as stream:
        return [line.decode() for line in stream]


def records(vcf: Path) -> list[str]:
    """Return the lines of a VCF's records."""
    return [line for line in _lines(vcf) if not line.startswith("#")]


def command_of(vcf: Path) -> str:
    """Return the command of the line ##QuireCommandLine."""
    (line,) = (line for line in _lines(vcf) if line.startswith("##QuireCommandLine="))
    found = re.fullmatch(r'.*,CommandLine="(.*)">', line)
    assert found
    return re.sub(r"\\(.)", r"\1", found[1])


def run_again(command: str, output: Path, folder: Path) -> None:
    """Run a command of `quire` in a folder, with another output."""
    words = shlex.split(command)
    words[words.index("--output") + 1] = str(output)
    variables = os.environ | {"PYTHONPATH": str(LIBRARY)}
    full = [sys.executable, "-m", *words]
    result = subprocess.run(full, cwd=folder, env=variables, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
