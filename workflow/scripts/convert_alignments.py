"""Convert a finished sample's alignments to the configured format, or write the configured index beside them."""

from pathlib import Path

from quire.finish.sample import SampleFormat, convert_alignments
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    output = Path(job.output.index).with_suffix("")
    kind = SampleFormat(output.suffix.lstrip("."), job.params.index_format, Path(job.input.fasta))
    convert_alignments(Path(job.input.alignments), output, kind, job.threads)
