"""Index one page of the reference."""

from pathlib import Path

from quire import index
from quire.job import run_job


def main(job) -> None:
    """Unpack the job and build the index directory of the page."""
    index.build(
        reference=Path(job.input.reference).parent,
        page_number=int(job.wildcards.page),
        directory=Path(job.output.manifest).parent,
        parameters=job.params.index,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
