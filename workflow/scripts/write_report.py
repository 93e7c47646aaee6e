"""Write the report of a run and its summary."""

from quire.report.page import write_report
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and write the report."""
    write_report(
        job.output.page,
        job.output.summary,
        multiqc=job.output.multiqc,
        samples=job.params.samples,
        vcf=job.params.vcf,
        variants=job.input.variant_counts or None,
        comparison=job.input.comparison or None,
        benchmarks_directory=job.params.benchmarks,
        calling_ledger=job.input.calling_ledger or None,
        searches=job.params.searches,
        identity=vars(job.params.identity),
        metadata=job.params.metadata,
        consequences=next(iter(job.input.consequences), None),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
