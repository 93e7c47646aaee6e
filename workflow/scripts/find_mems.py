"""Find the maximal exact matches of queries: FASTA or FASTQ and pages to MUMmer's text."""

from pathlib import Path

from quire.index import SearchInputs
from quire.mems.search import MemsOutputs, MemsSettings, find_mems
from quire.run.exact_tools import settings_of
from quire.run.job import run_job

with run_job(snakemake) as job:  # noqa: F821 (Snakemake defines it)
    find_mems(
        SearchInputs(
            reference=Path(job.input.reference).parent,
            pages=[Path(page).parent for page in job.input.pages],
            fasta=Path(job.input.fasta),
            queries=Path(job.input.queries),
        ),
        MemsOutputs(mems=Path(job.output.mems), summary=Path(job.output.summary)),
        MemsSettings(**settings_of(job)),
    )
