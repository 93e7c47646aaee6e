"""Convert a finished sample's alignments to the configured format."""

from pathlib import Path

from quire.finish.sample import SampleFormat, convert_alignments
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and convert."""
    output = Path(job.output.alignments)
    kind = SampleFormat(output.suffix.lstrip("."), job.params.index_format, Path(job.input.fasta))
    convert_alignments(Path(job.input.alignments), output, kind, job.threads)


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
