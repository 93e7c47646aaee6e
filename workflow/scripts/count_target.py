"""Count the depth of a sample over the target."""

from pathlib import Path

from quire.finish.counts.outputs import TargetOutputs, count_target
from quire.finish.counts.sample import FinishedSample
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    files = Path(job.input.alignments), Path(job.input.reference).parent, Path(job.input.fasta)
    count_target(
        FinishedSample(job.wildcards.sample, *files),
        job.input.intervals,
        TargetOutputs(Path(job.output.target), Path(job.output.low_coverage), job.params.low_depth),
        job.threads,
    )
