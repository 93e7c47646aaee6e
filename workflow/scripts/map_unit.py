"""Map the reads of one unit: FASTQ and pages to BAM records in the order of the reads."""

from pathlib import Path

from quire.align.unit import map_unit
from quire.job import run_job


def main(job) -> None:
    """Unpack the job and map the unit."""
    fq1, *fq2 = job.input.reads
    map_unit(
        reference_directory=Path(job.input.reference).parent,
        page_directories=[Path(page).parent for page in job.input.pages],
        fq1=fq1,
        fq2=fq2[0] if fq2 else None,
        read_group=job.params.read_group,
        output_bam=job.output.bam,
        ledger=job.output.ledger,
        insert_size_json=job.output.insert_size,
        parameters={"reads_per_batch": job.params.reads_per_batch},
        threads=job.threads,
        backend=job.params.device.backend,
        memory=job.params.device.memory,
        fasta=job.input.fasta,
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
