"""Write the configured name of the assembly to the headers of a finished sample, if they have another."""

from pathlib import Path

from quire.finish.earlier_cpu import keep_assembly
from quire.finish.sample import name_assembly
from quire.io.files import read_json
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    units, files, assembly = Path(job.input.units), [*map(Path, job.input.alignments)], job.params.assembly
    if read_json(units)["assembly"] != assembly:  # else the sample was finished again meanwhile
        for alignments in files:
            name_assembly(alignments, assembly, job.threads)
        keep_assembly(units, files[0], assembly)
