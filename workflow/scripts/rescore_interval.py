"""Call the variants of one piece of the reference, jointly over all samples."""

import json
import logging
from pathlib import Path

from quire.device.backend import cpu_only
from quire.rescore import call_interval
from quire.run.job import run_job

log = logging.getLogger("quire.rescore")


def main(job) -> None:
    """Unpack the job and call."""
    backend = cpu_only(job.params.device.backend, "calling variants")
    log.info("backend %s: %s", backend.name, backend.reason)
    pieces = json.loads(Path(job.input.pieces).read_text())
    call_interval(
        reference_directory=Path(job.input.reference).parent,
        samples=[
            {"sample": sample, **facts, "bam": path}
            for (sample, facts), path in zip(job.params.samples.items(), job.input.alignments, strict=True)
        ],
        intervals=[tuple(interval) for interval in pieces[int(job.wildcards.piece)]],
        output_vcf_part=job.output.part,
        parameters=job.params.rescore,
        ledger_path=job.output.ledger,
        header_extras=[backend.to_vcf()],
        fasta=job.input.fasta,
        threads=job.threads,
        ploidy_regions=job.input.ploidy_regions or None,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
