"""Pack the reference: FASTA to islands, axis and pages."""

from pathlib import Path

from quire import reference
from quire.io.bai import require_index_fits
from quire.io.bed import require_names
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and build the reference directory."""
    alignments = job.params.alignments

    def check_contigs(names, lengths):
        if alignments.format is not None:  # there are samples
            require_names(names)
        require_index_fits(alignments.format, alignments.index_format, names, lengths)

    reference.build(job.input.fasta, Path(job.output.manifest).parent, job.params.page_size, check_contigs)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
