"""Write the report of a run and its summary."""

import json

from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    inputs = ReportInputs(
        samples=job.params.samples,
        vcf=job.params.vcf,
        variants=job.input.variant_counts or None,
        searches=job.params.searches,
        comparison=job.input.comparison or None,
        consequences=next(iter(job.input.consequences), None),
        copies=job.input.copies or None,
        structural=job.input.structural or None,
        pedigree=job.input.pedigree or None,
        calling_ledger=job.input.calling_ledger or None,
        benchmarks_directory=job.params.benchmarks,
        identity=vars(job.params.identity),
        metadata=json.loads(job.params.metadata),
    )
    names = ("page", "summary", "multiqc", "samples", "distances")
    write_report(ReportOutputs(*(job.output.get(name) for name in names)), inputs, job.threads)
