"""Call the variants of one piece of the reference, jointly over all samples."""

import json
import logging
from itertools import repeat
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
    ploidies = job.params.ploidy.items()
    call_interval(
        reference_directory=Path(job.input.reference).parent,
        samples=[
            {"sample": sample, "ploidy": ploidy, "bam": path, "repeats": repeats}
            for (sample, ploidy), path, repeats in zip(
                ploidies, job.input.alignments, job.input.repeats or repeat(None), strict=False
            )
        ],
        intervals=[tuple(interval) for interval in pieces[int(job.wildcards.piece)]],
        output_vcf_part=job.output.part,
        parameters=job.params.rescore,
        ledger_path=job.output.ledger,
        header_extras=[backend.to_vcf()],
        fasta=job.input.fasta,
        threads=job.threads,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
