"""Find the callable regions of a sample."""

from pathlib import Path

from quire.finish.counts.callable_regions import CallableRule, write_callable
from quire.finish.counts.sample import FinishedSample
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    files = Path(job.input.alignments), Path(job.input.reference).parent, Path(job.input.fasta)
    sample = FinishedSample(job.wildcards.sample, *files)
    write_callable(sample, CallableRule(**job.params.rule), Path(job.output.regions), job.threads)
