"""Check the further gVCFs: complete, of this reference, and with no sample twice."""

from pathlib import Path

from quire.rescore.joint import check_gvcfs
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    check_gvcfs(Path(job.input.reference).parent, job.input.gvcfs, job.params.samples)
