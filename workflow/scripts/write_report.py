"""Write the report of a run and its summary."""

from pathlib import Path

from quire.report.page import write_report
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and write the report."""
    write_report(
        job.output.page,
        job.output.summary,
        samples=job.params.samples,
        vcf=job.input.variants,
        reference_directory=Path(job.input.reference).parent,
        fasta=job.input.fasta,
        intervals_bed=job.input.intervals or None,
        truth=job.params.truth,
        benchmarks_directory=job.params.benchmarks,
        calling_ledger=job.input.calling_ledger,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
