"""Find the regions that are callable in enough samples."""

from pathlib import Path

from quire.finish.counts.callable_regions import write_cohort_callable
from quire.reference import Reference
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    reference = Reference.open(Path(job.input.reference).parent)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    samples = [Path(path) for path in job.input.samples]
    intervals = job.input.intervals or None
    write_cohort_callable(samples, job.params.sample_fraction, lengths, intervals, Path(job.output.regions))
