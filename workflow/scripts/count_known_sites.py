"""Count a sample's reads of both alleles at sites of known frequency."""

from pathlib import Path

from quire.finish.counts.known_sites import count_known_sites
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and count."""
    count_known_sites(
        sample=job.wildcards.sample,
        alignments=job.input.alignments,
        reference_directory=Path(job.input.reference).parent,
        reference_fasta=job.input.fasta,
        sites_vcf=job.input.sites,
        output=job.output.counts,
        threads=job.threads,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
