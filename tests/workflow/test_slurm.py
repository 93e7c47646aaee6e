"""The demo through profiles/slurm on a live Slurm of one node (tests/workflow/slurm_demo.sh)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.runs import REPOSITORY, Run
from tests.workflow.test_road import calls, records

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
MOST_SUBMISSIONS = 8
absent = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]


@pytest.mark.skipif(bool(absent), reason=f"Slurm is not installed: {', '.join(absent)} (slurm-wlm, munge)")
@pytest.mark.skipif(os.geteuid() != 0, reason="a Slurm cluster can be started by root only")
def test_small_set_on_a_cluster(finished: Run, tmp_path: Path) -> None:
    """Every job goes through Slurm, in few submissions, and the results are those of a workstation."""
    run = Run(tmp_path / "run", config=finished.config)
    result = subprocess.run(
        [str(REPOSITORY / "tests/workflow/slurm_demo.sh"), str(run.folder / "config.yaml"), str(run.folder)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHON": sys.executable, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        check=False,
    )
    assert result.returncode == 0, result.stdout
    submitted = int(re.search(r"jobs submitted: (\d+)", result.stdout)[1])
    assert 5 <= submitted <= MOST_SUBMISSIONS
    assert records(run.output / "align/NA12878.bam") == records(finished.output / "align/NA12878.bam")
    assert calls(run.output / "rescore/all.vcf.gz") == calls(finished.output / "rescore/all.vcf.gz")
