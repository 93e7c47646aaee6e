"""Call the structural variants of all samples together."""

from pathlib import Path

from quire import many_threads
from quire.run.job import run_job
from quire.structural.caller import StructuralRequest, call_structural

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    many_threads.prepare()
    files = zip(job.input.alignments, job.input.evidence, strict=True)
    request = StructuralRequest(
        reference_directory=Path(job.input.reference).parent,
        samples=[
            {"sample": sample, **facts, "bam": path, "evidence": Path(evidence)}
            for (sample, facts), (path, evidence) in zip(job.params.samples.items(), files, strict=True)
        ],
        output=Path(job.output.variants),
        output_index=Path(job.output.index),
        fasta=Path(job.input.fasta),
        threads=job.threads,
        plots=Path(job.output.plots),
        counts=Path(job.output.counts),
        ploidy_regions=job.input.ploidy_regions or None,
    )
    call_structural(request)
