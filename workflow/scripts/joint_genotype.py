"""Genotype the gVCFs of all samples together in one piece of the reference."""

from pathlib import Path

from quire.io.files import read_json
from quire.rescore.joint import JointRequest, genotype_interval
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    pieces = read_json(job.input.pieces)["pieces"]
    request = JointRequest(
        reference_directory=Path(job.input.reference).parent,
        stores=job.input.stores,
        intervals=[tuple(interval) for interval in pieces[int(job.wildcards.piece)]],
        part=job.output.part,
        minimum_quality=job.params.minimum_quality,
        filters=job.params.filters,
        all_sites=job.params.emit == "all_sites",
        regions=job.params.intervals,
        alleles=job.input.alleles or None,
        backend=job.params.device.backend,
        fasta=job.input.fasta,
        threads=job.threads,
    )
    genotype_interval(request)
