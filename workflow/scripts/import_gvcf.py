"""Import a gVCF for joint genotyping."""

from pathlib import Path

from quire.rescore.joint.store import import_gvcf
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and import."""
    import_gvcf(Path(job.input.reference).parent, job.input.gvcf, job.output.store)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
