"""Count a sample's reads of both alleles at sites of known frequency."""

from pathlib import Path

from quire.finish.counts.known_sites_cpu import count_known_sites
from quire.finish.counts.sample import FinishedSample
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    files = Path(job.input.alignments), Path(job.input.reference).parent, Path(job.input.fasta)
    sample = FinishedSample(job.wildcards.sample, *files)
    count_known_sites(sample, job.input.sites, Path(job.output.counts), job.threads)
