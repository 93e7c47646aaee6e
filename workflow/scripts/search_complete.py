"""Find every place of reads with at most k differences: FASTQ and pages to BAM and counts."""

from pathlib import Path

from quire.complete.search import CompleteInputs, CompleteOutputs, CompleteSettings, search_reads
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and search."""
    search_reads(
        CompleteInputs(
            reference=Path(job.input.reference).parent,
            pages=[Path(page).parent for page in job.input.pages],
            fasta=Path(job.input.fasta),
            reads=Path(job.input.reads),
        ),
        CompleteOutputs(bam=Path(job.output.bam), counts=Path(job.output.counts), summary=Path(job.output.summary)),
        CompleteSettings(
            name=job.wildcards.search,
            **job.params.search,
            threads=job.threads,
            backend=job.params.device.backend,
            memory=job.params.device.memory,
        ),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
