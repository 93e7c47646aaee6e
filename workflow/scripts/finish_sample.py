"""Finish a sample: sort its units, merge them, mark duplicates by library, index, count."""

from pathlib import Path

from quire import many_threads
from quire.buckets.file import UnitFiles
from quire.finish.counts.outputs import CountsOutputs
from quire.finish.earlier_cpu import keep_units
from quire.finish.evidence_cpu import EvidenceOutput
from quire.finish.marking import Marking
from quire.finish.sample import SampleFormat, SampleOutputs, UnsortedUnit, finish_sample
from quire.finish.sorting import Effort
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    many_threads.prepare()
    libraries = job.params.libraries.items()
    counts = job.output.counts, job.output.windows, job.output.low_coverage
    finish_sample(
        sample=job.wildcards.sample,
        units=[
            UnsortedUnit(unit, library, Path(path))
            for (unit, library), path in zip(libraries, job.input.units, strict=True)
        ],
        reference_directory=Path(job.input.reference).parent,
        outputs=SampleOutputs(
            Path(job.output.alignments),
            CountsOutputs(*map(Path, counts), job.params.low.depth),
            Path(job.output.duplicates),
            Path(job.output.ledger),
            EvidenceOutput(
                Path(job.output.evidence), [*map(Path, job.input.insert_sizes)], job.params.evidence.is_wanted
            ),
        ),
        kind=SampleFormat(
            job.params.format, job.params.index_format, Path(job.input.fasta), job.params.finished.assembly
        ),
        marking=Marking(job.params.optical_distance, job.params.umi != "none", job.params.mark_duplicates),
        # A second attempt asks for twice the memory and plans with half of the first attempt's.
        effort=Effort(job.threads, job.resources.mem_mb // job.resources.attempt**2),
    )
    files = zip(job.input.units, job.input.ledgers, job.input.insert_sizes, strict=True)
    units = [*zip(job.params.libraries, (UnitFiles(*map(Path, of_unit)) for of_unit in files), strict=True)]
    keep_units(job.output.units, Path(job.output.alignments), vars(job.params.finished), units)
