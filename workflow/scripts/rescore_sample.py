"""Call one sample in one piece of the reference to a part of its gVCF."""

import json
import logging
from pathlib import Path

from quire.device.backend import cpu_only
from quire.rescore import call_gvcf_interval
from quire.run.job import run_job

log = logging.getLogger("quire.rescore")


def main(job) -> None:
    """Unpack the job and call."""
    backend = cpu_only(job.params.device.backend, "calling variants")
    log.info("backend %s: %s", backend.name, backend.reason)
    pieces = json.loads(Path(job.input.pieces).read_text())
    call_gvcf_interval(
        reference_directory=Path(job.input.reference).parent,
        sample={
            "sample": job.wildcards.sample,
            "ploidy": job.params.ploidy,
            "bam": job.input.alignment,
            "repeats": job.input.repeats,
        },
        intervals=[tuple(interval) for interval in pieces[int(job.wildcards.piece)]],
        output_gvcf_part=job.output.part,
        parameters=job.params.rescore,
        ledger_path=job.output.ledger,
        header_extras=[backend.to_vcf()],
        fasta=job.input.fasta,
        threads=job.threads,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
