"""Import a gVCF for joint genotyping."""

from pathlib import Path

from quire.rescore.joint.store import import_gvcf
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    import_gvcf(Path(job.input.reference).parent, job.input.gvcf, job.output.store)
