"""Find every place of reads with at most k differences: FASTQ and pages to BAM and counts."""

from pathlib import Path

from quire.complete.search import CompleteOutputs, CompleteSettings, search_reads
from quire.index import SearchInputs
from quire.run.exact_tools import settings_of
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    search_reads(
        SearchInputs(
            reference=Path(job.input.reference).parent,
            pages=[Path(page).parent for page in job.input.pages],
            fasta=Path(job.input.fasta),
            queries=Path(job.input.reads),
        ),
        CompleteOutputs(bam=Path(job.output.bam), counts=Path(job.output.counts), summary=Path(job.output.summary)),
        CompleteSettings(**settings_of(job)),
    )
