"""Map the reads of one unit: reads and pages to records in buckets of the genome.

The records are taken back from the finished file of the unit's sample if that has them.
"""

from pathlib import Path

from quire import many_threads
from quire.device.backend import look_for_card
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    many_threads.prepare()
    reads = {column: [*map(Path, getattr(job.input, column))] for column in ("fq1", "fq2", "fq_umi", "bam")}
    device, files = job.params.device, (path for paths in reads.values() for path in paths)
    look_for_card(device.backend, files)  # while the modules below are imported, which takes as long
    from quire.align.origin import origin_of
    from quire.align.read_ends import Clipping
    from quire.align.unit import map_unit
    from quire.align.unit_files import MappingSettings, UnitInputs
    from quire.buckets.file import UnitFiles
    from quire.finish.earlier_cpu import take_back
    from quire.io.bam.writer import ReadGroup
    from quire.io.read_files import ReadFiles

    read_group, clipping = ReadGroup(**job.params.read_group), Clipping(**job.params.clipping)
    inputs = UnitInputs(
        reference=Path(job.input.reference).parent,
        pages=[Path(page).parent for page in job.input.pages],
        reads=ReadFiles(**reads, **job.params.reads),
        fasta=Path(job.input.fasta),
        alternate=next(map(Path, job.input.alternate), None),
    )
    earlier, umi = job.params.earlier, job.params.umi
    outputs = UnitFiles(*map(Path, (job.output.records, job.output.ledger, job.output.insert_size)))
    origin = origin_of(inputs, read_group, clipping, umi, job.params.digest)
    kept = Path(earlier.units), Path(earlier.alignments), read_group.identifier, job.wildcards.unit
    if earlier.forced or not take_back(*kept, origin, outputs, job.threads):
        settings = MappingSettings(job.threads, device.backend, device.memory, device.reads_per_batch)
        map_unit(inputs, outputs, read_group, settings, clipping, umi == "name", origin)
