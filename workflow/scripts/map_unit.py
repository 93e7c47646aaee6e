"""Map the reads of one unit: reads and pages to records in buckets of the genome."""

from pathlib import Path

from quire.align.read_ends import Clipping
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs, UnitOutputs
from quire.io.bam.writer import ReadGroup
from quire.io.read_files import ReadFiles
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and map the unit."""
    map_unit(
        UnitInputs(
            reference=Path(job.input.reference).parent,
            pages=[Path(page).parent for page in job.input.pages],
            reads=ReadFiles(
                fq1=[*map(Path, job.input.fq1)],
                fq2=[*map(Path, job.input.fq2)],
                bam=[*map(Path, job.input.bam)],
                **job.params.reads,
            ),
            fasta=Path(job.input.fasta),
            alternate=next(map(Path, job.input.alternate), None),
        ),
        UnitOutputs(
            records=Path(job.output.records), ledger=Path(job.output.ledger), insert_size=Path(job.output.insert_size)
        ),
        ReadGroup(**job.params.read_group),
        MappingSettings(
            threads=job.threads,
            backend=job.params.device.backend,
            memory=job.params.device.memory,
            reads_per_batch=job.params.reads_per_batch,
        ),
        Clipping(**job.params.clipping),
        umis=job.params.umi == "name",
    )


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
