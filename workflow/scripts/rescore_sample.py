"""Call one sample in one piece of the reference to a part of its gVCF."""

import json
from pathlib import Path

from quire import many_threads
from quire.rescore.engines import DeviceSettings
from quire.rescore.gvcf import call_gvcf_interval
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and call."""
    many_threads.prepare()  # the forked processes inherit the settings of memory
    pieces = json.loads(Path(job.input.pieces).read_text())
    call_gvcf_interval(
        reference_directory=Path(job.input.reference).parent,
        sample={
            "sample": job.wildcards.sample,
            **job.params.sample,
            "bam": job.input.alignment,
            "repeats": job.input.repeats,
        },
        intervals=[tuple(interval) for interval in pieces[int(job.wildcards.piece)]],
        output_gvcf_part=job.output.part,
        parameters=job.params.rescore,
        ledger_path=job.output.ledger,
        fasta=job.input.fasta,
        threads=job.threads,
        ploidy_regions=job.input.ploidy_regions or None,
        device=DeviceSettings(job.params.device.backend, job.params.device.memory),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
