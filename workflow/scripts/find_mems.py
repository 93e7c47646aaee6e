"""Find the maximal exact matches of queries: FASTA or FASTQ and pages to MUMmer's text."""

from pathlib import Path

from quire.mems.search import MemsInputs, MemsOutputs, MemsSettings, find_mems
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and search."""
    find_mems(
        MemsInputs(
            reference=Path(job.input.reference).parent,
            pages=[Path(page).parent for page in job.input.pages],
            fasta=Path(job.input.fasta),
            queries=Path(job.input.queries),
        ),
        MemsOutputs(mems=Path(job.output.mems), summary=Path(job.output.summary)),
        MemsSettings(
            name=job.wildcards.search,
            **job.params.search,
            threads=job.threads,
            backend=job.params.device.backend,
            memory=job.params.device.memory,
        ),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
