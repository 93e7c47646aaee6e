"""Index one page of the reference."""

from pathlib import Path

from quire import index
from quire.device.choice import use_backend
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    requested = job.params.device.backend
    with use_backend(requested, job.params.device.memory) as (_, open_card):
        index.build(
            reference=Path(job.input.reference).parent,
            page_number=int(job.wildcards.page),
            directory=Path(job.output.manifest).parent,
            parameters=job.params.index,
            card=open_card() if open_card else None,
            requested=requested,
            threads=job.threads,
        )
