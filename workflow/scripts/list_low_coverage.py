"""List a sample's positions of low depth: as finishing listed them, or counted again for another depth."""

import shutil
from pathlib import Path

from quire.io.files import atomic_path, read_json
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    outputs = [Path(job.output.counts), Path(job.output.low_coverage)]
    figures = read_json(job.input.counts)
    if figures["low_coverage"]["below"] == job.params.low_depth:
        for written, output in zip((job.input.counts, job.input.low_coverage), outputs, strict=True):
            with atomic_path(output) as whole:
                shutil.copyfile(written, whole)
    else:
        from quire.finish.counts.outputs import TargetOutputs, list_low_coverage
        from quire.finish.counts.sample import FinishedSample

        files = Path(job.input.alignments), Path(job.input.reference).parent, Path(job.input.fasta)
        sample = FinishedSample(job.wildcards.sample, *files)
        list_low_coverage(sample, figures, TargetOutputs(*outputs, job.params.low_depth), job.threads)
