"""Finish a sample: sort its units, merge them, mark duplicates by library, index, count."""

from pathlib import Path

from quire import many_threads
from quire.finish.counts.outputs import CountsOutputs
from quire.finish.earlier import UnitFiles, keep_units
from quire.finish.sample import UnsortedUnit, finish_sample
from quire.run.job import run_job


def main(job) -> None:
    """Unpack the job and finish the sample."""
    many_threads.prepare()
    libraries = job.params.libraries.items()
    finish_sample(
        sample=job.wildcards.sample,
        units=[
            UnsortedUnit(unit, library, Path(path))
            for (unit, library), path in zip(libraries, job.input.units, strict=True)
        ],
        output=job.output.alignments,
        format=job.params.format,
        index=job.params.index_format,
        reference_fasta=job.input.fasta,
        reference_directory=Path(job.input.reference).parent,
        counts=CountsOutputs(
            *map(Path, (job.output.counts, job.output.windows, job.output.low_coverage)), job.params.low_depth
        ),
        duplicates_table=job.output.duplicates,
        ledger=job.output.ledger,
        threads=job.threads,
        # A second attempt asks for twice the memory and plans with half of the first attempt's.
        memory_mb=job.resources.mem_mb // job.resources.attempt**2,
        # Beside the output, since the usual temporary folder is often too small for a sample.
        temporary=Path(job.output.alignments).parent,
        optical_distance=job.params.optical_distance,
        umis=job.params.umi != "none",
    )
    files = zip(job.input.units, job.input.ledgers, job.input.insert_sizes, strict=True)
    left = [UnitFiles(*map(Path, of_unit)) for of_unit in files]
    keep_units(job.output.units, Path(job.output.alignments), [*zip(job.params.libraries, left, strict=True)])


run_job(snakemake, lambda: main(snakemake))  # noqa: F821 (Snakemake defines it)
