"""Map the reads of one unit: FASTQ and pages to BAM records in the order of the reads."""

from pathlib import Path

from quire.align.unit import MappingSettings, UnitInputs, UnitOutputs, map_unit
from quire.io.bam.writer import ReadGroup
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and map the unit."""
    fq1, *fq2 = map(Path, job.input.reads)
    map_unit(
        UnitInputs(
            reference=Path(job.input.reference).parent,
            pages=[Path(page).parent for page in job.input.pages],
            fq1=fq1,
            fq2=fq2[0] if fq2 else None,
            fasta=Path(job.input.fasta),
        ),
        UnitOutputs(bam=Path(job.output.bam), ledger=Path(job.output.ledger), insert_size=Path(job.output.insert_size)),
        ReadGroup(**job.params.read_group),
        MappingSettings(
            threads=job.threads,
            backend=job.params.device.backend,
            memory=job.params.device.memory,
            reads_per_batch=job.params.reads_per_batch,
        ),
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
