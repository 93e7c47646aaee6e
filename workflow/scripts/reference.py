"""Pack the reference: FASTA to islands, axis and pages."""

from pathlib import Path

from quire import reference
from quire.job import run_job


def main(job) -> None:
    """Unpack the job and build the reference directory."""
    reference.build(job.input.fasta, Path(job.output.manifest).parent, job.params.page_size)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
