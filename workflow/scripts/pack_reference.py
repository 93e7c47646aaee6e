"""Pack the reference: FASTA to islands, axis and pages."""

from functools import partial
from pathlib import Path

from quire import reference
from quire.io.bai import require_index_fits
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and build the reference directory."""
    alignments = job.params.alignments
    reference.build(
        job.input.fasta,
        Path(job.output.manifest).parent,
        job.params.page_size,
        check_contigs=partial(require_index_fits, alignments.format, alignments.index_format),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
