"""Count the depth of a sample over the target."""

from pathlib import Path

from quire.finish.target import count_target
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and count."""
    count_target(
        sample=job.wildcards.sample,
        alignments=job.input.alignments,
        reference_directory=Path(job.input.reference).parent,
        reference_fasta=job.input.fasta,
        intervals_bed=job.input.intervals,
        output=job.output.target,
        low_coverage=job.output.low_coverage,
        low_depth=job.params.low_depth,
        threads=job.threads,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
