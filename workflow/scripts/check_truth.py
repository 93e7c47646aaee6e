"""Compare the contigs of the truth and of its regions with the reference."""

from pathlib import Path

from quire.reference import Reference
from quire.reference.regions import read_regions
from quire.report.known_variants import require_known_contigs
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    reference = Reference.open(Path(job.input.reference).parent)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    require_known_contigs(job.input.truth, lengths)
    if job.input.regions:
        read_regions(job.input.regions, lengths)
