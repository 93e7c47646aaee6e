"""Other schedulers than Slurm: Snakemake's executor cluster-generic with the commands of profiles/README.md."""

import importlib.util
import os
import re
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, SMALL, Run

PLUGIN = "snakemake_executor_plugin_cluster_generic"
HANDBOOK = (REPOSITORY / "profiles/README.md").read_text()
# A stand-in for the programs that submit: it records its arguments, runs the script, which is the last, and prints the
# number of the job.
SUBMIT = """#!/bin/sh
printf '%s\n' "$*" >>"$REQUESTS"
for script; do :; done
sh "$script" >"$REQUESTS.log" 2>&1 </dev/null &
echo 7.server
"""
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        not importlib.util.find_spec(PLUGIN), reason=f"{PLUGIN} is not installed (requirements-test.txt)"
    ),
]


def command_of(program: str) -> str:
    """Return the command of the handbook that submits with a program."""
    found = re.search(rf"['`]({program} .*?)['`]", HANDBOOK, re.DOTALL)
    assert found, program
    return re.sub(r"\\?\n\s*", "", found[1])


@pytest.mark.parametrize(
    ("program", "requests"),
    [
        ("qsub", [r"ncpus=1:mem=1000mb -l walltime=60:00 ", r"ncpus=2:mem=\d{4}mb -l walltime=240:00 "]),
        ("bsub", [r"-n 1 .* -M 1000MB -W 60 ", r"-n 2 .* -M \d{4}MB -W 240 "]),
    ],
)
def test_pages_are_indexed_in_one_submission(program: str, requests: list[str], tmp_path: Path) -> None:
    """The reference is one submission, and two pages another one, which asks for the sum of their times."""
    (tmp_path / "programs").mkdir()
    stand_in = tmp_path / "programs" / program
    stand_in.write_text(SUBMIT)
    stand_in.chmod(0o755)
    run = Run(tmp_path / "run", {"reference": {"fasta": str(SMALL / "genome.fa.gz"), "page_size": 25_000}})
    result = run.snakemake(
        "--workflow-profile", str(REPOSITORY / "profiles/slurm"), "--executor", "cluster-generic",
        "--cluster-generic-submit-cmd", command_of(program), "--max-status-checks-per-second", "10",
        "reference_index",
        PATH=f"{stand_in.parent}:{os.environ['PATH']}", REQUESTS=str(tmp_path / "requests"),
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    pages = sorted(path.parent.name for path in run.output.glob("index/page_*/manifest.json"))
    assert pages == ["page_0", "page_1"]
    said = [line for line in (tmp_path / "requests").read_text().splitlines() if "compile_kernels" not in line]
    assert len(said) == len(requests), said
    for line, expected in zip(said, requests, strict=True):
        assert re.search(expected, line), line
